// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a card: who has which range, and what must be scrubbed before the next owner.
 *
 * The genalloc bitmap is the truth that two owners can never share a byte. Where to allocate is
 * chosen here, best fit and lowest address among equals, from a tree of clean ranges: genalloc's
 * own best fit walks the whole bitmap and cannot align. Every range, used or not, is a
 * paccel_buf; a free turns the buf into a dirty range and so allocates nothing.
 */
#include <linux/slab.h>

#include "paccel.h"

/* How many ranges an aligned allocation tries before it takes one that must fit. */
#define PACCEL_ALIGN_TRIES 64

static struct paccel_buf *by_addr(struct rb_node *node)
{
	return rb_entry_safe(node, struct paccel_buf, by_addr);
}

static struct paccel_buf *by_size(struct rb_node *node)
{
	return rb_entry_safe(node, struct paccel_buf, by_size);
}

static void addr_insert(struct paccel_pool *pool, struct paccel_buf *buf)
{
	struct rb_node **link = &pool->by_addr.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = buf->start < by_addr(parent)->start ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&buf->by_addr, parent, link);
	rb_insert_color(&buf->by_addr, &pool->by_addr);
}

static void size_insert(struct paccel_pool *pool, struct paccel_buf *buf)
{
	struct rb_node **link = &pool->by_size.rb_node, *parent = NULL;

	while (*link) {
		struct paccel_buf *at = by_size(*link);

		parent = *link;
		if (buf->size < at->size || (buf->size == at->size && buf->start < at->start))
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&buf->by_size, parent, link);
	rb_insert_color(&buf->by_size, &pool->by_size);
}

/* The smallest clean range of at least @size bytes, or NULL. */
static struct paccel_buf *size_lower_bound(struct paccel_pool *pool, u64 size)
{
	struct rb_node *node = pool->by_size.rb_node;
	struct paccel_buf *found = NULL;

	while (node) {
		struct paccel_buf *at = by_size(node);

		if (at->size < size) {
			node = node->rb_right;
		} else {
			found = at;
			node = node->rb_left;
		}
	}
	return found;
}

static bool mergeable(enum paccel_buf_state state)
{
	return state == PACCEL_BUF_DIRTY || state == PACCEL_BUF_CLEAN || state == PACCEL_BUF_ASIDE;
}

/* Takes the range out of whatever its state keeps it in. */
static void state_leave(struct paccel_pool *pool, struct paccel_buf *buf)
{
	pool->bytes[buf->state] -= buf->size;
	if (buf->state == PACCEL_BUF_CLEAN)
		rb_erase(&buf->by_size, &pool->by_size);
	else if (buf->state == PACCEL_BUF_DIRTY)
		list_del(&buf->list);
}

static void state_enter(struct paccel_pool *pool, struct paccel_buf *buf,
			enum paccel_buf_state state)
{
	buf->state = state;
	pool->bytes[state] += buf->size;
	if (state == PACCEL_BUF_CLEAN)
		size_insert(pool, buf);
	else if (state == PACCEL_BUF_DIRTY)
		list_add_tail(&buf->list, &pool->dirty);
}

/* Takes a neighbour in the same state into @buf, which is in none at this moment. */
static void absorb(struct paccel_pool *pool, struct paccel_buf *buf, struct paccel_buf *next,
		   enum paccel_buf_state state)
{
	if (!next || next->state != state)
		return;
	state_leave(pool, next);
	rb_erase(&next->by_addr, &pool->by_addr);
	buf->start = min(buf->start, next->start);
	buf->size += next->size;
	kfree(next);
}

static void change_state(struct paccel_pool *pool, struct paccel_buf *buf,
			 enum paccel_buf_state state)
{
	state_leave(pool, buf);
	if (mergeable(state)) {
		absorb(pool, buf, by_addr(rb_next(&buf->by_addr)), state);
		absorb(pool, buf, by_addr(rb_prev(&buf->by_addr)), state);
	}
	state_enter(pool, buf, state);
}

static int gen_take(struct paccel_pool *pool, u64 start, u64 size)
{
	struct genpool_data_fixed at = { .offset = start - PACCEL_MEM_BASE };

	return gen_pool_alloc_algo(pool->gen, size, gen_pool_fixed_alloc, &at) == start ? 0 : -EIO;
}

static bool fits(const struct paccel_buf *buf, u64 size, u64 align, u64 *at)
{
	*at = ALIGN(buf->start, align);
	return *at - buf->start <= buf->size && buf->size - (*at - buf->start) >= size;
}

/*
 * Best fit. Without alignment beyond the granule the first candidate fits. With it, a few
 * candidates are tried; then a range that is larger by the alignment always fits; only if there
 * is none are all others looked at.
 */
static struct paccel_buf *find_clean(struct paccel_pool *pool, u64 size, u64 align, u64 *at)
{
	struct paccel_buf *first = size_lower_bound(pool, size), *buf = first;
	unsigned int tries;

	for (tries = 0; buf && tries < PACCEL_ALIGN_TRIES; tries++) {
		if (fits(buf, size, align, at))
			return buf;
		buf = by_size(rb_next(&buf->by_size));
	}
	if (!buf)
		return NULL;
	first = size_lower_bound(pool, size + align);
	if (first && fits(first, size, align, at))
		return first;
	for (; buf; buf = by_size(rb_next(&buf->by_size)))
		if (fits(buf, size, align, at))
			return buf;
	return NULL;
}

/*
 * Would the request be served if all that waits were scrubbed? What is clean alone does not serve
 * it. So only while something waits, and enough of both, are all ranges looked at.
 */
static bool could_fit(struct paccel_pool *pool, u64 size, u64 align)
{
	u64 waiting = pool->bytes[PACCEL_BUF_DIRTY] + pool->bytes[PACCEL_BUF_SCRUBBING];
	struct paccel_buf run = { .size = 0 };
	struct rb_node *node;
	u64 at;

	if (!waiting || waiting + pool->bytes[PACCEL_BUF_CLEAN] < size)
		return false;
	for (node = rb_first(&pool->by_addr); node; node = rb_next(node)) {
		struct paccel_buf *buf = by_addr(node);

		if (buf->state == PACCEL_BUF_USED || buf->state == PACCEL_BUF_ASIDE) {
			run.size = 0;
			continue;
		}
		if (!run.size)
			run.start = buf->start;
		run.size += buf->size;
		if (fits(&run, size, align, &at))
			return true;
	}
	return false;
}

/*
 * Puts @part, of @size bytes, in front of what remains of @buf; neither is in a state at this
 * moment.
 */
static void split_front(struct paccel_pool *pool, struct paccel_buf *buf, struct paccel_buf *part,
			u64 size)
{
	part->start = buf->start;
	part->size = size;
	buf->start += size;
	buf->size -= size;
	addr_insert(pool, part);
}

/*
 * Cuts [@at, @at + @size) out of the clean @buf. @spare are two unused bufs; those that are used
 * are set to NULL. Returns the one that is the allocation.
 */
static struct paccel_buf *carve(struct paccel_pool *pool, struct paccel_buf *buf, u64 at, u64 size,
				struct paccel_buf *spare[2])
{
	struct paccel_buf *part;

	state_leave(pool, buf);
	if (at > buf->start) {
		split_front(pool, buf, spare[0], at - buf->start);
		state_enter(pool, spare[0], PACCEL_BUF_CLEAN);
		spare[0] = NULL;
	}
	if (buf->size == size)
		return buf;
	part = spare[1];
	spare[1] = NULL;
	split_front(pool, buf, part, size);
	state_enter(pool, buf, PACCEL_BUF_CLEAN);
	return part;
}

static int take(struct paccel_device *pd, struct paccel_user *user, u64 size, u64 align,
		struct paccel_buf *spare[2], struct paccel_buf **bufp)
{
	struct paccel_pool *pool = &pd->pool;
	struct paccel_buf *buf;
	u64 at;

	if (READ_ONCE(pd->gone))
		return -ENODEV;
	if (READ_ONCE(pd->failed))
		return -EIO;
	if (pool->max_user_bytes &&
	    (user->used > pool->max_user_bytes || size > pool->max_user_bytes - user->used))
		return -EDQUOT;
	buf = find_clean(pool, size, align, &at);
	if (!buf)
		return could_fit(pool, size, align) ? -EBUSY : -ENOMEM;
	if (WARN_ON_ONCE(gen_take(pool, at, size)))
		return -EIO;

	buf = carve(pool, buf, at, size, spare);
	state_enter(pool, buf, PACCEL_BUF_USED);
	kref_init(&buf->ref);
	buf->generation = pool->generation;
	buf->user = user;
	buf->pd = pd;
	get_device(&pd->dev);
	user->used += size;
	*bufp = buf;
	return 0;
}

/* Sleeps until scrubbing has changed something; pool->lock is held, but not while asleep. */
static int wait_for_scrub(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	u64 seen = pool->changes;
	int ret;

	WRITE_ONCE(pool->waiters, pool->waiters + 1);
	mutex_unlock(&pool->lock);
	ret = wait_event_state(pool->wait, READ_ONCE(pool->changes) != seen ||
			       READ_ONCE(pd->gone) || READ_ONCE(pd->failed),
			       (TASK_KILLABLE | TASK_FREEZABLE));
	mutex_lock(&pool->lock);
	WRITE_ONCE(pool->waiters, pool->waiters - 1);
	return ret ? -EINTR : 0;
}

static int alloc_locked(struct paccel_device *pd, struct paccel_user *user, u64 length, u64 align,
			struct paccel_buf *spare[2], struct paccel_buf **bufp)
{
	u64 size;
	int ret;

	/* Also keeps the rounding from wrapping. */
	if (length > pd->info.mem_size)
		size = length;
	else
		size = ALIGN(length, pd->info.granule);
	do {
		ret = take(pd, user, size, align, spare, bufp);
		if (!ret)
			(*bufp)->length = length;
		if (ret != -EBUSY)
			return ret;
		ret = wait_for_scrub(pd);
	} while (!ret);
	return ret;
}

/*
 * @length at least 1; @align a power of two, at most PACCEL_MAX_ALIGN, or 0. The buf comes with
 * one reference.
 */
int paccel_pool_alloc(struct paccel_device *pd, struct paccel_user *user, u64 length, u64 align,
		      struct paccel_buf **bufp)
{
	struct paccel_buf *spare[2] = { };
	int ret = -ENOMEM;

	align = max(align, pd->info.granule);
	spare[1] = kzalloc(sizeof(*spare[1]), GFP_KERNEL_ACCOUNT);
	if (!spare[1])
		return -ENOMEM;
	if (align > pd->info.granule) {
		spare[0] = kzalloc(sizeof(*spare[0]), GFP_KERNEL_ACCOUNT);
		if (!spare[0])
			goto free_spare;
	}
	mutex_lock(&pd->pool.lock);
	ret = alloc_locked(pd, user, length, align, spare, bufp);
	mutex_unlock(&pd->pool.lock);
	kfree(spare[0]);
free_spare:
	kfree(spare[1]);
	return ret;
}

static void make_clean(struct paccel_pool *pool, struct paccel_buf *buf)
{
	gen_pool_free(pool->gen, buf->start, buf->size);
	change_state(pool, buf, PACCEL_BUF_CLEAN);
}

static void pool_changed(struct paccel_pool *pool)
{
	WRITE_ONCE(pool->changes, pool->changes + 1);
	wake_up_all(&pool->wait);
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
	struct paccel_pool *pool = &pd->pool;

	mutex_lock(&pool->lock);
	buf->user->used -= buf->size;
	user_forget(buf->user);
	if (paccel_scrub) {
		change_state(pool, buf, PACCEL_BUF_DIRTY);
		queue_work(paccel_wq, &pool->scrub_work);
	} else {
		make_clean(pool, buf);
	}
	mutex_unlock(&pool->lock);
	put_device(&pd->dev);
}

/* May sleep, but never waits for the card. */
void paccel_buf_put(struct paccel_buf *buf)
{
	kref_put(&buf->ref, buf_free);
}

/* --- scrubbing --- */

static void scrub_ended(struct paccel_job *job)
{
	queue_work(paccel_wq, &job->eng->pd->pool.scrub_work);
}

static void scrub_finish(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	struct paccel_buf *buf = pool->scrubbing;
	int error = pool->scrub_job->error;

	pool->scrubbing = NULL;
	if (error == -ENODEV || error == -ESTALE) {
		/* Not tried: the card is gone, or has just lost its memory. */
		change_state(pool, buf, PACCEL_BUF_DIRTY);
	} else if (error) {
		dev_warn_ratelimited(&pd->dev, "scrubbing %llu bytes failed (%d): set aside\n",
				     buf->size, error);
		change_state(pool, buf, PACCEL_BUF_ASIDE);
	} else {
		atomic64_add(buf->size, &pd->count.scrubbed);
		make_clean(pool, buf);
	}
	pool_changed(pool);
}

static void scrub_start(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	struct paccel_buf *buf = list_first_entry(&pool->dirty, struct paccel_buf, list);
	struct paccel_job *job = pool->scrub_job;

	job->eng = paccel_engine_choose(pd);
	job->dst.start = buf->start;
	job->width = buf->size;
	paccel_job_verify(job, pd, false);
	job->at = (struct paccel_place){ };
	job->complete = false;
	job->stop = 0;
	job->over = false;
	job->error = 0;
	reinit_completion(&job->done);
	kref_get(&job->ref);
	if (paccel_engine_submit(job->eng, job, NULL, false)) {
		/* Gone or out of service: it stays dirty until a reset. */
		paccel_job_put(job);
		return;
	}
	change_state(pool, buf, PACCEL_BUF_SCRUBBING);
	pool->scrubbing = buf;
}

/* The one place that starts and ends scrubbing: one range at a time. */
static void scrub_work(struct work_struct *work)
{
	struct paccel_pool *pool = container_of(work, struct paccel_pool, scrub_work);
	struct paccel_device *pd = container_of(pool, struct paccel_device, pool);

	mutex_lock(&pool->lock);
	if (pool->scrubbing && completion_done(&pool->scrub_job->done))
		scrub_finish(pd);
	if (!pool->scrubbing && !list_empty(&pool->dirty))
		scrub_start(pd);
	mutex_unlock(&pool->lock);
}

void paccel_pool_wake(struct paccel_device *pd)
{
	wake_up_all(&pd->pool.wait);
}

void paccel_pool_retry(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	struct rb_node *node;

	mutex_lock(&pool->lock);
	for (node = rb_first(&pool->by_addr); node; node = rb_next(node)) {
		struct paccel_buf *buf = by_addr(node);

		if (buf->state == PACCEL_BUF_ASIDE)
			change_state(pool, buf, PACCEL_BUF_DIRTY);
	}
	queue_work(paccel_wq, &pool->scrub_work);
	mutex_unlock(&pool->lock);
}

/* The card has lost its memory: what was clean may hold anything. Nobody scrubs at the moment. */
void paccel_pool_soil(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	struct rb_node *node;

	mutex_lock(&pool->lock);
	WRITE_ONCE(pool->generation, pool->generation + 1);
	for (node = rb_first(&pool->by_addr); node; node = rb_next(node)) {
		struct paccel_buf *buf = by_addr(node);

		if (paccel_scrub && buf->state == PACCEL_BUF_CLEAN &&
		    !WARN_ON(gen_take(pool, buf->start, buf->size)))
			change_state(pool, buf, PACCEL_BUF_DIRTY);
	}
	mutex_unlock(&pool->lock);
}

/* --- users, numbers, beginning and end --- */

/* NULL: out of memory. */
struct paccel_user *paccel_user_get(struct paccel_device *pd, kuid_t uid)
{
	struct paccel_user *user, *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);

	if (!fresh)
		return NULL;
	mutex_lock(&pd->pool.lock);
	list_for_each_entry(user, &pd->pool.users, node)
		if (uid_eq(user->uid, uid))
			goto found;
	user = fresh;
	fresh = NULL;
	user->uid = uid;
	list_add(&user->node, &pd->pool.users);
found:
	user->files++;
	mutex_unlock(&pd->pool.lock);
	kfree(fresh);
	return user;
}

void paccel_user_put(struct paccel_device *pd, struct paccel_user *user)
{
	mutex_lock(&pd->pool.lock);
	user->files--;
	user_forget(user);
	mutex_unlock(&pd->pool.lock);
}

void paccel_pool_stats(struct paccel_device *pd, struct paccel_user *user,
		       struct paccel_mem_stats *stats)
{
	struct paccel_pool *pool = &pd->pool;
	struct paccel_buf *largest;

	mutex_lock(&pool->lock);
	stats->total = pd->info.mem_size;
	stats->used = pool->bytes[PACCEL_BUF_USED];
	stats->free = pool->bytes[PACCEL_BUF_CLEAN];
	stats->waiting = pool->bytes[PACCEL_BUF_DIRTY] + pool->bytes[PACCEL_BUF_SCRUBBING];
	stats->set_aside = pool->bytes[PACCEL_BUF_ASIDE];
	stats->user = user ? user->used : 0;
	stats->user_max = pool->max_user_bytes;
	largest = by_size(rb_last(&pool->by_size));
	stats->largest_free = largest ? largest->size : 0;
	mutex_unlock(&pool->lock);
}

/* All memory is dirty at first: it holds what an earlier driver's programs left in it. */
static int pool_fill(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	struct paccel_buf *all = kzalloc(sizeof(*all), GFP_KERNEL);
	int ret;

	if (!all)
		return -ENOMEM;
	all->start = PACCEL_MEM_BASE;
	all->size = pd->info.mem_size;
	if (paccel_scrub) {
		ret = gen_take(pool, all->start, all->size);
		if (ret) {
			kfree(all);
			return ret;
		}
	}
	addr_insert(pool, all);
	state_enter(pool, all, paccel_scrub ? PACCEL_BUF_DIRTY : PACCEL_BUF_CLEAN);
	return 0;
}

int paccel_pool_init(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	int ret;

	mutex_init(&pool->lock);
	init_waitqueue_head(&pool->wait);
	INIT_LIST_HEAD(&pool->dirty);
	INIT_LIST_HEAD(&pool->users);
	INIT_WORK(&pool->scrub_work, scrub_work);
	pool->by_addr = RB_ROOT;
	pool->by_size = RB_ROOT;

	pool->scrub_job = paccel_job_alloc(pd, NULL, PACCEL_JOB_SCRUB);
	if (!pool->scrub_job)
		return -ENOMEM;
	pool->scrub_job->end = scrub_ended;
	pool->gen = gen_pool_create(ilog2(pd->info.granule), NUMA_NO_NODE);
	if (!pool->gen)
		return -ENOMEM;
	ret = gen_pool_add(pool->gen, PACCEL_MEM_BASE, pd->info.mem_size, NUMA_NO_NODE);
	return ret ?: pool_fill(pd);
}

/*
 * Also after a paccel_pool_init() that failed, or did not run. Nobody has memory any more,
 * nothing runs.
 */
void paccel_pool_destroy(struct paccel_device *pd)
{
	struct paccel_pool *pool = &pd->pool;
	struct paccel_buf *buf, *next;

	if (!pool->scrub_job)
		return;
	/* A free after the card is gone still queues it. */
	cancel_work_sync(&pool->scrub_work);
	rbtree_postorder_for_each_entry_safe(buf, next, &pool->by_addr, by_addr) {
		if (buf->state != PACCEL_BUF_CLEAN)
			gen_pool_free(pool->gen, buf->start, buf->size);
		kfree(buf);
	}
	if (pool->gen)
		gen_pool_destroy(pool->gen);
	paccel_job_release(pool->scrub_job);
	paccel_job_put(pool->scrub_job);
}
