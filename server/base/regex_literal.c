/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns that are plain text, at the beginning or at the end of what is searched, or anywhere: "\.png$", "^index\.php$". Sites have many
 * of them, each asked for each request, and a call of PCRE2 costs a thousand instructions.
 */
#include "regex_private.h"

#include "brigade/assert.h"
#include "util_char.h"

#include <string.h>

/* ASCII that stands for itself. */
static int literal_is_plain(char c)
{
    return util_is(c, UTIL_C_ALNUM) || (c && strchr("/-_ ,:;=&%@!~<>'\"", c));
}

/* Where the pattern goes on, with the byte that stands there put at @a to. NULL: it is not one byte of text */
static const char *literal_take(const char *at, char *to)
{
    *to = *at;
    if (literal_is_plain(*at))
        return at + 1;
    *to = at[0] == '\\' ? at[1] : '\0';
    return *to && strchr(".^$*+?()[]{}|\\/-", *to) ? at + 2 : NULL;
}

void regex_literal_find(regex_literal *l, char *text, const char *pattern, int cflags)
{
    const char *at = pattern;
    uint32_t len = 0;

    *l = (regex_literal){.text = text};
    if (cflags & (AP_REG_ICASE | AP_REG_NEWLINE))
        return;
    l->at_begin = *at == '^';
    at += l->at_begin;
    while (*at && (at[0] != '$' || at[1]))
        if (!(at = literal_take(at, text + len++)))
            return;
    l->at_end = *at == '$';
    if (!l->at_end || (cflags & AP_REG_DOLLAR_ENDONLY))
        l->len = len;
}

/* @return where it is; NULL: nowhere */
static const char *literal_find(const regex_literal *l, const char *subject, size_t len)
{
    const char *at = l->at_end ? subject + len - l->len : subject;

    if (len < l->len || (l->at_begin && l->at_end && len != l->len))
        return NULL;
    if (!l->at_begin && !l->at_end)
        return memmem(subject, len, l->text, l->len);
    return memcmp(at, l->text, l->len) != 0 ? NULL : at;
}

int regex_literal_match(const regex_literal *l, const char *subject, apr_size_t len,
                        apr_size_t nmatch, ap_regmatch_t *pmatch)
{
    const char *at = literal_find(l, subject, len);

    BRG_ASSERT_DEBUG(l->len > 0);
    if (!at)
        return AP_REG_NOMATCH;
    for (apr_size_t i = 0; i < nmatch; i++)
        pmatch[i].rm_so = pmatch[i].rm_eo = -1;
    if (nmatch) {
        pmatch[0].rm_so = (int)(at - subject);
        pmatch[0].rm_eo = pmatch[0].rm_so + (int)l->len;
    }
    return 0;
}
