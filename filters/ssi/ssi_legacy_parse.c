/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of the expression language of Apache 2.2. It makes a tree.
 *
 *   expr    = operand [ ("&&" | "||") expr ]          both bind alike, and to the right
 *   operand = "!" primary | "-A" primary | "(" [expr] ")" | string [ compare right ]
 *   primary = "!" primary | "-A" primary | "(" [expr] ")" | string
 *   right   = string | regex                          a regex after = == != only
 *
 * Words that follow one another are one string. An operand that is missing is a mistake only when it is
 * evaluated. "!" binds to a single word, so "! $a = b" is not an expression.
 */
#include "ssi_legacy.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#define LEGACY_DEEP 1000 /* levels of groups and negations */

typedef struct legacy_parser {
    const char *at; /* behind the token */
    legacy_kind token;
    const char *value; /* of a word or regex */
    apr_pool_t *p;
    const char *error; /* LEGACY_E_* */
    int depth;
} legacy_parser;

/* ---- tokens ---- */

static int legacy_operator(legacy_parser *l, legacy_kind token, int len)
{
    l->token = token;
    l->at += len;
    return 1;
}

static int legacy_take_operator(legacy_parser *l)
{
    const char *s = l->at;

    switch (*s) {
    case '(':
        return legacy_operator(l, LEGACY_GROUP, 1);
    case ')':
        return legacy_operator(l, LEGACY_CLOSE, 1);
    case '=':
        return legacy_operator(l, LEGACY_EQ, s[1] == '=' ? 2 : 1);
    case '!':
        return s[1] == '=' ? legacy_operator(l, LEGACY_NE, 2) : legacy_operator(l, LEGACY_NOT, 1);
    case '<':
        return s[1] == '=' ? legacy_operator(l, LEGACY_LE, 2) : legacy_operator(l, LEGACY_LT, 1);
    case '>':
        return s[1] == '=' ? legacy_operator(l, LEGACY_GE, 2) : legacy_operator(l, LEGACY_GT, 1);
    case '&':
        return s[1] == '&' && legacy_operator(l, LEGACY_AND, 2);
    case '|':
        return s[1] == '|' && legacy_operator(l, LEGACY_OR, 2);
    case '-':
        return s[1] == 'A' && legacy_operator(l, LEGACY_ACCESS, 2);
    default:
        return 0;
    }
}

/* Up to the same character again; if it is missing, the text is empty. Backslashes are removed, whatever
 * they stand before, in a regular expression, too. */
static void legacy_take_quoted(legacy_parser *l, char quote)
{
    const char *s = l->at + 1;
    char *out = apr_palloc(l->p, strlen(s) + 1), *to = out;

    BRG_ASSERT(*l->at == quote);
    for (; *s && *s != quote; s++) {
        if (*s == '\\' && s[1])
            s++;
        *to++ = *s;
    }
    *to = '\0';
    if (!*s)
        *out = '\0';
    l->value = out;
    l->at = *s ? s + 1 : s;
}

static int legacy_word_ends(const char *s)
{
    switch (*s) {
    case '\0':
    case '(':
    case ')':
    case '=':
    case '!':
    case '<':
    case '>':
        return 1;
    case '&':
    case '|':
        return s[1] == *s;
    default:
        return apr_isspace(*s);
    }
}

static void legacy_take_word(legacy_parser *l)
{
    const char *s = l->at;
    char *out = apr_palloc(l->p, strlen(s) + 1), *to = out;

    while (!legacy_word_ends(s)) {
        if (*s == '\\' && s[1])
            s++;
        *to++ = *s++;
    }
    *to = '\0';
    l->value = out;
    l->at = s;
}

static void legacy_next(legacy_parser *l)
{
    legacy_kind before = l->token;

    while (apr_isspace(*l->at))
        l->at++;
    if (!*l->at) {
        l->token = LEGACY_END;
    } else if (legacy_take_operator(l)) {
        return;
    } else if (*l->at == '\'') {
        legacy_take_quoted(l, '\'');
        l->token = LEGACY_STRING;
    } else if (*l->at == '/' && before != LEGACY_ACCESS) {
        legacy_take_quoted(l, '/');
        l->token = LEGACY_REGEX;
    } else {
        legacy_take_word(l);
        l->token = LEGACY_STRING;
    }
}

/* ---- grammar ---- */

static legacy_node *legacy_expr(legacy_parser *l);

static legacy_node *legacy_new(legacy_parser *l, legacy_kind kind)
{
    legacy_node *node = apr_pcalloc(l->p, sizeof *node);

    node->kind = kind;
    return node;
}

static legacy_node *legacy_wrong(legacy_parser *l, const char *error)
{
    if (!l->error)
        l->error = error;
    return NULL;
}

static legacy_node *legacy_string(legacy_parser *l)
{
    legacy_node *node = legacy_new(l, LEGACY_STRING);

    BRG_ASSERT(l->token == LEGACY_STRING && l->value);
    for (node->text = l->value, legacy_next(l); l->token == LEGACY_STRING; legacy_next(l))
        node->text = apr_pstrcat(l->p, node->text, " ", l->value, NULL);
    return node;
}

static legacy_node *legacy_group(legacy_parser *l)
{
    legacy_node *node = legacy_new(l, LEGACY_GROUP);

    BRG_ASSERT(l->token == LEGACY_GROUP);
    legacy_next(l);
    if (l->token != LEGACY_CLOSE)
        node->right = legacy_expr(l);
    if (l->error)
        return NULL;
    if (l->token != LEGACY_CLOSE)
        return legacy_wrong(l, LEGACY_E_OPEN);
    legacy_next(l);
    return node;
}

/* NULL without an error: no operand. Evaluation reports it. */
static legacy_node *legacy_primary(legacy_parser *l)
{
    legacy_node *node = NULL;

    if (++l->depth > LEGACY_DEEP)
        return legacy_wrong(l, LEGACY_E_INVALID);
    if (l->token == LEGACY_STRING) {
        node = legacy_string(l);
    } else if (l->token == LEGACY_GROUP) {
        node = legacy_group(l);
    } else if (l->token == LEGACY_NOT || l->token == LEGACY_ACCESS) {
        node = legacy_new(l, l->token);
        legacy_next(l);
        node->right = legacy_primary(l);
    } else if (l->token != LEGACY_END && l->token != LEGACY_CLOSE) {
        legacy_wrong(l, LEGACY_E_INVALID);
    }
    l->depth--;
    return l->error ? NULL : node;
}

static int legacy_is_compare(legacy_kind token)
{
    return token >= LEGACY_EQ && token <= LEGACY_GE;
}

static legacy_node *legacy_compare(legacy_parser *l, legacy_node *left)
{
    legacy_node *node = legacy_new(l, l->token);

    BRG_ASSERT(legacy_is_compare(l->token) && left && left->kind == LEGACY_STRING);
    node->left = left;
    legacy_next(l);
    if (l->token == LEGACY_REGEX && (node->kind == LEGACY_EQ || node->kind == LEGACY_NE)) {
        node->right = legacy_new(l, LEGACY_REGEX);
        node->right->text = l->value;
        legacy_next(l);
    } else {
        node->right = legacy_primary(l);
    }
    return l->error ? NULL : node;
}

static legacy_node *legacy_expr(legacy_parser *l)
{
    legacy_node *left, *node;

    if (++l->depth > LEGACY_DEEP)
        return legacy_wrong(l, LEGACY_E_INVALID);
    left = legacy_primary(l);
    if (left && left->kind == LEGACY_STRING && legacy_is_compare(l->token))
        left = legacy_compare(l, left);
    if (l->error || l->token == LEGACY_END || l->token == LEGACY_CLOSE) {
        l->depth--;
        return l->error ? NULL : left;
    }
    if (!left || (l->token != LEGACY_AND && l->token != LEGACY_OR))
        return legacy_wrong(l, LEGACY_E_INVALID);
    node = legacy_new(l, l->token);
    legacy_next(l);
    node->left = left;
    node->right = legacy_expr(l);
    l->depth--;
    if (l->error)
        return NULL;
    return node;
}

static int legacy_mark_regex(legacy_node *node)
{
    if (!node)
        return 0;
    node->has_regex = node->kind == LEGACY_REGEX;
    node->has_regex |= legacy_mark_regex(node->left);
    node->has_regex |= legacy_mark_regex(node->right);
    return node->has_regex;
}

legacy_node *legacy_parse(apr_pool_t *p, const char *text, const char **error)
{
    legacy_parser l = {.at = text, .token = LEGACY_END, .p = p};
    legacy_node *tree;

    legacy_next(&l);
    tree = legacy_expr(&l);
    if (!l.error && l.token == LEGACY_CLOSE)
        l.error = LEGACY_E_CLOSE;
    BRG_ASSERT(l.error || l.depth == 0);
    *error = l.error;
    legacy_mark_regex(tree);
    return l.error ? NULL : tree;
}
