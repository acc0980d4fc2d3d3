/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of expressions, by recursive descent: || binds less than &&, that less than !, and
 * comparisons take words. Chains of the same operator become one node with many parts, so that
 * their length costs no depth.
 */
#include <string.h>
#include "expr_private.h"
#include "configuration.h"
#include "http_config.h"
#include "apr_strings.h"
#include "brigade/assert.h"

static ap_expr_t *expr_parse_or(expr_parser *p);
static ap_expr_t *expr_parse_word(expr_parser *p);

static int expr_enter(expr_parser *p)
{
    if (++p->depth <= EXPR_MAX_DEPTH)
        return 1;
    expr_fail(p, "Expression is nested too deeply");
    return 0;
}

static const char *expr_token_text(expr_parser *p, apr_size_t skip)
{
    BRG_ASSERT(skip <= p->len);
    return apr_pstrmemdup(p->pool, p->text + skip, p->len - skip);
}

/* name ( word ) */
static ap_expr_t *expr_parse_call(expr_parser *p, expr_kind kind, int type, ap_expr_t *left)
{
    ap_expr_t *node = expr_node(p, kind), *arg;

    BRG_ASSERT(p->token == EXPR_T_ID || p->token == EXPR_T_UNARY || p->token == EXPR_T_BINARY);
    node->text = expr_token_text(p, 0);
    expr_next(p);
    if (p->token != EXPR_T_OPEN)
        return expr_unexpected(p, "'('");
    if (!expr_enter(p))
        return NULL;
    expr_next(p);
    arg = expr_parse_word(p);
    if (!arg)
        return NULL;
    if (p->token != EXPR_T_CLOSE)
        return expr_unexpected(p, "')' or '.'");
    p->depth--;
    expr_next(p);
    if (left)
        expr_add_part(p, node, left);
    expr_add_part(p, node, arg);
    return expr_bind(p, node, type, arg);
}

/* One word without concatenation. */
static ap_expr_t *expr_parse_factor(expr_parser *p)
{
    ap_expr_t *node;

    switch (p->token) {
    case EXPR_T_DIGITS:
        node = expr_node(p, EXPR_TEXT);
        node->text = expr_token_text(p, 0);
        break;
    case EXPR_T_QUOTE:
        node = expr_parse_text(p, (char)p->op);
        break;
    case EXPR_T_VAR:
        node = expr_parse_var(p);
        break;
    case EXPR_T_BACKREF:
        node = expr_node(p, EXPR_BACKREF);
        node->op = p->op;
        break;
    case EXPR_T_ID:
        return expr_parse_call(p, EXPR_CALL, AP_EXPR_FUNC_STRING, NULL);
    default:
        return expr_unexpected(p, "a condition or a word");
    }
    if (node)
        expr_next(p);
    return node;
}

static ap_expr_t *expr_parse_chain(expr_parser *p, expr_token token, expr_kind kind,
                                   ap_expr_t *(*operand)(expr_parser *))
{
    ap_expr_t *first = operand(p), *all = NULL;

    while (first && p->token == token) {
        ap_expr_t *next;

        expr_next(p);
        next = operand(p);
        if (!next)
            return NULL;
        if (!all) {
            all = expr_node(p, kind);
            expr_add_part(p, all, first);
        }
        expr_add_part(p, all, next);
    }
    return all ? all : first;
}

static ap_expr_t *expr_parse_word(expr_parser *p)
{
    return expr_parse_chain(p, EXPR_T_CONCAT, EXPR_CONCAT, expr_parse_factor);
}

/* The operand after "in": { word, ... } or listfunction ( word ). */
static ap_expr_t *expr_parse_in(expr_parser *p, ap_expr_t *left)
{
    ap_expr_t *node;

    expr_next(p);
    if (p->token == EXPR_T_ID)
        return expr_parse_call(p, EXPR_IN_CALL, AP_EXPR_FUNC_LIST, left);
    if (p->token != EXPR_T_OPEN_LIST)
        return expr_unexpected(p, "'{' or a function");
    node = expr_node(p, EXPR_IN);
    expr_add_part(p, node, left);
    do {
        ap_expr_t *word;

        expr_next(p);
        word = expr_parse_word(p);
        if (!word)
            return NULL;
        expr_add_part(p, node, word);
    } while (p->token == EXPR_T_COMMA);
    if (p->token != EXPR_T_CLOSE_LIST)
        return expr_unexpected(p, "',' or '}'");
    expr_next(p);
    return node;
}

static ap_expr_t *expr_parse_match(expr_parser *p, ap_expr_t *left)
{
    ap_expr_t *node = expr_node(p, EXPR_MATCH);

    node->op = p->op;
    node->regex = expr_lex_regex(p);
    if (!node->regex)
        return NULL;
    expr_add_part(p, node, left);
    expr_next(p);
    return node;
}

static ap_expr_t *expr_parse_two_words(expr_parser *p, ap_expr_t *left)
{
    int named = p->token == EXPR_T_BINARY;
    ap_expr_t *node = expr_node(p, named ? EXPR_BINARY : EXPR_COMPARE), *right;

    node->op = p->op;
    if (named)
        node->text = expr_token_text(p, 1);
    expr_next(p);
    right = expr_parse_word(p);
    if (!right)
        return NULL;
    expr_add_part(p, node, left);
    expr_add_part(p, node, right);
    return named ? expr_bind(p, node, AP_EXPR_FUNC_OP_BINARY, right) : node;
}

static ap_expr_t *expr_parse_comparison(expr_parser *p)
{
    ap_expr_t *left = expr_parse_word(p);

    if (!left)
        return NULL;
    switch (p->token) {
    case EXPR_T_COMPARE:
    case EXPR_T_BINARY:
        return expr_parse_two_words(p, left);
    case EXPR_T_MATCH:
        return expr_parse_match(p, left);
    case EXPR_T_IN:
        return expr_parse_in(p, left);
    default:
        return expr_unexpected(p, "a comparison");
    }
}

static ap_expr_t *expr_parse_unary(expr_parser *p)
{
    ap_expr_t *node = expr_node(p, EXPR_UNARY), *word;

    node->text = expr_token_text(p, 1);
    expr_next(p);
    word = expr_parse_word(p);
    if (!word)
        return NULL;
    expr_add_part(p, node, word);
    return expr_bind(p, node, AP_EXPR_FUNC_OP_UNARY, word);
}

static ap_expr_t *expr_parse_group(expr_parser *p)
{
    ap_expr_t *node;

    if (!expr_enter(p))
        return NULL;
    expr_next(p);
    node = expr_parse_or(p);
    if (!node)
        return NULL;
    if (p->token != EXPR_T_CLOSE)
        return expr_unexpected(p, "'&&', '||' or ')'");
    p->depth--;
    expr_next(p);
    return node;
}

static ap_expr_t *expr_parse_primary(expr_parser *p)
{
    ap_expr_t *node;

    switch (p->token) {
    case EXPR_T_TRUE:
    case EXPR_T_FALSE:
        node = expr_node(p, p->token == EXPR_T_TRUE ? EXPR_TRUE : EXPR_FALSE);
        expr_next(p);
        return node;
    case EXPR_T_OPEN:
        return expr_parse_group(p);
    case EXPR_T_UNARY:
        return expr_parse_unary(p);
    default:
        return expr_parse_comparison(p);
    }
}

static ap_expr_t *expr_parse_not(expr_parser *p)
{
    int negate = 0;
    ap_expr_t *node, *inner;

    for (; p->token == EXPR_T_NOT; expr_next(p))
        negate = !negate;
    inner = expr_parse_primary(p);
    if (!inner || !negate)
        return inner;
    node = expr_node(p, EXPR_NOT);
    expr_add_part(p, node, inner);
    return node;
}

static ap_expr_t *expr_parse_and(expr_parser *p)
{
    return expr_parse_chain(p, EXPR_T_AND, EXPR_AND, expr_parse_not);
}

static ap_expr_t *expr_parse_or(expr_parser *p)
{
    return expr_parse_chain(p, EXPR_T_OR, EXPR_OR, expr_parse_and);
}

AP_DECLARE(const char *)
ap_expr_parse(apr_pool_t *pool, apr_pool_t *ptemp, ap_expr_info_t *info, const char *expr,
              ap_expr_lookup_fn_t *lookup_fn)
{
    expr_parser p = {
        .at = expr,
        .pool = pool,
        .ptemp = ptemp,
        .info = info,
        .lookup = lookup_fn ? lookup_fn : ap_expr_lookup_default,
    };
    ap_expr_t *root;

    if (info->flags & AP_EXPR_FLAG_STRING_RESULT) {
        root = expr_parse_text(&p, '\0');
    } else {
        expr_next(&p);
        root = expr_parse_or(&p);
        if (root && p.token != EXPR_T_END)
            root = expr_unexpected(&p, "end of expression");
    }
    info->root_node = root;
    return p.error;
}

AP_DECLARE(ap_expr_info_t *)
ap_expr_parse_cmd_mi(const cmd_parms *cmd, const char *expr, unsigned int flags, const char **err,
                     ap_expr_lookup_fn_t *lookup_fn, int module_index)
{
    ap_expr_info_t *info = apr_pcalloc(cmd->pool, sizeof(*info));

    /* Authors of .htaccess files must not read other files by expressions. */
    if (ap_check_cmd_context((cmd_parms *)cmd, NOT_IN_HTACCESS))
        flags |= AP_EXPR_FLAG_RESTRICTED_FILE_FUNC;
    info->filename = cmd->directive->filename;
    info->line_number = (unsigned)cmd->directive->line_num;
    if (!conf_is_htaccess(cmd) && cmd->pool == cmd->server->process->pconf)
        flags |= EXPR_FLAG_LASTS;
    info->flags = flags;
    info->module_index = module_index;
    *err = ap_expr_parse(cmd->pool, cmd->temp_pool, info, expr, lookup_fn);
    return *err ? NULL : info;
}
