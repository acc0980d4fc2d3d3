/* SPDX-License-Identifier: Apache-2.0 */
/* ProxyPass to a URL that ends with its host: a request's addition to the path would continue the
 * host's name or port, or stand behind an '@' as another host. */
#include "proxy_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "util_cfgtree.h"
#include <string.h>

/* Host and port, and the text before an '@', of a URL. @return NULL: it has none */
static const char *authority_of(const char *url, size_t *len)
{
    const char *at = strstr(url, "://");

    if (!at)
        return NULL;
    at += strlen("://");
    *len = strcspn(at, "/");
    return at;
}

/* Bytes of @a at that no request replaces. */
static size_t authority_fixed(const char *at, size_t len)
{
    const char *dollar = memchr(at, '$', len);

    return dollar ? (size_t)(dollar - at) : len;
}

/* 1: "HOST$1" and nothing behind it: the group is meant to be the path. */
static int authority_ends_with_group(const char *at, size_t len, size_t fixed)
{
    return fixed && fixed + 2 == len && !at[len];
}

int proxy_authority_is_widened(const char *real, const char *url)
{
    size_t len, fixed, got_len;
    const char *at = authority_of(real, &len), *got = authority_of(url, &got_len);

    if (!at || !got)
        return 0;
    BRG_ASSERT(len <= strlen(at));
    fixed = authority_fixed(at, len);
    if (fixed < len && !authority_ends_with_group(at, len, fixed))
        return memchr(got, '@', got_len) && !memchr(at, '@', len);
    return got_len != fixed || memcmp(got, at, fixed) != 0;
}

/* ---- lines of a configuration ---- */

typedef struct authority_line {
    const char *path, *url;
    int is_pattern;
    int is_relative; /* the subject of the pattern has no slash in front */
} authority_line;

/* The n-th group of a pattern begins with a slash, as far as its text tells. */
static int group_has_slash(const authority_line *l, int n)
{
    for (const char *p = l->path; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '(' && p[1] != '?' && --n == 0)
            return p[1] == '/' ||
                   (!l->is_relative && (p == l->path || (p == l->path + 1 && *l->path == '^')));
    }
    return 0;
}

static int line_is_open(const authority_line *l)
{
    size_t len, fixed;
    const char *at = authority_of(l->url, &len);

    if (!at || at[len] == '/')
        return 0;
    BRG_ASSERT(l->path && l->url);
    fixed = authority_fixed(at, len);
    if (l->is_pattern)
        return authority_ends_with_group(at, len, fixed) && at[len - 1] >= '1' &&
               at[len - 1] <= '9' && !group_has_slash(l, at[len - 1] - '0');
    return *l->path && l->path[strlen(l->path) - 1] == '/';
}

/* The section around a ProxyPass has its path. */
static void line_of_section(apr_pool_t *p, const ap_directive_t *section, authority_line *l)
{
    const char *args = section->args ? section->args : "", *word = ap_getword_conf(p, &args);
    size_t len;

    l->is_pattern = !ap_cstr_casecmp(section->directive, "<LocationMatch") || *word == '~';
    if (*word == '~')
        word = word[1] ? word + 1 : ap_getword_conf(p, &args);
    len = strlen(word);
    l->path = len && word[len - 1] == '>' ? apr_pstrmemdup(p, word, len - 1) : word;
}

static void line_of_pass(apr_pool_t *p, const ap_directive_t *d, authority_line *l)
{
    const char *args = d->args;

    l->is_pattern = !ap_cstr_casecmp(d->directive, "ProxyPassMatch");
    l->path = ap_getword_conf(p, &args);
    if (strstr(l->path, "://") && d->parent) {
        l->url = l->path;
        line_of_section(p, d->parent, l);
    } else
        l->url = ap_getword_conf(p, &args);
}

/* Of mod_rewrite: [P] */
static int line_of_rule(apr_pool_t *p, const ap_directive_t *d, authority_line *l)
{
    const char *args = d->args, *flags;

    l->path = ap_getword_conf(p, &args);
    l->url = ap_getword_conf(p, &args);
    flags = ap_getword_conf(p, &args);
    l->is_pattern = 1;
    l->is_relative = d->parent && ap_cstr_casecmp(d->parent->directive, "<VirtualHost");
    if (*flags == '[')
        flags++;
    return ap_find_token(p, apr_pstrmemdup(p, flags, strcspn(flags, "]")), "P") ||
           ap_find_token(p, apr_pstrmemdup(p, flags, strcspn(flags, "]")), "proxy");
}

const char *proxy_line_doubt(apr_pool_t *p, const ap_directive_t *d)
{
    authority_line l = {"", "", 0, 0};

    if (!d->args)
        return NULL;
    if (!ap_cstr_casecmp(d->directive, "ProxyPass") ||
        !ap_cstr_casecmp(d->directive, "ProxyPassMatch"))
        line_of_pass(p, d, &l);
    else if (ap_cstr_casecmp(d->directive, "RewriteRule") || !line_of_rule(p, d, &l))
        return NULL;
    if (!line_is_open(&l))
        return NULL;
    return apr_psprintf(p,
                        "%s: %s ends with its host, which the path of a request would continue%s",
                        d->directive, l.url,
                        ap_cstr_casecmp(d->directive, "RewriteRule")
                            ? ": such requests get 400; write a slash behind it"
                            : ": such requests go to other hosts");
}
