/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with variables in it: between quotes, as the argument of %{func:...}, or a whole string
 * expression.
 */
#include <string.h>
#include "expr_private.h"
#include "apr_strings.h"
#include "util_char.h"
#include "brigade/assert.h"

ap_expr_t *expr_node(expr_parser *p, expr_kind kind)
{
    ap_expr_t *node = apr_pcalloc(p->pool, sizeof(*node));

    BRG_ASSERT(p->pool);
    node->kind = kind;
    return node;
}

/* The array doubles whenever n is a power of two. */
void expr_add_part(expr_parser *p, ap_expr_t *node, ap_expr_t *part)
{
    int n = node->n;

    if ((n & (n - 1)) == 0) {
        ap_expr_t **more = apr_palloc(p->pool, (n ? (apr_size_t)n * 2 : 1) * sizeof(*more));

        if (n)
            memcpy(more, node->part, (size_t)n * sizeof(*more));
        node->part = more;
    }
    node->part[node->n++] = part;
}

ap_expr_t *expr_bind(expr_parser *p, ap_expr_t *node, int type, const ap_expr_t *arg)
{
    static const struct {
        const char *what, *dash;
    } names[] = {
        {"Variable", ""},        {"Function", ""},         {"List-returning function", ""},
        {"Unary operator", "-"}, {"Binary operator", "-"},
    };
    const char *err = NULL;
    ap_expr_lookup_parms parms = {
        .type = type,
        .name = node->text,
        .flags = (int)p->info->flags,
        .pool = p->pool,
        .ptemp = p->ptemp,
        .func = &node->func,
        .data = &node->data,
        .err = &err,
        .arg = arg && arg->kind == EXPR_TEXT ? arg->text : NULL,
    };
    int rv = p->lookup(&parms);

    BRG_ASSERT(node->text);
    if (rv == OK && node->func)
        return node;
    if (err)
        return expr_fail(p, "%s", err);
    return expr_fail(p, "%s '%s%s' does not exist", names[type].what, names[type].dash, node->text);
}

/* The call node for %{func:...}, p->at being after the colon. */
static ap_expr_t *expr_parse_var_call(expr_parser *p, const char *name)
{
    ap_expr_t *node = expr_node(p, EXPR_CALL), *arg;

    BRG_ASSERT(name && *name);
    node->text = name;
    if (*p->at == '}')
        return expr_fail(p, "syntax error, function '%s' lacks an argument", name);
    if (++p->depth > EXPR_MAX_DEPTH)
        return expr_fail(p, "Expression is nested too deeply");
    arg = expr_parse_text(p, '}');
    p->depth--;
    if (!arg)
        return NULL;
    expr_add_part(p, node, arg);
    return expr_bind(p, node, AP_EXPR_FUNC_STRING, arg);
}

ap_expr_t *expr_parse_var(expr_parser *p)
{
    apr_size_t len = expr_lex_name(p->at);
    const char *name = apr_pstrmemdup(p->pool, p->at, len);
    ap_expr_t *node;

    p->at += len;
    if (len && *p->at == ':') {
        p->at++;
        return expr_parse_var_call(p, name);
    }
    if (len && *p->at == '}') {
        p->at++;
        node = expr_node(p, EXPR_VAR);
        node->text = name;
        return expr_bind(p, node, AP_EXPR_FUNC_VAR, NULL);
    }
    if (!*p->at)
        return expr_fail(p, "Unterminated string or variable");
    if (*p->at == '}')
        return expr_fail(p, "syntax error, variable lacks a name");
    return expr_fail(p, "Invalid character in variable name '%c'", *p->at);
}

static int expr_is_reference(const char *s)
{
    return (s[0] == '%' && s[1] == '{') || (s[0] == '$' && util_is(s[1], UTIL_C_DIGIT));
}

/* Where the next thing of meaning begins. */
static const char *expr_literal_end(const char *s, char end)
{
    while (*s && *s != end && *s != '\n' && !expr_is_reference(s))
        s += s[0] == '\\' && s[1] ? 2 : 1;
    return s;
}

/* Literal characters, with escapes resolved: never more than they were. The room is theirs, not that of all that follows, which is
 * gigabytes for a list of 50,000. */
static ap_expr_t *expr_parse_literal(expr_parser *p, char end)
{
    const char *s = p->at, *stop = expr_literal_end(s, end);
    char *text = apr_palloc(p->pool, (apr_size_t)(stop - s) + 1), *d = text;
    ap_expr_t *node = expr_node(p, EXPR_TEXT);

    for (; s < stop; d++)
        if (*s != '\\')
            *d = *s++;
        else if (!expr_lex_escape(p, &s, d))
            return NULL;
    BRG_ASSERT(s == stop);
    *d = '\0';
    node->text = text;
    p->at = s;
    return node;
}

static ap_expr_t *expr_parse_piece(expr_parser *p, char end)
{
    ap_expr_t *node;

    if (p->at[0] == '%' && p->at[1] == '{') {
        p->at += 2;
        return expr_parse_var(p);
    }
    if (p->at[0] == '$' && util_is(p->at[1], UTIL_C_DIGIT)) {
        node = expr_node(p, EXPR_BACKREF);
        node->op = p->at[1] - '0';
        p->at += 2;
        return node;
    }
    return expr_parse_literal(p, end);
}

ap_expr_t *expr_parse_text(expr_parser *p, char end)
{
    ap_expr_t *all = NULL, *first = NULL;

    while (*p->at != end) {
        ap_expr_t *piece;

        if (*p->at == '\0' || *p->at == '\n')
            return expr_fail(p, "Unterminated string or variable");
        piece = expr_parse_piece(p, end);
        if (!piece)
            return NULL;
        if (!first) {
            first = piece;
            continue;
        }
        if (!all) {
            all = expr_node(p, EXPR_CONCAT);
            expr_add_part(p, all, first);
        }
        expr_add_part(p, all, piece);
    }
    if (end)
        p->at++;
    if (!first) {
        first = expr_node(p, EXPR_TEXT);
        first->text = "";
    }
    return all ? all : first;
}
