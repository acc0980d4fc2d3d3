/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The laboratory: what requests do with memory, replayed on every memory system and on stock APR
 * pools, side by side.
 *
 * Each measurement runs in a process of its own, this program or, for stock pools, the helper
 * beside it, so that resident memory is that of one subject. Subjects take turns, several times,
 * and the best turn of each counts: a noisy neighbour hits all of them alike.
 */
#include "membench_private.h"
#include "brigade/sms.h"
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAIN_TURNS 3
#define MAIN_LATE 1.4 /* times the seconds allowed: no more turns then */
#define MAIN_THREADS_MOST 64
#define MAIN_SECONDS_MOST 86400
#define MAIN_SLICE_LEAST 16 /* milliseconds of one measurement */

extern char **environ;

static const char *const main_specs[] = {
    "arena",    "trivial",          "limit(16M) arena", "blocks arena",   "system",
    "jemalloc", "trivial jemalloc", "mimalloc",         "tracking arena", "guard",
};
#define MAIN_SPECS_N ((int)(sizeof(main_specs) / sizeof(main_specs[0])))

typedef struct main_options {
    double seconds;
    const char *json, *svg;
    char directory[PATH_MAX]; /* of this program */
    char self[PATH_MAX], helper[PATH_MAX];
} main_options;

static void main_usage(FILE *out)
{
    fputs(
        "usage: brigade-membench [options] [TRACE...]\n"
        "  --spec SPEC     a memory system instead of the usual ones; may be repeated\n"
        "  --threads N     threads of the columns with several (2)\n"
        "  --seconds S     for all of it (16)\n"
        "  --json FILE     write the results as JSON\n"
        "  --svg FILE      draw them\n"
        "  --version       print the version\n"
        "Without a TRACE: those that were installed. Record one with the directive MemoryTrace.\n",
        out);
}

static void main_add_row(bench_table *table, const char *name, const char *spec, int is_inline)
{
    bench_row *row = &table->rows[table->rows_n];

    if (table->rows_n == BENCH_SUBJECTS)
        bench_fail("too many memory systems");
    snprintf(row->name, sizeof(row->name), "%s", name);
    row->spec = spec;
    row->is_inline = is_inline;
    table->rows_n++;
}

static void main_usual_rows(bench_table *table)
{
    int i;

    main_add_row(table, "arena, inline", "arena", 1);
    for (i = 0; i < MAIN_SPECS_N; i++)
        main_add_row(table, main_specs[i], main_specs[i], 0);
}

static void main_add_trace(bench_table *table, const char *path)
{
    if (table->traces_n == BENCH_TRACES)
        bench_fail("too many traces");
    if (trace_read(&table->traces[table->traces_n], path) != 0)
        exit(1);
    table->paths[table->traces_n++] = strdup(path);
}

/* Beside this program where it was built, in share where it was installed. */
static void main_usual_traces(bench_table *table, const main_options *o)
{
    static const char *const places[] = {"traces", "../share/brigade/traces"};
    char pattern[PATH_MAX + 64];
    glob_t found;
    size_t i, place;

    for (place = 0; place < sizeof(places) / sizeof(places[0]) && table->traces_n == 0; place++) {
        snprintf(pattern, sizeof(pattern), "%s/%s/*.trace", o->directory, places[place]);
        if (glob(pattern, 0, NULL, &found) == 0)
            for (i = 0; i < found.gl_pathc; i++)
                main_add_trace(table, found.gl_pathv[i]);
        globfree(&found);
    }
    if (table->traces_n == 0)
        bench_fail("there are no traces beside the program; name one");
}

static void main_find_self(main_options *o)
{
    ssize_t n = readlink("/proc/self/exe", o->self, sizeof(o->self) - 1);
    char *slash;

    if (n <= 0)
        bench_fail("cannot find the program itself");
    o->self[n] = '\0';
    memcpy(o->directory, o->self, (size_t)n + 1);
    slash = strrchr(o->directory, '/');
    if (slash != NULL)
        *slash = '\0';
    if (snprintf(o->helper, sizeof(o->helper), "%s-stock", o->self) >= (int)sizeof(o->helper))
        bench_fail("the program's name is too long");
}

/* Run a child and read its line. 0, or -1 where it ended otherwise. */
static int main_child(char *const argv[], bench_result *result)
{
    posix_spawn_file_actions_t actions;
    char line[256];
    ssize_t n, used = 0;
    int ends[2], status = -1, failed;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    failed = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed == 0) {
        while (used < (ssize_t)sizeof(line) - 1 &&
               (n = read(ends[0], line + used, sizeof(line) - 1 - (size_t)used)) > 0)
            used += n;
        waitpid(pid, &status, 0);
    }
    close(ends[0]);
    line[used] = '\0';
    if (failed != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return -1;
    return sscanf(line, BENCH_LINE, &result->cpu_ns, &result->alone_ns, &result->requests_per_s,
                  &result->waits, &result->burst_kb, &result->after_kb, &result->refills) == 7
               ? 0
               : -1;
}

static void main_better(bench_result *kept, const bench_result *now)
{
    bench_result before = *kept;

    *kept = *now;
    if (before.cpu_ns > 0 && before.cpu_ns < now->cpu_ns)
        kept->cpu_ns = before.cpu_ns;
    if (before.alone_ns > 0 && before.alone_ns < now->alone_ns)
        kept->alone_ns = before.alone_ns;
    if (before.requests_per_s > now->requests_per_s)
        kept->requests_per_s = before.requests_per_s;
}

static void main_measure(const main_options *o, bench_row *row, const char *path, int threads,
                         int milliseconds, bench_result *kept)
{
    char n[16], ms[16];
    char *stock[] = {(char *)o->helper, (char *)path, n, ms, NULL};
    char *empty[] = {(char *)o->helper, (char *)"--empty", (char *)path, n, ms, NULL};
    char *ours[] = {(char *)o->self,
                    (char *)(row->is_inline ? "--child-inline" : "--child"),
                    (char *)row->spec,
                    (char *)path,
                    n,
                    ms,
                    NULL};
    bench_result result;

    if (row->absent)
        return;
    snprintf(n, sizeof(n), "%d", threads);
    snprintf(ms, sizeof(ms), "%d", milliseconds);
    if (main_child(row->spec != NULL ? ours : row->is_empty ? empty : stock, &result) != 0) {
        fprintf(stderr, "brigade-membench: %s could not be measured\n", row->name);
        row->absent = 1;
        return;
    }
    main_better(kept, &result);
}

static double main_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void main_measure_all(const main_options *o, bench_table *table)
{
    int turn, t, i, ms, children = MAIN_TURNS * 2 * table->traces_n * table->rows_n;
    double began = main_now();

    ms = (int)(o->seconds * 1000 / children) - 25; /* what a process needs besides */
    if (ms < MAIN_SLICE_LEAST)
        ms = MAIN_SLICE_LEAST;
    for (turn = 0; turn < MAIN_TURNS; turn++)
        for (t = 0; t < table->traces_n; t++)
            for (i = 0; i < table->rows_n; i++) {
                if (turn > 0 && main_now() - began > o->seconds * MAIN_LATE)
                    return; /* a busy machine: what there is must do */
                if (main_now() - began > o->seconds)
                    ms = MAIN_SLICE_LEAST;
                main_measure(o, &table->rows[i], table->paths[t], 1, ms, &table->rows[i].one[t]);
                main_measure(o, &table->rows[i], table->paths[t], table->threads, ms,
                             &table->rows[i].many[t]);
            }
}

static __attribute__((noreturn, format(printf, 1, 2))) void main_refuse(const char *format, ...)
{
    va_list args;

    fputs("brigade-membench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("; see --help\n", stderr);
    exit(2);
}

/* -1 for what is none. */
static double main_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);

    return end != text && *end == '\0' ? number : -1;
}

/* Before anything is measured: a run is long. */
static int main_can_write(const char *path)
{
    FILE *file = path != NULL ? fopen(path, "a") : NULL;

    if (path != NULL && file == NULL)
        perror(path);
    if (file != NULL)
        fclose(file);
    return path == NULL || file != NULL;
}

static void main_arguments(int argc, char **argv, main_options *o, bench_table *table)
{
    static const struct option options[] = {
        {"spec", required_argument, NULL, 's'},    {"threads", required_argument, NULL, 't'},
        {"seconds", required_argument, NULL, 'S'}, {"json", required_argument, NULL, 'j'},
        {"svg", required_argument, NULL, 'v'},     {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
        switch (c) {
        case 's':
            main_add_row(table, optarg, optarg, 0);
            break;
        case 't':
            table->threads = (int)main_number(optarg);
            break;
        case 'S':
            o->seconds = main_number(optarg);
            break;
        case 'j':
            o->json = optarg;
            break;
        case 'v':
            o->svg = optarg;
            break;
        case 'V':
            puts("brigade-membench " BRIGADE_VERSION);
            exit(0);
        case 'h':
            main_usage(stdout);
            exit(0);
        default:
            main_usage(stderr);
            exit(2);
        }
    if (table->threads < 1 || table->threads > MAIN_THREADS_MOST)
        main_refuse("--threads is a number from 1 to %d", MAIN_THREADS_MOST);
    if (!(o->seconds > 0 && o->seconds <= MAIN_SECONDS_MOST))
        main_refuse("--seconds is more than 0 and at most %d", MAIN_SECONDS_MOST);
    for (; optind < argc; optind++)
        main_add_trace(table, argv[optind]);
}

/* What may be missing on a machine, without harm. */
static int main_is_library(const char *spec)
{
    return spec != NULL && (strstr(spec, "jemalloc") != NULL || strstr(spec, "mimalloc") != NULL);
}

/* Libraries need a process that began with room for them. */
static void main_check_spec(const char *spec)
{
    const char *message = main_is_library(spec) ? NULL : brg_sms_check(spec, NULL);

    if (message != NULL)
        main_refuse("%s", message);
}

int main(int argc, char **argv)
{
    static bench_table table = {.threads = 2};
    static main_options o = {.seconds = 16};
    int i, failed = 0;

    if (argc == 6 && strncmp(argv[1], "--child", 7) == 0)
        return bench_ours(argv[2], strcmp(argv[1], "--child-inline") == 0, argv[3], atoi(argv[4]),
                          atoi(argv[5]));
    /* jemalloc wants more room for thread variables than a library that is opened late is given. */
    setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=8192", 1);
    main_find_self(&o);
    main_add_row(&table, "stock APR pools", NULL, 0);
    main_add_row(&table, "the replay alone", NULL, 0);
    table.rows[BENCH_ROW_EMPTY].is_empty = 1;
    main_arguments(argc, argv, &o, &table);
    for (i = BENCH_ROW_EMPTY + 1; i < table.rows_n; i++)
        main_check_spec(table.rows[i].spec);
    if (table.rows_n == BENCH_ROW_EMPTY + 1)
        main_usual_rows(&table);
    if (table.traces_n == 0)
        main_usual_traces(&table, &o);
    if (!main_can_write(o.json) || !main_can_write(o.svg))
        return 1;
    main_measure_all(&o, &table);
    bench_print_table(&table);
    for (i = 0; i < table.rows_n; i++)
        failed |= table.rows[i].absent && !main_is_library(table.rows[i].spec);
    if (o.json != NULL)
        failed |= bench_write_json(&table, o.json);
    if (o.svg != NULL)
        failed |= bench_write_svg(&table, o.svg);
    return failed ? 1 : 0;
}
