/* SPDX-License-Identifier: Apache-2.0 */
/* Test strings and substitutions: $N, %N, ${MAP:KEY|DEFAULT}, %{NAME}, and a backslash before a byte that is to stay. */
#include "rewrite_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>

typedef struct expand_text {
    apr_pool_t *pool;
    char *data;
    apr_size_t len, room;
    int has_mark;       /* a '?' of the text itself */
    int is_unsafe;      /* a character put in before it */
    int last_is_unsafe; /* the last one was put in: where it begins the query (QSL) */
} expand_text;

static void expand_put(expand_text *t, const char *s, apr_size_t n)
{
    if (t->len + n >= t->room) {
        apr_size_t room = (t->len + n + 1) * 2;
        char *data = apr_palloc(t->pool, room);

        memcpy(data, t->data, t->len);
        t->data = data;
        t->room = room;
    }
    memcpy(t->data + t->len, s, n);
    t->len += n;
    BRG_ASSERT(t->len < t->room);
}

/* The byte @a wanted on the level of braces where @a s begins; NULL if that level ends, or the text. */
static const char *expand_find(const char *s, char wanted)
{
    int depth = 1;

    for (; *s; s++) {
        if (*s == wanted && depth == 1)
            return s;
        if (*s == '\\' && s[1])
            s++;
        else if (*s == '{')
            depth++;
        else if (*s == '}' && --depth == 0)
            return NULL;
    }
    return NULL;
}

/* ---- backreferences ---- */

static int expand_is_escaped(const rewrite_rule *rule, unsigned char c)
{
    if (apr_isalnum(c) || c == '_')
        return 0;
    if (rule->noescapes && strchr(rule->noescapes, c))
        return 0;
    if ((rule->flags & REWRITE_F_CTLS) && (c <= ' ' || c == 127))
        return 1;
    if (rule->escapes)
        return strchr(rule->escapes, c) != NULL;
    return !(rule->flags & REWRITE_F_CTLS);
}

static char *expand_escape(apr_pool_t *p, const char *s, apr_size_t n, const rewrite_rule *rule)
{
    static const char digits[] = "0123456789abcdef";
    char *to = apr_palloc(p, 3 * n + 1), *start = to;

    for (const char *end = s + n; s < end; s++) {
        unsigned char c = (unsigned char)*s;

        if (!expand_is_escaped(rule, c)) {
            *to++ = (char)c;
        } else if (c == ' ' && !(rule->flags & REWRITE_F_NOPLUS)) {
            *to++ = '+';
        } else {
            *to++ = '%';
            *to++ = digits[c >> 4];
            *to++ = digits[c & 15];
        }
    }
    *to = '\0';
    return start;
}

static void expand_group(rewrite_run *run, expand_text *t, const rewrite_match *from, int n,
                         const rewrite_rule *rule)
{
    const ap_regmatch_t *at = &from->at[n];
    const char *s;
    apr_size_t len;

    BRG_ASSERT(n >= 0 && n < AP_MAX_REG_MATCH);
    if (!from->source || at->rm_so < 0 || at->rm_eo <= at->rm_so)
        return;
    s = from->source + at->rm_so;
    len = (apr_size_t)(at->rm_eo - at->rm_so);
    if (rule && (rule->flags & REWRITE_F_ESCAPE)) {
        const char *plain = apr_pstrmemdup(run->r->pool, s, len);

        s = expand_escape(run->r->pool, plain, len, rule);
        len = strlen(s);
        REWRITE_LOG(run->r, 5, run->directory, "escaping backreference '%s' to '%s'", plain, s);
    }
    expand_put(t, s, len);
}

/* ---- in braces ---- */

/* ${MAP:KEY|DEFAULT}; @a s is behind the brace, @a end the closing one. 0 if it is no map. */
static int expand_map(rewrite_run *run, expand_text *t, const char *s, const char *end,
                      const rewrite_rule *rule)
{
    apr_pool_t *p = run->r->pool;
    const char *colon = expand_find(s, ':'), *bar, *value;
    char *key;

    if (!colon)
        return 0;
    bar = expand_find(colon + 1, '|');
    BRG_ASSERT(colon < end && (!bar || bar < end));
    key = rewrite_expand(
        run, apr_pstrmemdup(p, colon + 1, (apr_size_t)((bar ? bar : end) - colon - 1)), rule);
    value = rewrite_lookup(run->r, apr_pstrmemdup(p, s, (apr_size_t)(colon - s)), key);
    if (!value && bar)
        value = rewrite_expand(run, apr_pstrmemdup(p, bar + 1, (apr_size_t)(end - bar - 1)), rule);
    if (value)
        expand_put(t, value, strlen(value));
    return 1;
}

static void expand_variable(rewrite_run *run, expand_text *t, const char *s, const char *end)
{
    const char *value =
        rewrite_variable(run, apr_pstrmemdup(run->r->pool, s, (apr_size_t)(end - s)));

    BRG_ASSERT(value != NULL);
    expand_put(t, value, strlen(value));
}

/* Text that begins with '$' or '%'. @return the place behind it */
static const char *expand_reference(rewrite_run *run, expand_text *t, const char *s,
                                    const rewrite_rule *rule)
{
    const char *end;

    if (apr_isdigit(s[1])) {
        expand_group(run, t, *s == '$' ? &run->rule : &run->cond, s[1] - '0', rule);
        return s + 2;
    }
    if (s[1] != '{') {
        expand_put(t, s, 1);
        return s + 1;
    }
    end = expand_find(s + 2, '}');
    if (!end || (*s == '$' && !expand_map(run, t, s + 2, end, rule))) {
        expand_put(t, s, 2);
        return s + 2;
    }
    if (*s == '%')
        expand_variable(run, t, s + 2, end);
    return end + 1;
}

char *rewrite_expand(rewrite_run *run, const char *text, const rewrite_rule *rule)
{
    expand_text t = {.pool = run->r->pool, .room = strlen(text) + 64};

    BRG_ASSERT(text != NULL);
    t.data = apr_palloc(t.pool, t.room);
    while (*text) {
        apr_size_t plain = strcspn(text, "\\$%"), before = t.len + plain;

        expand_put(&t, text, plain);
        if (memchr(text, '?', plain)) {
            t.has_mark = 1;
            t.last_is_unsafe = 0;
        }
        text += plain;
        if (*text == '\\') {
            text += text[1] != '\0';
            expand_put(&t, text++, 1);
        } else if (*text) {
            const char *next = expand_reference(run, &t, text, rule);

            if (memchr(t.data + before, '?', t.len - before)) {
                t.is_unsafe |= !t.has_mark;
                t.last_is_unsafe = 1;
            }
            text = next;
        }
    }
    t.data[t.len] = '\0';
    run->is_unsafe = rule && rule->flags & REWRITE_F_QSLAST ? t.last_is_unsafe : t.is_unsafe;
    return t.data;
}
