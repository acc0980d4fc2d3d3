/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules and a line. A line is one piece at first. A rule that flattens makes one piece of each that it changes; another
 * cuts it, so that later rules look at the parts one by one. The last of all rules need not flatten if it is the only one.
 */
#include "substitute_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include <string.h>

extern module substitute_module;
APLOG_USE_MODULE(substitute);

typedef struct subst_run {
    request_rec *r;
    apr_pool_t *p;
    const subst_rule *rule;
    apr_size_t most, left; /* bytes that a line may have, and that may still be added */
    int quick;             /* pieces are cut */
    struct ap_varbuf text; /* not quick: the line so far */
    apr_array_header_t *out;
} subst_run;

static void subst_add(subst_run *run, const char *data, apr_size_t len)
{
    if (len)
        APR_ARRAY_PUSH(run->out, subst_piece) = (subst_piece){data, len};
}

/* The growth by a match, which must not exceed the rest. */
static int subst_fits(subst_run *run, apr_size_t len)
{
    if (len > run->left)
        return 0;
    run->left -= len;
    return 1;
}

/* ---- strings ---- */

static apr_status_t subst_one_string(subst_run *run, const char *data, apr_size_t before)
{
    const subst_rule *rule = run->rule;

    if (!subst_fits(run, before + rule->to_len))
        return APR_ENOMEM;
    ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "Matching found, result: '%s'", rule->to);
    if (run->quick) {
        subst_add(run, data, before);
        subst_add(run, rule->to, rule->to_len);
    } else {
        ap_varbuf_strmemcat(&run->text, data, (int)before);
        ap_varbuf_strmemcat(&run->text, rule->to, (int)rule->to_len);
    }
    return APR_SUCCESS;
}

static apr_status_t subst_string(subst_run *run, subst_piece piece)
{
    const apr_size_t from_len = strlen(run->rule->from);
    int found = 0;

    for (const char *at; (at = apr_strmatch(run->rule->string, piece.data, piece.len)); found = 1) {
        const apr_size_t before = (apr_size_t)(at - piece.data);
        apr_status_t rv = subst_one_string(run, piece.data, before);

        if (rv != APR_SUCCESS)
            return rv;
        piece.data += before + from_len;
        piece.len -= before + from_len;
    }
    if (found && run->quick && !subst_fits(run, piece.len))
        return APR_ENOMEM;
    if (found && !run->quick) {
        ap_varbuf_strmemcat(&run->text, piece.data, (int)piece.len);
        piece = (subst_piece){apr_pstrmemdup(run->p, run->text.buf, run->text.strlen),
                              run->text.strlen};
    }
    if (found)
        ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "New line (%lu bytes): %.*s",
                      (unsigned long)piece.len, (int)piece.len, piece.data);
    subst_add(run, piece.data, piece.len);
    return APR_SUCCESS;
}

/* ---- regular expressions ---- */

static apr_status_t subst_one_match(subst_run *run, const char *data, const ap_regmatch_t *m)
{
    const apr_size_t before = (apr_size_t)m[0].rm_so;
    apr_size_t start;
    apr_status_t rv;

    if (!run->quick)
        ap_varbuf_strmemcat(&run->text, data, (int)before);
    else
        run->text.strlen = 0;
    ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "Matching found");
    if (!subst_fits(run, before) || !run->left)
        return APR_ENOMEM;
    start = run->text.strlen;
    rv = ap_varbuf_regsub(&run->text, run->rule->to, data, AP_MAX_REG_MATCH, (ap_regmatch_t *)m,
                          run->left);
    if (rv != APR_SUCCESS)
        return rv;
    ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "Result: '%s'", run->text.buf);
    if (!subst_fits(run, run->text.strlen - start))
        return APR_ENOMEM;
    if (run->quick) {
        subst_add(run, data, before);
        subst_add(run, apr_pstrmemdup(run->p, run->text.buf, run->text.strlen), run->text.strlen);
    }
    return APR_SUCCESS;
}

/* A match of no bytes goes on behind the next byte, where it would be found for ever. */
static void subst_step(subst_run *run, subst_piece *piece, const ap_regmatch_t *m)
{
    apr_size_t end = (apr_size_t)m[0].rm_eo;

    if (m[0].rm_eo == m[0].rm_so && end < piece->len) {
        if (run->quick)
            subst_add(run, piece->data + end, 1);
        else
            ap_varbuf_strmemcat(&run->text, piece->data + end, 1);
        end++;
    }
    piece->data += end;
    piece->len -= end;
}

static apr_status_t subst_regex(subst_run *run, subst_piece piece)
{
    ap_regmatch_t m[AP_MAX_REG_MATCH];
    int found = 0;

    while (!ap_regexec_len(run->rule->regex, piece.data, piece.len, AP_MAX_REG_MATCH, m, 0)) {
        apr_status_t rv = subst_one_match(run, piece.data, m);
        const int at_end = m[0].rm_so == m[0].rm_eo && (apr_size_t)m[0].rm_eo == piece.len;

        if (rv != APR_SUCCESS)
            return rv;
        found = 1;
        subst_step(run, &piece, m);
        if (at_end || !piece.len)
            break;
    }
    if (found && !run->quick) {
        ap_varbuf_strmemcat(&run->text, piece.data, (int)piece.len);
        piece = (subst_piece){apr_pstrmemdup(run->p, run->text.buf, run->text.strlen),
                              run->text.strlen};
        ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "New line (%lu bytes): %.*s",
                      (unsigned long)piece.len, (int)piece.len, piece.data);
    }
    subst_add(run, piece.data, piece.len);
    return APR_SUCCESS;
}

/* ---- a line ---- */

static apr_status_t subst_piece_by_rule(subst_run *run, subst_piece piece)
{
    const subst_rule *rule = run->rule;

    ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "Line read (%lu bytes): %.*s",
                  (unsigned long)piece.len, (int)piece.len, piece.data);
    ap_log_rerror(APLOG_MARK, APLOG_TRACE8, 0, run->r, "Replacing %s:'%s' by '%s'",
                  rule->string ? "string" : "regex", rule->from, rule->to);
    run->left = run->most;
    run->text.strlen = 0;
    return rule->string ? subst_string(run, piece) : subst_regex(run, piece);
}

apr_status_t subst_line(request_rec *r, apr_pool_t *p, const apr_array_header_t *rules,
                        apr_size_t most, apr_array_header_t **pieces)
{
    subst_run run = {.r = r, .p = p, .most = most};
    apr_status_t rv = APR_SUCCESS;

    ap_varbuf_init(p, &run.text, 0);
    for (int i = 0; i < rules->nelts && rv == APR_SUCCESS; i++) {
        run.rule = &APR_ARRAY_IDX(rules, i, const subst_rule);
        run.quick = !run.rule->flatten || rules->nelts == 1;
        run.out = apr_array_make(p, (*pieces)->nelts + 4, sizeof(subst_piece));
        for (int j = 0; j < (*pieces)->nelts && rv == APR_SUCCESS; j++)
            rv = subst_piece_by_rule(&run, APR_ARRAY_IDX(*pieces, j, subst_piece));
        *pieces = run.out;
    }
    return rv;
}
