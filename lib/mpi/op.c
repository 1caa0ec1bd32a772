/* SPDX-License-Identifier: MIT */
/*
 * mca_op_paccel: reductions of operands in device memory.
 *
 * Open MPI 5.0 computes reductions where the operands are, and has no reduction for device memory of a kind that it
 * was not built for. This component stands in front of the functions that were chosen before it, for every
 * operator and type: with operands of the host it calls them at once, else with copies of the operands in pinned
 * host memory.
 */
#include "ompi_config.h"

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/op/base/functions.h"
#include "ompi/mca/op/op.h"
#include "ompi/op/op.h"
#include "opal/util/output.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Above all that compute: the highest of Open MPI's own is op/avx with 50. */
#define PRIORITY 1000

struct module {
	ompi_op_base_module_t super;
	ompi_op_base_op_fns_t next;
	ompi_op_base_op_3buff_fns_t next3;
};

/* ---- Failures -------------------------------------------------------------------------------- */

/* A reduction returns nothing, and wrong bytes must not go on. */
static void __attribute__((noreturn)) give_up(const char *what)
{
	say("a reduction: %s: %s", what, accel_last_error());
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

/* ---- Staging --------------------------------------------------------------------------------- */

enum { OPERANDS = 3, CHUNK = 256 << 10 };

/*
 * Pinned memory of one device. The program may close the device, which frees the memory: the serial number
 * tells.
 */
struct stage {
	char *ptr;
	struct accel_device *dev; /* NULL: not pinned, because there is too little memory for that */
	uint64_t serial;
};

/* That of the reduction before. Several threads may reduce at once: each takes it away, or makes one. */
static struct stage kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static struct stage stage_swap(struct stage stage)
{
	struct stage before;

	pthread_mutex_lock(&kept_lock);
	before = kept;
	kept = stage;
	pthread_mutex_unlock(&kept_lock);
	return before;
}

static bool stage_lives(const struct stage *stage)
{
	struct accel_pointer_info info;

	if (!stage->ptr || !stage->dev)
		return stage->ptr;
	return !accel_pointer_get_info(stage->ptr, &info) && info.serial == stage->serial;
}

static void stage_free(struct stage stage)
{
	if (!stage_lives(&stage))
		return;
	if (stage.dev)
		accel_host_memory_deallocate(stage.dev, stage.ptr, OPERANDS * CHUNK);
	else
		free(stage.ptr);
}

static struct stage stage_take(struct accel_device *dev)
{
	struct stage stage = stage_swap((struct stage){ 0 });
	struct accel_pointer_info info;
	void *ptr;

	if (stage_lives(&stage) && (stage.dev == dev || !stage.dev))
		return stage;
	stage_free(stage);
	if (!accel_host_memory_allocate(dev, &ptr, OPERANDS * CHUNK) &&
	    !accel_pointer_get_info(ptr, &info))
		return (struct stage){ ptr, dev, info.serial };
	ptr = malloc(OPERANDS * CHUNK);
	if (!ptr)
		give_up("out of memory");
	return (struct stage){ .ptr = ptr };
}

static void stage_put(struct stage stage)
{
	stage_free(stage_swap(stage));
}

/* ---- Reductions ------------------------------------------------------------------------------ */

struct operand {
	char *ptr;
	struct accel_device *dev; /* whose memory it is, or NULL */
};

/* result = a op b, or b = a op b where there is no third operand. */
struct reduction {
	const struct module *module;
	int type; /* of enum OMPI_OP_BASE_TYPE_* */
	struct operand a, b, result;
	int count;
	size_t extent;
	ompi_datatype_t *datatype;
	char *stage; /* room for OPERANDS pieces of CHUNK bytes */
};

static struct operand operand_of(const void *ptr)
{
	struct accel_pointer_info info;

	if (accel_pointer_node(ptr) < 0)
		return (struct operand){ .ptr = (char *)ptr };
	if (accel_pointer_get_info(ptr, &info))
		give_up("an operand");
	return (struct operand){ .ptr = (char *)ptr, .dev = info.device };
}

static void call_next(const struct reduction *r, char *a, char *b, char *result, int count)
{
	ompi_datatype_t *datatype = r->datatype;

	if (result)
		r->module->next3.fns[r->type](a, b, result, &count, &datatype,
					      r->module->next3.modules[r->type]);
	else
		r->module->next.fns[r->type](a, b, &count, &datatype,
					     r->module->next.modules[r->type]);
}

/* Where the processor reads or writes elements of an operand, from one of them on. */
static char *host_side(const struct reduction *r, const struct operand *operand, int number, size_t at)
{
	return operand->dev ? r->stage + (size_t)number * CHUNK : operand->ptr + at;
}

static void fetch(const struct operand *operand, char *host, size_t at, size_t size)
{
	if (operand->dev && accel_memory_copy(host, operand->ptr + at, size))
		give_up("an operand");
}

static void store(const struct operand *operand, const char *host, size_t at, size_t size)
{
	if (operand->dev && accel_memory_copy(operand->ptr + at, host, size))
		give_up("the result");
}

/* One piece on the host. */
static void reduce_piece(const struct reduction *r, size_t at, int count)
{
	size_t size = (size_t)count * r->extent;
	char *a = host_side(r, &r->a, 0, at), *b = host_side(r, &r->b, 1, at), *result = NULL;

	fetch(&r->a, a, at, size);
	fetch(&r->b, b, at, size);
	if (r->result.ptr)
		result = host_side(r, &r->result, 2, at);
	call_next(r, a, b, result, count);
	if (result)
		store(&r->result, result, at, size);
	else
		store(&r->b, b, at, size);
}

/*
 * At least one operand is in device memory. A device that computes takes over here: all that it needs is in
 * the reduction, and what it does not compute goes on as now.
 */
static void reduce_on_device(struct reduction *r)
{
	struct stage stage = stage_take(r->b.dev ?: r->a.dev ?: r->result.dev);
	int piece = (int)(CHUNK / r->extent), done, count;

	r->stage = stage.ptr;
	for (done = 0; done < r->count; done += count) {
		count = r->count - done < piece ? r->count - done : piece;
		reduce_piece(r, (size_t)done * r->extent, count);
	}
	stage_put(stage);
}

/* As Open MPI finds the function that it calls. */
static int type_of(ompi_datatype_t *datatype, ompi_datatype_t **element)
{
	*element = datatype;
	if (!ompi_datatype_is_predefined(datatype))
		*element = ompi_datatype_get_single_predefined_type_from_args(datatype);
	return ompi_op_ddt_map[(*element)->id];
}

static void reduce(struct reduction *r)
{
	ompi_datatype_t *element;
	ptrdiff_t extent;

	r->type = type_of(r->datatype, &element);
	if (!r->a.dev && !r->b.dev && !r->result.dev) {
		call_next(r, r->a.ptr, r->b.ptr, r->result.ptr, r->count);
		return;
	}
	ompi_datatype_type_extent(element, &extent);
	r->extent = (size_t)extent;
	reduce_on_device(r);
}

static void reduce_2(const void *in, void *inout, int *count, ompi_datatype_t **datatype,
		     ompi_op_base_module_t *module)
{
	struct reduction r = { .module = (const struct module *)module,
			       .a = operand_of(in),
			       .b = operand_of(inout),
			       .count = *count,
			       .datatype = *datatype };

	reduce(&r);
}

static void reduce_3(const void *in1, const void *in2, void *out, int *count,
		     ompi_datatype_t **datatype, ompi_op_base_module_t *module)
{
	struct reduction r = { .module = (const struct module *)module,
			       .a = operand_of(in1),
			       .b = operand_of(in2),
			       .result = operand_of(out),
			       .count = *count,
			       .datatype = *datatype };

	reduce(&r);
}

/* ---- The component: a module for each operator --------------------------------------------------- */

static void module_construct(struct module *module)
{
	memset(&module->next, 0, sizeof(module->next));
	memset(&module->next3, 0, sizeof(module->next3));
}

static void module_destruct(struct module *module)
{
	for (int i = 0; i < OMPI_OP_BASE_TYPE_MAX; i++) {
		if (module->next.modules[i])
			OBJ_RELEASE(module->next.modules[i]);
		if (module->next3.modules[i])
			OBJ_RELEASE(module->next3.modules[i]);
	}
}

typedef struct module paccel_op_module_t;
static OBJ_CLASS_INSTANCE(paccel_op_module_t, ompi_op_base_module_t, module_construct,
			  module_destruct);

/* Those of lower priority are in place: they are what is called next. */
static int module_enable(ompi_op_base_module_t *base, struct ompi_op_t *op)
{
	struct module *module = (struct module *)base;

	for (int i = 0; i < OMPI_OP_BASE_TYPE_MAX; i++) {
		if (base->opm_fns[i]) {
			module->next.fns[i] = op->o_func.intrinsic.fns[i];
			module->next.modules[i] = op->o_func.intrinsic.modules[i];
			OBJ_RETAIN(module->next.modules[i]);
		}
		if (base->opm_3buff_fns[i]) {
			module->next3.fns[i] = op->o_3buff_intrinsic.fns[i];
			module->next3.modules[i] = op->o_3buff_intrinsic.modules[i];
			OBJ_RETAIN(module->next3.modules[i]);
		}
	}
	return OMPI_SUCCESS;
}

/*
 * For each function of three operands that it replaces, Open MPI 5.0 releases the module of the function of two:
 * ours, for which there has to be one more reference.
 */
static ompi_op_base_module_t *op_query(struct ompi_op_t *op, int *priority)
{
	int index = op->o_f_to_c_index;
	ompi_op_base_module_t *module;

	if (!(op->o_flags & OMPI_OP_FLAGS_INTRINSIC))
		return NULL;
	module = (ompi_op_base_module_t *)OBJ_NEW(paccel_op_module_t);
	if (!module)
		return NULL;
	for (int i = 0; i < OMPI_OP_BASE_TYPE_MAX; i++) {
		if (ompi_op_base_functions[index][i])
			module->opm_fns[i] = reduce_2;
		if (ompi_op_base_3buff_functions[index][i]) {
			module->opm_3buff_fns[i] = reduce_3;
			OBJ_RETAIN(module);
		}
	}
	module->opm_enable = module_enable;
	*priority = PRIORITY;
	return module;
}

static int init_query(bool progress_threads, bool mpi_threads)
{
	(void)progress_threads;
	(void)mpi_threads;
	if (!openmpi_fits("mca_op_paccel") || accel_device_count() <= 0)
		return OMPI_ERR_NOT_SUPPORTED;
	return OMPI_SUCCESS;
}

static int component_close(void)
{
	stage_put((struct stage){ 0 });
	return OMPI_SUCCESS;
}

/* Found by this name. */
EXPORTED extern const ompi_op_base_component_t mca_op_paccel_component;
const ompi_op_base_component_t mca_op_paccel_component = {
	.opc_version = {
		OMPI_OP_BASE_VERSION_1_0_0,
		.mca_component_name = "paccel",
		MCA_BASE_MAKE_VERSION(component, ACCEL_VERSION_MAJOR, ACCEL_VERSION_MINOR,
				      ACCEL_VERSION_PATCH),
		.mca_close_component = component_close,
	},
	.opc_data = { MCA_BASE_METADATA_PARAM_NONE },
	.opc_init_query = init_query,
	.opc_op_query = op_query,
};
