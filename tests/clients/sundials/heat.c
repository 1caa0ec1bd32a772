/* SPDX-License-Identifier: MIT */
/*
 * CVODE solves the heat equation on 50 points, with every vector that it makes in PINNED memory of
 * the helper, and checkpoints in DEVICE memory, from one of which it starts again. Bit for bit the
 * same must come out as with plain vectors.
 */
#include "sundials.h"
#include "nvector.h"

#define POINTS 50
#define BYTES (POINTS * sizeof(sunrealtype))
#define OUTPUTS 8 /* a checkpoint at each: as many as an edu has memory for */
#define RESTART 3
#define VECTORS 64

/* ---- CVODE, as its library has it ---- */

#define CV_BDF 2
#define CV_NORMAL 1
#define SUN_PREC_NONE 0

typedef int (*rhs_t)(sunrealtype t, N_Vector y, N_Vector ydot, void *data);

void *CVodeCreate(int lmm, SUNContext sunctx);
int CVodeInit(void *cvode, rhs_t rhs, sunrealtype t0, N_Vector y0);
int CVodeReInit(void *cvode, sunrealtype t0, N_Vector y0);
int CVodeSStolerances(void *cvode, sunrealtype relative, sunrealtype absolute);
int CVodeSetLinearSolver(void *cvode, void *solver, void *matrix);
int CVode(void *cvode, sunrealtype tout, N_Vector y, sunrealtype *t, int task);
int CVodeGetNumSteps(void *cvode, long *steps);
void CVodeFree(void **cvode);
void *SUNLinSol_SPGMR(N_Vector y, int preconditioning, int maxl, SUNContext sunctx);
int SUNLinSolFree(void *solver);

/* ---- Vectors in memory of the helper ---- */

static struct {
	N_Vector vector;
	SUNMemory mem;
} vectors[VECTORS];

static int live_vectors, most_vectors, made_vectors;

static N_Vector give_memory(N_Vector v)
{
	for (int i = 0; v && i < VECTORS; i++) {
		if (vectors[i].vector)
			continue;
		vectors[i].vector = v;
		vectors[i].mem = memory_of(BYTES, PINNED);
		N_VSetArrayPointer(vectors[i].mem->ptr, v);
		made_vectors++;
		live_vectors++;
		if (live_vectors > most_vectors)
			most_vectors = live_vectors;
		return v;
	}
	printf("Bail out! there are more vectors than %d\n", VECTORS);
	exit(1);
}

static N_Vector clone_vector(N_Vector v)
{
	return give_memory(N_VCloneEmpty_Serial(v));
}

static void destroy_vector(N_Vector v)
{
	for (int i = 0; i < VECTORS; i++) {
		if (vectors[i].vector != v)
			continue;
		free_memory(vectors[i].mem);
		vectors[i].vector = NULL;
		live_vectors--;
	}
	N_VDestroy_Serial(v);
}

typedef void (*function_t)(void);

/* Its operations are copied to all that the solver makes of it. */
static N_Vector first_vector(void)
{
	N_Vector v = N_VMake_Serial(POINTS, NULL, ctx);

	ok(v->ops[1] == (function_t)N_VClone_Serial && v->ops[2] == (function_t)N_VCloneEmpty_Serial &&
	   v->ops[3] == (function_t)N_VDestroy_Serial && v->sunctx == ctx);
	v->ops[1] = (function_t)clone_vector;
	v->ops[3] = (function_t)destroy_vector;
	return give_memory(v);
}

/* ---- The equation ---- */

static bool in_helper_memory;

static void is_pinned(const void *ptr)
{
	struct accel_pointer_info info;

	ok(!accel_pointer_get_info(ptr, &info) && info.kind == ACCEL_MEMORY_HOST && info.size == BYTES);
}

static int heat(sunrealtype t, N_Vector y, N_Vector ydot, void *data)
{
	const sunrealtype scale = (POINTS + 1.0) * (POINTS + 1.0);
	sunrealtype *u = N_VGetArrayPointer(y), *du = N_VGetArrayPointer(ydot);

	(void)t;
	(void)data;
	if (in_helper_memory) {
		is_pinned(u);
		is_pinned(du);
	}
	for (int i = 0; i < POINTS; i++) {
		sunrealtype left = i ? u[i - 1] : 0, right = i + 1 < POINTS ? u[i + 1] : 0;

		du[i] = scale * (left - 2 * u[i] + right);
	}
	return 0;
}

static void start_values(sunrealtype *u)
{
	for (int i = 0; i < POINTS; i++) {
		sunrealtype x = (i + 1) / (POINTS + 1.0);

		u[i] = x * (1 - x) * (1 + 10 * x);
	}
}

static sunrealtype output_time(int output)
{
	return 0.005 * (output + 1);
}

/* What comes out: each output, and each again after the restart. */
struct trajectory {
	sunrealtype u[OUTPUTS][POINTS], again[OUTPUTS][POINTS];
	long steps;
};

/* ---- A run ---- */

struct run {
	N_Vector y;
	void *cvode, *solver;
	void (*save)(int output, const sunrealtype *u);
	void (*load)(int output, sunrealtype *u);
};

static void solve(struct run *run, struct trajectory *out)
{
	sunrealtype t = 0, *u = N_VGetArrayPointer(run->y);

	start_values(u);
	run->cvode = CVodeCreate(CV_BDF, ctx);
	ok(!CVodeInit(run->cvode, heat, 0, run->y));
	ok(!CVodeSStolerances(run->cvode, 1e-8, 1e-12));
	run->solver = SUNLinSol_SPGMR(run->y, SUN_PREC_NONE, 20, ctx);
	ok(!CVodeSetLinearSolver(run->cvode, run->solver, NULL));
	for (int i = 0; i < OUTPUTS; i++) {
		ok(!CVode(run->cvode, output_time(i), run->y, &t, CV_NORMAL));
		memcpy(out->u[i], u, BYTES);
		run->save(i, u);
	}
	memset(u, 0xff, BYTES);
	run->load(RESTART, u);
	ok(!CVodeReInit(run->cvode, output_time(RESTART), run->y));
	for (int i = RESTART + 1; i < OUTPUTS; i++) {
		ok(!CVode(run->cvode, output_time(i), run->y, &t, CV_NORMAL));
		memcpy(out->again[i], u, BYTES);
	}
	ok(!CVodeGetNumSteps(run->cvode, &out->steps));
	CVodeFree(&run->cvode);
	ok(!SUNLinSolFree(run->solver));
	N_VDestroy(run->y);
}

static sunrealtype saved[OUTPUTS][POINTS];

static void save_plain(int output, const sunrealtype *u)
{
	memcpy(saved[output], u, BYTES);
}

static void load_plain(int output, sunrealtype *u)
{
	memcpy(u, saved[output], BYTES);
}

static SUNMemory checkpoints[OUTPUTS];

static void save_on_card(int output, const sunrealtype *u)
{
	SUNMemory from = wrap((void *)u, PINNED);

	checkpoints[output] = memory_of(BYTES, DEVICE);
	gives(SUNMemoryHelper_Copy(helper, checkpoints[output], from, BYTES, NULL), SUN_SUCCESS);
	free_memory(from);
}

static void load_from_card(int output, sunrealtype *u)
{
	SUNMemory to = wrap(u, PINNED);

	gives(SUNMemoryHelper_Copy(helper, to, checkpoints[output], BYTES, NULL), SUN_SUCCESS);
	free_memory(to);
}

/* ---- The tests ---- */

static struct trajectory plain, on_card;

/* It decays from its highest value, or nothing has been solved. */
static bool is_plausible(const struct trajectory *run)
{
	sunrealtype highest = 2;

	for (int i = 0; i < OUTPUTS; i++) {
		sunrealtype now = 0;

		for (int j = 0; j < POINTS; j++)
			now = run->u[i][j] > now ? run->u[i][j] : now;
		if (now <= 0.1 || now >= highest)
			return false;
		highest = now;
	}
	return run->steps > OUTPUTS;
}

static void test_plain_run(void)
{
	struct run run = { .save = save_plain, .load = load_plain };

	begin();
	run.y = N_VNew_Serial(POINTS, ctx);
	solve(&run, &plain);
	ok(is_plausible(&plain) && !made_vectors);
	end();
}

static void test_run_in_memory_of_the_helper(void)
{
	struct run run = { .save = save_on_card, .load = load_from_card };
	struct accel_memory_stats before = card_stats(), now;
	unsigned long allocated, freed;
	size_t bytes, high;

	begin();
	in_helper_memory = true;
	run.y = first_vector();
	solve(&run, &on_card);
	ok(!live_vectors && most_vectors > 10);
	printf("# %d vectors at most, %ld steps after the restart\n", most_vectors, on_card.steps);
	ok(stats_are(helper, PINNED, (unsigned long)made_vectors, (unsigned long)made_vectors, 0,
		     (size_t)most_vectors * BYTES));
	ok(stats_are(helper, DEVICE, OUTPUTS, 0, OUTPUTS * BYTES, OUTPUTS * BYTES));
	/* Each checkpoint was copied to the device, one was copied back, and nothing else. */
	now = card_stats();
	ok(now.bytes_h2d - before.bytes_h2d == OUTPUTS * BYTES);
	ok(now.bytes_d2h - before.bytes_d2h == BYTES && now.transfers > before.transfers);
	for (int i = 0; i < OUTPUTS; i++)
		free_memory(checkpoints[i]);
	gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_DEVICE, &allocated, &freed, &bytes,
					    &high), SUN_SUCCESS);
	ok(allocated == freed && !bytes);
	end();
}

static void test_both_are_bit_identical(void)
{
	ok(!memcmp(plain.u, on_card.u, sizeof(plain.u)));
	ok(!memcmp(plain.again, on_card.again, sizeof(plain.again)));
	ok(plain.steps == on_card.steps);
	/* They are two runs, and the second half is another integration. */
	ok(memcmp(plain.u[OUTPUTS - 1], plain.again[OUTPUTS - 1], BYTES));
}

int main(void)
{
	RUN_ON_CARD(test_plain_run);
	RUN_ON_CARD(test_run_in_memory_of_the_helper);
	RUN_ON_CARD(test_both_are_bit_identical);
	return tap_end();
}
