/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of runs, each in a process of its own, so that one in which the filter crashes or does not
 * come back is reported and the next one goes on. */
#include "filter_test.h"
#include "http_main.h"
#include "apr_strings.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FT_EXIT_FAILED = 3, FT_EXIT_USAGE = 2 }; /* of a group's process; not what sanitizers use */
#define FT_SHOWN 3

typedef struct ft_test {
    const ft_options *o;
    const ft_input *in;
    ap_filter_rec_t *filter;
    volatile int *number; /* of the run under way; shared with the group's process */
    ft_bytes expected;
    int runs, failed;
    const char *shown[FT_SHOWN]; /* what was wrong, without the figures in it */
} ft_test;

/* What the checker finds is said of these. */
static struct {
    ft_test *t;
    const ft_group *g;
    ft_run *run;
} ft_now;

/* ---- one run ---- */

static const char *ft_one(ft_test *t, const ft_group *g, int number, ft_bytes *out)
{
    ft_run run = {.options = t->o, .in = t->in, .filter = t->filter};
    apr_pool_t *p;
    ft_plan plan;

    apr_pool_create(&p, ap_pglobal);
    ft_plan_make(&plan, p, g, t->o, t->in, number);
    run.plan = &plan;
    ft_now.run = &run;
    if (t->o->verbose && !out)
        printf("      %s:%d %s\n", g->name, number, ft_plan_text(&plan, p));
    ft_run_plan(&run, p);
    if (t->o->through && !plan.fail_at && !plan.other_input)
        ft_bytes_through(&run.out, t->o->through);
    if (!run.trouble && !out && !plan.fail_at && !plan.other_input)
        run.trouble = ft_compare(&run, &t->expected);
    if (out)
        *out = run.out;
    else
        free(run.out.data);
    if (!run.trouble)
        apr_pool_destroy(p);
    return run.trouble;
}

/* ---- results ---- */

/* Of the same trouble one run is shown. */
static int ft_is_new(ft_test *t, const char *trouble)
{
    apr_size_t len = strcspn(trouble, "0123456789");

    for (int i = 0; i < FT_SHOWN; i++) {
        if (!t->shown[i]) {
            t->shown[i] = apr_pstrmemdup(ap_pglobal, trouble, len);
            return 1;
        }
        if (!strncmp(t->shown[i], trouble, len) && strlen(t->shown[i]) == len)
            return 0;
    }
    return 0;
}

static void ft_again(const ft_test *t, const ft_group *g, int number)
{
    apr_pool_t *p;
    ft_plan plan;

    apr_pool_create(&p, ap_pglobal);
    ft_plan_make(&plan, p, g, t->o, t->in, number);
    printf("      sent:  %s\n      again: --seed %llu --only %s:%d\n", ft_plan_text(&plan, p),
           (unsigned long long)t->o->seed, g->name, number);
    apr_pool_destroy(p);
}

static void ft_failed(ft_test *t, const ft_group *g, int number, const char *trouble)
{
    t->failed++;
    if (!ft_is_new(t, trouble))
        return;
    printf("FAIL  %s:%d: %s\n", g->name, number, trouble);
    ft_again(t, g, number);
}

void ft_check_told(conn_rec *c, filter_check_weight weight, const char *message)
{
    ft_test *t = ft_now.t;

    if (t->o->leftovers && weight == FILTER_CHECK_REMARK)
        return;
    ft_wrong(ft_now.run, "%s", message);
    if (weight != FILTER_CHECK_FATAL)
        return;
    ft_failed(t, *t->number < 0 ? &ft_groups[0] : ft_now.g, *t->number < 0 ? 0 : *t->number,
              ft_now.run->trouble);
    printf("FAIL  %-7s ended by this\n", ft_now.g->name);
    fflush(stdout);
    if (t->o->no_fork)
        abort(); /* here is where a debugger is to look */
    _exit(FT_EXIT_FAILED);
}

/* ---- one group ---- */

/* The runs of a group that are asked for; 0: none. */
static int ft_range(const ft_test *t, const ft_group *g, int *first)
{
    const char *colon = t->o->only ? strchr(t->o->only, ':') : NULL;
    int n = g->runs(t->o, t->in);

    *first = 0;
    if (t->o->only && strncmp(t->o->only, g->name, strcspn(t->o->only, ":")))
        return 0;
    if (!colon)
        return n;
    *first = atoi(colon + 1);
    if (*first >= n)
        ft_usage("--only: group %s has runs 0 to %d", g->name, n - 1);
    return *first + 1;
}

static int ft_group_run(ft_test *t, const ft_group *g, int first, int end)
{
    const char *trouble;

    ft_now.t = t;
    ft_now.g = g;
    *t->number = -1;
    trouble = ft_one(t, &ft_groups[0], 0, &t->expected);
    if (trouble) {
        t->runs++;
        ft_failed(t, &ft_groups[0], 0, trouble);
    }
    for (int i = first; i < end && !(trouble && t->failed); i++) {
        const char *wrong;

        *t->number = i;
        wrong = ft_one(t, g, i, NULL);
        t->runs++;
        if (wrong)
            ft_failed(t, g, i, wrong);
    }
    if (t->failed)
        printf("FAIL  %-7s %d of %d runs (%s)\n", g->name, t->failed, t->runs, g->what);
    else
        printf("PASS  %-7s %d runs (%s)\n", g->name, t->runs, g->what);
    fflush(stdout);
    free(t->expected.data);
    return t->failed != 0;
}

/* ---- its process ---- */

static void ft_group_process(ft_test *t, const ft_group *g, int first, int end)
{
    alarm((unsigned)t->o->seconds);
    exit(ft_group_run(t, g, first, end) ? FT_EXIT_FAILED : 0);
}

static void ft_crashed(ft_test *t, const ft_group *g, int status)
{
    const int number = *t->number < 0 ? 0 : *t->number;
    const ft_group *of = *t->number < 0 ? &ft_groups[0] : g;

    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("FAIL  %s:%d: did not come to an end within %d seconds: an endless loop?\n",
               of->name, number, t->o->seconds);
    else if (WIFSIGNALED(status))
        printf("FAIL  %s:%d: crashed with signal %d (%s)\n", of->name, number, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else
        printf("FAIL  %s:%d: the process ended with status %d; if sanitizers are built in, their "
               "report is above\n",
               of->name, number, WEXITSTATUS(status));
    ft_again(t, of, number);
}

static int ft_group_fork(ft_test *t, const ft_group *g, int first, int end)
{
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        ft_group_process(t, g, first, end);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        ft_usage("no process can be started for group %s", g->name);
    if (status == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == FT_EXIT_USAGE)
        exit(2);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != FT_EXIT_FAILED)
        ft_crashed(t, g, status);
    fflush(stdout);
    return 1;
}

int ft_groups_run(const ft_options *o, const ft_input *in, ap_filter_rec_t *filter)
{
    ft_test t = {.o = o, .in = in, .filter = filter};
    int failed = 0;

    t.number =
        mmap(NULL, sizeof *t.number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.number == MAP_FAILED)
        ft_usage("out of memory");
    for (const ft_group *g = ft_groups; g->name; g++) {
        int first, end = ft_range(&t, g, &first);
        ft_test of_group = t;

        if (end <= first)
            continue;
        if (o->no_fork ? ft_group_run(&of_group, g, first, end)
                       : ft_group_fork(&of_group, g, first, end))
            failed++;
        if (failed && g == ft_groups) {
            printf("      the rest is not run: there is nothing to compare with\n");
            break;
        }
    }
    printf("%s\n", failed ? "FAILED" : "PASSED");
    return failed ? 1 : 0;
}
