/* SPDX-License-Identifier: Apache-2.0 */
/* MultiViews: the variants of NAME are the files NAME.* beside it, as sub-requests see them. */
#include "neg_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(negotiation);

/* Extensions that mod_mime does not know must be a part of the requested name. */
static int folder_is_known(const request_rec *sub, const char *asked)
{
    const apr_array_header_t *strange =
        (const apr_array_header_t *)apr_table_get(sub->notes, "ap-mime-exceptions-list");
    apr_pool_t *p = sub->pool;
    const char *rest = asked;

    if (!strange) /* no extension tells anything that is negotiated */
        return 0;
    /* The first is the name itself; each further one stands in the same place of the requested
     * name. */
    for (int i = 0; i < strange->nelts; i++) {
        const char *word = APR_ARRAY_IDX(strange, i, const char *);
        const char *own;

        if (!*rest)
            return 0;
        own = ap_getword(p, &rest, '.');
        if (strcmp(own, word) != 0)
            return 0;
    }
    return 1;
}

static neg_variant folder_variant(request_rec *sub, const char *name)
{
    neg_variant v = {.file = apr_pstrdup(sub->main->pool, name),
                     .sub = sub,
                     .length = sub->finfo.size,
                     .source_q = 1.0F};
    const char *type = sub->content_type;

    BRG_ASSERT(sub->main != NULL);
    if (type) {
        const neg_range range = neg_range_at(sub->main->pool, &type);

        v.type = range.name;
        v.charset = range.charset;
        v.level = range.level;
        if (range.has_q)
            v.source_q = range.q;
    } else {
        v.type = "";
    }
    v.encoding = sub->content_encoding;
    v.languages = sub->content_languages;
    return v;
}

static int folder_order(const void *a, const void *b)
{
    return strcmp(((const neg_variant *)a)->file, ((const neg_variant *)b)->file);
}

static int folder_is_map(const request_rec *sub)
{
    return (sub->content_type && !strcmp(sub->content_type, NEG_TYPE_MAP_MEDIA)) ||
           (sub->handler && !strcmp(sub->handler, NEG_TYPE_MAP));
}

typedef struct neg_folder {
    negotiation *n;
    const char *asked;      /* the name */
    int forbidden, strange; /* files that cannot be served; files of which nothing is known */
} neg_folder;

/* @return 1: it is a type map, which counts alone */
static int folder_look(neg_folder *f, const apr_finfo_t *entry)
{
    request_rec *r = f->n->r;
    const size_t len = strlen(f->asked);
    request_rec *sub;

    if (strncmp(entry->name, f->asked, len) != 0 || entry->name[len] != '.')
        return 0;
    sub = ap_sub_req_lookup_dirent(entry, r, AP_SUBREQ_MERGE_ARGS, NULL);
    BRG_ASSERT(sub->main == r);
    if (sub->finfo.filetype != APR_REG) {
        ap_destroy_sub_req(sub);
        return 0;
    }
    if (sub->handler && !sub->content_type)
        ap_set_content_type_ex(sub, CGI_MAGIC_TYPE, 1);
    if (!sub->content_type || sub->status != HTTP_OK || !folder_is_known(sub, f->asked)) {
        f->forbidden |= sub->status == HTTP_FORBIDDEN || sub->status == HTTP_UNAUTHORIZED;
        f->strange = 1;
        ap_destroy_sub_req(sub);
        return 0;
    }
    if (folder_is_map(sub)) {
        f->n->variants->nelts = 0;
        APR_ARRAY_PUSH(f->n->variants, neg_variant) = folder_variant(sub, entry->name);
        return 1;
    }
    APR_ARRAY_PUSH(f->n->variants, neg_variant) = folder_variant(sub, entry->name);
    return 0;
}

/* Of names that match none is a variant: nothing else answers for them. */
static int folder_of_strangers(const neg_folder *f)
{
    if (!f->strange || f->n->variants->nelts)
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->n->r,
                  APLOGNO(00687) "Negotiation: discovered file(s) matching request: %s (None "
                                 "could be negotiated).",
                  f->n->r->filename);
    return f->forbidden ? HTTP_FORBIDDEN : HTTP_NOT_FOUND;
}

int neg_read_folder(negotiation *n)
{
    request_rec *r = n->r;
    const char *slash = strrchr(r->filename, '/');
    neg_folder f = {.n = n, .asked = slash ? slash + 1 : r->filename};
    apr_finfo_t entry;
    apr_dir_t *dir;
    apr_status_t rv;
    int status;

    if (!slash || !*f.asked)
        return DECLINED;
    rv = apr_dir_open(&dir, n->folder, r->pool);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(00686) "cannot read directory for multi: %s", n->folder);
        return HTTP_FORBIDDEN;
    }
    while ((rv = apr_dir_read(&entry, APR_FINFO_DIRENT, dir)) == APR_SUCCESS ||
           rv == APR_INCOMPLETE)
        if (folder_look(&f, &entry))
            break;
    apr_dir_close(dir);
    if ((status = folder_of_strangers(&f)) != OK)
        return status;
    qsort(n->variants->elts, (size_t)n->variants->nelts, sizeof(neg_variant), folder_order);
    return OK;
}
