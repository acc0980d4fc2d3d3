/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: the first line is what stands behind RewriteRule, the second the URI that a client asked for, which the
 * substitution takes its groups from, cut at its slashes.
 * Covers: modules/rewrite/rewrite_line.c modules/rewrite/rewrite_expand.c modules/rewrite/rewrite_target.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "rewrite_private.h"
#include "test_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void match_segments(rewrite_match *m, const char *uri)
{
    const char *at = uri;

    m->source = uri;
    m->at[0] = (ap_regmatch_t){0, (int)strlen(uri)};
    for (int i = 1; i < AP_MAX_REG_MATCH; i++) {
        size_t len = strcspn(at, "/");

        m->at[i] = (ap_regmatch_t){(int)(at - uri), (int)(at - uri + (long)len)};
        at += len + (at[len] == '/');
    }
}

/* With B, nothing that a group brings means anything in a URL. */
static void check_escaped(rewrite_run *run, const rewrite_rule *rule)
{
    const char *text = rewrite_expand(run, "$1$2$3", rule);

    if ((rule->flags & (REWRITE_F_ESCAPE | REWRITE_F_CTLS)) == REWRITE_F_ESCAPE && !rule->escapes &&
        !rule->noescapes)
        check(!strpbrk(text, "?#&/= \"<>\r\n"));
}

static void run_rule(apr_pool_t *p, char *line, char *uri)
{
    rewrite_rule rule = {.status = HTTP_MOVED_TEMPORARILY};
    rewrite_run run = {.r = test_request(p), .uri = uri};
    char *arg[3], *to;
    unsigned scheme;

    if (rewrite_split_line(line, arg) ||
        (arg[2] && rewrite_parse_flags(p, &rule, arg[2], rewrite_rule_flag)))
        return;
    if (strstr(arg[1], "${") || strstr(arg[1], "%{")) /* maps and variables need a server */
        return;
    match_segments(&run.rule, uri);
    match_segments(&run.cond, uri);
    check_escaped(&run, &rule);
    to = rewrite_expand(&run, arg[1], &rule);
    run.r->filename = to;
    rewrite_split_query(run.r, rule.flags);
    check(!run.r->args || *run.r->args || (rule.flags & REWRITE_F_QSAPPEND) || !strchr(to, '?'));
    scheme = rewrite_scheme(run.r->filename, NULL);
    check(scheme <= strlen(run.r->filename));
    to = rewrite_escape_url(p, apr_pstrdup(p, run.r->filename), scheme);
    check(strlen(to) >= strlen(run.r->filename));
    (void)rewrite_replace_prefix(run.r, apr_pstrdup(p, uri), arg[0], arg[1]);
    (void)rewrite_field_of(p, uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int started;
    apr_pool_t *p;
    char *line, *uri;

    if (!started) {
        started = 1;
        apr_initialize();
    }
    apr_pool_create(&p, NULL);
    line = apr_pstrmemdup(p, (const char *)data, size);
    uri = strchr(line, '\n');
    if (uri)
        *uri++ = '\0';
    else
        uri = apr_pstrdup(p, "/a/b?c/d");
    run_rule(p, line, uri);
    apr_pool_destroy(p);
    return 0;
}
