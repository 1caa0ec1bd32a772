// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory: allocation of ranges, and scrubbing of freed ranges before they are reused.
 *
 * The genalloc pool owns the space. An allocation is one gen_pool_alloc_algo(), whose algorithm
 * takes the best fit from an index of the free ranges (pool_index.c). A range that is freed stays
 * allocated in the genalloc pool until it has been scrubbed. A range keeps its struct paccel_buf
 * all the time, so that freeing allocates nothing.
 */
#include <linux/bitmap.h>
#include <linux/log2.h>
#include <linux/paccel.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/device.h"
#include "core/module.h"
#include "mem/pool.h"
#include "mem/pool_index.h"

/* Largest piece in bytes that is scrubbed at once, and so quarantined or made free at once. */
#define POOL_SCRUB_BYTES	SZ_4M
/*
 * Most ranges in pool->scrubbing, over which scrub_work() walks. Those of other engines stay in it
 * while the engine of the first one hangs.
 */
#define POOL_SCRUB_PIECES	64
/* A piece whose scrubbing has failed this number of times is not scrubbed again before a RESET. */
#define POOL_SCRUB_FAILURES	2
/*
 * After this number of consecutive pieces that timed out, nothing is scrubbed before a RESET: each
 * of them costs watchdog_ms and a reset.
 */
#define POOL_SCRUB_HANGS	4

/**
 * struct pool_request - an allocation that is being made
 * @user: the user that is charged
 * @size: bytes, whole granules
 * @order: log2 of the alignment in granules
 * @spare: unused bufs; NULL once they are used
 * @buf: the allocation, if @ret is 0
 * @ret: 0 or -errno
 * @node: in pool->waiting while it waits for scrubbing
 * @answered: @ret is set
 */
struct pool_request {
	struct paccel_user *user;
	u64 size;
	unsigned int order;
	struct paccel_buf *spare[2];
	struct paccel_buf *buf;
	int ret;
	struct list_head node;
	struct completion answered;
};

/**
 * struct pool_search - argument of pool_best_fit()
 * @pool: the pool
 * @order: log2 of the alignment in granules
 * @range: the free range that the allocation is cut from; NULL: to be found
 */
struct pool_search {
	struct paccel_pool *pool;
	unsigned int order;
	struct pool_range *range;
};

static struct paccel_buf *to_buf(struct pool_range *range)
{
	return range ? container_of(range, struct paccel_buf, range) : NULL;
}

static u32 pool_granule(const struct paccel_pool *pool, u64 addr)
{
	return (addr - PACCEL_MEM_BASE) >> pool->shift;
}

static u64 buf_end(const struct paccel_buf *buf)
{
	return buf->start + buf->size;
}

/* --- ranges; pool->lock is held --- */

/*
 * Returns whether the ranges are adjacent and together not larger than a piece. A range whose
 * scrubbing has failed is not joined, so that only its own bytes are quarantined.
 */
static bool buf_can_join(const struct paccel_buf *a, const struct paccel_buf *b)
{
	return (buf_end(a) == b->start || buf_end(b) == a->start) &&
	       a->size + b->size <= POOL_SCRUB_BYTES && !a->failures && !b->failures;
}

static bool buf_state_indexed(enum paccel_buf_state state)
{
	return state == PACCEL_BUF_DIRTY || state == PACCEL_BUF_SCRUBBING ||
	       state == PACCEL_BUF_FREE;
}

static void buf_add(struct paccel_pool *pool, struct paccel_buf *buf)
{
	buf->range.first = pool_granule(pool, buf->start);
	buf->range.end = pool_granule(pool, buf_end(buf));
	buf->range.free = buf->state == PACCEL_BUF_FREE;
	pool_index_add(&pool->index, &buf->range);
}

/* Moves the bytes of a range that is dissolved, or changes its state in place, to @state. */
static void buf_count(struct paccel_pool *pool, struct paccel_buf *buf,
		      enum paccel_buf_state state)
{
	lockdep_assert_held(&pool->lock);
	pool->bytes[buf->state] -= buf->size;
	pool->bytes[state] += buf->size;
}

/* A dirty range goes to the end of the queue. */
static void buf_set_state(struct paccel_pool *pool, struct paccel_buf *buf,
			  enum paccel_buf_state state)
{
	enum paccel_buf_state old = buf->state;

	buf_count(pool, buf, state);
	buf->state = state;
	if (old != PACCEL_BUF_USED && old != PACCEL_BUF_FREE)
		list_del(&buf->range.list);
	if (buf_state_indexed(old) && !buf_state_indexed(state))
		pool_index_remove(&pool->index, &buf->range);
	else if (!buf_state_indexed(old) && buf_state_indexed(state))
		buf_add(pool, buf);
	if (state == PACCEL_BUF_DIRTY)
		list_add_tail(&buf->range.list, &pool->dirty);
	else if (state == PACCEL_BUF_SCRUBBING)
		list_add_tail(&buf->range.list, &pool->scrubbing);
	else if (state == PACCEL_BUF_QUARANTINED)
		list_add_tail(&buf->range.list, &pool->quarantined);
}

/* The new range overlaps no other of the index. The caller counts the bytes. */
static void buf_resize(struct paccel_pool *pool, struct paccel_buf *buf, u64 start, u64 end)
{
	buf->start = start;
	buf->size = end - start;
	pool_index_resize(&pool->index, &buf->range, pool_granule(pool, start),
			  pool_granule(pool, end));
}

/* Ends a range whose bytes become a neighbour's. The caller counts them. */
static void buf_dissolve(struct paccel_pool *pool, struct paccel_buf *buf)
{
	if (buf_state_indexed(buf->state))
		pool_index_remove(&pool->index, &buf->range);
	if (buf->state == PACCEL_BUF_DIRTY)
		list_del(&buf->range.list);
	kfree(buf);
}

/* A range that is clean becomes free, together with its free neighbours. */
static void buf_make_free(struct paccel_pool *pool, struct paccel_buf *buf)
{
	struct paccel_buf *prev, *next;

	gen_pool_free(pool->gen, buf->start, buf->size);
	buf_count(pool, buf, PACCEL_BUF_FREE);
	if (buf->state == PACCEL_BUF_SCRUBBING) {
		pool_index_remove(&pool->index, &buf->range);
		list_del(&buf->range.list);
	}
	prev = to_buf(pool_index_before(&pool->index, pool_granule(pool, buf->start)));
	next = to_buf(pool_index_at(&pool->index, pool_granule(pool, buf_end(buf))));
	if (next && next->state == PACCEL_BUF_FREE) {
		buf->size += next->size;
		buf_dissolve(pool, next);
	}
	if (prev && prev->state == PACCEL_BUF_FREE && buf_end(prev) == buf->start) {
		buf->start = prev->start;
		buf->size += prev->size;
		buf_dissolve(pool, prev);
	}
	buf->state = PACCEL_BUF_FREE;
	buf->failures = 0;
	buf_add(pool, buf);
}

/*
 * A range becomes dirty. If it is adjacent to the range that was freed last, the two are joined, up
 * to the length of a piece.
 */
static void buf_make_dirty(struct paccel_pool *pool, struct paccel_buf *buf)
{
	struct paccel_buf *last = list_empty(&pool->dirty) ? NULL :
				  list_last_entry(&pool->dirty, struct paccel_buf, range.list);

	if (!last || !buf_can_join(last, buf)) {
		buf_set_state(pool, buf, PACCEL_BUF_DIRTY);
		return;
	}
	buf_count(pool, buf, PACCEL_BUF_DIRTY);
	buf_resize(pool, last, min(last->start, buf->start), max(buf_end(last), buf_end(buf)));
	buf_dissolve(pool, buf);
}

/* --- allocation; pool->lock is held --- */

/* Returns the best fit, unless its place is kept for the first request that waits, or NULL. */
static struct pool_range *pool_find(struct paccel_pool *pool, u32 nr, unsigned int order)
{
	struct pool_range *range = pool_index_best_fit(&pool->index, nr, order);
	u32 at = range ? pool_range_place(range, order) : 0;

	return at < pool->kept_end && at + nr > pool->kept_first ? NULL : range;
}

/* A genpool_algo_t: best fit, at the lowest address among equals, with alignment. */
static unsigned long pool_best_fit(unsigned long *map, unsigned long size, unsigned long start,
				   unsigned int nr, void *data, struct gen_pool *gen,
				   unsigned long start_addr)
{
	struct pool_search *search = data;
	unsigned long at;

	if (!search->range)
		search->range = pool_find(search->pool, nr, search->order);
	if (!search->range)
		return size;
	at = pool_range_place(search->range, search->order);
	/* The bitmap has the last word: no byte has two owners. */
	return WARN_ON_ONCE(find_next_bit(map, at + nr, at) < at + nr) ? size : at;
}

/* Takes [@at, @at + @size) from the free range @buf. The allocation has no reference yet. */
static struct paccel_buf *buf_carve(struct paccel_pool *pool, struct paccel_buf *buf, u64 at,
				    u64 size, struct paccel_buf *spare[2])
{
	u64 start = buf->start, end = buf_end(buf);
	struct paccel_buf *part = spare[1];

	if (buf->size == size) {
		buf_set_state(pool, buf, PACCEL_BUF_USED);
		return buf;
	}
	spare[1] = NULL;
	part->start = at;
	part->size = size;
	part->state = PACCEL_BUF_USED;
	pool->bytes[PACCEL_BUF_FREE] -= size;
	pool->bytes[PACCEL_BUF_USED] += size;
	if (at == start) {
		buf_resize(pool, buf, at + size, end);
		return part;
	}
	buf_resize(pool, buf, start, at);
	if (at + size == end)
		return part;
	spare[0]->start = at + size;
	spare[0]->size = end - (at + size);
	spare[0]->state = PACCEL_BUF_FREE;
	buf_add(pool, spare[0]);
	spare[0] = NULL;
	return part;
}

/* Checks everything except whether there is free memory. */
static int pool_check(struct paccel_device *pd, struct paccel_user *user, u64 size)
{
	u64 max = pd->pool->max_user_bytes;

	if (paccel_gone(pd))
		return -ENODEV;
	if (READ_ONCE(pd->state) == PACCEL_FAILED)
		return -EIO;
	if (max && (user->used > max || size > max - user->used))
		return -EDQUOT;
	return size > pd->hw.info.mem_size ? -ENOMEM : 0;
}

/*
 * Returns the error of a request that does not fit. -EBUSY: it will fit when dirty memory has been
 * scrubbed. A place is kept for the first such request.
 */
static int pool_no_room(struct paccel_pool *pool, u32 len, unsigned int order)
{
	u64 dirty = pool->bytes[PACCEL_BUF_DIRTY] + pool->bytes[PACCEL_BUF_SCRUBBING];
	u32 at;

	if ((!dirty && !pool->kept_end) || pool->scrub_hangs >= POOL_SCRUB_HANGS ||
	    !pool_index_find_run(&pool->index, len, order, &at))
		return -ENOMEM;
	if (!pool->kept_end) {
		pool->kept_first = at;
		pool->kept_end = at + len;
	}
	return -EBUSY;
}

/* Returns whether the request is new and two others wait: the second of them has no place. */
static bool pool_must_queue(struct paccel_pool *pool, struct pool_request *request)
{
	return list_empty(&request->node) && !list_empty(&pool->waiting) &&
	       !list_is_singular(&pool->waiting);
}

/* Returns 0 with the allocation in @request->buf, or an error; -EBUSY: see pool_no_room(). */
static int pool_try(struct paccel_device *pd, struct pool_request *request)
{
	struct paccel_user *user = request->user;
	struct paccel_pool *pool = pd->pool;
	struct pool_search search = { .pool = pool, .order = request->order };
	int ret = pool_check(pd, user, request->size);
	struct paccel_buf *buf;
	u64 at = 0;

	lockdep_assert_held(&pool->lock);
	if (ret)
		return ret;
	if (!pool_must_queue(pool, request))
		at = gen_pool_alloc_algo(pool->gen, request->size, pool_best_fit, &search);
	if (!search.range)
		return pool_no_room(pool, request->size >> pool->shift, request->order);
	if (!at)
		return -EIO;
	buf = buf_carve(pool, to_buf(search.range), at, request->size, request->spare);
	kref_init(&buf->ref);
	buf->generation = pool->generation;
	buf->user = user;
	buf->pd = pd;
	get_device(&pd->dev);
	user->used += buf->size;
	request->buf = buf;
	return 0;
}

/*
 * Completes waiting requests in the order of arrival: those that fit now, those that will never
 * fit, and all if the device is gone or out of service. The first that keeps waiting gets a place
 * that the others do not use. The second that keeps waiting ends the loop, so that later requests
 * do not take its memory.
 */
static void pool_answer(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;
	struct pool_request *request, *next;

	pool->kept_first = 0;
	pool->kept_end = 0;
	list_for_each_entry_safe(request, next, &pool->waiting, node) {
		request->ret = pool_try(pd, request);
		if (request->ret != -EBUSY) {
			list_del_init(&request->node);
			complete(&request->answered);
		} else if (!list_is_first(&request->node, &pool->waiting)) {
			return;
		}
	}
}

/* Drops pool->lock while it waits. */
static int pool_wait(struct paccel_device *pd, struct pool_request *request)
{
	struct paccel_pool *pool = pd->pool;

	list_add_tail(&request->node, &pool->waiting);
	/* More engines may scrub now. */
	queue_work(paccel_wq, &pool->scrub_work);
	mutex_unlock(&pool->lock);
	wait_for_completion_state(&request->answered, TASK_KILLABLE | TASK_FREEZABLE);
	mutex_lock(&pool->lock);
	if (list_empty(&request->node))
		return request->ret;
	/* A fatal signal came first. */
	list_del(&request->node);
	pool_answer(pd);
	return -EINTR;
}

/*
 * The index does not know larger orders. They exist where device memory has so few granules that
 * only the first one is aligned, to the largest order of the index as to any larger one.
 */
static unsigned int pool_order(const struct paccel_pool *pool, u64 align)
{
	return min_t(unsigned int, ilog2(align) - pool->shift, POOL_ALIGN_ORDERS - 1);
}

int paccel_pool_alloc(struct paccel_device *pd, struct paccel_user *user, u64 length, u64 align,
		      struct paccel_buf **bufp)
{
	struct paccel_pool *pool = pd->pool;
	struct pool_request request = {
		.user = user,
		/* A length that is too large must not wrap when it is rounded up. */
		.size = length > pd->hw.info.mem_size ? length : ALIGN(length, pd->hw.info.granule),
		.order = pool_order(pool, max(align, pd->hw.info.granule)),
		.node = LIST_HEAD_INIT(request.node),
		.answered = COMPLETION_INITIALIZER_ONSTACK(request.answered),
	};
	int ret = -ENOMEM;

	request.spare[1] = kzalloc(sizeof(*request.spare[1]), GFP_KERNEL_ACCOUNT);
	if (!request.spare[1])
		return -ENOMEM;
	if (request.order) {
		request.spare[0] = kzalloc(sizeof(*request.spare[0]), GFP_KERNEL_ACCOUNT);
		if (!request.spare[0])
			goto free_spare;
	}
	mutex_lock(&pool->lock);
	ret = pool_try(pd, &request);
	if (ret == -EBUSY)
		ret = pool_wait(pd, &request);
	mutex_unlock(&pool->lock);
	if (!ret) {
		request.buf->length = length;
		*bufp = request.buf;
	}
	kfree(request.spare[0]);
free_spare:
	kfree(request.spare[1]);
	return ret;
}

/* A user stays known while it has memory: jobs may hold some after its last file is closed. */
static void user_forget(struct paccel_user *user)
{
	if (user->files || user->used)
		return;
	list_del(&user->node);
	kfree(user);
}

static void buf_free(struct kref *ref)
{
	struct paccel_buf *buf = container_of(ref, struct paccel_buf, ref);
	struct paccel_device *pd = buf->pd;
	struct paccel_pool *pool = pd->pool;

	mutex_lock(&pool->lock);
	buf->user->used -= buf->size;
	user_forget(buf->user);
	if (paccel_scrub) {
		buf_make_dirty(pool, buf);
		queue_work(paccel_wq, &pool->scrub_work);
	} else {
		buf_make_free(pool, buf);
	}
	mutex_unlock(&pool->lock);
	put_device(&pd->dev);
}

/* May sleep, but never waits for the device. */
void paccel_buf_put(struct paccel_buf *buf)
{
	kref_put(&buf->ref, buf_free);
}

/* --- scrubbing --- */

void paccel_pool_scrubbed(struct paccel_device *pd, struct paccel_buf *buf, int error)
{
	buf->scrub_error = error;
	/* Pairs with scrub_work(). */
	smp_store_release(&buf->scrub_ended, true);
	queue_work(paccel_wq, &pd->pool->scrub_work);
}

/* A piece is tried twice: if the first fill has timed out, after the reset of the engine. */
static void scrub_failed(struct paccel_device *pd, struct paccel_buf *buf, int error)
{
	bool again = ++buf->failures < POOL_SCRUB_FAILURES;

	dev_warn_ratelimited(&pd->dev, "scrubbing %llu bytes failed (%d): %s\n", buf->size, error,
			     again ? "trying again" : "quarantined");
	buf_set_state(pd->pool, buf, again ? PACCEL_BUF_DIRTY : PACCEL_BUF_QUARANTINED);
	if (error == -ETIMEDOUT && ++pd->pool->scrub_hangs == POOL_SCRUB_HANGS)
		dev_err(&pd->dev, "%d scrubs in a row timed out: none is started until RESET\n",
			POOL_SCRUB_HANGS);
}

static void scrub_finish(struct paccel_device *pd, struct paccel_buf *buf)
{
	struct paccel_pool *pool = pd->pool;
	int error = buf->scrub_error;

	if (error == -ENODEV || error == -ESTALE || READ_ONCE(pd->state) == PACCEL_FAILED ||
	    buf->generation != pool->generation) {
		/* The device is gone, out of service, or has lost its memory since. */
		buf_set_state(pool, buf, PACCEL_BUF_DIRTY);
	} else if (error) {
		scrub_failed(pd, buf, error);
	} else {
		pool->scrub_hangs = 0;
		atomic64_add(buf->size, &pd->count.scrubbed);
		buf->clean = true;
	}
}

/*
 * Makes clean pieces free, in the order in which they were started: otherwise a request that waits
 * for pieces of several engines could be given the middle of a run, and the next one of its size
 * would not fit. Returns the number of pieces that remain.
 */
static unsigned int scrub_release(struct paccel_pool *pool)
{
	struct paccel_buf *buf, *next;
	unsigned int nr = 0;

	list_for_each_entry_safe(buf, next, &pool->scrubbing, range.list)
		if (nr || !buf->clean)
			nr++;
		else
			buf_make_free(pool, buf);
	return nr;
}

static bool buf_is_dirty(const struct paccel_buf *buf)
{
	return buf && buf->state == PACCEL_BUF_DIRTY;
}

/* Adds dirty neighbours to a dirty range, so that small ranges are scrubbed together. */
static void scrub_gather(struct paccel_pool *pool, struct paccel_buf *buf)
{
	struct paccel_buf *other;
	u64 start, end;

	for (;;) {
		other = to_buf(pool_index_next(&buf->range));
		if (!buf_is_dirty(other) || !buf_can_join(buf, other))
			other = to_buf(pool_index_prev(&buf->range));
		if (!buf_is_dirty(other) || !buf_can_join(buf, other))
			return;
		start = min(buf->start, other->start);
		end = max(buf_end(buf), buf_end(other));
		buf_dissolve(pool, other);
		buf_resize(pool, buf, start, end);
	}
}

/* Cuts the first @size bytes off a dirty range; they are the first to be scrubbed. */
static struct paccel_buf *scrub_cut(struct paccel_pool *pool, struct paccel_buf *buf, u64 size)
{
	struct paccel_buf *part = kzalloc(sizeof(*part), GFP_NOWAIT | __GFP_NOWARN);

	/* Scrubbing must not wait for memory: the whole range is scrubbed at once. */
	if (!part)
		return buf;
	part->start = buf->start;
	part->size = size;
	part->state = PACCEL_BUF_DIRTY;
	part->failures = buf->failures;
	buf_resize(pool, buf, buf->start + size, buf_end(buf));
	buf_add(pool, part);
	list_add(&part->range.list, &pool->dirty);
	return part;
}

/*
 * Starts scrubbing the range that has been dirty for longest, or a piece of it. Returns false if no
 * engine accepts the job. If the device is gone or out of service, the range stays dirty until a
 * reset.
 */
static bool scrub_start(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;
	struct paccel_buf *buf = list_first_entry(&pool->dirty, struct paccel_buf, range.list);
	u64 most = max_t(u64, POOL_SCRUB_BYTES, pd->hw.info.granule);

	scrub_gather(pool, buf);
	if (buf->size > most)
		buf = scrub_cut(pool, buf, most);
	buf->generation = pool->generation;
	buf->scrub_ended = false;
	buf->clean = false;
	if (pd->mem_ops->scrub(pd, buf, !list_empty(&pool->scrubbing)))
		return false;
	buf_set_state(pool, buf, PACCEL_BUF_SCRUBBING);
	return true;
}

/*
 * One piece is scrubbed at a time, so that copies find idle engines. If allocations wait, each idle
 * engine scrubs one.
 */
static bool scrub_may_start(const struct paccel_pool *pool)
{
	return !list_empty(&pool->dirty) && pool->scrub_hangs < POOL_SCRUB_HANGS &&
	       (list_empty(&pool->scrubbing) || !list_empty(&pool->waiting));
}

/* Starts and ends all scrubbing. */
static void scrub_work(struct work_struct *work)
{
	struct paccel_pool *pool = container_of(work, struct paccel_pool, scrub_work);
	struct paccel_device *pd = pool->pd;
	struct paccel_buf *buf, *next;
	unsigned int most, i;

	mutex_lock(&pool->lock);
	list_for_each_entry_safe(buf, next, &pool->scrubbing, range.list)
		/* Pairs with paccel_pool_scrubbed(). */
		if (!buf->clean && smp_load_acquire(&buf->scrub_ended))
			scrub_finish(pd, buf);
	most = min(pd->hw.info.engines, POOL_SCRUB_PIECES - scrub_release(pool));
	pool_answer(pd);
	for (i = 0; i < most && scrub_may_start(pool); i++)
		if (!scrub_start(pd))
			break;
	mutex_unlock(&pool->lock);
}

void paccel_pool_answer(struct paccel_device *pd)
{
	guard(mutex)(&pd->pool->lock);
	pool_answer(pd);
}

void paccel_pool_rescrub(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;
	struct paccel_buf *buf, *next;

	/* Pieces whose scrubbing was ended by the reset have failed before it. */
	flush_work(&pool->scrub_work);
	mutex_lock(&pool->lock);
	list_for_each_entry_safe(buf, next, &pool->quarantined, range.list) {
		buf->failures = 0;
		buf_set_state(pool, buf, PACCEL_BUF_DIRTY);
		cond_resched();
	}
	pool->scrub_hangs = 0;
	mutex_unlock(&pool->lock);
}

/* Makes all free ranges dirty. Returns -EIO if genalloc refuses one, which is quarantined. */
static int pool_make_dirty(struct paccel_pool *pool)
{
	struct pool_range *range, *next;
	struct paccel_buf *buf;
	int ret = 0;

	for (range = pool_index_first(&pool->index); range; range = next) {
		struct pool_search search = { .pool = pool, .range = range };

		next = pool_index_next(range);
		if (!range->free)
			continue;
		range->free = false;
		buf = to_buf(range);
		if (gen_pool_alloc_algo(pool->gen, buf->size, pool_best_fit, &search)) {
			buf_set_state(pool, buf, PACCEL_BUF_DIRTY);
		} else {
			buf_set_state(pool, buf, PACCEL_BUF_QUARANTINED);
			ret = -EIO;
		}
		cond_resched();
	}
	pool_index_set_none_free(&pool->index);
	return ret;
}

void paccel_pool_mark_dirty(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;

	guard(mutex)(&pool->lock);
	WRITE_ONCE(pool->generation, pool->generation + 1);
	if (paccel_scrub)
		pool_make_dirty(pool);
}

/* --- users, statistics, creation and end --- */

struct paccel_user *paccel_user_get(struct paccel_device *pd, kuid_t uid)
{
	struct paccel_user *user, *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);

	if (!fresh)
		return NULL;
	mutex_lock(&pd->pool->lock);
	list_for_each_entry(user, &pd->pool->users, node)
		if (uid_eq(user->uid, uid))
			goto found;
	user = fresh;
	fresh = NULL;
	user->uid = uid;
	list_add(&user->node, &pd->pool->users);
found:
	user->files++;
	mutex_unlock(&pd->pool->lock);
	kfree(fresh);
	return user;
}

void paccel_user_put(struct paccel_device *pd, struct paccel_user *user)
{
	guard(mutex)(&pd->pool->lock);
	user->files--;
	user_forget(user);
}

void paccel_pool_stats(struct paccel_device *pd, struct paccel_user *user,
		       struct paccel_mem_stats *stats)
{
	struct paccel_pool *pool = pd->pool;

	guard(mutex)(&pool->lock);
	stats->total = pd->hw.info.mem_size;
	stats->used = pool->bytes[PACCEL_BUF_USED];
	stats->free = pool->bytes[PACCEL_BUF_FREE];
	stats->dirty = pool->bytes[PACCEL_BUF_DIRTY] + pool->bytes[PACCEL_BUF_SCRUBBING];
	stats->quarantined = pool->bytes[PACCEL_BUF_QUARANTINED];
	stats->user = user ? user->used : 0;
	stats->user_max = pool->max_user_bytes;
	stats->largest_free = (u64)pool_index_largest(&pool->index) << pool->shift;
}

unsigned int paccel_pool_waiting(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;
	struct pool_request *request;
	unsigned int nr = 0;

	guard(mutex)(&pool->lock);
	list_for_each_entry(request, &pool->waiting, node)
		nr++;
	return nr;
}

/* All memory is dirty at first, since it may hold data of processes that used it before. */
static int pool_fill(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;
	struct paccel_buf *all = kzalloc(sizeof(*all), GFP_KERNEL);
	int ret = 0;

	if (!all)
		return -ENOMEM;
	all->start = PACCEL_MEM_BASE;
	all->size = pd->hw.info.mem_size;
	all->state = PACCEL_BUF_FREE;
	pool->bytes[PACCEL_BUF_FREE] = all->size;
	mutex_lock(&pool->lock);
	buf_add(pool, all);
	if (paccel_scrub)
		ret = pool_make_dirty(pool);
	mutex_unlock(&pool->lock);
	return ret;
}

int paccel_pool_init(struct paccel_device *pd)
{
	struct paccel_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	int ret;

	if (!pool)
		return -ENOMEM;
	pd->pool = pool;
	pool->pd = pd;
	mutex_init(&pool->lock);
	INIT_LIST_HEAD(&pool->dirty);
	INIT_LIST_HEAD(&pool->scrubbing);
	INIT_LIST_HEAD(&pool->quarantined);
	INIT_LIST_HEAD(&pool->waiting);
	INIT_LIST_HEAD(&pool->users);
	INIT_WORK(&pool->scrub_work, scrub_work);
	pool->shift = ilog2(pd->hw.info.granule);

	pool->gen = gen_pool_create(pool->shift, NUMA_NO_NODE);
	if (!pool->gen)
		return -ENOMEM;
	ret = gen_pool_add(pool->gen, PACCEL_MEM_BASE, pd->hw.info.mem_size, NUMA_NO_NODE);
	return ret ?: pool_fill(pd);
}

static void pool_end_buf(struct paccel_pool *pool, struct paccel_buf *buf)
{
	if (buf->state != PACCEL_BUF_FREE)
		gen_pool_free(pool->gen, buf->start, buf->size);
	kfree(buf);
	cond_resched();
}

/* No job runs, and no range is allocated. */
static void pool_empty(struct paccel_pool *pool)
{
	struct paccel_buf *buf, *next;

	rbtree_postorder_for_each_entry_safe(buf, next, &pool->index.by_addr, range.by_addr)
		pool_end_buf(pool, buf);
	list_for_each_entry_safe(buf, next, &pool->quarantined, range.list)
		pool_end_buf(pool, buf);
}

/* Also called if paccel_pool_init() has failed or was not called. */
void paccel_pool_destroy(struct paccel_device *pd)
{
	struct paccel_pool *pool = pd->pool;

	if (pool && pool->gen) {
		/* A free still queues it after the device is gone. */
		cancel_work_sync(&pool->scrub_work);
		pool_empty(pool);
		gen_pool_destroy(pool->gen);
	}
	kfree(pool);
}
