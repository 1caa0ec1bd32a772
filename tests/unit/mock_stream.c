/* SPDX-License-Identifier: MIT */
/*
 * Streams of the mock: one thread does the work of all cards, an operation at a time and round
 * robin.
 */
#define _GNU_SOURCE
#include "mock_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FENCES 256

/* A point, or the end of what another driver does. */
struct fence {
	ino_t id;
	struct file *file; /* NULL if it has ended, or is another driver's */
	unsigned int stream;
	uint64_t point;
	bool ended;
	int err;
	unsigned int users; /* the descriptor, and operations */
};

/* An operation, with what SUBMIT has found for it. */
struct work {
	struct paccel_op op;
	int fd; /* own copy: eventfd or memory */
	uint64_t fd_addr; /* of memory: what it stands for */
	struct fence *fence;
};

struct job {
	struct job *next;
	uint64_t point;
	struct held held;
	unsigned int nr, at;
	struct work works[];
};

/*
 * Of a WAIT that sleeps. The engine wakes it: the kernel does not restart a futex with a timeout
 * after a signal with SA_RESTART, but the driver's WAIT is restarted.
 */
struct deadline {
	struct deadline *next;
	struct timespec when; /* of CLOCK_MONOTONIC */
	bool over;
};

static struct fence fences[FENCES];
static pthread_t engine;
static bool engine_runs, engine_idle;
static struct deadline *deadlines;

/* It is not idle before it has seen what it may go on with; lock held. */
void wake_engine(void)
{
	engine_idle = false;
	has_moved();
}

static struct paccel_slot *slot_of(struct file *file, unsigned int stream)
{
	return &file->page->slots[stream];
}

/* ---- Fences ---- */

void forget_fences(void)
{
	memset(fences, 0, sizeof(fences));
}

static struct fence *fence_of(int fd)
{
	ino_t id = file_id(fd);

	for (int i = 0; id && i < FENCES; i++)
		if (fences[i].id == id)
			return &fences[i];
	return NULL;
}

static int new_fence(struct fence **fence)
{
	int fd = memfd_create("sync_file", MFD_CLOEXEC);

	if (fd < 0)
		return fd;
	*fence = fences;
	while ((*fence)->id)
		++*fence;
	(*fence)->id = file_id(fd);
	(*fence)->users = 1;
	return fd;
}

static void put_fence(struct fence *fence)
{
	if (!--fence->users)
		*fence = (struct fence){ .id = 0 };
}

void fence_closed(int fd)
{
	struct fence *fence = fence_of(fd);

	if (fence)
		put_fence(fence);
}

int mock_fence(void)
{
	struct fence *fence;
	int fd;

	pthread_mutex_lock(&lock);
	fd = new_fence(&fence);
	pthread_mutex_unlock(&lock);
	return fd;
}

void mock_fence_signal(int fd, int err)
{
	struct fence *fence;

	pthread_mutex_lock(&lock);
	fence = fence_of(fd);
	fence->ended = true;
	fence->err = err;
	wake_engine();
	pthread_mutex_unlock(&lock);
}

static int point_error(struct file *file, unsigned int stream, uint64_t point)
{
	const struct paccel_slot *slot = slot_of(file, stream);

	if (slot->done < point)
		return -EINPROGRESS;
	if (!slot->failed_point || point < slot->failed_point)
		return 0;
	return point == slot->failed_point ? slot->error : -ECANCELED;
}

static void end_fences(struct file *file, unsigned int stream)
{
	for (int i = 0; i < FENCES; i++) {
		struct fence *fence = &fences[i];
		int err;

		if (fence->file != file || fence->stream != stream)
			continue;
		err = point_error(file, stream, fence->point);
		if (err == -EINPROGRESS)
			continue;
		fence->file = NULL;
		fence->ended = true;
		fence->err = err;
	}
}

/* ---- The engine ---- */

static void fail_point(struct file *file, unsigned int stream, uint64_t point, int err)
{
	struct paccel_slot *slot = slot_of(file, stream);

	if (slot->failed_point)
		return;
	__atomic_store_n(&slot->error, err, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->failed_point, point, __ATOMIC_RELAXED);
}

static void close_works(struct job *job)
{
	for (unsigned int i = 0; i < job->nr; i++) {
		if (job->works[i].fd >= 0)
			plain_close(job->works[i].fd);
		if (job->works[i].fence)
			put_fence(job->works[i].fence);
	}
	free(job);
}

static void end_job(struct file *file, unsigned int stream)
{
	struct job *job = file->streams[stream].jobs;

	file->streams[stream].jobs = job->next;
	file->streams[stream].queued -= job->nr;
	drop_held(file->card, &job->held);
	__atomic_store_n(&slot_of(file, stream)->done, job->point, __ATOMIC_RELEASE);
	end_fences(file, stream);
	close_works(job);
	has_moved();
}

static void signal_eventfd(const struct work *work)
{
	uint64_t one = 1;

	if (write(work->fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void cancel_rest(struct job *job)
{
	for (; job->at < job->nr; job->at++)
		if (job->works[job->at].op.flags & PACCEL_OP_ALWAYS)
			signal_eventfd(&job->works[job->at]);
}

static struct paccel_copy copy_of(const struct paccel_op *op)
{
	return (struct paccel_copy){
		.size = sizeof(struct paccel_copy),
		.flags = op->flags & PACCEL_OP_VERIFY ? PACCEL_COPY_VERIFY : 0,
		.dir = op->copy.dir,
		.reserved = op->copy.reserved,
		.dst = op->copy.dst,
		.src = op->copy.src,
		.width = op->copy.width,
		.rows = op->copy.rows,
		.dst_pitch = op->copy.dst_pitch,
		.src_pitch = op->copy.src_pitch,
	};
}

static struct paccel_fill fill_of(const struct paccel_op *op)
{
	return (struct paccel_fill){
		.size = sizeof(struct paccel_fill),
		.flags = op->flags & PACCEL_OP_VERIFY ? PACCEL_FILL_VERIFY : 0,
		.addr = op->fill.addr,
		.length = op->fill.length,
		.pattern = op->fill.pattern,
		.pattern_size = op->fill.pattern_size,
		.reserved = op->fill.reserved,
	};
}

/* A copy or fill; EINPROGRESS while the card is held. */
static int run_transfer(struct file *file, struct job *job, const struct work *work)
{
	struct paccel_copy copy = copy_of(&work->op);
	struct paccel_fill fill = fill_of(&work->op);
	int err;

	if (is_held(file->card, &job->held))
		return EINPROGRESS;
	if (job->held.failed)
		return EIO;
	err = take_fault(MOCK_OPERATION);
	if (!err)
		err = take_card_fault(file->card);
	if (!err && work->op.op == PACCEL_OP_COPY)
		err = run_copy(file, &copy, work->fd, work->fd_addr);
	else if (!err)
		run_fill(file, &fill);
	return err;
}

static int run_write(const struct work *work)
{
	uint64_t value = work->op.op == PACCEL_OP_TIME ? mock_clock() : work->op.write.value;

	return pwrite(work->fd, &value, sizeof(value),
		      (off_t)(work->op.write.addr - work->fd_addr)) == sizeof(value)
		       ? 0
		       : EIO;
}

/* Of a point that failed, or is behind one, with the stream's first error. */
static int wait_error(struct file *file, const struct paccel_op_point *wait)
{
	int err = point_error(file, wait->stream - 1, wait->point);

	return err == -ECANCELED ? -slot_of(file, wait->stream - 1)->error : -err;
}

/* Of a stream that has failed: waits keep their order. */
static bool is_cancelled(const struct work *work)
{
	return work->op.op != PACCEL_OP_WAIT_POINT && work->op.op != PACCEL_OP_WAIT_FENCE &&
	       !(work->op.flags & PACCEL_OP_ALWAYS);
}

static int run_work(struct file *file, struct job *job, const struct work *work)
{
	switch (work->op.op) {
	case PACCEL_OP_COPY:
	case PACCEL_OP_FILL:
		return run_transfer(file, job, work);
	case PACCEL_OP_WAIT_POINT:
		return wait_error(file, &work->op.wait);
	case PACCEL_OP_WAIT_FENCE:
		return work->fence->ended ? -work->fence->err : EINPROGRESS;
	case PACCEL_OP_EVENTFD:
		signal_eventfd(work);
		return 0;
	default:
		return run_write(work);
	}
}

/* One operation; false if there is none that can go on. */
static bool run_stream(struct file *file, unsigned int stream)
{
	struct job *job = file->streams[stream].jobs;
	const struct work *work;
	int err = 0;

	if (!job)
		return false;
	if (job->at < job->nr) {
		work = &job->works[job->at];
		if (!slot_of(file, stream)->failed_point || !is_cancelled(work))
			err = run_work(file, job, work);
		if (err == EINPROGRESS)
			return false;
		job->at++;
	}
	if (err)
		fail_point(file, stream, job->point, -err);
	if (job->at == job->nr)
		end_job(file, stream);
	return true;
}

/*
 * An operation of each stream. With several engines those of later streams come first: streams are
 * independent of each other, and nothing may depend on the order that one engine happens to have.
 */
static bool run_streams(struct file *file)
{
	bool any = false;

	for (unsigned int i = 0; i < MOCK_STREAMS; i++)
		if (run_stream(file, file->card->engines > 1 ? MOCK_STREAMS - 1 - i : i))
			any = true;
	return any;
}

static bool run_all(void)
{
	bool any = false;

	for (int i = 0; i < FILES; i++)
		if (files[i].used && files[i].pid == getpid() && run_streams(&files[i]))
			any = true;
	return any;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* False if there is none. */
static bool next_deadline(struct timespec *when)
{
	bool any = false;

	for (const struct deadline *d = deadlines; d; d = d->next)
		if (!d->over && (!any || is_later(when, &d->when))) {
			*when = d->when;
			any = true;
		}
	return any;
}

static void end_deadlines(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (struct deadline *d = deadlines; d; d = d->next)
		d->over = !is_later(&d->when, &now);
	has_moved();
}

static void *run_engine(void *arg)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	for (;;)
		if (!run_all()) {
			engine_idle = true;
			has_moved();
			if (wait_moved(next_deadline(&until) ? &until : NULL) == ETIMEDOUT)
				end_deadlines();
		}
	return arg;
}

void mock_wait_idle(void)
{
	pthread_mutex_lock(&lock);
	while (!engine_idle)
		wait_moved(NULL);
	pthread_mutex_unlock(&lock);
}

static void start_engine(void)
{
	if (engine_runs)
		return;
	engine_runs = true;
	pthread_create(&engine, NULL, run_engine, NULL);
	pthread_detach(engine);
}

void engine_lost(void)
{
	engine_runs = false;
	deadlines = NULL;
}

/* ---- Streams ---- */

static struct mock_stream *stream_at(struct file *file, uint32_t number)
{
	struct mock_stream *stream = number - 1 < MOCK_STREAMS ? &file->streams[number - 1] : NULL;

	return stream && stream->used && !stream->destroyed ? stream : NULL;
}

static int make_page(struct file *file)
{
	void *page;

	if (file->page)
		return 0;
	file->page_fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file->page_fd < 0 || ftruncate(file->page_fd, PAGE))
		return ENOMEM;
	page = mock_sys_map_memory(file->page_fd, PAGE);
	/* Programs cannot write it. */
	if (page == MAP_FAILED || fcntl(file->page_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return ENOMEM;
	file->page = page;
	file->page->version = PACCEL_PAGE_VERSION;
	return 0;
}

int do_stream_create(struct file *file, struct paccel_stream_create *cmd)
{
	struct mock_stream *stream = file->streams;

	if (cmd->flags || cmd->reserved)
		return EINVAL;
	if (make_page(file))
		return ENOMEM;
	while (stream < &file->streams[MOCK_STREAMS] &&
	       stream->used && (!stream->destroyed || stream->jobs))
		stream++;
	if (stream == &file->streams[MOCK_STREAMS])
		return ENOSPC;
	stream->used = true;
	stream->destroyed = false;
	cmd->stream = (uint32_t)(stream - file->streams) + 1;
	cmd->point = stream->point;
	cmd->page_offset = MOCK_PAGE_OFFSET;
	slot_of(file, cmd->stream - 1)->failed_point = 0;
	slot_of(file, cmd->stream - 1)->error = 0;
	return 0;
}

int do_stream_destroy(struct file *file, const struct paccel_stream_destroy *cmd)
{
	struct mock_stream *stream = stream_at(file, cmd->stream);

	if (cmd->flags || cmd->reserved)
		return EINVAL;
	if (!stream)
		return ENOENT;
	stream->destroyed = true;
	return 0;
}

/* Operations that wait for the stream, and have not found out yet. */
static bool has_dependents(const struct file *file, uint32_t number)
{
	for (int i = 0; i < MOCK_STREAMS; i++)
		for (const struct job *job = file->streams[i].jobs; job; job = job->next)
			for (unsigned int j = job->at; j < job->nr; j++)
				if (job->works[j].op.op == PACCEL_OP_WAIT_POINT &&
				    job->works[j].op.wait.stream == number)
					return true;
	return false;
}

int do_stream_clear(struct file *file, struct paccel_stream_clear *cmd)
{
	struct mock_stream *stream = stream_at(file, cmd->stream);
	struct paccel_slot *slot;

	if (cmd->flags)
		return EINVAL;
	if (!stream)
		return ENOENT;
	slot = slot_of(file, cmd->stream - 1);
	if (slot->failed_point &&
	    (slot->done < stream->point || has_dependents(file, cmd->stream)))
		return EBUSY;
	cmd->error = slot->error;
	cmd->failed_point = slot->failed_point;
	__atomic_store_n(&slot->failed_point, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->error, 0, __ATOMIC_RELAXED);
	return 0;
}

void end_streams(struct file *file, enum paccel_page_state state, int err)
{
	for (unsigned int i = 0; file->page && i < MOCK_STREAMS; i++)
		while (file->streams[i].jobs) {
			fail_point(file, i, file->streams[i].jobs->point, err);
			cancel_rest(file->streams[i].jobs);
			end_job(file, i);
		}
	if (file->page && file->page->state == PACCEL_PAGE_RUNNING)
		__atomic_store_n(&file->page->state, state, __ATOMIC_RELEASE);
}

void close_streams(struct file *file)
{
	if (!file->page)
		return;
	munmap(file->page, PAGE);
	plain_close(file->page_fd);
	file->page = NULL;
}

/* ---- Submission ---- */

static size_t used_bytes(uint32_t op)
{
	static const size_t bytes[] = {
		[PACCEL_OP_COPY] = sizeof(struct paccel_op_copy),
		[PACCEL_OP_FILL] = sizeof(struct paccel_op_fill),
		[PACCEL_OP_WAIT_POINT] = sizeof(struct paccel_op_point),
		[PACCEL_OP_WAIT_FENCE] = sizeof(struct paccel_op_fd),
		[PACCEL_OP_EVENTFD] = sizeof(struct paccel_op_fd),
		[PACCEL_OP_WRITE] = sizeof(struct paccel_op_write),
		[PACCEL_OP_TIME] = sizeof(struct paccel_op_write),
	};

	return op < sizeof(bytes) / sizeof(bytes[0]) && op ? 8 + bytes[op] : 0;
}

static bool well_formed(const struct paccel_op *op)
{
	size_t used = used_bytes(op->op);
	uint32_t flags = op->op == PACCEL_OP_EVENTFD ? PACCEL_OP_ALWAYS :
			 op->op <= PACCEL_OP_FILL    ? PACCEL_OP_VERIFY :
						       0;

	for (size_t i = used; i < sizeof(*op); i++)
		if (((const char *)op)[i])
			return false;
	return used && !(op->flags & ~flags);
}

/*
 * Memory of HOST_ALLOC is held by its file, whatever becomes of its address from now on. Addresses of
 * a dma-buf are only names.
 */
static int hold_memory(struct work *work, const struct host *host)
{
	uint8_t byte;

	if (!host || (!host->dmabuf && !access_host(host->addr, &byte, 1, false)))
		return EFAULT;
	if (host->memfd >= 0) {
		work->fd = fcntl(host->memfd, F_DUPFD_CLOEXEC, 0);
		work->fd_addr = host->fd_addr;
	}
	return 0;
}

static int prepare_copy(struct file *file, struct work *work)
{
	struct paccel_copy copy = copy_of(&work->op);
	int err = check_copy(file, &copy);
	bool to_host = copy.dir == PACCEL_COPY_D2H;
	uint64_t pitch = to_host ? copy.dst_pitch : copy.src_pitch;

	if (err || copy.dir == PACCEL_COPY_D2D)
		return err;
	return hold_memory(work, host_around(file, to_host ? copy.dst : copy.src,
					     pitch * (copy.rows - 1) + copy.width));
}

static int prepare_wait(struct file *file, const struct paccel_op_point *wait)
{
	const struct mock_stream *stream = stream_at(file, wait->stream);

	if (wait->reserved)
		return EINVAL;
	if (!stream)
		return ENOENT;
	return wait->point > stream->point ? EINVAL : 0;
}

static int prepare_eventfd(struct work *work)
{
	char path[32], name[32] = "";

	if (work->op.fd.reserved)
		return EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", work->op.fd.fd);
	if (readlink(path, name, sizeof(name) - 1) < 0 || strcmp(name, "anon_inode:[eventfd]"))
		return EINVAL;
	work->fd = fcntl(work->op.fd.fd, F_DUPFD_CLOEXEC, 0);
	return 0;
}

static int prepare_write(struct file *file, struct work *work)
{
	struct host *host = host_around(file, work->op.write.addr, 8);

	if (work->op.write.addr % 8 || (work->op.op == PACCEL_OP_TIME && work->op.write.value))
		return EINVAL;
	return host && !host->offset ? EFAULT : hold_memory(work, host);
}

static int prepare(struct file *file, struct work *work)
{
	struct paccel_fill fill = fill_of(&work->op);

	if (!well_formed(&work->op))
		return EINVAL;
	switch (work->op.op) {
	case PACCEL_OP_COPY:
		return prepare_copy(file, work);
	case PACCEL_OP_FILL:
		return check_fill(file, &fill);
	case PACCEL_OP_WAIT_POINT:
		return prepare_wait(file, &work->op.wait);
	case PACCEL_OP_WAIT_FENCE:
		work->fence = fence_of(work->op.fd.fd);
		if (work->op.fd.reserved || !work->fence) {
			work->fence = NULL;
			return EINVAL;
		}
		work->fence->users++;
		return 0;
	case PACCEL_OP_EVENTFD:
		return prepare_eventfd(work);
	default:
		return prepare_write(file, work);
	}
}

static int make_job(struct file *file, struct paccel_submit *cmd, struct job **made)
{
	struct job *job = calloc(1, sizeof(*job) + cmd->nr_ops * sizeof(job->works[0]));
	int err = 0;

	if (!job)
		return ENOMEM;
	for (cmd->bad_op = 0; cmd->bad_op < cmd->nr_ops; cmd->bad_op++) {
		struct work *work = &job->works[job->nr++];

		work->fd = -1;
		err = fetch_struct(&work->op, sizeof(work->op),
				   cmd->ops + (uint64_t)cmd->bad_op * cmd->op_size, cmd->op_size);
		if (!err)
			err = prepare(file, work);
		if (err)
			break;
	}
	*made = job;
	if (err)
		close_works(job);
	return err;
}

/* Bytes of the first versions of struct paccel_op and struct paccel_point. */
#define MOCK_OP_MIN	64
#define MOCK_POINT_MIN	16

static int check_submit(struct file *file, struct paccel_submit *cmd)
{
	cmd->bad_op = cmd->nr_ops;
	if (cmd->flags || !cmd->nr_ops || cmd->op_size < MOCK_OP_MIN ||
	    cmd->op_size > PAGE)
		return EINVAL;
	if (cmd->nr_ops > MOCK_OPS)
		return E2BIG;
	return stream_at(file, cmd->stream) ? 0 : ENOENT;
}

static bool has_room(const struct file *file, const struct mock_stream *stream, unsigned int nr)
{
	unsigned int all = nr;

	for (int i = 0; i < MOCK_STREAMS; i++)
		all += file->streams[i].queued;
	return stream->queued + nr <= queued_max && all <= 2 * queued_max;
}

static bool is_all_always(const struct job *job)
{
	unsigned int i = 0;

	while (i < job->nr && job->works[i].op.op == PACCEL_OP_EVENTFD &&
	       job->works[i].op.flags & PACCEL_OP_ALWAYS)
		i++;
	return i == job->nr;
}

/* Until there is room, or never will be: 0 or an errno. */
static int wait_room(struct file *file, const struct mock_stream *stream, const struct job *job)
{
	const struct paccel_slot *slot = slot_of(file, (unsigned int)(stream - file->streams));
	bool always = is_all_always(job);
	int interrupted = 0;

	while (!has_room(file, stream, job->nr) && !is_gone(file) && !file->lost &&
	       !stream->destroyed && (always || !slot->failed_point)) {
		if (interrupted)
			return EINTR;
		interrupted = wait_moved(NULL);
	}
	if (is_gone(file))
		return ENODEV;
	if (file->lost)
		return ESTALE;
	if (stream->destroyed)
		return ENOENT;
	return slot->failed_point && !always ? ECANCELED : 0;
}

int do_submit(struct file *file, struct paccel_submit *cmd)
{
	struct mock_stream *stream;
	struct job *job, **end;
	int err = check_submit(file, cmd);

	if (!err)
		err = make_job(file, cmd, &job);
	if (err)
		return err;
	stream = stream_at(file, cmd->stream);
	err = wait_room(file, stream, job);
	if (err) {
		close_works(job);
		return err;
	}
	job->point = cmd->point = ++stream->point;
	stream->queued += job->nr;
	for (end = &stream->jobs; *end; end = &(*end)->next)
		;
	*end = job;
	start_engine();
	wake_engine();
	return 0;
}

/* ---- Waits ---- */

static int fetch_points(struct file *file, const struct paccel_wait *cmd,
			struct paccel_point points[MOCK_POINTS])
{
	const struct mock_stream *stream;
	int err;

	if (cmd->reserved || cmd->flags & ~PACCEL_WAIT_ANY || cmd->point_size < MOCK_POINT_MIN ||
	    cmd->point_size > PAGE)
		return EINVAL;
	if (cmd->nr_points > MOCK_POINTS)
		return E2BIG;
	for (uint32_t i = 0; i < cmd->nr_points; i++) {
		err = fetch_struct(&points[i], sizeof(points[i]),
				   cmd->points + (uint64_t)i * cmd->point_size, cmd->point_size);
		if (err)
			return err;
		stream = stream_at(file, points[i].stream);
		if (!stream)
			return ENOENT;
		if (points[i].point > stream->point)
			return EINVAL;
	}
	return 0;
}

/* Only the errors are written. */
static int reply_points(const struct paccel_wait *cmd, const struct paccel_point *points)
{
	uint64_t at = cmd->points + offsetof(struct paccel_point, error);
	int32_t error;

	for (uint32_t i = 0; i < cmd->nr_points; i++, at += cmd->point_size) {
		error = points[i].error;
		if (!access_host(at, &error, sizeof(error), true))
			return EFAULT;
	}
	return 0;
}

static bool all_ended(struct file *file, struct paccel_wait *cmd, struct paccel_point *points)
{
	cmd->ended = 0;
	for (uint32_t i = 0; i < cmd->nr_points; i++) {
		points[i].error = point_error(file, points[i].stream - 1, points[i].point);
		cmd->ended += points[i].error != -EINPROGRESS;
	}
	return cmd->ended == cmd->nr_points || (cmd->ended && cmd->flags & PACCEL_WAIT_ANY);
}

/* Where a deadline of the driver's clock lies on ours. */
static struct timespec local_time(uint64_t deadline)
{
	int64_t left = (int64_t)(deadline - mock_clock());
	struct timespec when;

	clock_gettime(CLOCK_MONOTONIC, &when);
	left += when.tv_nsec;
	if (left > 0) {
		when.tv_sec += left / 1000000000;
		when.tv_nsec = left % 1000000000;
	}
	return when;
}

static void add_deadline(struct deadline *deadline)
{
	deadline->next = deadlines;
	deadlines = deadline;
	start_engine();
	wake_engine();
}

static void remove_deadline(const struct deadline *deadline)
{
	struct deadline **at = &deadlines;

	while (*at != deadline)
		at = &(*at)->next;
	*at = deadline->next;
}

static int wait_points_until(struct file *file, struct paccel_wait *cmd,
			     struct paccel_point *points, const struct deadline *deadline)
{
	int err = 0;

	while (!all_ended(file, cmd, points)) {
		if (err)
			return err;
		if (deadline->over || cmd->deadline_ns <= mock_clock())
			return ETIME;
		err = wait_moved(NULL);
		if (is_gone(file))
			return ENODEV;
		if (file->lost)
			return ESTALE;
	}
	return 0;
}

static int wait_points(struct file *file, struct paccel_wait *cmd, struct paccel_point *points)
{
	struct deadline deadline = { .when = local_time(cmd->deadline_ns) };
	bool timed = cmd->deadline_ns > mock_clock() && cmd->deadline_ns < INT64_MAX;
	int err;

	if (timed)
		add_deadline(&deadline);
	err = wait_points_until(file, cmd, points, &deadline);
	if (timed)
		remove_deadline(&deadline);
	return err;
}

int do_wait(struct file *file, struct paccel_wait *cmd)
{
	struct paccel_point points[MOCK_POINTS];
	int err = fetch_points(file, cmd, points), lost;

	if (err)
		return err;
	err = wait_points(file, cmd, points);
	if (err && err != ETIME)
		return err;
	lost = reply_points(cmd, points);
	return lost ? lost : err;
}

int do_fence_export(struct file *file, struct paccel_fence_export *cmd)
{
	const struct mock_stream *stream = stream_at(file, cmd->stream);
	struct fence *fence;

	if (cmd->flags)
		return EINVAL;
	if (!stream)
		return ENOENT;
	if (!cmd->point || cmd->point > stream->point)
		return EINVAL;
	cmd->fd = new_fence(&fence);
	if (cmd->fd < 0)
		return EMFILE;
	fence->file = file;
	fence->stream = cmd->stream - 1;
	fence->point = cmd->point;
	end_fences(file, fence->stream);
	return 0;
}
