// SPDX-License-Identifier: MIT
/* A host that does not ring while the engine's STATUS says "running" is served nevertheless. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "fixture.h"

#define MS		1000000u
#define ROUNDS		100000u
#define PATIENCE	20	/* seconds */

static void status_tells_of_work(void)
{
	struct ring_completion c;

	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
	/* While time has to pass. */
	check(order("set latency=1000000"));
	submit(0, fence());
	run();
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	submit(0, fence());
	run_for(2 * MS);
	check_eq(engine_get(0, RING_CQ_TAIL), 2);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
	check_eq(w.next, RING_NEVER);
	/* While nothing happens at all. */
	check(order("set latency=0") && order("stall"));
	submit(0, fence());
	run();
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	check(order("clear") && order("mute ns=1000000"));
	submit(0, fence());
	run();
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	run_for(2 * MS);
	check_eq(engine_get(0, RING_CQ_TAIL), 4);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
	/* While there is no room for completions, also if that is so from the beginning. */
	for (unsigned int i = 4; i < RING_ENTRIES; i++)
		submit(0, fence());
	run();
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
	submit(0, fence());
	run();
	check_eq(engine_get(0, RING_SQ_HEAD), RING_ENTRIES);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	check(complete(0, &c));
	run_for(2 * MS);
	check_eq(engine_get(0, RING_CQ_TAIL), RING_ENTRIES + 1);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
}

/* --- between the last look and "idle" ---------------------------------------------------- */

static uint32_t tail_in_between;

/* The card writes to the page of engine 0; what the host does then comes just before. */
static void on_write(int number)
{
	(void)number;
	mprotect(w.cards[0].bar + RING_ENGINE(0), 0x1000, PROT_READ | PROT_WRITE);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	engine_put(0, RING_SQ_TAIL, tail_in_between);
}

/* The engine has seen nothing, and SQ_TAIL moves before STATUS does. */
static void write_just_before_idle(uint32_t tail)
{
	struct sigaction action = { .sa_handler = on_write }, before;

	for (unsigned int i = 0; i < ENGINE_BATCH; i++)
		submit(0, fence());
	tail_in_between = engine_get(0, RING_SQ_TAIL) + tail;
	/* A whole turn, after which the engine has not looked again: all it does is go idle. */
	check_eq(ring_card_run(w.card), 0);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	sigaction(SIGSEGV, &action, &before);
	mprotect(w.cards[0].bar + RING_ENGINE(0), 0x1000, PROT_READ);
	run();
	mprotect(w.cards[0].bar + RING_ENGINE(0), 0x1000, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &before, NULL);
	check_eq(engine_get(0, RING_SQ_TAIL), tail_in_between);
}

static void tail_moves_before_status(void)
{
	/* What will be found there. */
	for (unsigned int i = 0; i < ENGINE_BATCH + 2; i++)
		submit(0, fence());
	engine_put(0, RING_SQ_TAIL, 0);
	write_just_before_idle(2);
	check_eq(engine_get(0, RING_CQ_TAIL), ENGINE_BATCH + 2);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
	check_eq(w.next, RING_NEVER);
}

static void wild_tail_before_status(void)
{
	write_just_before_idle(RING_ENTRIES + 1);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_HALTED);
	check_eq(engine_get(0, RING_E_ERROR), RING_E_ERROR_SQ);
}

/* --- two processors -------------------------------------------------------------------------- */

static unsigned int bell, over, not_rung;

/* Both are awake at the same time where there are two processors, and get on where there is one. */
static void relax(void)
{
	static _Thread_local unsigned int turns;

	if (!(++turns % 4096))
		sched_yield();
}

static void *card_thread(void *none)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&bell, 0, __ATOMIC_SEQ_CST);
		while (ring_card_run(w.card) <= w.now)
			;
		while (!__atomic_load_n(&bell, __ATOMIC_SEQ_CST) &&
		       !__atomic_load_n(&over, __ATOMIC_ACQUIRE))
			relax();
	}
	return none;
}

static bool wait_for(uint32_t completions)
{
	time_t begin = time(NULL);

	while (engine_get(0, RING_CQ_TAIL) != completions) {
		relax();
		if (time(NULL) - begin > PATIENCE)
			return false;
	}
	return true;
}

/* The ring is full of fences already: only its end has to be moved. */
static void publish_one(uint32_t tail)
{
	engine_put(0, RING_SQ_TAIL, tail);
	shared_fence();
	if (engine_get(0, RING_E_STATUS) == RING_E_RUNNING)
		not_rung++;
	else
		__atomic_store_n(&bell, 1, __ATOMIC_SEQ_CST);
}

/* The second of two comes at each moment of the engine's way from one to "idle". */
static void host_and_card_at_the_same_time(void)
{
	bool served = true;
	pthread_t thread;
	uint32_t round;

	for (unsigned int i = 0; i < RING_ENTRIES; i++)
		submit(0, fence());
	engine_put(0, RING_SQ_TAIL, 0);
	check(!pthread_create(&thread, NULL, card_thread, NULL));
	for (round = 0; served && round < ROUNDS; round++) {
		engine_put(0, RING_CQ_HEAD, 2 * round);
		publish_one(2 * round + 1);
		for (volatile unsigned int spin = 0; spin < round % 1024; spin++)
			;
		publish_one(2 * round + 2);
		served = wait_for(2 * round + 2);
	}
	check(served);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("# %u times of %u without a doorbell\n", not_rung, 2 * round);
}

int main(void)
{
	RUN(status_tells_of_work);
	RUN(tail_moves_before_status);
	RUN(wild_tail_before_status);
	RUN(host_and_card_at_the_same_time);
	return tests_end();
}
