/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions. */
#include "rewrite_private.h"
#include "brigade/assert.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/files.h"
#include "brigade/response_cache.h"

#include <stdlib.h>
#include <string.h>

/* The longer text is the greater one. */
static int cond_compare(const char *a, const char *b)
{
    apr_size_t len_a = strlen(a), len_b = strlen(b);

    if (len_a != len_b)
        return len_a < len_b ? -1 : 1;
    return strcmp(a, b);
}

static int cond_compare_nocase(const char *a, const char *b)
{
    apr_size_t len_a = strlen(a), len_b = strlen(b);

    if (len_a != len_b)
        return len_a < len_b ? -1 : 1;
    return strcasecmp(a, b);
}

static int cond_holds_of(rewrite_test test, int order)
{
    switch (test) {
    case REWRITE_LESS:
    case REWRITE_LT:
        return order < 0;
    case REWRITE_LESS_EQUAL:
    case REWRITE_LE:
        return order <= 0;
    case REWRITE_MORE_EQUAL:
    case REWRITE_GE:
        return order >= 0;
    case REWRITE_MORE:
    case REWRITE_GT:
        return order > 0;
    default:
        return order == 0;
    }
}

static int cond_compares(const rewrite_cond *cond, const char *input)
{
    int a, b;

    BRG_ASSERT(cond->operand != NULL);
    if (cond->test >= REWRITE_LESS && cond->test <= REWRITE_MORE)
        return cond_holds_of(cond->test, cond->nocase ? cond_compare_nocase(input, cond->operand)
                                                      : cond_compare(input, cond->operand));
    a = atoi(input);
    b = atoi(cond->operand);
    return cond_holds_of(cond->test, (a > b) - (a < b));
}

/* ---- files ---- */

static int cond_file_is(const rewrite_cond *cond, const apr_finfo_t *found)
{
    switch (cond->test) {
    case REWRITE_FILE:
        return found->filetype == APR_REG;
    case REWRITE_NONEMPTY:
        return found->filetype == APR_REG && found->size > 0;
    case REWRITE_LINK:
        return found->filetype == APR_LNK;
    case REWRITE_FOLDER:
        return found->filetype == APR_DIR;
    default:
        return (found->protection & (APR_UEXECUTE | APR_GEXECUTE | APR_WEXECUTE)) != 0;
    }
}

static int cond_file(rewrite_run *run, const rewrite_cond *cond, const char *path)
{
    apr_int32_t wanted = APR_FINFO_MIN;
    apr_finfo_t found;

    if (ap_stat_check(path, run->r->pool) != APR_SUCCESS) {
        REWRITE_LOG(run->r, 4, run->directory, "RewriteCond: refusing to stat input='%s'", path);
        return 0;
    }
    if (*path == '/')
        brg_cache_depends_on(run->r, path);
    else
        rewrite_is_volatile(run->r);
    if (cond->test == REWRITE_LINK)
        wanted |= APR_FINFO_LINK;
    if (cond->test == REWRITE_PROGRAM)
        wanted |= APR_FINFO_PROT;
    return brg_file_stat(&found, run->r, path, wanted) == APR_SUCCESS && cond_file_is(cond, &found);
}

static int cond_by_uri(rewrite_run *run, const char *uri)
{
    request_rec *found;
    int holds;

    rewrite_is_volatile(run->r);
    if (!*uri || !rewrite_may_look_up(run->r))
        return 0;
    found = ap_sub_req_lookup_uri(uri, run->r, NULL);
    holds = found->status < HTTP_BAD_REQUEST;
    REWRITE_LOG(run->r, 5, NULL, "RewriteCond URI (-U check: path=%s -> status=%d", uri,
                found->status);
    ap_destroy_sub_req(found);
    return holds;
}

static int cond_by_path(rewrite_run *run, const char *path)
{
    request_rec *found;
    apr_finfo_t is;
    int holds;

    rewrite_is_volatile(run->r);
    if (!*path || !rewrite_may_look_up(run->r))
        return 0;
    found = ap_sub_req_lookup_file(path, run->r, NULL);
    holds = found->status < HTTP_MULTIPLE_CHOICES &&
            brg_file_stat(&is, found, found->filename, APR_FINFO_MIN) == APR_SUCCESS;
    REWRITE_LOG(run->r, 5, NULL, "RewriteCond file (-F check: path=%s -> file=%s status=%d", path,
                found->filename, found->status);
    ap_destroy_sub_req(found);
    return holds;
}

/* ---- patterns and expressions ---- */

static int cond_regex(rewrite_run *run, const rewrite_cond *cond, const char *input)
{
    ap_regmatch_t at[AP_MAX_REG_MATCH];

    BRG_ASSERT(cond->test == REWRITE_REGEX && cond->regex);
    if (ap_regexec(cond->regex, input, AP_MAX_REG_MATCH, at, 0) != 0)
        return 0;
    if (!cond->negated) {
        run->cond.source = input;
        memcpy(run->cond.at, at, sizeof at);
    }
    return 1;
}

static int cond_expr(rewrite_run *run, const rewrite_cond *cond)
{
    ap_regmatch_t at[AP_MAX_REG_MATCH];
    const char *source = NULL, *error = NULL;
    int holds = ap_expr_exec_re(run->r, cond->expr, AP_MAX_REG_MATCH, at, &source, &error);

    BRG_ASSERT(cond->test == REWRITE_EXPR && cond->expr);
    if (!brg_cache_depends_on_expression(run->r, cond->expr, 1))
        rewrite_is_volatile(run->r);
    if (holds < 0 || error) {
        REWRITE_LOG(run->r, 1, run->directory, "RewriteCond: expr='%s' evaluation failed: %s",
                    cond->shown, error);
        holds = 0;
    }
    if (holds && !cond->negated) {
        run->cond.source = source;
        if (source)
            memcpy(run->cond.at, at, sizeof at);
    }
    return holds;
}

/* ---- fields ---- */

int rewrite_cond_kind(const void *data, const char *value, apr_size_t len)
{
    const rewrite_cond *cond = data;
    char text[512];
    int error;

    if (cond->test == REWRITE_REGEX) {
        error = ap_regexec_len(cond->regex, value ? value : "", value ? len : 0, 0, NULL, 0);
        return error && error != AP_REG_NOMATCH ? -1 : error == 0;
    }
    if (value && len >= sizeof text)
        return -1;
    if (value)
        memcpy(text, value, len);
    text[value ? len : 0] = '\0';
    return cond_compares(cond, text);
}

/* Where it counts only whether the condition holds, responses are stored by that. The field's name is kept in Vary
 * where the request has it, so whether it has counts, too: see cond_presence(). */
static int cond_presence(const void *data, const char *value, apr_size_t len)
{
    return value != NULL;
}

/* ---- the query ---- */

#define COND_VARY_MOST 16 /* other wishes have room; beyond, each query is a kind of its own */

/* It is the one that the client sent, as far as rules before this one left it. */
static int cond_query_is_sent(const request_rec *first, const char *args)
{
    const char *sent;

    while (first->prev)
        first = first->prev;
    if (first->main)
        return 0;
    sent = strchr(first->unparsed_uri, '?');
    return !strcmp(args, sent ? sent + 1 : "");
}

/* A pattern that does not match says the same of all queries that it does not match. */
static const char *cond_query(request_rec *r, const rewrite_cond *cond)
{
    const char *args = r->args ? r->args : "";

    BRG_ASSERT(cond->query && cond->regex);
    if (cond_query_is_sent(r, args) && brg_cache_vary_fields(r, NULL, 0) <= COND_VARY_MOST &&
        ap_regexec(cond->regex, args, 0, NULL, 0) == AP_REG_NOMATCH)
        brg_cache_vary(r, cond->query, NULL, NULL);
    else
        brg_cache_depends_on_query(r);
    return args;
}

static const char *cond_input(rewrite_run *run, const rewrite_cond *cond)
{
    if (cond->query)
        return cond_query(run->r, cond);
    if (!cond->field)
        return rewrite_expand(run, cond->input, NULL);
    if (cond->lasting && !cond->captures &&
        (cond->test == REWRITE_REGEX || cond->test >= REWRITE_LESS)) {
        const char *value;

        brg_cache_vary(run->r, cond->field, rewrite_cond_kind, cond);
        if (!cond->no_vary)
            brg_cache_vary(run->r, cond->field, cond_presence, NULL);
        value = rewrite_header(run, cond->field);
        return value ? value : "";
    }
    return rewrite_expand(run, cond->input, NULL);
}

/* ---- all of them ---- */

static int cond_test(rewrite_run *run, const rewrite_cond *cond, const char *input)
{
    switch (cond->test) {
    case REWRITE_REGEX:
        return cond_regex(run, cond, input);
    case REWRITE_FILE:
    case REWRITE_NONEMPTY:
    case REWRITE_LINK:
    case REWRITE_FOLDER:
    case REWRITE_PROGRAM:
        return cond_file(run, cond, input);
    case REWRITE_URL:
        return cond_by_uri(run, input);
    case REWRITE_PATH:
        return cond_by_path(run, input);
    default:
        return cond_compares(cond, input);
    }
}

int rewrite_cond_holds(rewrite_run *run, const rewrite_cond *cond)
{
    const char *input;
    int holds;

    run->no_vary = cond->no_vary || run->for_cache;
    if (cond->test == REWRITE_EXPR)
        rewrite_note_field(run, "*");
    input = cond->test == REWRITE_EXPR ? NULL : cond_input(run, cond);
    if (run->no_vary)
        run->vary_this = NULL;
    run->no_vary = 0;
    BRG_ASSERT((input == NULL) == (cond->test == REWRITE_EXPR));
    holds = input ? cond_test(run, cond, input) : cond_expr(run, cond);
    holds = holds != (int)cond->negated;
    REWRITE_LOG(run->r, 4, run->directory, "RewriteCond: input='%s' pattern='%s%s'%s => %s",
                input ? input : "(null)", cond->marked ? "!" : "", cond->shown,
                cond->nocase ? " [NC]" : "", holds ? "matched" : "not-matched");
    return holds;
}
