/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One directive: its name, then attributes with or without values, up to the end tag.
 *
 * The text may arrive in pieces, so the lexer keeps offsets and no pointers. It stops before bytes that may
 * be the start of the end tag until it can tell. The end tag counts within the directive's name and where
 * an attribute could start, but not within a value, quoted or not: a value without quotes ends at white
 * space only.
 */
#include "ssi_private.h"
#include "apr_lib.h"
#include "apr_strings.h"

typedef struct ssi_lex_arg {
    apr_size_t name, name_len, value, value_len;
    int has_value;
    char quote; /* 0: bare */
    int escapes;
} ssi_lex_arg;

enum {
    LEX_NAME,
    LEX_BEFORE_ARG,
    LEX_ARG,
    LEX_AFTER_ARG,
    LEX_BEFORE_VALUE,
    LEX_BARE,
    LEX_QUOTED,
    LEX_UNKNOWN /* SSIUnknownDirectives Pass: only the end tag counts */
};

enum { TAG_NO, TAG_YES, TAG_MAYBE };

static int lex_end_tag(const ssi_tags *tags, const char *text, apr_size_t left)
{
    if (*text != tags->end[0])
        return TAG_NO;
    if (left >= tags->end_len)
        return memcmp(text, tags->end, tags->end_len) ? TAG_NO : TAG_YES;
    return memcmp(text, tags->end, left) ? TAG_NO : TAG_MAYBE;
}

static void lex_mistake(ssi_lexer *l, int kind, apr_pool_t *p)
{
    if (!l->mistakes)
        l->mistakes = apr_array_make(p, 2, 1);
    APR_ARRAY_PUSH(l->mistakes, unsigned char) = (unsigned char)kind;
}

static ssi_lex_arg *lex_arg_new(ssi_lexer *l, apr_pool_t *p)
{
    ssi_lex_arg *arg;

    if (!l->args)
        l->args = apr_array_make(p, 2, sizeof(ssi_lex_arg));
    arg = apr_array_push(l->args);
    memset(arg, 0, sizeof *arg);
    return arg;
}

static ssi_lex_arg *lex_arg(const ssi_lexer *l)
{
    BRG_ASSERT(l->args && l->args->nelts > 0);
    return &APR_ARRAY_IDX(l->args, l->args->nelts - 1, ssi_lex_arg);
}

static char *lex_lower(apr_pool_t *p, const char *text, apr_size_t len)
{
    char *out = apr_pstrmemdup(p, text, len);

    for (char *c = out; *c; c++)
        *c = (char)apr_tolower(*c);
    return out;
}

static void lex_name_ends(ssi_lexer *l, const ssi_tags *tags, const char *text, apr_pool_t *p)
{
    BRG_ASSERT(l->state == LEX_NAME && !l->args);
    l->name_len = l->pos;
    l->state = LEX_BEFORE_ARG;
    if (tags->pass_unknown && !ssi_element_find(lex_lower(p, text, l->pos))) {
        l->state = LEX_UNKNOWN;
        l->unknown = 1;
    } else if (!l->name_len) {
        lex_mistake(l, SSI_LEX_NO_NAME, p);
    }
}

/* 1: the end tag is here; 0: more text is needed to tell; -1: it is not. */
static int lex_at_end_tag(ssi_lexer *l, const ssi_tags *tags, const char *text, apr_size_t len)
{
    switch (lex_end_tag(tags, text + l->pos, len - l->pos)) {
    case TAG_MAYBE:
        return 0;
    case TAG_YES:
        return 1;
    default:
        return -1;
    }
}

static void lex_before_arg(ssi_lexer *l, char c, apr_pool_t *p)
{
    if (apr_isspace(c)) {
        l->pos++;
    } else if (c == '"' || c == '\'' || c == '`') {
        lex_mistake(l, SSI_LEX_NO_ARG_BEFORE_QUOTE, p);
        lex_arg_new(l, p);
        l->state = LEX_BEFORE_VALUE;
    } else if (c == '=') {
        lex_mistake(l, SSI_LEX_NO_ARG_BEFORE_EQ, p);
        lex_arg_new(l, p);
        l->pos++;
        l->state = LEX_BEFORE_VALUE;
    } else {
        lex_arg_new(l, p)->name = l->pos;
        l->state = LEX_ARG;
    }
}

static void lex_value_begins(ssi_lexer *l, char c)
{
    ssi_lex_arg *arg = lex_arg(l);

    if (apr_isspace(c)) {
        l->pos++;
        return;
    }
    BRG_ASSERT(!arg->has_value);
    arg->has_value = 1;
    if (c == '"' || c == '\'' || c == '`') {
        arg->quote = c;
        l->pos++;
    }
    arg->value = l->pos;
    l->state = arg->quote ? LEX_QUOTED : LEX_BARE;
}

/* The quote after a backslash is part of the value; the backslash needs its next byte. */
static int lex_quoted(ssi_lexer *l, const char *text, apr_size_t len)
{
    ssi_lex_arg *arg = lex_arg(l);

    if (text[l->pos] == '\\') {
        if (l->pos + 1 == len)
            return 0;
        if (text[l->pos + 1] == arg->quote) {
            arg->escapes = 1;
            l->pos++;
        }
        l->pos++;
    } else if (text[l->pos] == arg->quote) {
        arg->value_len = l->pos++ - arg->value;
        l->state = LEX_BEFORE_ARG;
    } else {
        l->pos++;
    }
    return 1;
}

static void lex_arg_name(ssi_lexer *l, char c)
{
    ssi_lex_arg *arg = lex_arg(l);

    BRG_ASSERT(arg->name <= l->pos);
    if (apr_isspace(c) || c == '=') {
        arg->name_len = l->pos - arg->name;
        l->state = LEX_AFTER_ARG;
        return;
    }
    l->pos++;
}

static void lex_after_arg(ssi_lexer *l, char c)
{
    if (apr_isspace(c)) {
        l->pos++;
    } else if (c == '=') {
        l->pos++;
        l->state = LEX_BEFORE_VALUE;
    } else {
        l->state = LEX_BEFORE_ARG;
    }
}

static void lex_bare(ssi_lexer *l, char c)
{
    ssi_lex_arg *arg = lex_arg(l);

    if (apr_isspace(c)) {
        arg->value_len = l->pos - arg->value;
        l->state = LEX_BEFORE_ARG;
    } else {
        l->pos++;
    }
}

int ssi_lex(ssi_lexer *l, const ssi_tags *tags, const char *text, apr_size_t len, apr_pool_t *p)
{
    BRG_ASSERT(l->pos <= len && tags->end_len > 0);
    while (l->pos < len) {
        char c = text[l->pos];

        if (l->state == LEX_NAME && apr_isspace(c)) {
            lex_name_ends(l, tags, text, p);
            continue;
        }
        if (l->state == LEX_NAME || l->state == LEX_BEFORE_ARG || l->state == LEX_UNKNOWN) {
            int at = lex_at_end_tag(l, tags, text, len);

            if (at == 0)
                return 0;
            if (at == 1) {
                if (l->state == LEX_NAME)
                    lex_name_ends(l, tags, text, p);
                l->pos += tags->end_len;
                BRG_ASSERT(l->pos <= len);
                return 1;
            }
        }
        switch (l->state) {
        case LEX_NAME:
        case LEX_UNKNOWN:
            l->pos++;
            break;
        case LEX_BEFORE_ARG:
            lex_before_arg(l, c, p);
            break;
        case LEX_ARG:
            lex_arg_name(l, c);
            break;
        case LEX_AFTER_ARG:
            lex_after_arg(l, c);
            break;
        case LEX_BEFORE_VALUE:
            lex_value_begins(l, c);
            break;
        case LEX_BARE:
            lex_bare(l, c);
            break;
        default:
            if (!lex_quoted(l, text, len))
                return 0;
        }
    }
    return 0;
}

/* ---- taking the result ---- */

static const char *lex_value(const ssi_lex_arg *arg, const char *text, apr_pool_t *p)
{
    const char *in = text + arg->value, *end = in + arg->value_len;
    char *out, *value;

    BRG_ASSERT(arg->has_value);
    if (!arg->escapes)
        return apr_pstrmemdup(p, in, arg->value_len);
    out = value = apr_palloc(p, arg->value_len + 1);
    while (in < end) {
        if (*in == '\\' && in + 1 < end && in[1] == arg->quote)
            in++;
        *out++ = *in++;
    }
    *out = '\0';
    return value;
}

static const unsigned char *lex_mistakes(const ssi_lexer *l, apr_pool_t *p)
{
    unsigned char *mistakes;

    if (!l->mistakes)
        return NULL;
    mistakes = apr_pcalloc(p, (apr_size_t)l->mistakes->nelts + 1);
    memcpy(mistakes, l->mistakes->elts, (apr_size_t)l->mistakes->nelts);
    return mistakes;
}

void ssi_lex_take(const ssi_lexer *l, const char *text, apr_pool_t *p, ssi_directive *d)
{
    int n = l->args ? l->args->nelts : 0;
    ssi_arg *args = apr_palloc(p, (apr_size_t)(n ? n : 1) * sizeof *args);

    BRG_ASSERT((l->state == LEX_BEFORE_ARG || l->state == LEX_UNKNOWN) && l->name_len < l->pos);
    d->pool = p;
    d->name = lex_lower(p, text, l->name_len);
    /* A name with a NUL in it is not that of an element. */
    d->element = strlen(d->name) == l->name_len ? ssi_element_find(d->name) : NULL;
    d->args = args;
    d->args_n = (unsigned)n;
    for (int i = 0; i < n; i++) {
        const ssi_lex_arg *arg = &APR_ARRAY_IDX(l->args, i, ssi_lex_arg);

        BRG_ASSERT(arg->name + arg->name_len <= l->pos && arg->value + arg->value_len <= l->pos);
        args[i].name = lex_lower(p, text + arg->name, arg->name_len);
        args[i].value = arg->has_value ? lex_value(arg, text, p) : NULL;
        args[i].decoded = args[i].value ? ssi_decode_entities(p, args[i].value) : NULL;
    }
    d->mistakes = lex_mistakes(l, p);
}

int ssi_lex_is_text(const ssi_lexer *l, const ssi_tags *tags)
{
    return l->unknown || (tags->pass_unknown && l->state == LEX_NAME);
}

void ssi_lex_take_unfinished(const ssi_lexer *l, const char *text, apr_pool_t *p, ssi_directive *d)
{
    d->pool = p;
    d->unfinished = 1;
    d->name = lex_lower(p, text, l->state == LEX_NAME ? l->pos : l->name_len);
    d->mistakes = lex_mistakes(l, p);
}
