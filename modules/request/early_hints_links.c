/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets in HTML and in Link fields. The HTML of a page comes from a backend and may hold text of
 * its users: only begins of elements of two names are looked at, and a target that is not a plain
 * path of this origin is left out.
 */
#include "early_hints_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>
#include <strings.h>

/* A piece of the text; at NULL: none. */
typedef struct piece {
    const char *at;
    size_t len;
} piece;

static int piece_is(piece p, const char *word)
{
    return p.at && strlen(word) == p.len && !strncasecmp(p.at, word, p.len);
}

/* One of the words of a list with blanks. */
static int piece_has(piece p, const char *word)
{
    const size_t len = strlen(word);

    for (size_t i = 0; p.at && i + len <= p.len; i++)
        if (!strncasecmp(p.at + i, word, len) && (!i || apr_isspace(p.at[i - 1])) &&
            (i + len == p.len || apr_isspace(p.at[i + len])))
            return 1;
    return 0;
}

/* ---- targets ---- */

static int target_is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f || strchr("<>\"'\\`{}|^;,", text[i]))
            return 0;
    return !memmem(text, len, "/.", 2) && !memmem(text, len, "&", 1);
}

/* Its path of this origin into @a to. @return 0: it has none. The path of the page was decoded: what would begin something else there is
 * refused. */
static int target_read(char to[HINTS_TEXT], piece from, const char *base, const char *origin)
{
    const size_t origin_len = strlen(origin);
    const char *slash = strrchr(base, '/');
    size_t dir = 0;

    if (!from.at || !from.len)
        return 0;
    if (from.len > origin_len && !strncasecmp(from.at, origin, origin_len) &&
        from.at[origin_len] == '/')
        from = (piece){from.at + origin_len, from.len - origin_len};
    if (*from.at == '/' ? from.len > 1 && from.at[1] == '/'
                        : memchr(from.at, ':', from.len) || strchr("#?.", *from.at) || !slash)
        return 0;
    dir = *from.at == '/' ? 0 : (size_t)(slash + 1 - base);
    if (dir + from.len >= HINTS_TEXT || !target_is_plain(from.at, from.len) ||
        !target_is_plain(base, dir) || strcspn(base, "?#%") < dir)
        return 0;
    memcpy(to, base, dir);
    memcpy(to + dir, from.at, from.len);
    to[dir + from.len] = '\0';
    return 1;
}

static void links_add(hint_links *to, piece target, int as, int cors, const char *base,
                      const char *origin)
{
    hint_link *link;

    BRG_ASSERT(to->n >= 0 && to->n <= HINTS_LINKS && as >= HINT_STYLE && as <= HINT_MODULE);
    if (to->n == HINTS_LINKS)
        return;
    link = &to->link[to->n];
    if (!target_read(link->target, target, base, origin))
        return;
    for (int i = 0; i < to->n; i++)
        if (!strcmp(to->link[i].target, link->target))
            return;
    link->as = (uint8_t)as;
    link->cors = (uint8_t)(cors || as == HINT_FONT);
    to->n++;
}

/* @return -1: another kind */
static int as_of(piece word)
{
    return piece_is(word, "style")    ? HINT_STYLE
           : piece_is(word, "script") ? HINT_SCRIPT
           : piece_is(word, "font")   ? HINT_FONT
                                      : -1;
}

/* ---- HTML ---- */

/* Attributes of an element that are looked at. */
typedef struct element {
    piece rel, href, src, as, type, media, cors, nomodule, disabled;
} element;

static piece *element_attribute(element *e, piece name)
{
    return piece_is(name, "rel")           ? &e->rel
           : piece_is(name, "href")        ? &e->href
           : piece_is(name, "src")         ? &e->src
           : piece_is(name, "as")          ? &e->as
           : piece_is(name, "type")        ? &e->type
           : piece_is(name, "media")       ? &e->media
           : piece_is(name, "crossorigin") ? &e->cors
           : piece_is(name, "nomodule")    ? &e->nomodule
           : piece_is(name, "disabled")    ? &e->disabled
                                           : NULL;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && apr_isspace(*at))
        at++;
    return at;
}

/* @return behind the value; NULL: it does not end */
static const char *value_read(piece *value, const char *at, const char *end)
{
    const char quote = at < end && (*at == '"' || *at == '\'') ? *at : 0;
    const char *begin = quote ? at + 1 : at;

    if (quote) {
        at = memchr(begin, quote, (size_t)(end - begin));
        *value = (piece){begin, at ? (size_t)(at - begin) : 0};
        return at ? at + 1 : NULL;
    }
    while (at < end && !apr_isspace(*at) && *at != '>')
        at++;
    *value = (piece){begin, (size_t)(at - begin)};
    return at;
}

/* Its attributes. @return behind its '>'; NULL: it does not end */
static const char *element_read(element *e, const char *at, const char *end)
{
    for (;;) {
        piece name, value = {"", 0}, *to;

        while (at < end && (apr_isspace(*at) || *at == '/'))
            at++;
        if (at >= end)
            return NULL;
        if (*at == '>')
            return at + 1;
        name.at = at;
        while (at < end && !apr_isspace(*at) && *at != '=' && *at != '>' && *at != '/')
            at++;
        name.len = (size_t)(at - name.at);
        at = skip_space(at, end);
        if (at < end && *at == '=')
            at = value_read(&value, skip_space(at + 1, end), end);
        else if (!name.len)
            at++;
        if (!at)
            return NULL;
        to = element_attribute(e, name);
        if (to && !to->at)
            *to = value;
    }
}

static void link_take(hint_links *to, const element *e, const char *base, const char *origin)
{
    const int screen =
        !e->media.at || !e->media.len || piece_is(e->media, "all") || piece_is(e->media, "screen");
    int as = -1;

    if (!screen || e->disabled.at || piece_has(e->rel, "alternate"))
        return;
    if (piece_has(e->rel, "stylesheet"))
        as = HINT_STYLE;
    else if (piece_has(e->rel, "modulepreload"))
        as = HINT_MODULE;
    else if (piece_has(e->rel, "preload"))
        as = as_of(e->as);
    if (as >= 0)
        links_add(to, e->href, as, e->cors.at != NULL, base, origin);
}

static void script_take(hint_links *to, const element *e, const char *base, const char *origin)
{
    const int is_module = piece_is(e->type, "module");
    const int is_script = !e->type.at || !e->type.len || piece_is(e->type, "text/javascript") ||
                          piece_is(e->type, "application/javascript");

    if (!e->nomodule.at && (is_module || is_script))
        links_add(to, e->src, is_module ? HINT_MODULE : HINT_SCRIPT, e->cors.at != NULL, base,
                  origin);
}

static int begins(const char *at, const char *end, const char *name)
{
    const size_t len = strlen(name);

    return (size_t)(end - at) > len && !strncasecmp(at, name, len) &&
           (apr_isspace(at[len]) || at[len] == '>' || at[len] == '/');
}

/* Behind the end of an element that contains no elements; or the end. */
static const char *skip_to(const char *at, const char *end, const char *mark)
{
    const size_t len = strlen(mark);

    for (; (size_t)(end - at) >= len; at++)
        if (!strncasecmp(at, mark, len))
            return at + len;
    return end;
}

void hints_of_html(hint_links *to, const char *html, size_t len, const char *base,
                   const char *origin)
{
    const char *at = html, *end = html + len;

    while (at && (at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        element e = {.rel = {NULL, 0}};
        const int is_link = begins(++at, end, "link"), is_script = begins(at, end, "script");

        if (end - at > 3 && !strncmp(at, "!--", 3))
            at = skip_to(at + 3, end, "-->");
        else if (begins(at, end, "base"))
            return; /* relative targets are others */
        else if (begins(at, end, "style") || begins(at, end, "textarea") ||
                 begins(at, end, "template") || begins(at, end, "noscript"))
            at = skip_to(at, end, "</");
        else if (is_link || is_script) {
            at = element_read(&e, at + (is_link ? 4 : 6), end);
            if (at && is_link)
                link_take(to, &e, base, origin);
            else if (at) {
                script_take(to, &e, base, origin);
                at = skip_to(at, end, "</script");
            }
        }
        if (!at || at >= end)
            return;
    }
}

/* ---- Link fields: RFC 8288 ---- */

/* The value of a parameter of the link at @a at, which ends before @a end. */
static piece parameter(const char *at, const char *end, const char *name)
{
    const size_t len = strlen(name);

    for (; at < end; at++) {
        const char *p = at;

        if (*p++ != ';')
            continue;
        p = skip_space(p, end);
        if ((size_t)(end - p) > len && !strncasecmp(p, name, len) && p[len] == '=') {
            const int quoted = p + len + 1 < end && p[len + 1] == '"';
            const char *value = p + len + 1 + quoted, *stop = value;

            while (stop < end && (quoted ? *stop != '"' : *stop != ';' && !apr_isspace(*stop)))
                stop++;
            return (piece){value, (size_t)(stop - value)};
        }
    }
    return (piece){NULL, 0};
}

/* With a value or without. */
static int parameter_stands(const char *at, const char *end, const char *name)
{
    const size_t len = strlen(name);

    for (; at < end; at++) {
        const char *p = *at == ';' ? skip_space(at + 1, end) : end;

        if ((size_t)(end - p) >= len && !strncasecmp(p, name, len) &&
            (p + len == end || strchr("; =\t", p[len])))
            return 1;
    }
    return 0;
}

void hints_of_field(hint_links *to, const char *value, const char *base, const char *origin)
{
    const char *at, *close, *end;

    for (at = strchr(value, '<'); at && (close = strchr(at, '>')) != NULL;
         at = *end ? strchr(end, '<') : NULL) {
        const piece target = {at + 1, (size_t)(close - at - 1)};
        piece rel;
        int as = -1;

        end = close + strcspn(close, ",");
        rel = parameter(close, end, "rel");
        if (piece_has(rel, "modulepreload"))
            as = HINT_MODULE;
        else if (piece_has(rel, "preload"))
            as = as_of(parameter(close, end, "as"));
        if (as >= 0)
            links_add(to, target, as, parameter_stands(close, end, "crossorigin"), base, origin);
    }
}
