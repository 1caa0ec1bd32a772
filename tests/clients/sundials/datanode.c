/* SPDX-License-Identifier: MIT */
/*
 * SUNDIALS' data nodes (7.3 and later) keep checkpoints of vectors, and other data, in memory of the
 * helper, in DEVICE memory on request. Their functions are exported, and declared in private headers.
 */
#include "sundials.h"
#include "nvector.h"

typedef struct SUNDataNode_ *SUNDataNode;

#define IN_MEMORY 0

SUNErrCode SUNDataNode_CreateLeaf(int io_mode, SUNMemoryHelper by, SUNContext sunctx,
				  SUNDataNode *node);
SUNErrCode SUNDataNode_SetData(SUNDataNode node, SUNMemoryType src_type, SUNMemoryType node_type,
			       void *data, size_t stride, size_t size);
SUNErrCode SUNDataNode_GetData(const SUNDataNode node, void **data, size_t *stride, size_t *size);
SUNErrCode SUNDataNode_SetDataNvector(SUNDataNode node, N_Vector v, sunrealtype t);
SUNErrCode SUNDataNode_GetDataNvector(const SUNDataNode node, N_Vector v, sunrealtype *t);
SUNErrCode SUNDataNode_Destroy(SUNDataNode *node);

#define NUMBERS 20

static double numbers[NUMBERS], back[NUMBERS];

static void set_numbers(void)
{
	for (int i = 0; i < NUMBERS; i++) {
		numbers[i] = 1.0 / (i + 1);
		back[i] = 0;
	}
}

static SUNDataNode leaf(void)
{
	SUNDataNode node = NULL;

	gives(SUNDataNode_CreateLeaf(IN_MEMORY, helper, ctx, &node), SUN_SUCCESS);
	return node;
}

/* Allocation, copy and free are SUNDIALS' own calls. */
static void test_data_in_each_type(void)
{
	begin();
	for (int type = 0; type < TYPES; type++) {
		struct accel_memory_stats before = card_stats(), now;
		SUNDataNode node = leaf();
		size_t stride = 0, size = 0;
		void *data = NULL;

		set_numbers();
		gives(SUNDataNode_SetData(node, SUNMEMTYPE_HOST, (SUNMemoryType)type, numbers,
					  sizeof(*numbers), sizeof(numbers)), SUN_SUCCESS);
		now = card_stats();
		ok(now.bytes_h2d - before.bytes_h2d == (type == DEVICE ? sizeof(numbers) : 0));
		ok(stats_are(helper, type, 1, 0, sizeof(numbers), sizeof(numbers)));
		gives(SUNDataNode_GetData(node, &data, &stride, &size), SUN_SUCCESS);
		ok(data && stride == sizeof(*numbers) && size == sizeof(numbers));
		ok(!accel_memory_copy(back, data, sizeof(back)));
		ok(!memcmp(back, numbers, sizeof(back)));
		gives(SUNDataNode_Destroy(&node), SUN_SUCCESS);
		ok(stats_are(helper, type, 1, 1, 0, sizeof(numbers)));
	}
	end();
}

/* The stride is one that AllocStrided was given. */
static void test_stride(void)
{
	SUNDataNode node;
	size_t stride = 0, size = 0;
	void *data;

	begin();
	node = leaf();
	set_numbers();
	gives(SUNDataNode_SetData(node, SUNMEMTYPE_HOST, SUNMEMTYPE_DEVICE, numbers,
				  2 * sizeof(*numbers), sizeof(numbers)), SUN_SUCCESS);
	gives(SUNDataNode_GetData(node, &data, &stride, &size), SUN_SUCCESS);
	ok(stride == 2 * sizeof(*numbers) && size == sizeof(numbers));
	gives(SUNDataNode_Destroy(&node), SUN_SUCCESS);
	end();
}

/* A checkpoint as adjoint integration makes it: the vector and its time, in HOST memory. */
static void test_vector(void)
{
	SUNDataNode node;
	sunrealtype t = 0;
	N_Vector v, w;

	begin();
	set_numbers();
	v = N_VMake_Serial(NUMBERS, numbers, ctx);
	w = N_VMake_Serial(NUMBERS, back, ctx);
	node = leaf();
	gives(SUNDataNode_SetDataNvector(node, v, 0.25), SUN_SUCCESS);
	ok(stats_are(helper, HOST, 1, 0, sizeof(numbers) + 8, sizeof(numbers) + 8));
	gives(SUNDataNode_GetDataNvector(node, w, &t), SUN_SUCCESS);
	ok(t == 0.25 && !memcmp(back, numbers, sizeof(back)));
	gives(SUNDataNode_Destroy(&node), SUN_SUCCESS);
	ok(stats_are(helper, HOST, 1, 1, 0, sizeof(numbers) + 8));
	N_VDestroy(v);
	N_VDestroy(w);
	end();
}

/*
 * Device memory is exhausted. A release build of SUNDIALS goes on as if it had memory, copies to an object
 * that was never made, and reports success: with these libraries only that nothing breaks is ours.
 */
static void test_full_card(void)
{
	size_t total = (size_t)card_stats().total;
	SUNDataNode node;
	SUNMemory all;

	begin();
	all = memory_of(total, DEVICE);
	node = leaf();
	set_numbers();
	SUNDataNode_SetData(node, SUNMEMTYPE_HOST, SUNMEMTYPE_DEVICE, numbers, sizeof(*numbers),
			    sizeof(numbers));
	ok(*accel_last_error() && stats_are(helper, DEVICE, 1, 0, total, total));
	gives(SUNDataNode_Destroy(&node), SUN_SUCCESS);
	free_memory(all);
	end();
}

int main(void)
{
	RUN_ON_CARD(test_data_in_each_type);
	RUN_ON_CARD(test_stride);
	RUN_ON_CARD(test_vector);
	RUN_ON_CARD(test_full_card);
	return tap_end();
}
