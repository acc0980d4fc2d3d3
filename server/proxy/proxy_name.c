/* SPDX-License-Identifier: Apache-2.0 */
/* What ProxyPass makes of a path, for no request: so that a decision for one path can be taken for others. */
#include "proxy_private.h"
#include "brigade/response_cache.h"
#include <string.h>

#define NAME_URL_MOST 2048
#define NAME_SECTIONS_MOST 40
#define NAME_ALIASES_MOST 0xffff

/* Sections for the URL of @a alias and the rest of a path: a bit for each. @return -1: it cannot be told */
static apr_int64_t name_sections(const proxy_server_conf *conf, const proxy_alias *alias,
                                 const char *rest)
{
    const apr_array_header_t *sections = conf->sections;
    char url[NAME_URL_MOST];
    apr_int64_t said = 0;

    if (!sections->nelts)
        return 0;
    if (sections->nelts > NAME_SECTIONS_MOST || strchr(alias->real, '|') ||
        strlen(alias->real) + strlen(rest) >= sizeof url)
        return -1;
    strcpy(stpcpy(url, alias->real), rest);
    for (int i = 0; i < sections->nelts; i++) {
        const proxy_dir_conf *d =
            ap_get_module_config(APR_ARRAY_IDX(sections, i, ap_conf_vector_t *), &proxy_module);

        if (d->regex && d->refs && d->refs->nelts)
            return -1; /* it makes variables of the URL */
        said |= (apr_int64_t)(d->regex ? !ap_regexec(d->regex, url, 0, NULL, 0)
                                       : proxy_section_covers(d, url))
                << i;
    }
    return said;
}

/* Of a path that the alias of number @a i leads to its URL, @a covered bytes of which it names. */
static apr_int64_t name_led(const proxy_server_conf *conf, int i, const char *path, size_t covered)
{
    const proxy_alias *alias = &APR_ARRAY_IDX(conf->aliases, i, proxy_alias);
    apr_int64_t sections;

    if (!covered || alias->flags || i >= NAME_ALIASES_MOST || (*alias->real | 0x20) == 'w')
        return BRG_CACHE_NAME_COUNTS;
    sections = name_sections(conf, alias, path + covered);
    return sections < 0 ? BRG_CACHE_NAME_COUNTS : sections << 16 | (i + 1);
}

/* What is kept from the proxy may come to be missing; what is not is answered by others, and so never leads to a file. */
apr_int64_t proxy_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                       const char *filename, const char *path_info, int is_file)
{
    const proxy_server_conf *conf = proxy_conf_of(s);
    const apr_array_header_t *aliases = conf->aliases;

    (void)dir;
    if (conf->encoded_some)
        return BRG_CACHE_NAME_COUNTS;
    for (int i = 0; i < aliases->nelts; i++) {
        const proxy_alias *alias = &APR_ARRAY_IDX(aliases, i, proxy_alias);
        const size_t covered = alias->regex ? 0 : proxy_alias_covers(path, alias->fake);

        if (alias->flags & (ALIAS_INTERPOLATE | ALIAS_SERVLET | ALIAS_ENCODED))
            return BRG_CACHE_NAME_COUNTS;
        if (!covered &&
            (!alias->regex || ap_regexec(alias->regex, path, 0, NULL, 0) == AP_REG_NOMATCH))
            continue;
        if (!strcmp(alias->real, "!"))
            return i + 1;
        return filename ? BRG_CACHE_NAME_COUNTS : name_led(conf, i, path, covered);
    }
    return 0;
}
