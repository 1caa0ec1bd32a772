/* SPDX-License-Identifier: MIT */
/*
 * Copies between two cards whose memory lies in BARs, and device pointers that are dereferenced.
 * Directly with p2p=force, else through the host: the counters tell which it was. Prints TAP.
 */
#include "../unit/tap.h"

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define SIZE (6u << 20)

static struct accel_device *a, *b;
static unsigned char *from, *to;
static unsigned char host[SIZE], got[SIZE];
static int forced;

static struct accel_memory_stats stats_of(struct accel_device *dev)
{
	struct accel_memory_stats stats;

	expect(accel_memory_stats_full(dev, &stats), 0);
	return stats;
}

/* Memory counts as used until the driver has dropped the references of operations that have ended. */
static int used_becomes(struct accel_device *dev, uint64_t used)
{
	time_t end = time(NULL) + 60;

	while (stats_of(dev).used != used)
		if (time(NULL) >= end)
			return 0;
	return 1;
}

static unsigned char *memory(struct accel_device *dev)
{
	void *ptr = NULL;

	expect(accel_device_memory_allocate(dev, &ptr, SIZE), 0);
	return ptr;
}

static void open_both(void)
{
	expect(accel_device_open(0, &a), 0);
	expect(accel_device_open(1, &b), 0);
	from = memory(a);
	to = memory(b);
	for (size_t i = 0; i < SIZE; i++)
		host[i] = (unsigned char)(i * 7 + i / 251 + 1);
}

static void test_dereference(void)
{
	memcpy(from, host, SIZE);
	expect(accel_memory_copy(got, from, SIZE), 0);
	ok(!memcmp(got, host, SIZE));
	expect(accel_memory_copy(to, host, SIZE), 0);
	ok(to[0] == host[0] && to[SIZE - 1] == host[SIZE - 1]);
}

/* Bytes, and by which way: the card of the destination does nothing for a direct copy. */
static void copy_and_look(size_t dst, size_t src, size_t n)
{
	struct accel_memory_stats before = stats_of(b), after;

	expect(accel_memory_copy_p2p(b, a, to + dst, from + src, n), 0);
	after = stats_of(b);
	ok((after.bytes_h2d == before.bytes_h2d) == !!forced);
	expect(accel_memory_copy(got, to + dst, n), 0);
	ok(!memcmp(got, host + src, n));
}

static void test_copies(void)
{
	expect(accel_memory_copy(from, host, SIZE), 0);
	copy_and_look(0, 0, SIZE);
	copy_and_look(1, 4095, 1);
	copy_and_look(77, 12345, SIZE - 20000);
}

static void test_rows(void)
{
	expect(accel_device_memory_set(b, to, 0, SIZE), 0);
	expect(accel_memory_copy_2d(to, 300, from, 500, 100, 1000), 0);
	expect(accel_memory_copy(got, to, 300000), 0);
	for (size_t i = 0; i < 1000; i++)
		ok(!memcmp(got + 300 * i, host + 500 * i, 100) && !got[300 * i + 100]);
}

/* What is freed is not kept by the other card, and what comes in its place is found. */
static void test_freed(void)
{
	struct accel_memory_stats before = stats_of(b);

	for (int i = 0; i < 3; i++) {
		copy_and_look(0, 0, 5000);
		expect(accel_device_memory_deallocate(b, to, SIZE), 0);
		ok(used_becomes(b, before.used - SIZE));
		to = memory(b);
	}
}

static void test_on_a_stream(void)
{
	struct accel_stream *stream;

	expect(accel_stream_create(b, &stream), 0);
	expect(accel_async_memory_copy_p2p(b, a, stream, to, from, SIZE), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_memory_copy(got, to, SIZE), 0);
	ok(!memcmp(got, host, SIZE));
	expect(accel_stream_destroy(stream), 0);
}

/* An order to the process of a card. */
static void order(unsigned int card, const char *words)
{
	char command[128];

	snprintf(command, sizeof(command), "guestctl fault card%u %s", card, words);
	ok(!system(command));
}

/* One that is slow has its blocks waited for: what comes too early is not what was there. */
static void test_slow_cards(void)
{
	for (unsigned int slow = 0; slow < 2; slow++) {
		order(slow, "set rate=64M");
		expect(accel_device_memory_set(b, to, 0, SIZE), 0);
		copy_and_look(0, 0, SIZE);
		copy_and_look(4097, 1, SIZE - 5000);
		test_rows();
		order(slow, "set rate=0");
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double time_of(void *dst, const void *src)
{
	double start = seconds();

	expect(accel_memory_copy(dst, src, SIZE), 0);
	return seconds() - start;
}

static double smaller(double so_far, double next)
{
	return next < so_far ? next : so_far;
}

/* What the one card writes while the other reads takes the time of one of the two, not of both. */
static void test_both_at_once(void)
{
	double in = 99, out = 99, both = 99, ratio;

	order(0, "set rate=16M");
	order(1, "set rate=16M");
	/* The smallest of each, since a busy host makes them longer. */
	for (int i = 0; i < 5; i++) {
		in = smaller(in, time_of(got, from));
		out = smaller(out, time_of(to, host));
		both = smaller(both, time_of(to, from));
	}
	order(0, "set rate=0");
	order(1, "set rate=0");
	ratio = both / (in > out ? in : out);
	printf("# card to card takes %.2f times as long as one way\n", ratio);
	ok(ratio < 1.6);
}

/* In the middle, of either card: it is named, and the next copy works. */
static void test_failures(void)
{
	for (unsigned int card = 0; card < (forced ? 1 : 2); card++) {
		order(card, forced ? "fail" : "fail after=2");
		refused(accel_memory_copy_p2p(b, a, to, from, SIZE), -EIO,
			card ? "/dev/paccel1" : "/dev/paccel0");
		order(card, "clear");
		copy_and_look(0, 0, SIZE);
	}
}

/* Of the card that has the source, and so does the work by itself where it can. */
static void test_on_a_stream_of_the_source(void)
{
	struct accel_stream *stream;
	unsigned char *next;

	expect(accel_stream_create(a, &stream), 0);
	expect(accel_device_memory_set(b, to, 0, SIZE), 0);
	order(0, "set rate=16M");
	expect(accel_async_memory_copy_p2p(b, a, stream, to, from, SIZE), 0);
	ok(accel_stream_query(stream) == (forced ? -EINPROGRESS : 0));
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_memory_copy(got, to, SIZE), 0);
	ok(!memcmp(got, host, SIZE));

	/* What is freed under the copy is not given to anybody before it has ended. */
	expect(accel_async_memory_copy_p2p(b, a, stream, to, from, SIZE), 0);
	expect(accel_device_memory_deallocate(b, to, SIZE), 0);
	ok(accel_stream_query(stream) == (forced ? -EINPROGRESS : 0));
	next = memory(b);
	expect(accel_stream_synchronize(stream), 0);
	order(0, "set rate=0");
	to = next;
	expect(accel_memory_copy(got, to, SIZE), 0);
	for (size_t i = 0; i < SIZE; i++)
		if (got[i]) {
			ok(!"memory that was free is empty");
			break;
		}
	expect(accel_stream_destroy(stream), 0);
}

static void test_closed(void)
{
	expect(accel_device_close(b), 0);
	expect(accel_device_open(1, &b), 0);
	ok(used_becomes(b, 0));
	to = memory(b);
	copy_and_look(0, 0, SIZE);
	expect(accel_device_close(a), 0);
	expect(accel_device_open(0, &a), 0);
	from = memory(a);
	expect(accel_memory_copy(from, host, SIZE), 0);
	copy_and_look(0, 0, SIZE);
	expect(accel_device_close(a), 0);
	expect(accel_device_close(b), 0);
}

int main(void)
{
	char mode[8] = "";
	FILE *file = fopen("/sys/module/paccel/parameters/p2p", "r");

	forced = file && fgets(mode, sizeof(mode), file) && !strncmp(mode, "force", 5);
	if (file)
		fclose(file);
	open_both();
	test_dereference();
	tap_done("dereference");
	test_copies();
	tap_done("copies");
	test_rows();
	tap_done("rows");
	test_freed();
	tap_done("freed");
	test_on_a_stream();
	tap_done("on_a_stream");
	test_on_a_stream_of_the_source();
	tap_done("on_a_stream_of_the_source");
	test_slow_cards();
	tap_done("slow_cards");
	test_both_at_once();
	tap_done("both_at_once");
	test_failures();
	tap_done("failures");
	test_closed();
	tap_done("closed");
	return tap_end();
}
