/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -t -D DUMP_CACHE URL: which lines of the configuration keep the answer out of memory.
 *
 * Lines are found by leaving them out. This program is started once more with the same arguments, without all lines in force of the
 * module that is the reason: if it is no reason then, each of them is tried alone. A module may be the reason only where another one is
 * none any more, so this goes on with the next.
 */
#include "main_advice_private.h"
#include "main_explain_private.h"
#include "main_trial.h"
#include "brigade/assert.h"
#include "brigade/explain.h"
#include "configuration.h"
#include "http_main.h"
#include "apr_strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* in the environment of such a start: "FILE:LINE\n"... */
#define LINES_WITHOUT "BRIGADE_TRIAL_WITHOUT"
#define LINES_ROOM (256 * 1024)
#define LINES_TRIED 32 /* of one module, one by one */
#define LINES_MODULES 4

/* Message of the process that serves to the reading one: lines in force,
 * "MODULE\tGROUP\tFILE:LINE\tTEXT\n" each. */
typedef struct lines_shared {
    char module[256]; /* the reason; empty: none is */
    size_t len;
    char text[LINES_ROOM];
} lines_shared;

/* A directive with the lines that count only together with it: RewriteCond lines before a rule. */
typedef struct lines_one {
    const char *module, *group;
    const char *places; /* "FILE:LINE\n" of each */
    const char *text;   /* printed text */
} lines_one;

static lines_shared *lines_told;
static apr_array_header_t *lines_found; /* of explain_line, in the process that serves */

/* ---- in the process that serves ---- */

/* The output of --explain about it is of no use here. */
static apr_array_header_t *lines_report(void)
{
    return apr_array_make(lines_found->pool, 8, sizeof(explain_item));
}

static void lines_section(request_rec *r, const ap_directive_t *line, const char *what)
{
    if (lines_found && line && !what)
        explain_section(lines_report(), line, lines_found);
}

void main_lines_watch(process_rec *process)
{
    void *shared =
        mmap(NULL, sizeof *lines_told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return;
    lines_told = shared;
    lines_found = apr_array_make(process->pool, 16, sizeof(explain_line));
    brg_explain = lines_section;
}

static int lines_leads_on(const explain_line *line)
{
    return !ap_cstr_casecmp(line->line->directive, "RewriteCond");
}

void main_lines_note(const request_rec *r)
{
    int group = 0;

    if (!lines_found)
        return;
    brg_explain = NULL; /* the requests that follow are as any client's */
    explain_server(lines_report(), r->server, lines_found);
    for (int i = 0; i < lines_found->nelts; i++) {
        const explain_line *line = &APR_ARRAY_IDX(lines_found, i, explain_line);
        const size_t room = sizeof lines_told->text - lines_told->len;
        const int n =
            snprintf(lines_told->text + lines_told->len, room, "%s\t%d\t%s:%d\t%s\n", line->module,
                     group, line->line->filename, line->line->line_num, line->text);

        if (n < 0 || (size_t)n >= room)
            break;
        lines_told->len += (size_t)n;
        group += !lines_leads_on(line);
    }
    lines_told->text[lines_told->len] = '\0';
    lines_found = NULL;
}

void main_lines_blame(const char *who)
{
    if (lines_told && who)
        apr_snprintf(lines_told->module, sizeof lines_told->module, "%s", who);
}

/* ---- in a start that leaves lines out ---- */

int main_lines_are_left_out(void)
{
    const char *lines = getenv(LINES_WITHOUT);

    conf_leave_out(lines);
    return lines != NULL;
}

/* ---- in the process that reads ---- */

static int lines_has(const apr_array_header_t *list, const char *place)
{
    for (int i = 0; i < list->nelts; i++)
        if (strstr(APR_ARRAY_IDX(list, i, lines_one).places, place))
            return 1;
    return 0;
}

/* The next field of a line, which ends at mark. */
static const char *lines_field(char **text, char mark)
{
    char *at = *text, *end = strchr(at, mark);

    BRG_ASSERT(end != NULL);
    *end = '\0';
    *text = end + 1;
    return at;
}

static void lines_add(apr_array_header_t *list, apr_pool_t *p, const lines_one *one)
{
    lines_one *last = list->nelts ? &APR_ARRAY_IDX(list, list->nelts - 1, lines_one) : NULL;

    if (lines_has(list, one->places))
        return;
    if (!last || strcmp(last->group, one->group) != 0) {
        APR_ARRAY_PUSH(list, lines_one) = *one;
        return;
    }
    last->places = apr_pstrcat(p, last->places, one->places, NULL);
    last->text = apr_pstrcat(p, last->text, one->text, NULL);
}

static apr_array_header_t *lines_of(apr_pool_t *p, const char *who)
{
    apr_array_header_t *list = apr_array_make(p, 8, sizeof(lines_one));
    char *text = apr_pstrmemdup(p, lines_told->text, lines_told->len);

    while (*text) {
        lines_one one = {.module = lines_field(&text, '\t'), .group = lines_field(&text, '\t')};

        one.places = apr_pstrcat(p, lines_field(&text, '\t'), "\n", NULL);
        one.text = apr_pstrcat(p, "    ", lines_field(&text, '\n'), "\n", NULL);
        if (!strcmp(one.module, who))
            lines_add(list, p, &one);
    }
    return list;
}

/* The result of a start without some lines. */
typedef struct lines_verdict {
    int kept;
    const char *module, *why;
} lines_verdict;

/* "yes", or "no", the module and the reason, a line each. @return 0: it says neither */
static int lines_ask(process_rec *process, apr_pool_t *p, const char *without, lines_verdict *v)
{
    char *text;

    if (setenv(LINES_WITHOUT, without, 1))
        return 0;
    text = main_advice_start(p, process->argv);
    unsetenv(LINES_WITHOUT);
    v->kept = text && !strcmp(text, "yes\n");
    if (!text || v->kept || strncmp(text, "no\n", 3) != 0)
        return v->kept;
    text += 3;
    if (!strchr(text, '\n') || !strchr(strchr(text, '\n') + 1, '\n'))
        return 0;
    v->module = lines_field(&text, '\n');
    v->why = lines_field(&text, '\n');
    return 1;
}

static const char *lines_all(apr_pool_t *p, const apr_array_header_t *list, int but,
                             const char *more)
{
    for (int i = 0; i < list->nelts; i++)
        if (i != but)
            more = apr_pstrcat(p, more, APR_ARRAY_IDX(list, i, lines_one).places, NULL);
    return more;
}

/* Without these lines the module @a who is the reason. */
static int lines_is_reason(process_rec *process, apr_pool_t *p, const char *without,
                           const char *who)
{
    lines_verdict v = {0};

    return lines_ask(process, p, without, &v) && !v.kept && !strcmp(v.module, who);
}

/* Print the lines each of which keeps the answer out alone; or (@a alone 0) those without each of
 * which it would not be. @return how many */
static int lines_print_some(process_rec *process, apr_pool_t *p, const apr_array_header_t *list,
                            const char *without, const char *who, int alone)
{
    int n = 0;

    for (int i = 0; i < list->nelts; i++) {
        const lines_one *one = &APR_ARRAY_IDX(list, i, lines_one);
        const char *out =
            alone ? lines_all(p, list, i, without) : apr_pstrcat(p, without, one->places, NULL);

        if (lines_is_reason(process, p, out, who) != alone)
            continue;
        fputs(one->text, stdout);
        n++;
    }
    return n;
}

static int lines_print(process_rec *process, apr_pool_t *p, const apr_array_header_t *list,
                       const char *without, const char *who)
{
    const int some = list->nelts > 1 && list->nelts <= LINES_TRIED;
    int n = some ? lines_print_some(process, p, list, without, who, 1) : 0;

    if (some && !n)
        n = lines_print_some(process, p, list, without, who, 0);
    for (int i = 0; i < list->nelts && !n; i++)
        fputs(APR_ARRAY_IDX(list, i, lines_one).text, stdout);
    return n ? n : list->nelts;
}

void main_lines_report(process_rec *process)
{
    apr_pool_t *p = process->pool;
    const char *without = "", *who = lines_told ? lines_told->module : "";
    int printed = 0;

    for (int i = 0; *who && i < LINES_MODULES; i++) {
        const apr_array_header_t *list = lines_of(p, who);
        const char *next = lines_all(p, list, -1, without);
        lines_verdict v = {0};

        if (!list->nelts || !lines_ask(process, p, next, &v) || (!v.kept && !strcmp(v.module, who)))
            return;
        printed += lines_print(process, p, list, without, who);
        if (v.kept) {
            printf("  Without %s it would be kept in memory.\n",
                   printed == 1 ? "this line" : "these lines");
            return;
        }
        printf("  and without %s, %s: %s\n", printed == 1 ? "it" : "them", v.module, v.why);
        who = v.module;
        without = next;
    }
}
