// SPDX-License-Identifier: MIT
/* The process of the fuzzer that starts all others in a guest, and reads the log on the host. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest/util.h"
#include "fuzz.h"

/* A program that takes longer than this is ended, and its process must then end in that time. */
#define PROGRAM_MS 20000
#define STUCK_MS 180000
/* One of the processes is killed in the middle of its work once in so many seconds. */
#define KILL_SECONDS 3
/* A call that fails so often is one that the grammar makes wrong. */
#define MADE_WITHOUT_SUCCESS 1000

struct shared *shared;

static struct options {
	unsigned int seconds, processes, blocks;
	u64 seed;
	bool uncovered;
	const char *corpus, *log;
} options = { .seconds = 60, .processes = 8, .seed = 1, .log = "/dev/virtio-ports/paccel.fuzz" };

static struct random dice;
static bool failed;

/* --- processes ------------------------------------------------------------------------ */

static void start_process(unsigned int number)
{
	struct slot *slot = &shared->slots[number];
	u64 seed = options.seed * 1000003 + number * 10007 + ++slot->processes;
	pid_t pid = fork();

	if (!pid)
		worker_run(number, seed);
	if (pid < 0)
		return;
	slot->pid = pid;
	slot->since = 0;
	slot->killed = 0;
}

static void kill_slot(struct slot *slot)
{
	if (slot->killed || slot->pid <= 0)
		return;
	slot->killed = now_ms();
	kill(slot->pid, SIGKILL);
}

/* A process that computes has a state and no stack. */
static void print_process(pid_t pid)
{
	static const char *const files[] = { "stat", "syscall", "stack" };
	char path[64], text[4096];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		if (file_read(path, text, sizeof(text)) > 0)
			printf("%s:\n%s\n", path, text);
	}
}

/* Processes whose program does not end, or that do not end themselves. */
static void look_after(struct slot *slot)
{
	u64 since = __atomic_load_n(&slot->since, __ATOMIC_RELAXED), now = now_ms();

	if (slot->pid && since && now - since > PROGRAM_MS * (u64)slow_factor())
		kill_slot(slot);
	/* It may have been killed after now. */
	if (!slot->pid || !slot->killed || now < slot->killed + STUCK_MS)
		return;
	printf("a process has not ended %d s after SIGKILL\n", STUCK_MS / 1000);
	print_process(slot->pid);
	failed = true;
	slot->pid = 0;
}

static void ended(pid_t pid, int status)
{
	for (unsigned int i = 0; i < options.processes; i++) {
		struct slot *slot = &shared->slots[i];

		if (slot->pid != pid)
			continue;
		slot->pid = 0;
		if (slot->killed || (WIFEXITED(status) && !WEXITSTATUS(status)))
			return;
		/* The OOM killer is no failure of the driver. */
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			return;
		printf("process %u has ended with status %#x\n", i, (unsigned int)status);
		failed = true;
	}
}

static unsigned int running(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < options.processes; i++)
		n += shared->slots[i].pid > 0;
	return n;
}

/* Waits for the end of a process, at most a second. */
static void wait_a_second(const sigset_t *child)
{
	struct timespec second = { .tv_sec = 1 };
	int status;
	pid_t pid;

	sigtimedwait(child, NULL, &second);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		ended(pid, status);
	for (unsigned int i = 0; i < options.processes; i++)
		look_after(&shared->slots[i]);
}

static void run_processes(void)
{
	u64 end = now_ms() + options.seconds * 1000ull, next_kill = now_ms() + KILL_SECONDS * 1000;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	while (now_ms() < end && !failed) {
		for (unsigned int i = 0; i < options.processes; i++)
			if (!shared->slots[i].pid)
				start_process(i);
		/* Not the first: it may have unplugged a device. */
		if (now_ms() > next_kill && options.processes > 1) {
			kill_slot(&shared->slots[1 + random_below(&dice, options.processes - 1)]);
			next_kill = now_ms() + KILL_SECONDS * 1000;
		}
		wait_a_second(&child);
	}
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	while (running())
		wait_a_second(&child);
	/* Children of a process that was killed may be in the middle of removing a device. */
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

/* --- before and after ------------------------------------------------------------------- */

static void read_corpus(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[MAX_TEXT];

	while (file && shared->nr_imports < MAX_CORPUS && fgets(line, sizeof(line), file))
		if (program_parse(&shared->imports[shared->nr_imports], line))
			shared->nr_imports++;
	if (file)
		fclose(file);
}

/* With fail-nth all that a process allocates can fail, quietly. */
static void allow_failures(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" }, { "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" }, { "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" }, { "fail_usercopy/verbose", "0" },
	};
	char path[96];

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		if (file_write(path, settings[i][1]))
			printf("%s: no failures on demand\n", path);
	}
}

/*
 * A report that is no failure, in words of qemu/runner/klog.py: the debugger of the DMA API takes a
 * dma-buf that is attached to a device twice for a fault.
 */
static const char allow[] = "paccel-test: allow-warning begin cacheline tracking EEXIST|"
			    "add_dma_entry\\+|DMA-API: Mapped at\n";

static void mark_log(const char *text)
{
	if (file_write("/dev/kmsg", text)) {
		fprintf(stderr, "fuzz: /dev/kmsg: cannot be written\n");
		exit(1);
	}
}

static u64 sum(const u64 *counts, bool progress)
{
	u64 n = 0;

	for (int i = 0; i < NR_CALLS; i++)
		if (!progress || call_types[i].is_progress)
			n += counts[i];
	return n;
}

static bool must_succeed(int call)
{
	return call == CALL_submit || call == CALL_copy || call == CALL_mem_alloc ||
	       call == CALL_mem_export;
}

/* A stock kernel has no sw_sync. */
static bool is_here(const struct call_type *type)
{
	return (type->result != K_TIMELINE && type->args[0].kind != K_TIMELINE) ||
	       share_has_timelines();
}

/* Without success nothing is tested: of these calls at least once, of others in so many. */
static void check_progress(void)
{
	for (int i = 0; i < NR_CALLS; i++) {
		if (shared->succeeded[i] || call_types[i].disturbs || !is_here(&call_types[i]) ||
		    (shared->made[i] < MADE_WITHOUT_SUCCESS && !must_succeed(i)))
			continue;
		printf("%s: made %llu times, has never succeeded\n", call_types[i].name,
		       (unsigned long long)shared->made[i]);
		failed = true;
	}
}

static void print_results(void)
{
	printf("%-18s %10s %10s\n", "call", "made", "succeeded");
	for (int i = 0; i < NR_CALLS; i++)
		printf("%-18s %10llu %10llu\n", call_types[i].name,
		       (unsigned long long)shared->made[i],
		       (unsigned long long)shared->succeeded[i]);
	printf("calls: %llu, in %llu programs\n", (unsigned long long)sum(shared->made, false),
	       (unsigned long long)shared->programs);
	printf("successful SUBMIT, COPY, allocation or sharing calls: %llu\n",
	       (unsigned long long)sum(shared->succeeded, true));
	if (!shared->covered)
		return;
	printf("coverage: %u", coverage_blocks());
	if (options.blocks)
		printf(" of %u", options.blocks);
	printf(" basic blocks, %u edges\n", coverage_edges());
	printf("corpus: %u programs\n",
	       shared->nr_corpus < MAX_CORPUS ? shared->nr_corpus : MAX_CORPUS);
}

static int run(void)
{
	static const struct rlimit files = { 256, 256 };
	unsigned int devices;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || setrlimit(RLIMIT_NOFILE, &files))
		abort();
	/* So that run_processes() can wait for the children of its children. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		abort();
	shared->covered = !options.uncovered;
	setvbuf(stdout, NULL, _IOLBF, 0);
	random_seed(&dice, options.seed);
	if (!log_open(options.log)) {
		fprintf(stderr, "fuzz: %s: %s\n", options.log, strerror(errno));
		return 1;
	}
	devices = calls_init();
	if (devices < 2) {
		fprintf(stderr, "fuzz: there are fewer than two devices\n");
		return 1;
	}
	if (options.corpus)
		read_corpus(options.corpus);
	allow_failures();
	mark_log(allow);
	run_processes();
	for (unsigned int i = 0; i < devices; i++)
		failed |= !calls_mend(i);
	mark_log("paccel-test: allow-warning end\n");
	if (shared->imports_done == shared->nr_imports)
		log_imported();
	print_results();
	check_progress();
	return failed;
}

/* --- the command line --------------------------------------------------------------------- */

/* @nr programs, as lines; for tests of the generator. */
static void generate(unsigned int nr)
{
	char text[MAX_TEXT];
	struct program p;

	random_seed(&dice, options.seed);
	while (nr--) {
		program_generate(&p, &dice);
		program_format(&p, text);
		fputs(text, stdout);
	}
}

static int print_stdin(void)
{
	static struct program programs[MAX_SLOTS];
	char line[MAX_TEXT];
	unsigned int nr = 0;

	while (nr < MAX_SLOTS && fgets(line, sizeof(line), stdin)) {
		if (!program_parse(&programs[nr++], line)) {
			fprintf(stderr, "fuzz: line %u is no program\n", nr);
			return 1;
		}
	}
	programs_print_c(stdout, programs, nr);
	return 0;
}

static const char usage[] =
	"usage: fuzz [OPTION...]                 runs in a guest\n"
	"  --seconds N --processes N --seed N    how long, how many (1 to 16), which programs\n"
	"  --corpus FILE                         programs to begin with\n"
	"  --log FILE                            where programs are written before they run\n"
	"  --blocks N                            basic blocks that the driver has\n"
	"  --uncovered                           without KCOV, on a kernel that has none\n"
	"on the host:\n"
	"  --print LOG                           the last program of each process, as C\n"
	"  --kept LOG --corpus FILE              the corpus afterwards; FILE: before\n"
	"  --print-c                             programs from standard input, as C\n"
	"  --generate N --seed N                 N programs\n";

enum { SECONDS = 1, PROCESSES, SEED, CORPUS, LOG, BLOCKS, PRINT, KEPT, PRINT_C, GENERATE, UNCOVERED };

static const struct option names[] = {
	{ "seconds", 1, NULL, SECONDS }, { "processes", 1, NULL, PROCESSES },
	{ "seed", 1, NULL, SEED }, { "corpus", 1, NULL, CORPUS }, { "log", 1, NULL, LOG },
	{ "blocks", 1, NULL, BLOCKS }, { "print", 1, NULL, PRINT }, { "kept", 1, NULL, KEPT },
	{ "print-c", 0, NULL, PRINT_C }, { "generate", 1, NULL, GENERATE },
	{ "uncovered", 0, NULL, UNCOVERED },
	{ 0 },
};

static unsigned int number(const char *name, unsigned int most)
{
	char *end;
	unsigned long value = strtoul(optarg, &end, 10);

	if (!*optarg || *end || !value || value > most) {
		fprintf(stderr, "fuzz: --%s %s: must be a number from 1 to %u\n", name, optarg,
			most);
		exit(2);
	}
	return (unsigned int)value;
}

int main(int argc, char **argv)
{
	const char *print = NULL, *kept = NULL;
	unsigned int nr = 0;
	bool from_stdin = false;
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case SECONDS: options.seconds = number("seconds", 1000000); break;
		case PROCESSES: options.processes = number("processes", MAX_SLOTS); break;
		case SEED: options.seed = number("seed", ~0u); break;
		case BLOCKS: options.blocks = number("blocks", NR_BLOCKS); break;
		case GENERATE: nr = number("generate", 1000000); break;
		case CORPUS: options.corpus = optarg; break;
		case LOG: options.log = optarg; break;
		case PRINT: print = optarg; break;
		case KEPT: kept = optarg; break;
		case UNCOVERED: options.uncovered = true; break;
		case PRINT_C: from_stdin = true; break;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (print)
		return !log_print_last(print);
	if (kept)
		return !log_print_corpus(kept, options.corpus ?: "");
	if (from_stdin)
		return print_stdin();
	if (!nr)
		return run();
	generate(nr);
	return 0;
}
