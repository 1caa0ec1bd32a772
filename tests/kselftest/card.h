/* SPDX-License-Identifier: MIT */
/*
 * Kinds of cards. A test says what it needs of the card that it runs on, and how that is
 * done with cards of its kind stands in card.c. Each test begins with a card that is as it
 * should be.
 */
#ifndef PACCEL_KSELFTEST_CARD_H
#define PACCEL_KSELFTEST_CARD_H

#include <stdbool.h>
#include <stdint.h>

/* A transfer takes so long on a card of which that was asked. */
#define XFER_MS 100

/* "edu" or "ring"; also while there is no driver. */
const char *card_kind(void);

/* From now on a transfer lasts: long enough to be met in flight. Those of edu do anyway. */
void card_slow(void);

/*
 * How many transfers a card is given at once, of which one is carried out. Who comes later waits
 * for all of them.
 */
int card_depth(void);

/*
 * The next transfer does not end before card_pass() or card_behave(), so that work is queued behind
 * it. A transfer of edu takes 100 ms anyway, of virtual time that a busy host does not shorten.
 */
void card_hold(void);

/*
 * True if a transfer that card_hold() holds lasts as long as the test wants. One of edu ends after 100 ms: in virtual
 * time that is the time of the guest, else a busy host may spend it elsewhere.
 */
bool card_can_hold(void);

/*
 * True once the device has begun the transfer that card_hold() stalls. The driver increments `xfers` before
 * that, and a reset in between leaves the stall to a later transfer. edu does not say when it begins one:
 * the result is true at once, and `xfers` has to be checked as well.
 */
bool card_is_held(void);

/* Of a device with one engine that is held: n transfers end, and no more. edu goes on by itself. */
void card_pass(int n);

/* From now on each transfer takes longer than the shortest time that the watchdog can be given. */
void card_hang(void);

/* From now on what a card is given at once lasts: for tests of whose turn it is. */
void card_slow_turns(void);

/*
 * Makes the card's interrupts get lost (in whichever mode the driver uses), so that a
 * transfer which has ended keeps its engine busy until the watchdog.
 */
void card_mute_irq(bool mute);

/*
 * Takes host memory out of the card's reach, behind the driver's back: a transfer from or
 * to it moves nothing. A reset by the driver puts it back.
 */
void card_bus_master(bool on);

/* Every transfer fails, also one that needs no host memory; a reset does not change that. */
void card_fail(bool fail);

/*
 * A slow card that was told to stop does not. edu never does before its transfer has ended, which
 * is too late for a driver with little patience.
 */
void card_ignore_stop(bool ignore);

/*
 * True if a device that answers nothing no longer writes once bus mastering is off. If it is
 * false, the pages that the device was given are never released.
 */
bool card_can_be_cut_off(void);

/*
 * An order to the process of a ring card, as `guestctl fault` gives it: 0, or it has said what was
 * wrong. See Documentation/ringdev.md.
 */
int ring_order(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One of the numbers that `guestctl fault card0 stats` shows. */
uint64_t ring_stat(const char *name);

/* All of this is over; it has forgotten all orders. */
void card_behave(void);

#endif
