/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --compare-memory: the cost of a site's requests with each memory system, as a table and a
 * picture.
 *
 * Each figure comes from a process of its own, which reads the configuration with lines for that
 * system behind it, and answers this process alone (main_trial.h): the site may be in service.
 * Answers that are remembered allocate nothing, so none is. Processor time is that of the server's
 * threads; the least of some rounds counts, since other load of the machine only adds to it.
 * Another program (with=), as a rule a build with stock APR pools, is one row more.
 */
#include "main_parts.h"
#include "main_compare_private.h"
#include "main_trial.h"
#include "clock.h"
#include "brigade/assert.h"
#include "brigade/sms.h"

#include "http_main.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COMPARE_WARM 2           /* connections before it is measured */
#define COMPARE_ON_CONNECTION 40 /* requests of one connection */

/* NULL: as the configuration has it. */
static const char *const compare_systems[COMPARE_ROWS - 1] = {
    NULL,
    "arena",
    "trivial",
    "blocks",
    "system",
    "limit(16M) arena",
    "tracking(quiet) arena",
    "guard",
    "jemalloc",
    "mimalloc",
};

static struct {
    int asked;
    int bare; /* the first row alone, as figures: for with= of another one */
    int connections, rounds;
    const char *svg, *page, *json; /* files to write */
    const char *with;
    double most; /* a cost above so many times the cheapest system's is a failure; 0: no limit */
    const char *urls[COMPARE_URLS];
    int urls_n;
    int out; /* of a process that measures: where its figures go */
    compare_figure measured;
} compare = {.connections = 25, .rounds = 3};

/* ---- in the process that serves ---- */

static double compare_cpu_us(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static double compare_resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (f && fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static const char *compare_ask(int connections)
{
    const char *requests =
        main_trial_requests(ap_server_conf->process->pool, COMPARE_ON_CONNECTION);
    const char *error = NULL;

    for (int i = 0; i < connections && !error; i++)
        error = main_trial_ask(requests);
    return error;
}

static void compare_client(void)
{
    const int n = compare.connections * COMPARE_ON_CONNECTION;
    double cpu, own;
    apr_time_t began;

    if (compare_ask(COMPARE_WARM))
        return;
    cpu = compare_cpu_us();
    own = (double)clock_of_thread();
    began = clock_monotonic();
    if (compare_ask(compare.connections))
        return;
    compare.measured.rate = n * 1e6 / (double)(clock_monotonic() - began + 1);
    compare.measured.cpu_us = (compare_cpu_us() - cpu - ((double)clock_of_thread() - own)) / n;
    compare.measured.resident_kib = compare_resident_kib();
}

static int compare_tell(void)
{
    return write(compare.out, &compare.measured, sizeof compare.measured) ==
                   (ssize_t)sizeof compare.measured
               ? 0
               : 2;
}

/* ---- a process for each figure ---- */

static void compare_line(process_rec *process, const char *scope, const char *system)
{
    APR_ARRAY_PUSH(ap_server_post_read_config, const char *) =
        apr_psprintf(process->pool, "%s %s", scope, system);
}

static void compare_serve(process_rec *process, const char *system, const char *url)
    __attribute__((noreturn));
static void compare_serve(process_rec *process, const char *system, const char *url)
{
    static const main_trial asks = {.client = compare_client, .tell = compare_tell};
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (system) {
        compare_line(process, "MemorySystem request", system);
        compare_line(process, "MemorySystem connection", system);
        compare_line(process, "MemorySystem bucket", system);
        dup2(nowhere, STDERR_FILENO); /* of systems that are not there */
    }
    compare_line(process, "FileCacheEntries", "0");
    compare_line(process, "MaxKeepAliveRequests", "0");
    main_trial_read(process);
    mpm_process_exit(process, main_trial_run(process, url, &asks));
}

/* The other program measures one row, of all URLs, with the configuration and the options of this one. */
static void compare_other(const process_rec *process, const char *url) __attribute__((noreturn));
static void compare_other(const process_rec *process, const char *url)
{
    const char **argv = calloc((size_t)process->argc + 8, sizeof *argv);
    int n = 0;

    if (argv) {
        for (; n < process->argc; n++)
            argv[n] = n ? process->argv[n] : compare.with;
        argv[n++] = COMPARE_OPTION;
        argv[n++] = "bare";
        argv[n++] =
            apr_psprintf(process->pool, "requests=%d", compare.connections * COMPARE_ON_CONNECTION);
        argv[n++] = "rounds=1";
        argv[n++] = url;
        dup2(compare.out, STDOUT_FILENO);
        execv(compare.with, (char *const *)(uintptr_t)argv);
    }
    fprintf(stderr, "%s: %s\n", compare.with, strerror(errno));
    _exit(2);
}

/* @return 0: it could not be measured */
static int compare_measure(process_rec *process, int row, const char *url, compare_figure *out)
{
    int ends[2], status;
    ssize_t n = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
        return 0;
    if (!child) {
        close(ends[0]);
        compare.out = ends[1];
        if (row == COMPARE_OTHER)
            compare_other(process, url);
        compare_serve(process, compare_systems[row], url);
    }
    close(ends[1]);
    do
        n = read(ends[0], out, sizeof *out);
    while (n < 0 && errno == EINTR);
    close(ends[0]);
    status = main_wait(child);
    return n == (ssize_t)sizeof *out && status == 0 && out->cpu_us > 0;
}

static void compare_keep(compare_figure *best, compare_figure *worst, const compare_figure *one)
{
    const int first = !(best->cpu_us > 0);

    if (first || one->cpu_us < best->cpu_us) {
        best->cpu_us = one->cpu_us;
        best->resident_kib = one->resident_kib;
    }
    if (first || one->rate > best->rate)
        best->rate = one->rate;
    if (first || one->cpu_us > worst->cpu_us)
        worst->cpu_us = one->cpu_us;
    if (first || one->rate < worst->rate)
        worst->rate = one->rate;
}

static void compare_round(process_rec *process, compare_table *t)
{
    for (int url = 0; url < t->urls_n; url++)
        for (int row = 0; row < COMPARE_ROWS; row++) {
            compare_figure one, *best = &t->figure[url][row];

            if (t->absent[row])
                continue;
            t->absent[row] = !compare_measure(process, row, t->urls[url], &one);
            if (t->absent[row])
                continue;
            compare_keep(best, &t->worst[url][row], &one);
        }
}

/* ---- the command ---- */

/* 1 if the other program says that it was built without memory systems. */
static int compare_is_stock(void)
{
    char line[512];
    int ends[2], stock = 0;
    pid_t child;
    FILE *in;

    if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
        return 0;
    if (!child) {
        const char *const args[] = {compare.with, "-V", NULL};

        dup2(ends[1], STDOUT_FILENO);
        execv(compare.with, (char *const *)(uintptr_t)args);
        _exit(2);
    }
    close(ends[1]);
    in = fdopen(ends[0], "r");
    while (in && fgets(line, sizeof line, in))
        stock |= strstr(line, "MEMORY=OFF") != NULL;
    if (in)
        fclose(in);
    return main_wait(child) == 0 && stock;
}

static const char *compare_name(int row)
{
    if (row == COMPARE_OTHER)
        return compare_is_stock() ? "stock APR pools" : apr_filepath_name_get(compare.with);
    return compare_systems[row] ? compare_systems[row] : "as configured";
}

/* 1: it was a setting. */
static int compare_setting(const char *arg)
{
    if (!strcmp(arg, "bare"))
        compare.bare = 1;
    else if (!strncmp(arg, "svg=", 4))
        compare.svg = arg + 4;
    else if (!strncmp(arg, "html=", 5))
        compare.page = arg + 5;
    else if (!strncmp(arg, "json=", 5))
        compare.json = arg + 5;
    else if (!strncmp(arg, "most=", 5))
        compare.most = atof(arg + 5);
    else if (!strncmp(arg, "with=", 5))
        compare.with = arg + 5;
    else if (!strncmp(arg, "rounds=", 7))
        compare.rounds = atoi(arg + 7);
    else if (!strncmp(arg, "requests=", 9))
        compare.connections = (atoi(arg + 9) + COMPARE_ON_CONNECTION - 1) / COMPARE_ON_CONNECTION;
    else
        return 0;
    return 1;
}

static void compare_usage(process_rec *process) __attribute__((noreturn));
static void compare_usage(process_rec *process)
{
    fprintf(stderr,
            "Usage: %s [options] " COMPARE_OPTION
            " [requests=N] [rounds=N] [svg=FILE] [html=FILE] [json=FILE]\n"
            "       [most=FACTOR] [with=PROGRAM] URL...\n",
            process->argv[0]);
    mpm_process_exit(process, 2);
}

void main_compare_take(process_rec *process)
{
    int at = 1;

    while (at < process->argc && strcmp(process->argv[at], COMPARE_OPTION))
        at++;
    if (at == process->argc)
        return;
    compare.asked = 1;
    for (int i = at + 1; i < process->argc; i++) {
        if (compare_setting(process->argv[i]))
            continue;
        if (compare.urls_n == COMPARE_URLS)
            compare_usage(process);
        compare.urls[compare.urls_n++] = process->argv[i];
    }
    if (!compare.urls_n || compare.connections < 1 || compare.rounds < 1)
        compare_usage(process);
    process->argc = at;
}

int main_compare_is_asked(void)
{
    return compare.asked;
}

static void compare_write(process_rec *process, const char *path,
                          void (*write_it)(const compare_table *t, FILE *out),
                          const compare_table *t)
{
    FILE *file = path ? fopen(path, "we") : NULL;
    int failed = path && !file;

    if (file) {
        write_it(t, file);
        failed = fclose(file) != 0;
    }
    if (!failed)
        return;
    fprintf(stderr, "%s: %s: %s\n", process->short_name, path, strerror(errno));
    mpm_process_exit(process, 2);
}

/* 1: the configured system costs more than allowed, which is said. */
static int compare_is_dear(const process_rec *process, const compare_table *t)
{
    int dear = 0;

    for (int url = 0; url < t->urls_n && compare.most > 0; url++) {
        const compare_figure *f = t->figure[url];
        int least = 0;

        for (int row = 1; row < COMPARE_OTHER; row++)
            if (!t->absent[row] && f[row].cpu_us < f[least].cpu_us)
                least = row;
        if (f[0].cpu_us <= compare.most * f[least].cpu_us)
            continue;
        dear = 1;
        fprintf(stderr, "%s: %s: what is configured costs %.2f times what %s costs (most=%g)\n",
                process->short_name, t->urls[url], f[0].cpu_us / f[least].cpu_us, t->names[least],
                compare.most);
    }
    return dear;
}

void main_compare(process_rec *process)
{
    static compare_table t;

    BRG_ASSERT(compare.urls_n > 0);
    if (compare.bare) {
        compare.out = STDOUT_FILENO;
        compare_serve(process, NULL, compare.urls[0]);
    }
    /* A module file that needs the program to begin anew would have each measurement do all of this again. */
    (void)brg_sms_static_tls_retry("static TLS");
    if (getloadavg(&t.load, 1) != 1)
        t.load = 0;
    t.urls = compare.urls;
    t.urls_n = compare.urls_n;
    t.requests = compare.connections * COMPARE_ON_CONNECTION;
    t.absent[COMPARE_OTHER] = !compare.with;
    for (int row = 0; row < COMPARE_ROWS; row++)
        t.names[row] = row == COMPARE_OTHER && !compare.with ? "" : compare_name(row);
    for (int i = 0; i < compare.rounds; i++)
        compare_round(process, &t);
    if (t.absent[0])
        mpm_process_exit(process, 2);
    compare_print(&t, stdout);
    compare_write(process, compare.svg, compare_draw, &t);
    compare_write(process, compare.page, compare_page, &t);
    compare_write(process, compare.json, compare_json, &t);
    mpm_process_exit(process, compare_is_dear(process, &t));
}
