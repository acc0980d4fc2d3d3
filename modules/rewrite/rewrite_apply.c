/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, one after the other. */
#include "rewrite_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/explain.h"
#include "brigade/response_cache.h"

#include <string.h>

APLOG_USE_MODULE(rewrite);

/* Result of one rule. */
typedef enum apply_outcome {
    APPLY_NO_MATCH,
    APPLY_CHANGED,
    APPLY_MATCHED, /* there is nothing to substitute */
    APPLY_REFUSED  /* r->status says by which status */
} apply_outcome;

/* In sections, rules match the text behind the folder. */
static void apply_find_uri(rewrite_run *run, int is_proxied)
{
    request_rec *r = run->r;
    apr_size_t len;

    run->uri = r->filename;
    if (!run->directory)
        return;
    if (r->path_info && *r->path_info) {
        REWRITE_LOG(r, 3, run->directory, "add path info postfix: %s -> %s%s", run->uri, run->uri,
                    r->path_info);
        run->uri = apr_pstrcat(r->pool, run->uri, r->path_info, NULL);
    }
    len = strlen(run->directory);
    if (!is_proxied && !strncmp(run->uri, run->directory, len)) {
        REWRITE_LOG(r, 3, run->directory, "strip per-dir prefix: %s -> %s", run->uri,
                    run->uri + len);
        run->uri += len;
    }
}

static int apply_matches(rewrite_run *run, const rewrite_rule *rule)
{
    const int negated = (rule->flags & REWRITE_F_NEGATED) != 0;
    int matched;

    BRG_ASSERT(rule->regex && run->uri);
    REWRITE_LOG(run->r, 3, run->directory, "applying pattern '%s' to uri '%s'", rule->pattern,
                run->uri);
    matched = !ap_regexec(rule->regex, run->uri, AP_MAX_REG_MATCH, run->rule.at, 0);
    run->rule.source = negated ? NULL : run->uri;
    run->cond.source = NULL;
    run->vary_this = NULL;
    return matched != negated;
}

/* Of conditions that OR joins, those behind the first that holds are not evaluated. */
static int apply_conditions(rewrite_run *run, const rewrite_rule *rule)
{
    const rewrite_cond *cond = (const rewrite_cond *)(const void *)rule->conds->elts;

    BRG_ASSERT(rule->conds->elt_size == (int)sizeof *cond);
    for (int i = 0; i < rule->conds->nelts; i++) {
        int holds = rewrite_cond_holds(run, &cond[i]);

        if (!holds && !cond[i].or_next) {
            BRG_EXPLAIN(run->r, cond[i].line, "does not hold");
            return 0;
        }
        if (!holds) {
            run->vary_this = NULL;
            continue;
        }
        while (i < rule->conds->nelts && cond[i].or_next)
            i++;
        if (run->vary_this)
            run->vary = run->vary ? apr_pstrcat(run->r->pool, run->vary, ", ", run->vary_this, NULL)
                                  : run->vary_this;
        run->vary_this = NULL;
    }
    return 1;
}

static apply_outcome apply_no_substitution(rewrite_run *run, const rewrite_rule *rule)
{
    rewrite_force_type(run, rule);
    if (rule->flags & REWRITE_F_STATUS) {
        REWRITE_LOG(run->r, 2, run->directory, "forcing responsecode %d for %s", rule->status,
                    run->r->filename);
        run->r->status = rule->status;
    }
    return APPLY_MATCHED;
}

/* A target without a scheme is below the folder of the section, or the root. */
static void apply_split(rewrite_run *run, const rewrite_rule *rule, int is_proxied)
{
    request_rec *r = run->r;
    const int is_whole =
        is_proxied || *r->filename == '/' || rewrite_scheme(r->filename, NULL) != 0;

    if (run->directory && !is_whole) {
        REWRITE_LOG(r, 3, run->directory, "add per-dir prefix: %s -> %s%s", r->filename,
                    run->directory, r->filename);
        r->filename = apr_pstrcat(r->pool, run->directory, r->filename, NULL);
    } else if (!is_whole && !(rule->flags & (REWRITE_F_PROXY | REWRITE_F_REDIRECT))) {
        REWRITE_LOG(r, 3, NULL, "add root prefix: %s -> /%s", r->filename, r->filename);
        r->filename = apr_pstrcat(r->pool, "/", r->filename, NULL);
    }
    rewrite_split_query(r, rule->flags);
}

/* Where the new target leads: to a proxy, to the client, or on. */
static apply_outcome apply_direction(rewrite_run *run, const rewrite_rule *rule)
{
    request_rec *r = run->r;

    if (rule->flags & REWRITE_F_PROXY) {
        rewrite_qualify(r);
        REWRITE_LOG(r, 2, run->directory, "forcing proxy-throughput with %s", r->filename);
        r->filename = apr_pstrcat(r->pool, "proxy:", r->filename, NULL);
        return APPLY_CHANGED;
    }
    if (rule->flags & REWRITE_F_REDIRECT) {
        rewrite_qualify(r);
        REWRITE_LOG(r, 2, run->directory, "explicitly forcing redirect with %s", r->filename);
        r->status = rule->status;
        return APPLY_CHANGED;
    }
    if (!(rule->flags & REWRITE_F_UNC) && strncmp(rule->output, "//", 2) != 0)
        while (r->filename[0] == '/' && r->filename[1] == '/')
            r->filename++;
    rewrite_reduce(r);
    if (rewrite_scheme(r->filename, NULL)) {
        REWRITE_LOG(r, 2, run->directory, "implicitly forcing redirect (rc=%d with %s",
                    rule->status, r->filename);
        r->status = rule->status;
        return APPLY_CHANGED;
    }
    rewrite_force_type(run, rule);
    return APPLY_CHANGED;
}

static apply_outcome apply_rule(rewrite_run *run, const rewrite_rule *rule)
{
    request_rec *r = run->r;
    const int is_proxied =
        run->directory && r->proxyreq && r->filename && !strncmp(r->filename, "proxy:", 6);
    char *uri = NULL;

    apply_find_uri(run, is_proxied);
    if (!apply_matches(run, rule)) {
        BRG_EXPLAIN(r, rule->line, apr_pstrcat(r->pool, "does not match ", run->uri, NULL));
        return APPLY_NO_MATCH;
    }
    run->for_cache = rewrite_is_for_cache(run, rule);
    if (!apply_conditions(run, rule))
        return APPLY_NO_MATCH;
    if (!(rule->flags & REWRITE_F_NOSUB)) {
        uri = rewrite_expand(run, rule->output, rule);
        REWRITE_LOG(r, 2, run->directory, "rewrite '%s' -> '%s'", run->uri, uri);
        if (run->is_unsafe && !(rule->flags & REWRITE_F_ALLOW3F)) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(10508) "Unsafe URL with %%3f URL rewritten without "
                                         "UnsafeAllow3F");
            r->status = HTTP_FORBIDDEN;
            return APPLY_REFUSED;
        }
    }
    rewrite_set_variables(run, rule);
    rewrite_set_cookies(run, rule);
    BRG_ASSERT(uri || rule->flags & REWRITE_F_NOSUB);
    if (!uri)
        return apply_no_substitution(run, rule);
    r->filename = uri;
    if (run->directory && (rule->flags & REWRITE_F_DISCARDPATH))
        r->path_info = NULL;
    apply_split(run, rule, is_proxied);
    return apply_direction(run, rule);
}

/* ---- the list ---- */

/* The place in the list, and how often it was gone through. */
typedef struct apply_walk {
    const rewrite_rule *rules;
    int n, i;
    int rounds; /* the first included */
    rewrite_result result;
} apply_walk;

static int apply_grows_without_end(request_rec *r, const rewrite_rule *rule, apply_walk *walk)
{
    const int most = 2 * r->server->limit_req_line;

    if (!r->filename || strlen(r->filename) <= (apr_size_t)most)
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "RewriteRule '%s' and URI '%s' exceeded maximum length (%d)", rule->pattern,
                  r->uri, most);
    r->status = HTTP_INTERNAL_SERVER_ERROR;
    walk->result = REWRITE_ANSWERED;
    return 1;
}

/* [N]: 1 if the list begins again. */
static int apply_next_round(request_rec *r, const rewrite_rule *rule, apply_walk *walk)
{
    BRG_ASSERT(walk->rounds > 0 && walk->i < walk->n);
    walk->i = 0;
    if (++walk->rounds < rule->rounds)
        return 1;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(02596) "RewriteRule '%s' and URI '%s' exceeded maximum number of rounds "
                                 "(%d) via the [N] flag",
                  rule->pattern, r->uri, rule->rounds);
    r->status = HTTP_INTERNAL_SERVER_ERROR;
    walk->result = REWRITE_ANSWERED;
    return 0;
}

/* 1 if rules behind this one, which matched, are to run. walk->i is moved to the next. */
static int apply_goes_on(rewrite_run *run, const rewrite_rule *rule, apply_walk *walk)
{
    request_rec *r = run->r;

    if (rule->flags & REWRITE_F_PASS) {
        REWRITE_LOG(r, 2, run->directory,
                    "forcing '%s' to get passed through to next API URI-to-filename handler",
                    r->filename);
        r->filename = apr_pstrcat(r->pool, "passthrough:", r->filename, NULL);
        walk->result = REWRITE_CHANGED;
        return 0;
    }
    if (rule->flags & REWRITE_F_END) {
        REWRITE_LOG(r, 8, run->directory,
                    "Rule has END flag, no further rewriting for this request");
        rewrite_end(r);
        return 0;
    }
    if (rule->flags & (REWRITE_F_PROXY | REWRITE_F_LAST))
        return 0;
    if (rule->flags & REWRITE_F_NEXT)
        return apply_next_round(r, rule, walk);
    walk->i += 1 + (rule->skip > 0 ? rule->skip : 0);
    return 1;
}

/* A rule that did not match skips the rules chained to it. */
static void apply_skip_chain(apply_walk *walk)
{
    BRG_ASSERT(walk->i >= 0 && walk->i < walk->n);
    while (walk->i < walk->n && (walk->rules[walk->i].flags & REWRITE_F_CHAIN))
        walk->i++;
    walk->i++;
}

/* For --explain. */
static const char *apply_effect(const rewrite_run *run, const rewrite_rule *rule,
                                apply_outcome outcome)
{
    const request_rec *r = run->r;

    if (outcome == APPLY_REFUSED || rule->flags & REWRITE_F_STATUS)
        return apr_psprintf(r->pool, "matches %s: answered with status %d", run->uri, r->status);
    if (outcome == APPLY_MATCHED)
        return apr_pstrcat(r->pool, "matches ", run->uri, ", and leaves it", NULL);
    return apr_pstrcat(r->pool, "matches ", run->uri, " -> ", r->filename,
                       r->args && *r->args ? "?" : "", r->args ? r->args : "", NULL);
}

/* @return 1 to go on */
static int apply_step(rewrite_run *run, apply_walk *walk, const rewrite_rule **last)
{
    const rewrite_rule *rule = &walk->rules[walk->i];
    apply_outcome outcome;

    BRG_ASSERT(walk->i >= 0 && walk->i < walk->n);
    run->vary = NULL;
    outcome = apply_rule(run, rule);
    if (outcome != APPLY_NO_MATCH)
        BRG_EXPLAIN(run->r, rule->line, apply_effect(run, rule, outcome));
    if (outcome == APPLY_NO_MATCH) {
        apply_skip_chain(walk);
        return 1;
    }
    if (apply_grows_without_end(run->r, rule, walk))
        return 0;
    if (run->vary)
        apr_table_merge(run->r->headers_out, "Vary", run->vary);
    if (rule->flags & REWRITE_F_STATUS) {
        walk->result = REWRITE_ANSWERED;
        return 0;
    }
    if (outcome != APPLY_MATCHED) {
        walk->result = rule->flags & REWRITE_F_NOESCAPE ? REWRITE_UNESCAPED : REWRITE_CHANGED;
        *last = rule;
        REWRITE_LOG(run->r, 2, run->directory, "setting lastsub to rule with output %s",
                    rule->output);
    }
    if (outcome == APPLY_REFUSED)
        walk->result = REWRITE_ANSWERED;
    return outcome != APPLY_REFUSED && apply_goes_on(run, rule, walk);
}

rewrite_result rewrite_apply(request_rec *r, const apr_array_header_t *rules, const char *directory,
                             const rewrite_rule **last)
{
    rewrite_run run = {.r = r, .directory = directory};
    apply_walk walk = {
        .rules = (const rewrite_rule *)(const void *)rules->elts, .n = rules->nelts, .rounds = 1};

    BRG_ASSERT(rules->elt_size == (int)sizeof(rewrite_rule));
    while (walk.i < walk.n) {
        unsigned flags = walk.rules[walk.i].flags;

        if (r->main && (flags & (REWRITE_F_NOSUBREQ | REWRITE_F_REDIRECT)))
            walk.i++;
        else if (!apply_step(&run, &walk, last))
            break;
    }
    return walk.result;
}
