/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of expressions. Quoted text and variables have grammars of their own: for them the lexer
 * reports only the opening characters, and the parser goes on from there.
 */
#include <stdarg.h>
#include <string.h>
#include "expr_private.h"
#include "apr_strings.h"
#include "util_char.h"
#include "brigade/assert.h"

/* Letters, digits and underscores after the first. */
static apr_size_t expr_word_len(const char *s)
{
    const char *at = s;

    while (util_is(*at, UTIL_C_ALNUM) || *at == '_')
        at++;
    return (apr_size_t)(at - s);
}

static int expr_is_letter(char c)
{
    return util_is(c, UTIL_C_UPPER | UTIL_C_LOWER);
}

apr_size_t expr_lex_name(const char *at)
{
    return expr_is_letter(*at) ? expr_word_len(at) : 0;
}

void *expr_fail(expr_parser *p, const char *fmt, ...)
{
    va_list args;

    if (!p->error) {
        va_start(args, fmt);
        p->error = apr_pvsprintf(p->pool, fmt, args);
        va_end(args);
    }
    return NULL;
}

void *expr_unexpected(expr_parser *p, const char *wanted)
{
    BRG_ASSERT(wanted && *wanted);
    if (p->token == EXPR_T_END)
        return expr_fail(p, "syntax error, unexpected end of expression, expecting %s", wanted);
    if (p->token == EXPR_T_BAD)
        return expr_fail(p, "Parse error near '%.*s'", (int)p->len, p->text);
    return expr_fail(p, "syntax error, unexpected '%.*s', expecting %s", (int)p->len, p->text,
                     wanted);
}

typedef struct expr_keyword {
    const char *text;
    expr_token token;
    int op;
} expr_keyword;

static const expr_keyword *expr_find(const expr_keyword *list, const char *s, apr_size_t len)
{
    for (; list->text; list++)
        if (strncmp(list->text, s, len) == 0 && list->text[len] == '\0')
            return list;
    return NULL;
}

static void expr_take(expr_parser *p, expr_token token, int op, apr_size_t len)
{
    BRG_ASSERT(p->at[0] || len == 0);
    p->token = token;
    p->op = op;
    p->text = p->at;
    p->len = len;
    p->at += len;
}

/* Names of comparisons, with and without the dash. */
static const expr_keyword expr_named_ops[] = {
    {"eq", EXPR_T_COMPARE, EXPR_INT_EQ},
    {"ne", EXPR_T_COMPARE, EXPR_INT_NE},
    {"lt", EXPR_T_COMPARE, EXPR_INT_LT},
    {"le", EXPR_T_COMPARE, EXPR_INT_LE},
    {"gt", EXPR_T_COMPARE, EXPR_INT_GT},
    {"ge", EXPR_T_COMPARE, EXPR_INT_GE},
    {"in", EXPR_T_IN, 0},
    {NULL, EXPR_T_BAD, 0},
};

static void expr_lex_word(expr_parser *p)
{
    static const expr_keyword words[] = {
        {"true", EXPR_T_TRUE, 0}, {"false", EXPR_T_FALSE, 0}, {"not", EXPR_T_NOT, 0},
        {"and", EXPR_T_AND, 0},   {"or", EXPR_T_OR, 0},       {NULL, EXPR_T_BAD, 0},
    };
    apr_size_t len = expr_word_len(p->at);
    const expr_keyword *word = expr_find(words, p->at, len);

    if (!word)
        word = expr_find(expr_named_ops, p->at, len);
    if (word)
        expr_take(p, word->token, word->op, len);
    else
        expr_take(p, EXPR_T_ID, 0, len);
}

/* -x is a unary operator, -xy a binary one. */
static void expr_lex_dash(expr_parser *p)
{
    apr_size_t len = expr_lex_name(p->at + 1);
    const expr_keyword *word;

    if (len == 0) {
        expr_take(p, EXPR_T_BAD, 0, 1);
        return;
    }
    word = expr_find(expr_named_ops, p->at + 1, len);
    if (word)
        expr_take(p, word->token, word->op, len + 1);
    else
        expr_take(p, len == 1 ? EXPR_T_UNARY : EXPR_T_BINARY, 0, len + 1);
}

static void expr_lex_sign(expr_parser *p)
{
    static const expr_keyword signs[] = {
        {"&&", EXPR_T_AND, 0},
        {"||", EXPR_T_OR, 0},
        {"==", EXPR_T_COMPARE, EXPR_STR_EQ},
        {"!=", EXPR_T_COMPARE, EXPR_STR_NE},
        {"<=", EXPR_T_COMPARE, EXPR_STR_LE},
        {">=", EXPR_T_COMPARE, EXPR_STR_GE},
        {"=~", EXPR_T_MATCH, 0},
        {"!~", EXPR_T_MATCH, 1},
        {"%{", EXPR_T_VAR, 0},
        {"=", EXPR_T_COMPARE, EXPR_STR_EQ},
        {"<", EXPR_T_COMPARE, EXPR_STR_LT},
        {">", EXPR_T_COMPARE, EXPR_STR_GT},
        {"!", EXPR_T_NOT, 0},
        {"\"", EXPR_T_QUOTE, '"'},
        {"'", EXPR_T_QUOTE, '\''},
        {"(", EXPR_T_OPEN, 0},
        {")", EXPR_T_CLOSE, 0},
        {"{", EXPR_T_OPEN_LIST, 0},
        {"}", EXPR_T_CLOSE_LIST, 0},
        {",", EXPR_T_COMMA, 0},
        {".", EXPR_T_CONCAT, 0},
        {NULL, EXPR_T_BAD, 0},
    };
    const expr_keyword *sign = p->at[1] ? expr_find(signs, p->at, 2) : NULL;

    if (!sign)
        sign = expr_find(signs, p->at, 1);
    if (sign)
        expr_take(p, sign->token, sign->op, strlen(sign->text));
    else
        expr_take(p, EXPR_T_BAD, 0, 1);
}

void expr_next(expr_parser *p)
{
    BRG_ASSERT(!p->error);
    p->at = util_skip(p->at, UTIL_C_SPACE);
    if (*p->at == '\0')
        expr_take(p, EXPR_T_END, 0, 0);
    else if (expr_is_letter(*p->at))
        expr_lex_word(p);
    else if (util_is(p->at[*p->at == '-'], UTIL_C_DIGIT))
        expr_take(p, EXPR_T_DIGITS, 0, (apr_size_t)(util_skip(p->at + 1, UTIL_C_DIGIT) - p->at));
    else if (*p->at == '$' && util_is(p->at[1], UTIL_C_DIGIT))
        expr_take(p, EXPR_T_BACKREF, p->at[1] - '0', 2);
    else if (*p->at == '-')
        expr_lex_dash(p);
    else
        expr_lex_sign(p);
}

/* m may be followed by any of these. */
static int expr_is_delimiter(char c)
{
    return c && strchr("/#$%^,;:|?!.'\"-=&+~@*", c) != NULL;
}

ap_regex_t *expr_lex_regex(expr_parser *p)
{
    const char *at = util_skip(p->at, UTIL_C_SPACE), *start, *end;
    int flags = 0;
    ap_regex_t *regex;

    BRG_ASSERT_DEBUG(p->at);
    if (*at == 'm' && expr_is_delimiter(at[1]))
        at++;
    else if (*at != '/')
        return expr_fail(p,
                         "syntax error near '%.20s', expecting a regular expression: "
                         "/.../ or m#...#",
                         at);
    start = at + 1;
    end = strchr(start, *at);
    if (!end)
        return expr_fail(p, "Unterminated regular expression '%.40s'", at);
    for (at = end + 1; *at; at++)
        if (*at == 'i')
            flags |= AP_REG_ICASE;
        else if (*at == 'm')
            flags |= AP_REG_NEWLINE;
        else if (*at == 's')
            flags |= AP_REG_DOTALL;
        else
            break;
    if (expr_word_len(at))
        return expr_fail(p, "Unknown flag '%c' after regular expression", *at);
    p->at = at;
    start = apr_pstrmemdup(p->ptemp, start, (apr_size_t)(end - start));
    regex = ap_pregcomp(p->pool, start, flags);
    return regex ? regex : expr_fail(p, "Failed to compile regular expression '%s'", start);
}

static int expr_lex_octal(expr_parser *p, const char **at, char *out)
{
    const char *end = util_skip(*at, UTIL_C_DIGIT);
    int value = 0;

    BRG_ASSERT(*at && out);
    if (end - *at > 3) {
        expr_fail(p, "Bad escape sequence");
        return 0;
    }
    for (; *at < end; ++*at) {
        if (**at > '7') {
            expr_fail(p, "Bad escape sequence");
            return 0;
        }
        value = value * 8 + (**at - '0');
    }
    if (value > 0xff) {
        expr_fail(p, "Escape sequence out of bound");
        return 0;
    }
    *out = (char)value;
    return 1;
}

int expr_lex_escape(expr_parser *p, const char **at, char *out)
{
    static const char letters[] = "nrtbf", meanings[] = "\n\r\t\b\f";
    const char *known;

    BRG_ASSERT(**at == '\\');
    ++*at;
    if (util_is(**at, UTIL_C_DIGIT))
        return expr_lex_octal(p, at, out);
    if (!**at) {
        *out = '\\'; /* the caller finds the missing end, if one is needed */
        return 1;
    }
    known = strchr(letters, **at);
    *out = known ? meanings[known - letters] : **at;
    ++*at;
    return 1;
}
