// SPDX-License-Identifier: MIT
/*
 * Four processes with several streams each do random operations, every one against its own model of
 * what is in the card and in its memory: first on a card that is well, then on one that does
 * everything wrong that it can. Whatever ended well must be right; what failed has to say so, and
 * the model does not know what its destination holds until that is written again. A part of the
 * operations is verified; where bits are wrong as well, only what these have written is known.
 *
 * The seed is printed; PACCEL_SEED=N repeats a run as far as time allows, PACCEL_OPS=N and
 * PACCEL_SECONDS=N make it longer. The watchdog is the module's, and the storm the card's: nothing
 * else may run meanwhile.
 */
#include <sys/random.h>

#include "ring_test.h"

#define PLAYERS 4
#define DOMAINS 3	/* of each: a stream and what belongs to it alone */
#define BLOCKS 3	/* of each: device memory */
#define BATCH 64
#define MAX_PENDING 256
#define HOST_BYTES (2ull << 20)
/* Device memory of a player at most: cards of 16 MiB have to do. */
#define SHARE (3200ull << 10)

#define OPS 100000
#define SECONDS 30
/* One operation in so many is verified; in so many, where that is all that counts. */
#define VERIFIED 4
#define VERIFIED_MOSTLY 2
#define STORM_WATCHDOG_MS (200 * slow_factor())
/* One descriptor in so many. */
#define STORM_EVERY 150
/* No call may take longer, whatever the card does. */
#define PATIENT_MS (30000ull * slow_factor())

/* Bytes, and what they should be where that is known. */
struct region {
	u64 dev;		/* device address; 0: host memory at @host */
	u8 *host;
	u64 length, serial;
	u8 *shadow, *known;
};

struct rect {
	u64 at, width, rows, pitch;
};

/* Something that was submitted and is to be looked at when the stream has drained. */
struct pending {
	struct region *to;
	u64 serial, point;
	struct rect rect;
};
#define NOT_SUBMITTED ~0ull

struct domain {
	int stream;
	u64 last;
	struct region own, registered, pageable, blocks[BLOCKS];
	struct pending pending[MAX_PENDING];
	int nr;
};

/* Of one player, seen by all. */
struct score {
	u64 beats, ops, failed, allocs, corrupt, compared;
	int line;		/* what went wrong */
	u32 seed;
};

struct shared {
	bool faults, wrong_bits, stop, calm;
	u64 ops;		/* of each; 0: until it is stopped */
	struct score score[PLAYERS];
};

static struct shared *all;

struct player {
	struct score *score;
	u64 random, serial, used;
	int fd;
	struct domain domains[DOMAINS];
};

#define SPEED __attribute__((optimize("O2")))

#define WRONG(p, ...)                                                          \
	do {                                                                   \
		fprintf(stderr, "# player %td: ", (p)->score - all->score);\
		fprintf(stderr, __VA_ARGS__);                                  \
		fprintf(stderr, " (line %d)\n", __LINE__);                     \
		(p)->score->line = __LINE__;                                   \
		_exit(1);                                                      \
	} while (0)

SPEED static u64 next(struct player *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random * 0x2545f4914f6cdd1d >> 16;
}

static u64 below(struct player *p, u64 n)
{
	return next(p) % n;
}

/* What may be the end of work while the card misbehaves. */
static bool allowed(int error)
{
	if (error == -EBADMSG)
		return all->wrong_bits && !all->calm;
	return all->faults && !all->calm && (error == -EIO || error == -ETIMEDOUT);
}

/* --- the model ----------------------------------------------------------- */

SPEED static void model_copy(struct region *to, struct rect t, struct region *from, struct rect f)
{
	for (u64 row = 0; row < t.rows; row++) {
		memcpy(to->shadow + t.at + row * t.pitch, from->shadow + f.at + row * f.pitch,
		       t.width);
		memcpy(to->known + t.at + row * t.pitch, from->known + f.at + row * f.pitch,
		       t.width);
	}
}

SPEED static void model_fill(struct region *to, u64 at, u64 length, u64 pattern, u32 size)
{
	for (u64 i = 0; i < length; i++)
		to->shadow[at + i] = pattern >> (i % size * 8);
	memset(to->known + at, 1, length);
}

static void model_forget(struct region *to, struct rect r)
{
	for (u64 row = 0; row < r.rows; row++)
		memset(to->known + r.at + row * r.pitch, 0, r.width);
}

/* The first byte that is known and wrong, or -1. */
SPEED static long model_diff(struct region *r, u64 at, u64 length, const u8 *got)
{
	if (!memchr(r->known + at, 0, length) && !memcmp(r->shadow + at, got, length))
		return -1;
	for (u64 i = 0; i < length; i++)
		if (r->known[at + i] && r->shadow[at + i] != got[i])
			return i;
	return -1;
}

/* --- ranges -------------------------------------------------------------- */

/* Small ones mostly, and now and then as much as there is. */
static u64 some_length(struct player *p, u64 most)
{
	u64 kind = below(p, 100), limit = kind < 75 ? 512 : kind < 98 ? 16384 : most;

	return 1 + below(p, limit < most ? limit : most);
}

static struct rect rect_in(struct player *p, struct region *r, u64 width, u64 rows)
{
	struct rect rect = { .width = width, .rows = rows, .pitch = width };
	u64 span;

	if (rows > 1)
		rect.pitch += below(p, (r->length - width) / (rows - 1) - width + 1) % 300;
	span = (rows - 1) * rect.pitch + width;
	rect.at = below(p, r->length - span + 1);
	return rect;
}

/* Two of the same shape. */
static void two_rects(struct player *p, struct region *a, struct rect *ra, struct region *b,
		      struct rect *rb)
{
	u64 most = a->length < b->length ? a->length : b->length;
	u64 width = some_length(p, most), rows = 1;

	if (!below(p, 10) && width * 2 <= most)
		rows = 2 + below(p, most / width - 1) % 15;
	*ra = rect_in(p, a, width, rows);
	*rb = rect_in(p, b, width, rows);
}

static u64 place(const struct region *r)
{
	return r->dev ? r->dev : (uintptr_t)r->host;
}

static struct region *some_block(struct player *p, struct domain *d, struct region *but)
{
	int first = below(p, BLOCKS);

	for (int i = 0; i < BLOCKS; i++) {
		struct region *r = &d->blocks[(first + i) % BLOCKS];

		if (r->length && r != but)
			return r;
	}
	return NULL;
}

/* --- operations ---------------------------------------------------------- */

/* What to do, and to whom it is done. */
struct plan {
	struct paccel_op op;
	struct region *to, *from;
	struct rect rt, rf;
	bool verified;
};

static bool plan_fill(struct player *p, struct plan *plan)
{
	u32 size = 1u << below(p, 4);
	u64 units = plan->to->length / size;

	if (!units)
		return false;
	plan->rt = (struct rect){ .width = size * some_length(p, units), .rows = 1 };
	plan->rt.at = below(p, plan->to->length - plan->rt.width + 1);
	plan->op = op_fill(plan->to->dev + plan->rt.at, plan->rt.width,
			   next(p) & (~0ull >> (64 - 8 * size)), size);
	return true;
}

/* A random operation of the domain, but whether it is verified; false: there is none. */
static bool plan_any(struct player *p, struct domain *d, struct plan *plan, bool sync)
{
	struct region *hosts[] = { &d->own, &d->registered, &d->pageable };
	struct region *host = hosts[below(p, sync ? 3 : 2)], *block = some_block(p, d, NULL);
	u64 what = below(p, 10);
	u32 dir;

	if (!block)
		return false;
	*plan = (struct plan){ .to = block };
	if (what < 2)
		return plan_fill(p, plan);
	if (what < 5) {
		dir = PACCEL_COPY_H2D;
		plan->from = host;
	} else if (what < 8) {
		dir = PACCEL_COPY_D2H;
		plan->from = block;
		plan->to = host;
	} else {
		dir = PACCEL_COPY_D2D;
		plan->from = some_block(p, d, block);
		if (!plan->from)
			return false;
	}
	two_rects(p, plan->to, &plan->rt, plan->from, &plan->rf);
	plan->op = op_rows(dir, place(plan->to) + plan->rt.at, place(plan->from) + plan->rf.at,
			   (struct copy_2d){ plan->rt.width, plan->rt.rows,
					     plan->rt.rows > 1 ? plan->rt.pitch : 0,
					     plan->rt.rows > 1 ? plan->rf.pitch : 0 });
	return true;
}

static bool plan_op(struct player *p, struct domain *d, struct plan *plan, bool sync)
{
	if (!plan_any(p, d, plan, sync))
		return false;
	plan->verified = !below(p, all->wrong_bits ? VERIFIED_MOSTLY : VERIFIED);
	if (plan->verified)
		plan->op.flags |= PACCEL_OP_VERIFY;
	return true;
}

/* As if it had been done. What may have wrong bits that nobody was told of is not known. */
static void plan_model(struct plan *plan)
{
	if (plan->from)
		model_copy(plan->to, plan->rt, plan->from, plan->rf);
	else
		model_fill(plan->to, plan->rt.at, plan->rt.width, plan->op.fill.pattern,
			   plan->op.fill.pattern_size);
	if (all->wrong_bits && !plan->verified)
		model_forget(plan->to, plan->rt);
}

/* It went well, so this is what it should be. */
static void look_at(struct player *p, struct region *r, struct rect rect)
{
	for (u64 row = 0; row < rect.rows; row++) {
		u64 at = rect.at + row * rect.pitch;
		long diff = model_diff(r, at, rect.width, r->host + at);

		p->score->compared += rect.width && r->known[at];
		if (diff >= 0)
			WRONG(p, "byte %llu of %llu + %llu: %02x instead of %02x",
			      (unsigned long long)diff, (unsigned long long)at,
			      (unsigned long long)rect.width, r->host[at + diff],
			      r->shadow[at + diff]);
	}
}

/* The stream has drained: what was submitted from the point that has failed on is not known. */
static void settle(struct player *p, struct domain *d)
{
	u64 failed = NOT_SUBMITTED, start = now_ms();
	struct paccel_stream_clear cleared = {};
	int error = outcome(p->fd, d->stream, d->last);

	if (now_ms() - start > PATIENT_MS)
		WRONG(p, "a stream took %llu ms", (unsigned long long)(now_ms() - start));
	if (_test_cmd_stream_clear(p->fd, d->stream, &cleared))
		WRONG(p, "a stream cannot be cleared");
	if (cleared.error) {
		failed = cleared.failed_point;
		p->score->failed++;
		p->score->corrupt += cleared.error == -EBADMSG;
		if (!allowed(cleared.error))
			WRONG(p, "error %d", cleared.error);
	}
	if (error != (cleared.error ? failed == d->last ? cleared.error : -ECANCELED : 0))
		WRONG(p, "the last point says %d, the stream %d", error, cleared.error);
	for (int i = 0; i < d->nr; i++) {
		struct pending *q = &d->pending[i];

		if (q->point >= failed && q->serial == q->to->serial)
			model_forget(q->to, q->rect);
	}
	for (int i = 0; i < d->nr; i++)
		if (d->pending[i].to->host)
			look_at(p, d->pending[i].to, d->pending[i].rect);
	d->nr = 0;
}

static void do_batch(struct player *p, struct domain *d)
{
	int wanted = 1 + below(p, below(p, 2) ? BATCH : 8), n = 0, first;
	struct paccel_op ops[BATCH];
	struct plan plan;
	s64 point;

	if (d->nr + wanted > MAX_PENDING)
		settle(p, d);
	first = d->nr;
	while (n < wanted && plan_op(p, d, &plan, false)) {
		plan_model(&plan);
		ops[n++] = plan.op;
		d->pending[d->nr++] = (struct pending){
			.to = plan.to, .serial = plan.to->serial, .rect = plan.rt,
			.point = NOT_SUBMITTED,
		};
	}
	if (!n)
		return;
	point = _test_cmd_submit(p->fd, d->stream, ops, n);
	if (point > 0) {
		d->last = point;
		for (int i = first; i < d->nr; i++)
			d->pending[i].point = point;
		p->score->ops += n;
		return;
	}
	if (!allowed(point) && !(point == -ECANCELED && allowed(-EIO)))
		WRONG(p, "SUBMIT says %lld", (long long)point);
	settle(p, d);
}

/* The same as a call of its own. */
static int call_op(int fd, const struct paccel_op *op, bool verified)
{
	struct paccel_copy copy = {
		.size = sizeof(copy), .flags = verified ? PACCEL_COPY_VERIFY : 0,
		.dir = op->copy.dir, .dst = op->copy.dst, .src = op->copy.src,
		.width = op->copy.width, .rows = op->copy.rows,
		.dst_pitch = op->copy.dst_pitch, .src_pitch = op->copy.src_pitch,
	};
	struct paccel_fill fill = {
		.size = sizeof(fill), .flags = verified ? PACCEL_FILL_VERIFY : 0,
		.addr = op->fill.addr, .length = op->fill.length, .pattern = op->fill.pattern,
		.pattern_size = op->fill.pattern_size,
	};

	return op->op == PACCEL_OP_COPY ? paccel_call(fd, PACCEL_IOC_COPY, &copy) :
					  paccel_call(fd, PACCEL_IOC_FILL, &fill);
}

static void do_sync(struct player *p, struct domain *d)
{
	u64 start = now_ms();
	struct plan plan;
	int rc;

	settle(p, d);
	if (!plan_op(p, d, &plan, true))
		return;
	rc = call_op(p->fd, &plan.op, plan.verified);
	if (now_ms() - start > PATIENT_MS)
		WRONG(p, "a call took %llu ms", (unsigned long long)(now_ms() - start));
	p->score->ops++;
	plan_model(&plan);
	if (rc) {
		p->score->failed++;
		p->score->corrupt += rc == -EBADMSG;
		if (!allowed(rc) || (rc == -EBADMSG && !plan.verified))
			WRONG(p, "a call says %d", rc);
		model_forget(plan.to, plan.rt);
	} else if (plan.to->host) {
		look_at(p, plan.to, plan.rt);
	}
}

/* --- memory -------------------------------------------------------------- */

static void region_model(struct region *r, u64 length)
{
	r->shadow = realloc(r->shadow, length);
	r->known = realloc(r->known, length);
	if (!r->shadow || !r->known)
		abort();
	r->length = length;
}

/* The program writes some of its memory, of which nothing is in use now. */
static void scribble(struct player *p, struct region *r)
{
	u64 length = some_length(p, 65536), at = below(p, r->length - length + 1), x = next(p);

	for (u64 i = 0; i < length; i++) {
		if (i % 8 == 0)
			x = x * 6364136223846793005 + 1442695040888963407;
		r->shadow[at + i] = x >> (i % 8 * 8);
	}
	memcpy(r->host + at, r->shadow + at, length);
	memset(r->known + at, 1, length);
}

static void do_alloc(struct player *p, struct domain *d)
{
	struct region *r = &d->blocks[below(p, BLOCKS)];
	u64 length = some_length(p, 2ull << 20);
	int rc;

	if (r->length) {
		/* What is queued still runs. */
		rc = _test_cmd_mem_free(p->fd, r->dev, r->length);
		if (rc)
			WRONG(p, "MEM_FREE says %d", rc);
		p->used -= r->length;
		r->length = 0;
		r->serial = ++p->serial;
		return;
	}
	if (!below(p, 3))
		length = (length | 4095) + 1;
	if (p->used + length > SHARE)
		return;
	rc = _test_cmd_mem_alloc(p->fd, length, 1ull << below(p, 14), &r->dev);
	if (rc == -ENOMEM || allowed(rc))
		return;
	if (rc)
		WRONG(p, "MEM_ALLOC says %d", rc);
	p->score->allocs++;
	p->used += length;
	region_model(r, length);
	memset(r->shadow, 0, length);
	/* Scrubbing is not verified here, either. */
	memset(r->known, !all->wrong_bits, length);
	r->serial = ++p->serial;
}

static void player_open(struct player *p)
{
	p->fd = card_open();
	if (p->fd < 0)
		WRONG(p, "no card");
	for (int i = 0; i < DOMAINS; i++) {
		struct domain *d = &p->domains[i];
		struct region *hosts[] = { &d->own, &d->registered, &d->pageable };

		d->stream = stream_create(p->fd);
		d->own.host = own_memory(p->fd, HOST_BYTES);
		d->registered.host = map_pages(HOST_BYTES / page_size);
		d->pageable.host = map_pages(HOST_BYTES / page_size);
		if (d->stream < 0 || !d->own.host ||
		    _test_cmd_host_register(p->fd, d->registered.host + 5, HOST_BYTES - 100, 0))
			WRONG(p, "cannot begin");
		d->registered.host += 5;
		for (int h = 0; h < 3; h++) {
			region_model(hosts[h], HOST_BYTES - 100);
			memset(hosts[h]->shadow, 0, hosts[h]->length);
			memset(hosts[h]->known, 1, hosts[h]->length);
			scribble(p, hosts[h]);
		}
	}
}

/* Everything, once more, on a card that is well. */
static void player_end(struct player *p)
{
	u8 *got = malloc(HOST_BYTES + 4096);

	for (int i = 0; i < DOMAINS; i++) {
		struct domain *d = &p->domains[i];

		settle(p, d);
		for (struct region *r = d->blocks; r < d->blocks + BLOCKS; r++) {
			if (!r->length)
				continue;
			if (_test_cmd_copy_d2h(p->fd, got, r->dev, r->length))
				WRONG(p, "the last copy fails");
			if (model_diff(r, 0, r->length, got) >= 0)
				WRONG(p, "a wrong byte at the end, of %llu",
				      (unsigned long long)r->length);
			if (_test_cmd_mem_free(p->fd, r->dev, r->length))
				WRONG(p, "the last free fails");
		}
		look_at(p, &d->own, (struct rect){ 0, d->own.length, 1, 0 });
		look_at(p, &d->registered, (struct rect){ 0, d->registered.length, 1, 0 });
		look_at(p, &d->pageable, (struct rect){ 0, d->pageable.length, 1, 0 });
		munmap(d->own.host, HOST_BYTES);
		if (_test_cmd_host_free(p->fd, d->own.host, 0) ||
		    _test_cmd_host_free(p->fd, d->registered.host, 0) ||
		    _test_cmd_stream_destroy(p->fd, d->stream))
			WRONG(p, "cannot end");
	}
	if (!WAIT_FOR(locked_kb() == 0, 5000))
		WRONG(p, "%ld kB are still locked", locked_kb());
	close(p->fd);
	free(got);
}

static void turn(struct player *p)
{
	struct domain *d = &p->domains[below(p, DOMAINS)];
	u64 what = below(p, 100);

	__atomic_add_fetch(&p->score->beats, 1, __ATOMIC_RELAXED);
	if (what < 55) {
		do_batch(p, d);
	} else if (what < 65) {
		settle(p, d);
		scribble(p, &d->own);
		scribble(p, &d->registered);
		scribble(p, &d->pageable);
	} else if (what < 85) {
		do_sync(p, d);
	} else {
		do_alloc(p, d);
	}
}


struct job {
	int number;
	struct line line;
};

static int player_main(void *arg)
{
	struct job *job = arg;
	struct player *p = calloc(1, sizeof(*p));

	close(job->line.fd[0]);
	p->score = &all->score[job->number];
	p->random = p->score->seed * 0x9e3779b97f4a7c15 + 1;
	player_open(p);
	while (all->ops ? p->score->ops < all->ops : !all->stop)
		turn(p);
	for (int i = 0; i < DOMAINS; i++)
		settle(p, &p->domains[i]);
	say(&job->line, 1);
	/* Others may still play for a long time; the parent ends a game that has come to a stop. */
	CHILD_CHECK(hear_some_day(&job->line, 1));
	player_end(p);
	return 0;
}

/* --- the game ------------------------------------------------------------ */

FIXTURE(storm) {
	int fd;
	u32 seed;
	u64 pinned;
	char old_watchdog[16];
	struct job jobs[PLAYERS];
	pid_t pids[PLAYERS];
};

static u64 number(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

FIXTURE_SETUP(storm)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(sizeof(self->seed), getrandom(&self->seed, sizeof(self->seed), 0));
	self->seed = number("PACCEL_SEED", self->seed);
	printf("# PACCEL_SEED=%u\n", self->seed);
	fflush(stdout);
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	card_behave();
	ASSERT_TRUE(card_settle(self->fd));
	self->pinned = pins();
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, all);
}

FIXTURE_TEARDOWN(storm)
{
	for (int i = 0; i < PLAYERS; i++)
		if (self->pids[i] > 0)
			kill(self->pids[i], SIGKILL);
	card_behave();
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	close(self->fd);
}

typedef FIXTURE_DATA(storm) Storm;

static void players_start(Storm *self)
{
	for (int i = 0; i < PLAYERS; i++) {
		struct job *job = &self->jobs[i];

		all->score[i].seed = self->seed + i;
		*job = (struct job){ i, line_open() };
		self->pids[i] = spawn(player_main, job);
		close(job->line.fd[1]);
	}
}

/* One of them has done nothing for too long, or has found something. */
static int trouble(u64 beats[PLAYERS], u64 when[PLAYERS])
{
	for (int i = 0; i < PLAYERS; i++) {
		u64 now = __atomic_load_n(&all->score[i].beats, __ATOMIC_RELAXED);

		if (all->score[i].line)
			return all->score[i].line;
		if (now != beats[i] || !when[i]) {
			beats[i] = now;
			when[i] = now_ms();
		} else if (now_ms() - when[i] > 2 * PATIENT_MS) {
			return -1;
		}
	}
	return 0;
}

static bool heard(struct job *job)
{
	struct pollfd pollfd = { .fd = job->line.fd[0], .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

static bool all_heard(Storm *self)
{
	for (int i = 0; i < PLAYERS; i++)
		if (!heard(&self->jobs[i]))
			return false;
	return true;
}

static bool all_play(void)
{
	for (int i = 0; i < PLAYERS; i++)
		if (!__atomic_load_n(&all->score[i].beats, __ATOMIC_RELAXED))
			return false;
	return true;
}

/*
 * Returns whether the faults that were ordered have been found: a verified copy with -EBADMSG if bits are wrong,
 * else a timeout, an unexpected completion and a reset of an engine.
 */
static bool has_met_all(const struct counts *before)
{
	struct counts now = counts_now();
	bool met = false;

	if (!all->wrong_bits)
		return now.timeouts > before->timeouts && now.bogus > before->bogus &&
		       now.engine_resets > before->engine_resets;
	for (int i = 0; i < PLAYERS; i++)
		met |= __atomic_load_n(&all->score[i].corrupt, __ATOMIC_RELAXED) > 0;
	return met;
}

/*
 * Until all have played their part; or so many seconds, and longer if a slow machine has not met each kind of
 * failure until then. A card that has been given up is reset.
 */
static int watch(Storm *self, u64 seconds)
{
	struct counts before = counts_now();
	u64 beats[PLAYERS] = {}, when[PLAYERS] = {}, end = 0;
	int wrong = 0, resets = 0;

	while (!wrong && !all_heard(self)) {
		usleep(50000);
		if (!end && all_play())
			end = now_ms() + seconds * 1000;
		if (all->faults && end && now_ms() > end && has_met_all(&before))
			all->stop = true;
		if (all->faults && card_health_is("failed") && !_test_cmd_reset(self->fd))
			resets++;
		if (!all->stop && !all_heard(self))
			wrong = trouble(beats, when);
	}
	if (resets)
		printf("# given up and reset %d times\n", resets);
	return wrong;
}

/* The card behaves: all that is known is there, and nothing is left. */
static void game_over(struct __test_metadata *_metadata, Storm *self)
{
	u64 total = info_of(self->fd).mem_size, sum[5] = {}, mem;
	u8 *got = map_pages(total / page_size);

	if (all->faults)
		test_cmd_reset(self->fd);
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	/* No device hangs from here on, but a busy host may keep its process waiting. */
	ASSERT_TRUE(watchdog_set(60000));
	all->calm = true;
	for (int i = 0; i < PLAYERS; i++) {
		say(&self->jobs[i].line, 0);
		EXPECT_EQ(0, reap_within(self->pids[i], 60000 * slow_factor()));
		self->pids[i] = 0;
		sum[0] += all->score[i].ops;
		sum[1] += all->score[i].failed;
		sum[2] += all->score[i].allocs;
		sum[3] += all->score[i].corrupt;
		sum[4] += all->score[i].compared;
	}
	printf("# %llu operations, %llu times a failure, %llu times wrong bits, %llu allocations, "
	       "%llu rows compared\n", (unsigned long long)sum[0], (unsigned long long)sum[1],
	       (unsigned long long)sum[3], (unsigned long long)sum[2], (unsigned long long)sum[4]);
	EXPECT_LT(0, sum[4]);
	EXPECT_EQ(all->wrong_bits, sum[3] > 0);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 10000));
	EXPECT_TRUE(WAIT_FOR(pins() == self->pinned, 10000))
		TH_LOG("%ld", (long)(pins() - self->pinned));
	if (scrub_is_on() && !all->wrong_bits) {
		test_cmd_mem_alloc(self->fd, total, 0, &mem);
		memset(got, 0xff, total);
		test_cmd_copy_d2h(self->fd, got, mem, total);
		EXPECT_TRUE(!got[0] && !memcmp(got, got + 1, total - 1));
		test_cmd_mem_free(self->fd, mem, total);
	}
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
}

/* As long as somebody asks for. */
#define LONG 3600

TEST_F_TIMEOUT(storm, fair_weather, LONG)
{
	struct counts before = counts_now(), now;
	u64 corrupt = card_counter("corrupt");

	/* Not on a machine that has other things to do. */
	ASSERT_TRUE(watchdog_set(60000));
	all->ops = number("PACCEL_OPS", OPS / (slow_factor() > 1 ? 10 : 1)) / PLAYERS;
	players_start(self);
	ASSERT_EQ(0, watch(self, 0)) TH_LOG("a line of this program, or nothing has happened");
	game_over(_metadata, self);
	now = counts_now();
	EXPECT_EQ(0, memcmp(&before, &now, sizeof(now)));
	EXPECT_EQ(corrupt, card_counter("corrupt"));
}

TEST_F_TIMEOUT(storm, all_kinds, LONG)
{
	u64 seconds = number("PACCEL_SECONDS", slow_factor() > 1 ? SECONDS / 10 : SECONDS);
	struct counts b = counts_now(), n;

	all->faults = true;
	ASSERT_TRUE(watchdog_set(STORM_WATCHDOG_MS));
	players_start(self);
	ASSERT_EQ(0, ring_order("storm every=%lu seed=%u", number("PACCEL_EVERY", STORM_EVERY),
				self->seed));
	ASSERT_EQ(0, watch(self, seconds)) TH_LOG("a line of this program, or nothing has happened");
	ASSERT_EQ(0, ring_order("clear"));
	game_over(_metadata, self);
	n = counts_now();
	printf("# timeouts %llu, lost_irqs %llu, bogus %llu, engine_resets %llu, resets %llu\n",
	       (unsigned long long)(n.timeouts - b.timeouts),
	       (unsigned long long)(n.lost_irqs - b.lost_irqs),
	       (unsigned long long)(n.bogus - b.bogus),
	       (unsigned long long)(n.engine_resets - b.engine_resets),
	       (unsigned long long)(n.resets - b.resets));
	EXPECT_LT(b.timeouts, n.timeouts);
	EXPECT_LT(b.bogus, n.bogus);
	EXPECT_LT(b.engine_resets, n.engine_resets);
}

/*
 * Bits are wrong, too, and engines hang meanwhile and are reset. What was verified and has ended
 * well is right, in host memory at once and in the card at the end.
 */
TEST_F_TIMEOUT(storm, wrong_bits, LONG)
{
	u64 seconds = number("PACCEL_SECONDS", slow_factor() > 1 ? SECONDS / 10 : SECONDS) / 3;
	u64 corrupt = card_counter("corrupt");

	all->faults = true;
	all->wrong_bits = true;
	ASSERT_TRUE(watchdog_set(STORM_WATCHDOG_MS));
	players_start(self);
	ASSERT_EQ(0, ring_order("storm every=%lu kinds=corrupt,fail,stall,twice,wrong-length seed=%u",
				number("PACCEL_EVERY", STORM_EVERY / 3), self->seed));
	ASSERT_EQ(0, watch(self, seconds)) TH_LOG("a line of this program, or nothing has happened");
	ASSERT_EQ(0, ring_order("clear"));
	game_over(_metadata, self);
	EXPECT_LT(corrupt, card_counter("corrupt"));
}

/* --- none is lost -------------------------------------------------------- */

#define MANY_STREAMS 4

/* Every cell goes up and comes down again, by copies of 8 bytes in batches. */
static void many(struct __test_metadata *_metadata, Storm *self, int streams)
{
	u64 cells = OPS / 2 / (slow_factor() > 1 ? 10 : 1), mem, length = cells * 8, n = 0;
	volatile u64 *up = own_memory(self->fd, length), *down = own_memory(self->fd, length);
	s64 last[MANY_STREAMS] = {};
	int stream[MANY_STREAMS];

	ASSERT_TRUE(up && down);
	test_cmd_mem_alloc(self->fd, length, 0, &mem);
	for (int i = 0; i < streams; i++)
		test_cmd_stream_create(self->fd, &stream[i]);
	for (u64 i = 0; i < cells; i++)
		up[i] = i + 1;
	while (n < cells) {
		struct paccel_op ops[BATCH];
		int s = n / (BATCH / 2) % streams, k = 0;

		for (; k < BATCH && n < cells; n++) {
			ops[k++] = op_h2d(mem + n * 8, &up[n], 8);
			ops[k++] = op_d2h(&down[n], mem + n * 8, 8);
		}
		ASSERT_EQ(last[s] + 1, _test_cmd_submit(self->fd, stream[s], ops, k));
		last[s]++;
	}
	/* One batch after the other: the time limit is for one. */
	for (int i = 0; i < streams; i++)
		for (s64 batch = 1; batch <= last[i]; batch++)
			ASSERT_EQ(0, outcome(self->fd, stream[i], batch));
	for (u64 i = 0; i < cells; i++)
		ASSERT_EQ(i + 1, down[i]);
	test_cmd_mem_free(self->fd, mem, length);
	munmap((void *)up, length);
	munmap((void *)down, length);
	EXPECT_EQ(0, _test_cmd_host_free(self->fd, (void *)up, 0));
	EXPECT_EQ(0, _test_cmd_host_free(self->fd, (void *)down, 0));
}

TEST_F(storm, many_copies_in_one_stream)
{
	many(_metadata, self, 1);
}

TEST_F(storm, many_copies_in_streams)
{
	many(_metadata, self, MANY_STREAMS);
}

PACCEL_TEST_MAIN
