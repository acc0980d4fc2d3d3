/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a document with elements of ESI. */
#include "ssi_esi.h"
#include "brigade/assert.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

#define ESI_COMMENT "<!--esi"
#define ESI_COMMENT_END "-->"
#define ESI_REMOVE_END "</esi:remove>"
#define ESI_INLINE_END "</esi:inline>"
#define ESI_INCLUDE_END "</esi:include>"
#define ESI_PREFIX "<esi:"
#define ESI_LEN(text) (sizeof(text) - 1)

static int esi_begins(const char *at, const char *end, const char *with, apr_size_t len)
{
    return (apr_size_t)(end - at) >= len && !memcmp(at, with, len);
}

static int esi_is_name(char c)
{
    return apr_isalnum(c) || c == '-' || c == '_' || c == ':' || c == '.';
}

static const char *esi_skip_space(const char *at, const char *end)
{
    while (at < end && apr_isspace(*at))
        at++;
    return at;
}

/* ---- tags ---- */

typedef struct esi_tag {
    const char *name;
    apr_size_t name_len;
    ssi_esi_value src, alt, onerror;
    const char *end; /* behind it */
    int is_empty;    /* "/>" */
} esi_tag;

static int esi_is(const char *at, apr_size_t len, const char *word)
{
    return strlen(word) == len && !memcmp(at, word, len);
}

/* name="value". @return behind it; NULL: not an attribute */
static const char *esi_attribute(esi_tag *tag, const char *at, const char *end)
{
    const char *name = at, *close;
    apr_size_t len;
    ssi_esi_value value;

    while (at < end && esi_is_name(*at))
        at++;
    len = (apr_size_t)(at - name);
    at = esi_skip_space(at, end);
    if (!len || at == end || *at++ != '=')
        return NULL;
    at = esi_skip_space(at, end);
    if (at == end || (*at != '"' && *at != '\''))
        return NULL;
    close = memchr(at + 1, *at, (apr_size_t)(end - at - 1));
    if (!close)
        return NULL;
    value = (ssi_esi_value){at + 1, (apr_size_t)(close - at - 1)};
    if (esi_is(name, len, "src"))
        tag->src = value;
    else if (esi_is(name, len, "alt"))
        tag->alt = value;
    else if (esi_is(name, len, "onerror"))
        tag->onerror = value;
    return close + 1;
}

/* @param at  a start tag. @return 0: it is not whole, or not one */
static int esi_tag_read(esi_tag *tag, const char *at, const char *end)
{
    *tag = (esi_tag){.name = at + ESI_LEN(ESI_PREFIX)};
    if ((apr_size_t)(end - at) > SSI_ESI_TAG_MOST)
        end = at + SSI_ESI_TAG_MOST;
    at = tag->name;
    while (at < end && esi_is_name(*at))
        at++;
    tag->name_len = (apr_size_t)(at - tag->name);
    while (tag->name_len) {
        const char *next = esi_skip_space(at, end);

        if (next < end && *next == '>') {
            tag->end = next + 1;
            return 1;
        }
        if (esi_begins(next, end, "/>", 2)) {
            tag->end = next + 2;
            tag->is_empty = 1;
            return 1;
        }
        if (next == at || !(at = esi_attribute(tag, next, end)))
            return 0;
    }
    return 0;
}

/* ---- pieces ---- */

/* Up to @a to. */
static int esi_give(ssi_esi_scan *s, ssi_esi_piece *piece, ssi_esi_kind kind, const char *to)
{
    BRG_ASSERT(to > s->at && to <= s->end);
    *piece = (ssi_esi_piece){.kind = kind, .at = s->at, .len = (apr_size_t)(to - s->at)};
    s->at = to;
    return 1;
}

/* @param none  set if there is no such end any more. @return 1: the text up to there is left out,
 *   and s->at is behind it */
static int esi_leave_out(ssi_esi_scan *s, const esi_tag *tag, const char *end, apr_size_t len,
                         int *none)
{
    const char *close;

    if (tag->is_empty) {
        s->at = tag->end;
        return 1;
    }
    if (*none)
        return 0;
    close = memmem(tag->end, (apr_size_t)(s->end - tag->end), end, len);
    *none = !close;
    if (close)
        s->at = close + len;
    return close != NULL;
}

/* The content of esi:remove is for processors without ESI; esi:inline has one more copy of a part
 * that is asked for by its URL. */
static int esi_is_left_out(ssi_esi_scan *s, const esi_tag *tag)
{
    if (esi_is(tag->name, tag->name_len, "remove"))
        return esi_leave_out(s, tag, ESI_REMOVE_END, ESI_LEN(ESI_REMOVE_END), &s->no_remove_end);
    return esi_is(tag->name, tag->name_len, "inline") &&
           esi_leave_out(s, tag, ESI_INLINE_END, ESI_LEN(ESI_INLINE_END), &s->no_inline_end);
}

static int esi_include(ssi_esi_scan *s, const esi_tag *tag, ssi_esi_piece *piece)
{
    const char *to = tag->end;

    if (!tag->is_empty && esi_begins(to, s->end, ESI_INCLUDE_END, ESI_LEN(ESI_INCLUDE_END)))
        to += ESI_LEN(ESI_INCLUDE_END);
    esi_give(s, piece, SSI_ESI_INCLUDE, to);
    piece->src = tag->src;
    piece->alt = tag->alt;
    piece->goes_on = tag->onerror.at && esi_is(tag->onerror.at, tag->onerror.len, "continue");
    return 1;
}

/* @return 1: *piece; 0: nothing comes of it */
static int esi_element(ssi_esi_scan *s, ssi_esi_piece *piece)
{
    esi_tag tag;

    if (!esi_tag_read(&tag, s->at, s->end))
        return esi_give(s, piece, SSI_ESI_UNKNOWN, s->at + ESI_LEN(ESI_PREFIX));
    if (esi_is(tag.name, tag.name_len, "comment")) {
        s->at = tag.end;
        return 0;
    }
    if (esi_is_left_out(s, &tag))
        return 0;
    if (esi_is(tag.name, tag.name_len, "include") && tag.src.at && tag.src.len)
        return esi_include(s, &tag, piece);
    return esi_give(s, piece, SSI_ESI_UNKNOWN, tag.end);
}

/* <!--esi and white space, and its end comes: the content counts. */
static int esi_comment_begins(ssi_esi_scan *s, const char *at)
{
    const char *from = at + ESI_LEN(ESI_COMMENT);

    if (s->comment_end || s->no_comment_end ||
        !esi_begins(at, s->end, ESI_COMMENT, ESI_LEN(ESI_COMMENT)) || from == s->end ||
        !apr_isspace(*from))
        return 0;
    s->comment_end =
        memmem(from, (apr_size_t)(s->end - from), ESI_COMMENT_END, ESI_LEN(ESI_COMMENT_END));
    s->no_comment_end = !s->comment_end;
    return s->comment_end != NULL;
}

/* The omitted text may have had the comment's end in it. */
static void esi_comment_passed(ssi_esi_scan *s)
{
    if (s->comment_end && s->comment_end < s->at)
        s->comment_end = NULL;
}

/* The next mark from s->at on, or the end. *is_comment: it begins one */
static const char *esi_mark(ssi_esi_scan *s, int *is_comment)
{
    const char *stop = s->comment_end ? s->comment_end : s->end, *at = s->at;

    *is_comment = 0;
    while (at < stop && (at = memchr(at, '<', (apr_size_t)(stop - at))) != NULL) {
        if (esi_begins(at, s->end, ESI_PREFIX, ESI_LEN(ESI_PREFIX)))
            return at;
        if ((*is_comment = esi_comment_begins(s, at)))
            return at;
        at++;
    }
    return stop;
}

int ssi_esi_next(ssi_esi_scan *s, ssi_esi_piece *piece)
{
    BRG_ASSERT(s->at <= s->end);
    while (s->at < s->end) {
        int is_comment;
        const char *mark;

        esi_comment_passed(s);
        mark = esi_mark(s, &is_comment);
        if (mark > s->at) {
            if (is_comment)
                s->comment_end = NULL; /* it is found once more */
            return esi_give(s, piece, SSI_ESI_TEXT, mark);
        }
        if (is_comment) {
            s->at += ESI_LEN(ESI_COMMENT);
        } else if (mark == s->comment_end) {
            s->at += ESI_LEN(ESI_COMMENT_END);
            s->comment_end = NULL;
        } else if (esi_element(s, piece)) {
            return 1;
        }
    }
    return 0;
}

/* ---- values ---- */

char *ssi_esi_text(apr_pool_t *p, const ssi_esi_value *value)
{
    static const struct {
        const char *name;
        char is;
    } entities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *text = apr_palloc(p, value->len + 1), *to = text;
    const char *at = value->at, *end = at + value->len;

    while (at < end) {
        char c = *at;
        apr_size_t used = 1;

        if ((unsigned char)c < 32 || c == 127)
            return NULL;
        for (size_t i = 0; c == '&' && i < sizeof entities / sizeof *entities; i++)
            if (esi_begins(at, end, entities[i].name, strlen(entities[i].name))) {
                c = entities[i].is;
                used = strlen(entities[i].name);
                break;
            }
        *to++ = c;
        at += used;
    }
    *to = '\0';
    return *text ? text : NULL;
}

int ssi_esi_is_announced(const char *value)
{
    const char *at = value ? strcasestr(value, "content") : NULL, *close;

    if (!at || (at != value && !strchr(", \t;", at[-1])))
        return 0;
    at += ESI_LEN("content");
    at += strspn(at, " \t");
    if (*at++ != '=')
        return 0;
    at += strspn(at, " \t");
    if (*at != '"' || !(close = strchr(at + 1, '"')))
        return 0;
    for (at++; at < close; at += strcspn(at, " \"") + (at < close && *at == ' ')) {
        const apr_size_t len = strcspn(at, " \"");

        if (len == ESI_LEN("ESI/1.0") && !strncasecmp(at, "ESI/1.0", len))
            return 1;
        if (!len && *at != ' ')
            break;
    }
    return 0;
}
