/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependencies of an expression's value, by name. A condition that looks at one request field, or at the client's address, and
 * at constants is a kind of that field's values: all that matters of it is whether it holds. Any other use of a field counts by value.
 */
#include <string.h>
#include "expr_private.h"
#include "request_context.h"
#include "apr_fnmatch.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/client_network.h"
#include "brigade/response_cache.h"

#define EXPR_VALUE_MOST 1024 /* bytes of a field that a kind is told of */

/* ---- variables of the environment ---- */

BRG_DECLARE(int) brg_cache_variable_is_told(const char *name)
{
    static const char *const beginnings[] = {"UNIQUE_ID", "REDIRECT_", "SSL_", "H2_", NULL};
    APR_OPTIONAL_FN_TYPE(brg_client_network_variable) *network =
        APR_RETRIEVE_OPTIONAL_FN(brg_client_network_variable);

    for (int i = 0; beginnings[i]; i++)
        if (strncasecmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return 0;
    return !network || network(name) < 0;
}

/* ---- the one thing that a condition looks at ---- */

static int names_flags(const ap_expr_t *node)
{
    const expr_offer *offer = expr_core_offer_of(node);

    return offer ? offer->flags : 0;
}

/* The request field behind a word; NULL: another word, or a name that is not known. */
static const char *names_field(const ap_expr_t *node)
{
    if (node->kind == EXPR_VAR)
        return expr_var_field(node);
    return node->kind == EXPR_CALL && names_flags(node) & EXPR_O_HEAD &&
                   node->part[0]->kind == EXPR_TEXT
               ? node->part[0]->text
               : NULL;
}

static int names_is_client(const ap_expr_t *node)
{
    return node->kind == EXPR_VAR && names_flags(node) & EXPR_O_CLIENT;
}

/* Common state of a condition's words. */
typedef struct names_subject {
    const char *field;
    int client;
} names_subject;

/* @return 0: it is neither constant nor the same field, or client, as before */
static int names_word(const ap_expr_t *node, names_subject *s)
{
    const char *field;

    if (node->kind == EXPR_TEXT)
        return 1;
    if (names_is_client(node))
        return (s->client = !s->field);
    field = names_field(node);
    if (!field || s->client || (s->field && strcasecmp(s->field, field) != 0))
        return 0;
    s->field = field;
    return 1;
}

static int names_words(const ap_expr_t *node, names_subject *s)
{
    for (int i = 0; i < node->n; i++)
        if (!names_word(node->part[i], s))
            return 0;
    return 1;
}

static int names_op(const ap_expr_t *node, names_subject *s)
{
    const int flags = names_flags(node);

    BRG_ASSERT(node->n > 0);
    if (flags & EXPR_O_CLIENT)
        return node->part[0]->kind == EXPR_TEXT && (s->client = !s->field);
    return flags & EXPR_O_STATIC && names_words(node, s);
}

/* 1 if the condition looks at *s alone. */
static int names_condition(const ap_expr_t *node, names_subject *s)
{
    switch (node->kind) {
    case EXPR_TRUE:
    case EXPR_FALSE:
        return 1;
    case EXPR_NOT:
    case EXPR_AND:
    case EXPR_OR:
        for (int i = 0; i < node->n; i++)
            if (!names_condition(node->part[i], s))
                return 0;
        return 1;
    case EXPR_COMPARE:
    case EXPR_MATCH:
    case EXPR_IN:
        return names_words(node, s);
    case EXPR_UNARY:
    case EXPR_BINARY:
        return names_op(node, s);
    default:
        return 0;
    }
}

/* ---- kinds ---- */

/* -ipmatch reads an address out of its word, which takes a pool; that of the client is there. */
static int names_is_ipmatch(const ap_expr_t *node)
{
    const expr_offer *offer = node->kind == EXPR_BINARY ? expr_core_offer_of(node) : NULL;

    return offer && offer->prepare;
}

static int names_runs_alone(const ap_expr_t *node)
{
    if (names_is_ipmatch(node))
        return names_is_client(node->part[0]);
    for (int i = 0; i < node->n; i++)
        if (!names_runs_alone(node->part[i]))
            return 0;
    return 1;
}

/* Constants and the value in hand stand for those of a request. */
typedef struct names_run {
    ap_expr_eval_ctx_t ctx;
    const char *value;
    apr_sockaddr_t *client;
    int failed; /* a regular expression came to its limit */
} names_run;

static const char *run_word(const names_run *run, const ap_expr_t *node)
{
    return node->kind == EXPR_TEXT ? node->text : run->value;
}

static int run_match(names_run *run, const ap_expr_t *node)
{
    const char *subject = run_word(run, node->part[0]);
    const int error = ap_regexec(node->regex, subject, 0, NULL, 0);

    run->failed |= error && error != AP_REG_NOMATCH;
    return (error == 0) != node->op;
}

static int run_in(const names_run *run, const ap_expr_t *node)
{
    for (int i = 1; i < node->n; i++)
        if (!strcmp(run_word(run, node->part[0]), run_word(run, node->part[i])))
            return 1;
    return 0;
}

static int run_op(names_run *run, const ap_expr_t *node)
{
    const char *a = run_word(run, node->part[0]);

    BRG_ASSERT(node->n >= (node->kind == EXPR_UNARY ? 1 : 2));
    if (names_flags(node) & EXPR_O_CLIENT || names_is_ipmatch(node))
        return apr_ipsubnet_test((apr_ipsubnet_t *)(uintptr_t)node->data, run->client);
    if (node->kind == EXPR_UNARY)
        return ((ap_expr_op_unary_t *)node->func)(&run->ctx, node->data, a) != 0;
    return ((ap_expr_op_binary_t *)node->func)(&run->ctx, node->data, a,
                                               run_word(run, node->part[1])) != 0;
}

static int run_condition(names_run *run, const ap_expr_t *node)
{
    const int stop = node->kind == EXPR_OR;

    switch (node->kind) {
    case EXPR_TRUE:
        return 1;
    case EXPR_NOT:
        return !run_condition(run, node->part[0]);
    case EXPR_AND:
    case EXPR_OR:
        for (int i = 0; i < node->n; i++)
            if (run_condition(run, node->part[i]) == stop)
                return stop;
        return !stop;
    case EXPR_COMPARE:
        return expr_compare_holds(node, run_word(run, node->part[0]), run_word(run, node->part[1]));
    case EXPR_MATCH:
        return run_match(run, node);
    case EXPR_IN:
        return run_in(run, node);
    case EXPR_UNARY:
    case EXPR_BINARY:
        return run_op(run, node);
    default:
        return 0;
    }
}

/* A brg_cache_variant_fn: 1 if the condition holds. */
static int names_kind(const void *node, const char *value, apr_size_t len)
{
    char text[EXPR_VALUE_MOST];
    names_run run = {.value = text};
    int holds;

    if (len >= sizeof text)
        return -1;
    if (len)
        memcpy(text, value, len);
    text[len] = '\0';
    holds = run_condition(&run, node);
    return run.failed ? -1 : holds;
}

/* A brg_cache_client_fn, of conditions that look at the client's address. */
static apr_int64_t names_client_kind(const void *node, apr_sockaddr_t *client)
{
    char text[64];
    names_run run = {.value = text, .client = client};
    int holds;

    BRG_ASSERT(client != NULL);
    if (apr_sockaddr_ip_getbuf(text, sizeof text, client) != APR_SUCCESS)
        return -1;
    holds = run_condition(&run, node);
    return run.failed ? -1 : holds;
}

/* ---- of a request ---- */

typedef struct names_walk {
    request_rec *r;
    int kinds; /* the subject of a condition counts by the result */
} names_walk;

static int names_of(const names_walk *walk, const ap_expr_t *node);

static int names_of_parts(const names_walk *walk, const ap_expr_t *node)
{
    for (int i = 0; i < node->n; i++)
        if (names_of(walk, node->part[i]))
            return 1;
    return 0;
}

/* By value. */
static int names_of_field(request_rec *r, const char *field)
{
    if (ap_cstr_casecmp(field, "Host") != 0) /* it is in the key */
        brg_cache_vary(r, apr_pstrdup(r->pool, field), NULL, NULL);
    return 0;
}

static int names_of_leaf(const names_walk *walk, const ap_expr_t *node)
{
    const char *field = names_field(node);
    const int flags = names_flags(node);

    if (field)
        return names_of_field(walk->r, field);
    if (flags & EXPR_O_LINE)
        brg_cache_vary(walk->r, BRG_CACHE_VARY_LINE, NULL, NULL);
    else if (flags & EXPR_O_ENV)
        return node->part[0]->kind != EXPR_TEXT || !brg_cache_variable_is_told(node->part[0]->text);
    else if (!(flags & (EXPR_O_STATIC | EXPR_O_SITE | EXPR_O_TELLS)) && !expr_is_declared(node))
        return 1;
    return names_of_parts(walk, node);
}

/* 1 if the condition could be named as a kind of its subject. */
static int names_by_kind(const names_walk *walk, const ap_expr_t *node)
{
    names_subject s = {0};

    if (!walk->kinds || !names_condition(node, &s) || !names_runs_alone(node))
        return 0;
    BRG_ASSERT(!s.client || !s.field);
    if (s.client)
        (void)brg_cache_vary_client(walk->r, names_client_kind, node);
    else if (s.field && ap_cstr_casecmp(s.field, "Host") != 0)
        brg_cache_vary(walk->r, s.field, names_kind, node);
    return 1;
}

static int names_of(const names_walk *walk, const ap_expr_t *node)
{
    switch (node->kind) {
    case EXPR_TEXT:
    case EXPR_TRUE:
    case EXPR_FALSE:
    case EXPR_BACKREF:
        return 0;
    case EXPR_VAR:
    case EXPR_CALL:
        return names_of_leaf(walk, node);
    case EXPR_IN_CALL:
        return 1;
    case EXPR_CONCAT:
        return names_of_parts(walk, node);
    case EXPR_UNARY:
    case EXPR_BINARY:
        return !names_by_kind(walk, node) && names_of_leaf(walk, node);
    default:
        return !names_by_kind(walk, node) && names_of_parts(walk, node);
    }
}

static int names_all(request_rec *r, const ap_expr_info_t *info, int groups)
{
    names_walk walk = {.r = r};
    int refers;

    if (!info || !info->root_node)
        return 1;
    refers = expr_has(info->root_node, EXPR_BACKREF);
    if (refers && !expr_has(info->root_node, EXPR_MATCH))
        return 1;
    walk.kinds = !refers && !groups && info->flags & EXPR_FLAG_LASTS &&
                 !(info->flags & (AP_EXPR_FLAG_SSL_EXPR_COMPAT | AP_EXPR_FLAG_STRING_RESULT));
    return names_of(&walk, info->root_node);
}

int expr_name_all(request_rec *r, const ap_expr_info_t *info)
{
    return names_all(r, info, 0);
}

BRG_DECLARE(int)
brg_cache_depends_on_expression(request_rec *r, const ap_expr_info_t *expr, int groups)
{
    return !names_all(r, expr, groups);
}

/* Handlers add to the environment. */
static int names_answer(const ap_expr_t *node)
{
    if (names_flags(node) & (EXPR_O_ANSWER | EXPR_O_ENV))
        return 1;
    for (int i = 0; i < node->n; i++)
        if (names_answer(node->part[i]))
            return 1;
    return 0;
}

BRG_DECLARE(int) brg_expression_reads_response(const ap_expr_info_t *expr)
{
    return !expr || !expr->root_node || names_answer(expr->root_node);
}
