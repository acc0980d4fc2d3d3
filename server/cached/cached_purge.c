/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PURGE: what is stored of a target goes, with all variants; or all that begins so, or has one of these tags. Only clients that
 * CachePurge names are heard; for others PURGE is a method as any.
 */
#include "cached_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(cache);

const char *cached_purge_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_section *section = dir;
    apr_ipsubnet_t *net;
    char *address, *bits;

    if (!section->purgers)
        section->purgers = apr_array_make(cmd->pool, 2, sizeof net);
    if (!strcasecmp(arg, "None")) {
        section->purgers->nelts = 0;
        return NULL;
    }
    address = apr_pstrdup(cmd->pool, arg);
    bits = strchr(address, '/');
    if (bits)
        *bits++ = '\0';
    if (!(*address >= '0' && *address <= '9') && !strchr(address, ':'))
        return apr_psprintf(cmd->pool, "CachePurge: %s is no address of IP", arg);
    if (apr_ipsubnet_create(&net, address, bits, cmd->pool) != APR_SUCCESS)
        return apr_psprintf(cmd->pool, "CachePurge: %s is no address or network of IP", arg);
    APR_ARRAY_PUSH(section->purgers, apr_ipsubnet_t *) = net;
    return NULL;
}

static int purge_is_allowed(const request_rec *r)
{
    const apr_array_header_t *nets = cached_section_of(r)->purgers;

    for (int i = 0; nets && i < nets->nelts; i++)
        if (apr_ipsubnet_test(APR_ARRAY_IDX(nets, i, apr_ipsubnet_t *), r->useragent_addr))
            return 1;
    return 0;
}

/* Tags of the request's fields. @return how many; 0: there is no such field, or nothing in it */
static int purge_tags(const cached_request *q, int soft)
{
    int n = 0;

    for (uint32_t i = 0; i < q->request.head.n; i++) {
        const http_field *f = q->request.head.field + i;
        const fresh_tags kind = fresh_tags_of(f);
        const char *p = f->value, *tag;
        size_t len;

        while (kind && fresh_tags_next(kind, &p, f->value + f->value_len, &tag, &len)) {
            const uint64_t mark = store_mark_of(cached_store(), tag, len);

            store_purge_mark(cached_store(), mark, soft);
            cached_disk_purge(mark);
            n++;
        }
    }
    return n;
}

static int purge_answer(request_rec *r, const char *text)
{
    ap_set_content_type(r, "text/plain; charset=utf-8");
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    ap_rputs(text, r);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "cache: %s: %s", r->unparsed_uri, text);
    return OK;
}

int cached_purge_request(cached_request *q)
{
    request_rec *r = q->r;
    const int soft = apr_table_get(r->headers_in, "Fastly-Soft-Purge") != NULL;
    int tags;

    if (strcmp(r->method, "PURGE") != 0 || !purge_is_allowed(r))
        return DECLINED;
    BRG_ASSERT(q->text_len);
    if ((tags = purge_tags(q, soft)) > 0)
        return purge_answer(r,
                            apr_psprintf(r->pool, "purged: %d tag%s\n", tags, tags > 1 ? "s" : ""));
    if (q->text[q->text_len - 1] == '*') {
        if (store_purge_prefix(cached_store(), q->text, q->text_len - 1, soft) != APR_SUCCESS)
            return HTTP_REQUEST_URI_TOO_LARGE;
        cached_disk_purge(0); /* records of the disk are not found by prefixes */
        return purge_answer(r, "purged: all that begins so\n");
    }
    store_purge_key(cached_store(), &q->key, soft);
    cached_disk_purge(store_mark_of_key(&q->key));
    return purge_answer(r, "purged: this target\n");
}
