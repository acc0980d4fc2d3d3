/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Alias and Redirect make of the last name of a path, or of all that it has behind a prefix, so that the answer to one name can be sent
 * for others. A prefix leads them on as they are; of a pattern the groups that its result refers to lie before the name, or reach to its end.
 */
#include "alias_private.h"
#include "apr_lib.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"

#include <string.h>

#define ALIAS_TOLD_MOST 1023 /* entries of a list */

/* A path, of which the name begins at @c at: its last one, or all behind a prefix. */
typedef struct alias_told {
    const char *path;
    size_t len, at;
} alias_told;

/* References to groups of a result, as ap_pregsub() reads it, as bits. */
static unsigned alias_groups(const char *text)
{
    unsigned groups = 0;

    for (; *text; text++)
        if (*text == '\\' && text[1])
            text++;
        else if (*text == '$' && apr_isdigit(text[1]))
            groups |= 1u << (text[1] - '0');
    return groups;
}

#define ALIAS_TOLD_BITS 11    /* of a place in a path */
#define ALIAS_TOLD_GROUPS 2   /* of which it can be told where they are */
#define ALIAS_TOLD_PATTERN 62 /* the bit of what a pattern takes */

/* One that reaches to the end has all of the name; one before it is the same for all. @return their places, in
 * ALIAS_TOLD_GROUPS * 2 * ALIAS_TOLD_BITS bits; -1: one has a part of the name, or there are too many */
static apr_int64_t alias_places(const alias_told *t, unsigned groups, const ap_regmatch_t *at)
{
    const apr_int64_t none = (1 << ALIAS_TOLD_BITS) - 1;
    apr_int64_t said = 0;

    if (t->len >= (size_t)none || __builtin_popcount(groups) > ALIAS_TOLD_GROUPS)
        return -1;
    for (int i = 0; groups; groups >>= 1, i++) {
        const size_t from = (size_t)at[i].rm_so, to = (size_t)at[i].rm_eo;
        const int is_there = at[i].rm_so >= 0;

        if (!(groups & 1))
            continue;
        if (is_there && to > t->at && (to != t->len || from > t->at))
            return -1;
        said = said << ALIAS_TOLD_BITS | (is_there ? (apr_int64_t)from : none);
        said = said << ALIAS_TOLD_BITS | (is_there && to <= t->at ? (apr_int64_t)to : none);
    }
    return said;
}

/* @return 0: it does not match; -1: its result for other names is unknown */
static apr_int64_t alias_pattern_takes(const alias_told *t, const alias_entry *entry, int number)
{
    ap_regmatch_t at[AP_MAX_REG_MATCH];
    const int rv = ap_regexec(entry->regex, t->path, AP_MAX_REG_MATCH, at, 0);
    apr_int64_t places;

    if (rv == AP_REG_NOMATCH)
        return 0;
    places = rv ? -1 : alias_places(t, alias_groups(entry->real), at);
    return places < 0
               ? -1
               : (apr_int64_t)1 << ALIAS_TOLD_PATTERN |
                     (apr_int64_t)number << (ALIAS_TOLD_GROUPS * 2 * ALIAS_TOLD_BITS) | places;
}

/* The same. A prefix that ends within the name takes this one alone. */
static apr_int64_t alias_prefix_takes(const alias_told *t, const alias_entry *entry, int number)
{
    const apr_size_t covered = alias_match(t->path, entry->fake);

    return covered > t->at ? -1 : covered ? number : 0;
}

/* The first entry of @a list that takes the path; 0: none; -1: its result for other names is unknown. */
static apr_int64_t alias_first(const apr_array_header_t *list, const alias_told *t)
{
    for (int i = 0; list && i < list->nelts; i++) {
        const alias_entry *entry = &APR_ARRAY_IDX(list, i, alias_entry);
        const apr_int64_t taken = entry->regex ? alias_pattern_takes(t, entry, i + 1)
                                               : alias_prefix_takes(t, entry, i + 1);

        if (taken)
            return i < ALIAS_TOLD_MOST ? taken : -1;
    }
    return 0;
}

static alias_told alias_told_of(const char *path, const char *filename, const char *path_info)
{
    const size_t len = strlen(path), behind = strlen(path_info);
    const char *slash = memrchr(path, '/', len - behind);

    BRG_ASSERT(behind <= len);
    return (alias_told){path, len,
                        !filename && behind ? len - behind
                        : slash             ? (size_t)(slash + 1 - path)
                                            : 0};
}

/* A pattern that redirects ends the request; other lists are not looked at. */
apr_int64_t alias_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                       const char *filename, const char *path_info, int is_file)
{
    const alias_server_conf *server = ap_get_module_config(s->module_config, &alias_module);
    const alias_dir_conf *conf = ap_get_module_config(dir, &alias_module);
    alias_told told;
    apr_int64_t redirect, alias, section;

    if (!server->redirects && !server->aliases && !conf->redirects)
        return 0;
    told = alias_told_of(path, filename, path_info);
    redirect = alias_first(server->redirects, &told);
    if (redirect < 0 || redirect >> ALIAS_TOLD_PATTERN)
        return redirect;
    alias = alias_first(server->aliases, &told);
    section = alias_first(conf->redirects, &told);
    return alias < 0 || section < 0 || (alias | section) >> ALIAS_TOLD_PATTERN
               ? BRG_CACHE_NAME_COUNTS
               : redirect << 20 | alias << 10 | section;
}
