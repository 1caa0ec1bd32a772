// SPDX-License-Identifier: MIT
/* The same copy on one card and on all at once: a thread for each card, all let go together. */
#include <pthread.h>
#include <stdbool.h>

#include "bench.h"

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	struct card card;
	unsigned char host[BENCH_BYTES];
	uint64_t began;
	uint64_t ended;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(w->start);
	w->began = now_ns();
	copy_pieces(&w->card, PACCEL_COPY_H2D, w->host);
	w->ended = now_ns();
	return NULL;
}

/* From the first who begins to the last who ends. */
static uint64_t run_together(struct worker *workers, unsigned int nr)
{
	pthread_barrier_t start;
	uint64_t began, ended;
	unsigned int i;

	if (pthread_barrier_init(&start, NULL, nr))
		die("no barrier");
	for (i = 0; i < nr; i++) {
		workers[i].start = &start;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("no thread");
	}
	for (i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&start);
	began = workers[0].began;
	ended = workers[0].ended;
	for (i = 1; i < nr; i++) {
		if (workers[i].began < began)
			began = workers[i].began;
		if (workers[i].ended > ended)
			ended = workers[i].ended;
	}
	return ended - began;
}

int bench_cards(int argc, char **argv)
{
	static struct worker workers[BENCH_MAX_CARDS];
	struct samples one = { .name = "cards.one" }, all = { .name = "cards.all" };
	unsigned int i, rounds = number(argv[0], BENCH_MAX_SAMPLES), nr = argc - 1;

	if (nr > BENCH_MAX_CARDS)
		die("%u cards: at most %d", nr, BENCH_MAX_CARDS);
	for (i = 0; i < nr; i++) {
		card_open(&workers[i].card, argv[1 + i]);
		pattern(workers[i].host, BENCH_BYTES, i);
	}
	for (i = 0; i < rounds; i++) {
		samples_add(&one, run_together(workers, 1));
		samples_add(&all, run_together(workers, nr));
	}
	for (i = 0; i < nr; i++)
		card_close(&workers[i].card);
	samples_print(&one);
	samples_print(&all);
	return 0;
}
