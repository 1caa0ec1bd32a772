/* SPDX-License-Identifier: MIT */
/* What tests of ring cards that misbehave share. */
#ifndef PACCEL_RING_TEST_H
#define PACCEL_RING_TEST_H

#include "stream_test.h"
#include "card.h"

static inline u64 card_counter(const char *name)
{
	u64 n = ~0ull;

	card_attr_u64(name, &n);
	return n;
}

/* A hang is noticed after this, and nothing that is well takes as long. */
#define WATCHDOG_MS (400 * slow_factor())
/* More than what the page says, for a machine that has other things to do. */
#define GENEROUS(ms) (2 * (u64)(ms) + 1000 * slow_factor())

/* How long the driver waits for an answer to a reset. */
#define RING_ANSWER_MS 1000

/* What the driver counts of it. */
struct counts {
	u64 timeouts, lost_irqs, bogus, engine_resets, resets, leaked_pages;
};

static inline struct counts counts_now(void)
{
	return (struct counts){
		.timeouts = card_counter("timeouts"),
		.lost_irqs = card_counter("lost_irqs"),
		.bogus = card_counter("bogus"),
		.engine_resets = card_counter("engine_resets"),
		.resets = card_counter("resets"),
		.leaked_pages = card_counter("leaked_pages"),
	};
}

/* Pages that are pinned in this guest. */
static inline u64 pins(void)
{
	u64 acquired = 0, released = 0, n;
	char name[64];
	FILE *f;

	/* What the CPUs have counted each for itself is added. */
	file_read("/proc/sys/vm/stat_refresh", name, sizeof(name));
	f = fopen("/proc/vmstat", "re");

	while (f && fscanf(f, "%63s %lu", name, &n) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			acquired = n;
		if (!strcmp(name, "nr_foll_pin_released"))
			released = n;
	}
	if (f)
		fclose(f);
	return acquired - released;
}

/* Memory of HOST_ALLOC, mapped; or NULL. */
static inline void *own_memory(int fd, u64 length)
{
	u64 offset;
	void *at;

	if (_test_cmd_host_alloc(fd, length, &offset))
		return NULL;
	at = host_map(fd, length, offset);
	return at == MAP_FAILED ? NULL : at;
}

static inline bool watchdog_set(int ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", ms);
	return !module_param_set("watchdog_ms", text);
}

/* --- one call ------------------------------------------------------------ */

#define FILLED 0x5a

/* A call by number, on as many bytes: of four kinds. */
struct call {
	pthread_t thread;
	int fd, what, rc;
	u64 a, b, length, took;
	u8 *host;
};

/* By words: this is compiled for those who debug it. */
static inline void words_fill(u8 *to, u64 n, u64 seed)
{
	for (u64 i = 0; i < n / 8; i++)
		((u64 *)to)[i] = (i + 1) * 0x9e3779b97f4a7c15 * seed;
	memset(to + n / 8 * 8, (int)seed, n % 8);
}

static inline bool words_same(const u8 *at, u64 n, u64 seed)
{
	u8 *want = map_pages((n + page_size - 1) / page_size);
	bool same;

	words_fill(want, n, seed);
	same = !memcmp(at, want, n);
	munmap(want, n);
	return same;
}

static inline void *call_main(void *arg)
{
	struct call *c = arg;
	u64 start = now_ms();

	switch (c->what) {
	case 0:
		c->rc = _test_cmd_copy_h2d(c->fd, c->a, c->host, c->length);
		break;
	case 1:
		c->rc = _test_cmd_copy_d2h(c->fd, c->host, c->a, c->length);
		break;
	case 2:
		c->rc = _test_cmd_copy_d2d(c->fd, c->b, c->a, c->length);
		break;
	default:
		c->rc = _test_cmd_fill(c->fd, c->a, c->length, FILLED, 1);
	}
	c->took = now_ms() - start;
	return NULL;
}

/* @a holds pattern 1, @b and the host's side something else. Returns 0 or a negative errno. */
static inline int call_arrange(struct call *c)
{
	int rc;

	words_fill(c->host, c->length, 1);
	rc = _test_cmd_copy_h2d(c->fd, c->a, c->host, c->length);
	if (!rc)
		rc = _test_cmd_fill(c->fd, c->b, c->length, 0, 1);
	words_fill(c->host, c->length, 2);
	return rc;
}

static inline bool call_prepare(struct call *c)
{
	return !call_arrange(c);
}

/*
 * Looks at what a call that went well has moved: 0, -EBADMSG if that is wrong, or another negative
 * errno if it could not be read back.
 */
static inline int call_verify(struct call *c)
{
	u8 *got = map_pages((c->length + page_size - 1) / page_size);
	bool same = true;
	int rc = 0;

	if (c->what == 1)
		same = words_same(c->host, c->length, 1);
	else
		rc = _test_cmd_copy_d2h(c->fd, got, c->what == 2 ? c->b : c->a, c->length);
	if (!rc && (c->what == 0 || c->what == 2))
		same = words_same(got, c->length, c->what == 0 ? 2 : 1);
	else if (!rc && c->what == 3)
		same = all_bytes(got, c->length, FILLED);
	munmap(got, c->length);
	return same ? rc : -EBADMSG;
}

static inline bool call_check(struct call *c)
{
	return !call_verify(c);
}

static inline bool call_open(struct call *c, int fd, u64 length)
{
	*c = (struct call){ .fd = fd, .length = length };
	return !_test_cmd_mem_alloc(fd, length, 0, &c->a) &&
	       !_test_cmd_mem_alloc(fd, length, 0, &c->b) &&
	       (c->host = own_memory(fd, length));
}

static inline bool call_close(struct call *c)
{
	return !munmap(c->host, c->length) && !_test_cmd_host_free(c->fd, c->host, 0) &&
	       !_test_cmd_mem_free(c->fd, c->a, c->length) &&
	       !_test_cmd_mem_free(c->fd, c->b, c->length);
}

#endif
