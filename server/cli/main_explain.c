/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --explain URL: the lines of the configuration that shape the answer to a request.
 *
 * The request is answered by this process (main_trial.h), as for -D DUMP_CACHE. Trace points tell
 * the decisions of walks and rules (brigade/explain.h); a backend, a script or a filter that makes
 * the body is named and not asked. Then the request is made some more times, to learn whether its
 * answer is kept in memory.
 */
#include "main_explain_private.h"
#include "main_parts.h"
#include "main_trial.h"
#include "brigade/assert.h"
#include "brigade/explain.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "proxy.h"
#include "request_parts.h"
#include "util_filter.h"
#include "vhosts.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

#define EXPLAIN_OPTION "--explain"

static struct {
    const char *url, *method, *host, *fields, *from;
    apr_pool_t *pool; /* of all below */
    apr_array_header_t *steps, *lines, *messages;
    apr_array_header_t *report; /* of explain_item */
    const char *handler, *filters, *instead;
    int json;
    int cached; /* lines of CacheEnable and CacheDisable are for it */
    int done;   /* the first request is over */
} explain = {.method = "GET", .fields = ""};

/* ---- arguments ---- */

static void explain_usage(process_rec *process) __attribute__((noreturn));
static void explain_usage(process_rec *process)
{
    fprintf(stderr,
            "Usage: %s [options] " EXPLAIN_OPTION
            " [--json] [-X METHOD] [-H FIELD]... [--from ADDRESS] URL\n",
            process->argv[0]);
    mpm_process_exit(process, 2);
}

static void explain_field(process_rec *process, const char *field)
{
    const char *value = strchr(field, ':');

    if (!value || value == field || strpbrk(field, "\r\n"))
        explain_usage(process);
    for (value++; *value == ' '; value++) {
    }
    if (!ap_cstr_casecmpn(field, "Host:", 5))
        explain.host = value;
    else
        explain.fields = apr_pstrcat(process->pool, explain.fields, field, "\r\n", NULL);
}

/* "GET /x" as one word, too, as it stands in a log. */
static void explain_url(process_rec *process, const char *arg)
{
    const char *blank = strchr(arg, ' ');
    char *end;

    if (explain.url)
        explain_usage(process);
    explain.url = arg;
    if (!blank)
        return;
    explain.method = apr_pstrmemdup(process->pool, arg, (apr_size_t)(blank - arg));
    explain.url = apr_pstrdup(process->pool, blank + strspn(blank, " "));
    if ((end = strstr(explain.url, " HTTP/")) != NULL)
        *end = '\0';
}

void main_explain_take(process_rec *process)
{
    int at = 1;

    while (at < process->argc && strcmp(process->argv[at], EXPLAIN_OPTION))
        at++;
    if (at == process->argc)
        return;
    for (int i = at + 1; i < process->argc; i++) {
        const char *arg = process->argv[i],
                   *value = i + 1 < process->argc ? process->argv[i + 1] : NULL;

        if (!strcmp(arg, "--json")) {
            explain.json = 1;
            continue;
        }
        if (*arg != '-') {
            explain_url(process, arg);
            continue;
        }
        if (!value)
            explain_usage(process);
        i++;
        if (!strcmp(arg, "-X"))
            explain.method = value;
        else if (!strcmp(arg, "-H"))
            explain_field(process, value);
        else if (!strcmp(arg, "--from"))
            explain.from = value;
        else
            explain_usage(process);
    }
    if (!explain.url || strcspn(explain.method, " \t\r\n") != strlen(explain.method) ||
        !apr_isalpha(*explain.method))
        explain_usage(process);
    process->argc = at;
}

int main_explain_is_asked(void)
{
    return explain.url != NULL;
}

/* ---- while the request is answered ---- */

static void explain_note(request_rec *r, const ap_directive_t *line, const char *what)
{
    explain_step *step;

    if (!explain.pool || explain.done || !line || !r->uri)
        return;
    step = apr_array_push(explain.steps);
    step->r = r;
    step->uri = apr_pstrdup(explain.pool, r->uri);
    step->is_sub = r->main != NULL;
    step->line = line;
    step->is_section = !what;
    step->items = apr_array_make(explain.pool, 4, sizeof(explain_item));
    if (!what) {
        explain_section(step->items, line, explain.lines);
        return;
    }
    explain_at(step->items, 4, line, "");
    explain_text(step->items, 8, what);
}

static void explain_message(const ap_errorlog_info *info, const char *text)
{
    if (explain.pool && !explain.done && info->r)
        APR_ARRAY_PUSH(explain.messages, const char *) = apr_pstrdup(explain.pool, text);
}

void main_explain_hooks(void)
{
    if (explain.url)
        ap_hook_error_log(explain_message, NULL, NULL, APR_HOOK_MIDDLE);
}

/* A handler_instead_fn. */
static int explain_instead(request_rec *r, const char *configured)
{
    const char *instead = NULL;

    if (configured && !strncmp(configured, "proxy:", 6))
        instead = apr_pstrcat(explain.pool, "would be sent to ", configured + 6, NULL);
    else if (r->filename && !strncmp(r->filename, "proxy:", 6))
        instead = apr_pstrcat(explain.pool, "would be sent to ", r->filename + 6, NULL);
    else if (!explain_is_run(r, configured))
        instead =
            apr_psprintf(explain.pool, "would be made by handler %s, which is not run", r->handler);
    else if (explain_makes_body(r))
        instead = "would be made by filter INCLUDES from the file: the page is not run";
    if (!explain.done && !r->main) {
        explain.handler = apr_pstrdup(explain.pool, configured ? configured
                                                    : instead  ? r->handler
                                                               : "none, the server sends the file");
        explain.filters = explain_filters(explain.pool, r);
        explain.instead = instead;
    }
    if (instead)
        r->no_cache = r->no_local_copy = 1;
    return instead ? OK : DECLINED;
}

/* ---- the report ---- */

/* Index files are looked for by subrequests, whose result the request takes over. */
static int explain_is_of(const explain_step *step, const request_rec *r, int by_sub)
{
    if (step->is_sub)
        return by_sub && !strcmp(step->uri, r->uri);
    return step->r == r && !(by_sub && step->is_section);
}

static int explain_is_same(const explain_step *a, const explain_step *b)
{
    const explain_item *of_a = &APR_ARRAY_IDX(a->items, 1, explain_item),
                       *of_b = &APR_ARRAY_IDX(b->items, 1, explain_item);

    return a->line == b->line && (a->is_section || !strcmp(of_a->text, of_b->text));
}

static int explain_is_repeated(int i, const request_rec *r, int by_sub)
{
    const explain_step *steps = (const explain_step *)(const void *)explain.steps->elts;

    for (int j = i + 1; j < explain.steps->nelts; j++)
        if (explain_is_same(&steps[i], &steps[j]) && explain_is_of(&steps[j], r, by_sub))
            return 1;
    return 0;
}

static void explain_steps(const request_rec *r, int sections, const char *name, const char *heading)
{
    int by_sub = 0, n = 0;

    for (int i = 0; i < explain.steps->nelts; i++) {
        const explain_step *step = &APR_ARRAY_IDX(explain.steps, i, explain_step);

        by_sub |= step->is_sub && step->is_section && !strcmp(step->uri, r->uri);
    }
    for (int i = 0; i < explain.steps->nelts; i++) {
        const explain_step *step = &APR_ARRAY_IDX(explain.steps, i, explain_step);

        if (step->is_section != sections || !explain_is_of(step, r, by_sub) ||
            explain_is_repeated(i, r, by_sub))
            continue;
        if (!n++)
            explain_head(explain.report, name, heading, "");
        apr_array_cat(explain.report, step->items);
    }
}

static void explain_host(const request_rec *r)
{
    const server_rec *s = r->server;
    const char *name = s->server_hostname ? s->server_hostname : "without a name";
    explain_item *item;

    if (!s->is_virtual) {
        explain_head(explain.report, "virtual_host", "Virtual host: ",
                     apr_pstrcat(explain.pool, "none, the main server (", name, ")", NULL));
        return;
    }
    item = explain_head(explain.report, "virtual_host", "Virtual host: ", name);
    item->file = s->defn_name;
    item->line = (int)s->defn_line_number;
    if (!r->hostname || !vhost_server_has_name(s, r->hostname))
        explain_text(explain.report, 4,
                     "the first one of this address, since none has the name that is asked for");
}

static void explain_one(const request_rec *r, int is_led)
{
    if (is_led)
        explain_head(explain.report, "redirect", "Internal redirect to ",
                     apr_pstrdup(explain.pool, r->uri));
    explain_steps(r, 0, "rules", "Rules, in the order in which they were tried:");
    if (r->filename && *r->filename == '/' && strcmp(r->filename, r->uri)) {
        explain_head(explain.report, "file", "File: ", apr_pstrdup(explain.pool, r->filename));
        if (r->path_info && *r->path_info)
            explain_text(explain.report, 4,
                         apr_pstrcat(explain.pool, "and behind it ", r->path_info, NULL));
    }
    explain_steps(r, 1, "sections",
                  "Sections and access files, in the order in which they were merged:");
}

static void explain_backend(const request_rec *r)
{
    size_t len;
    char *text = NULL;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    proxy_explain(out, r->server, r->filename + 6);
    fclose(out);
    explain_lines_of(explain.report, text);
    free(text);
}

static void explain_answer(const request_rec *r)
{
    const char *location = apr_table_get(r->headers_out, "Location");
    const char *line = ap_get_status_line(r->status);

    if (!location)
        location = apr_table_get(r->err_headers_out, "Location");
    if (explain.instead && r->status == HTTP_OK)
        line = explain.instead;
    else if (explain.instead)
        line = apr_pstrcat(explain.pool, line, "; its page ", explain.instead, NULL);
    explain_head(explain.report, "answer", "Answer: ", line);
    if (location) {
        explain_item *item = explain_text(explain.report, 4, location);

        item->name = "location";
        item->heading = "Location: ";
    }
    if (r->filename && !strncmp(r->filename, "proxy:", 6))
        explain_backend(r);
}

static void explain_messages(void)
{
    if (explain.messages->nelts)
        explain_head(explain.report, "messages", "Messages of the error log:", "");
    for (int i = 0; i < explain.messages->nelts; i++)
        explain_text(explain.report, 4, APR_ARRAY_IDX(explain.messages, i, const char *));
}

static void explain_report(request_rec *r)
{
    apr_array_header_t *to = explain.report;
    request_rec *first = r;

    while (first->prev)
        first = first->prev;
    explain_head(to, "request", "",
                 apr_pstrcat(explain.pool, explain.method, " ", explain.url, NULL));
    explain_answer(r);
    explain_host(r);
    explain_server(to, r->server, explain.lines);
    for (const request_rec *q = first; q; q = q->next)
        explain_one(q, q != first);
    explain_head(to, "handler", "Handler: ",
                 explain.handler ? explain.handler : "none is asked: the answer is made before");
    if (r->content_type && !explain.instead)
        explain_head(to, "type", "Type: ", apr_pstrdup(explain.pool, r->content_type));
    if (explain.filters && *explain.filters)
        explain_head(to, "filters", "Filters: ", explain.filters);
    explain_messages();
    explain_head(to, "access_log", "Access log:", "");
    explain_logs(to, r);
    explain_head(to, "cache", "Cache:", "");
    explain.cached = explain_cache_lines(to, r->server, first->uri);
}

/* A cache_teller_fn. */
static void explain_teller(void *baton, request_rec *r, const policy_reason *reason)
{
    main_trial_teller(baton, r, reason);
    if (explain.done)
        return;
    explain.done = 1;
    brg_explain = NULL; /* the requests that follow are as any client's */
    explain_report(r);
}

/* ---- asking ---- */

static void explain_client(void)
{
    main_trial_once();
    if (!explain.instead && !strcmp(explain.method, "GET"))
        main_trial_rounds();
}

/* @return NULL: the fate of the requests is to be asked */
static const char *explain_unkept(void)
{
    if (explain.instead)
        return "the answer comes from no file";
    if (strcmp(explain.method, "GET"))
        return "this is no GET request";
    return NULL;
}

static void explain_cache_verdict(void)
{
    apr_array_header_t *to = explain.report;
    const char *why = explain_unkept(), *reason;

    if (explain.instead && explain.cached)
        explain_head(to, "mod_cache",
                     "Kept by mod_cache: ", "as these lines and the answer's own fields say");
    explain_head(to, "kept", "Kept in memory: ", why || !main_trial_is_kept() ? "no" : "yes");
    if (why) {
        explain_text(to, 4, why);
        return;
    }
    why = main_trial_why(explain.pool, &reason);
    if (*why)
        explain_text(to, 2, why);
    for (int i = 0; reason && i < explain.lines->nelts; i++) {
        const explain_line *line = &APR_ARRAY_IDX(explain.lines, i, explain_line);

        if (!strcmp(line->module, reason))
            explain_text(to, 4, line->text);
    }
}

static int explain_tell(void)
{
    explain_cache_verdict();
    explain_print(stdout, explain.report, explain.json);
    return 0;
}

/* Messages are in the report. */
static void explain_close_logs(process_rec *process)
{
    apr_file_t *none;

    if (apr_file_open(&none, "/dev/null", APR_FOPEN_WRITE, APR_FPROT_OS_DEFAULT, process->pool) !=
        APR_SUCCESS)
        return;
    for (server_rec *s = ap_server_conf; s; s = s->next)
        s->error_log = none;
}

void main_explain(process_rec *process)
{
    main_trial asks = {.client = explain_client,
                       .tell = explain_tell,
                       .teller = explain_teller,
                       .method = explain.method,
                       .fields = explain.fields,
                       .host = explain.host,
                       .from = explain.from};

    brg_explain = explain_note;
    main_trial_read(process);
    if (apr_pool_create(&explain.pool, NULL) != APR_SUCCESS)
        mpm_process_exit(process, 2);
    explain.report = apr_array_make(explain.pool, 64, sizeof(explain_item));
    explain.steps = apr_array_make(explain.pool, 16, sizeof(explain_step));
    explain.lines = apr_array_make(explain.pool, 16, sizeof(explain_line));
    explain.messages = apr_array_make(explain.pool, 4, sizeof(const char *));
    request_handle_instead(explain_instead);
    explain_close_logs(process);
    mpm_process_exit(process, main_trial_run(process, explain.url, &asks));
}
