/* SPDX-License-Identifier: MIT */
/*
 * Several copies by one call: done, or queued, one after the other.
 */
#include "copy.h"
#include "state.h"
#include "stream.h"

struct batch {
	void **dsts;
	size_t *max;
	void **srcs;
	size_t *sizes;
	size_t count;
	aclrtMemcpyBatchAttr *attrs;
	size_t *indexes;
	size_t attr_count;
};

static aclError check_indexes(const struct batch *batch)
{
	for (size_t i = 0; i < batch->attr_count; i++) {
		size_t least = i ? batch->indexes[i - 1] + 1 : 0;

		if (batch->indexes[i] < least || batch->indexes[i] >= batch->count ||
		    (!i && batch->indexes[i]))
			return call_fail(ACL_ERROR_RT_PARAM_INVALID,
					 "attrsIndexes[%zu] is %zu: they begin with 0 and grow, "
					 "below numBatches", i, batch->indexes[i]);
	}
	return ACL_SUCCESS;
}

static aclError check(const struct batch *batch)
{
	if (!batch->dsts)
		return call_null("dsts");
	if (!batch->max)
		return call_null("destMax");
	if (!batch->srcs)
		return call_null("srcs");
	if (!batch->sizes)
		return call_null("sizes");
	if (!batch->attrs)
		return call_null("attrs");
	if (!batch->indexes)
		return call_null("attrsIndexes");
	if (!batch->count)
		return call_fail(ACL_ERROR_INVALID_PARAM, "numBatches is 0: at least 1 copy");
	if (!batch->attr_count || batch->attr_count > batch->count)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "numAttrs is %zu: 1 to numBatches, which is %zu",
				 batch->attr_count, batch->count);
	return check_indexes(batch);
}

static aclError copy_one(const struct batch *batch, size_t i, const struct here *here,
			 const struct on_stream *on)
{
	if (on)
		return memcpy_queue(on, batch->dsts[i], batch->max[i], batch->srcs[i],
				  batch->sizes[i], ACL_MEMCPY_DEFAULT);
	return memcpy_now(here, batch->dsts[i], batch->max[i], batch->srcs[i], batch->sizes[i],
			  ACL_MEMCPY_DEFAULT);
}

/* On a stream, or at once without one. */
static aclError copy_all(const struct batch *batch, size_t *failed, const struct here *here,
			 const struct on_stream *on)
{
	aclError err = check(batch);

	for (size_t i = 0; !err && i < batch->count; i++) {
		err = copy_one(batch, i, here, on);
		if (err && failed)
			*failed = i;
	}
	return err;
}

aclError aclrtMemcpyBatch(void **dsts, size_t *destMax, void **srcs, size_t *sizes,
			  size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
			  size_t numAttrs, size_t *failIdx)
{
	const struct batch batch = {
		dsts, destMax, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs
	};
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (failIdx)
		*failIdx = SIZE_MAX;
	if (err)
		return err;
	err = copy_all(&batch, failIdx, &here, NULL);
	here_leave(&here);
	return err;
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMax, void **srcs, size_t *sizes,
			       size_t numBatches, aclrtMemcpyBatchAttr *attrs,
			       size_t *attrsIndexes, size_t numAttrs, size_t *failIdx,
			       aclrtStream stream)
{
	const struct batch batch = {
		dsts, destMax, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs
	};
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (failIdx)
		*failIdx = SIZE_MAX;
	if (err)
		return err;
	err = copy_all(&batch, failIdx, &on.here, &on);
	stream_leave(&on);
	return err;
}
