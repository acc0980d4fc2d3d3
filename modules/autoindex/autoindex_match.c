/* SPDX-License-Identifier: Apache-2.0 */
/* Which icon, alternative text and description a file has, and whether it is listed at all. */
#include "autoindex_private.h"
#include "http_protocol.h"
#include "apr_fnmatch.h"

static const char *ai_last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int ai_item_matches(const ai_item *item, const char *path, const char *type,
                           const char *encoding, int by_name_only)
{
    /* The names in carets are no files: they are matched by any line that gives them. */
    if (*path == '^')
        return ap_strcmp_match(path, item->what) == 0;
    if (ap_strcmp_match(path, item->where) != 0)
        return 0;
    if (!*item->what)
        return 1;
    if (item->by == AI_BY_NAME)
        return ap_strcmp_match(path, item->what) == 0;
    if (by_name_only)
        return 0;
    /* A file's type matters only where it is not wrapped in an encoding. */
    if (encoding)
        return item->by == AI_BY_ENCODING && ap_strcasecmp_match(encoding, item->what) == 0;
    return item->by == AI_BY_TYPE && type && ap_strcasecmp_match(type, item->what) == 0;
}

static const char *ai_find_in(const apr_array_header_t *items, const char *path, const char *type,
                              const char *encoding, int by_name_only)
{
    for (int i = 0; i < items->nelts; i++) {
        const ai_item *item = &APR_ARRAY_IDX(items, i, ai_item);
        if (ai_item_matches(item, path, type, encoding, by_name_only))
            return item->data;
    }
    return NULL;
}

const char *ai_find(const apr_array_header_t *items, request_rec *r, int by_name_only)
{
    const char *type = r->content_type ? ap_field_noparam(r->pool, r->content_type) : NULL;

    return ai_find_in(items, r->filename, type, r->content_encoding, by_name_only);
}

const char *ai_find_name(const apr_array_header_t *items, const char *name)
{
    return ai_find_in(items, name, NULL, NULL, 1);
}

const char *ai_find_desc(const ai_conf *conf, const char *path)
{
    const char *name = ai_last_component(path);

    for (int i = 0; i < conf->descs->nelts; i++) {
        const ai_desc *desc = &APR_ARRAY_IDX(conf->descs, i, ai_desc);
        const char *subject = desc->full_path ? path : name;

        if (desc->wildcards ? apr_fnmatch(desc->pattern, subject, 0) == APR_SUCCESS
                            : strstr(subject, desc->pattern) != NULL)
            return desc->text;
    }
    return NULL;
}

int ai_is_ignored(const ai_conf *conf, const char *path)
{
    const char *name = ai_last_component(path);

    for (int i = 0; i < conf->ignores->nelts; i++) {
        const ai_item *item = &APR_ARRAY_IDX(conf->ignores, i, ai_item);
        if (ap_strcmp_match(path, item->where) == 0 &&
            ap_strcmp_match(name, ai_last_component(item->what)) == 0)
            return 1;
    }
    return 0;
}

/* Media types that are no text/, image/, ... and yet of that kind. */
static const struct {
    const char *type, *kind;
} ai_kinds[] = {
    {"text/", "txt"},
    {"image/", "img"},
    {"video/", "vid"},
    {"audio/", "aud"},
    {"application/pdf", "txt"},
    {"application/json", "txt"},
    {"application/javascript", "txt"},
    {"application/xml", "txt"},
    {"application/zip", "zip"},
    {"application/gzip", "zip"},
    {"application/x-gzip", "zip"},
    {"application/x-tar", "zip"},
    {"application/x-xz", "zip"},
    {"application/x-bzip", "zip"},
    {"application/x-7z", "zip"},
    {"application/zstd", "zip"},
    {"application/vnd.debian.", "zip"},
    {"application/java-archive", "zip"},
};

const char *ai_kind(const request_rec *r)
{
    if (r->content_encoding)
        return "zip";
    for (apr_size_t i = 0; r->content_type && i < sizeof(ai_kinds) / sizeof(ai_kinds[0]); i++)
        if (strncasecmp(r->content_type, ai_kinds[i].type, strlen(ai_kinds[i].type)) == 0)
            return ai_kinds[i].kind;
    return "bin";
}
