/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PURGE: the stored answers of a target go, with all variants; or those of a beginning, or with one of these tags. Only clients that
 * CachePurge names are heard; for others PURGE is a method as any.
 */
#include "cached_below_private.h"
#include "cached_named_private.h"
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

int cached_purge_here(const cached_named *named, int soft)
{
    const store_key key = store_key_of(cached_store(), named->text, named->len, NULL, 0);
    const uint64_t mark = named->what == CACHED_TAG
                              ? store_mark_of(cached_store(), named->text, named->len)
                              : store_mark_of_key(&key);

    BRG_ASSERT(named->text);
    if (named->what == CACHED_PREFIX) {
        if (store_purge_prefix(cached_store(), named->text, named->len, soft) != APR_SUCCESS)
            return -1;
        cached_disk_purge(0); /* records of the disk are not found by prefixes */
        return 0;
    }
    store_purge_mark(cached_store(), mark, soft);
    cached_disk_purge(mark);
    return 0;
}

int cached_purge_named(const cached_named *named, int soft)
{
    for (; named; named = named->next) {
        if (cached_purge_here(named, soft))
            return -1;
        cached_tier_purge(named, soft);
    }
    return 0;
}

void cached_purge(const char *text, uint32_t len)
{
    (void)cached_purge_named(&(cached_named){.what = CACHED_TARGET, .text = text, .len = len}, 0);
}

/* Tags of the request's fields, of its own site. @return how many; 0: there is no such field, or nothing in it */
static int purge_tags(const cached_request *q, int soft)
{
    int n = 0;

    for (uint32_t i = 0; i < q->request.head.n; i++) {
        const http_field *f = q->request.head.field + i;
        const fresh_tags kind = fresh_tags_of(f);
        const char *p = f->value, *tag;
        size_t len;

        while (kind && fresh_tags_next(kind, &p, f->value + f->value_len, &tag, &len)) {
            cached_named named = {.what = CACHED_TAG};

            named.text = cached_tag_text(q->r->pool, q->r->server, tag, len, &named.len);
            (void)cached_purge_named(&named, soft);
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
    BRG_ASSERT(q->key.text_len);
    if ((tags = purge_tags(q, soft)) > 0)
        return purge_answer(r,
                            apr_psprintf(r->pool, "purged: %d tag%s\n", tags, tags > 1 ? "s" : ""));
    if (q->key.text[q->key.text_len - 1] == '*') {
        const cached_named prefix = {
            .what = CACHED_PREFIX, .text = q->key.text, .len = q->key.text_len - 1};

        return cached_purge_named(&prefix, soft) ? HTTP_REQUEST_URI_TOO_LARGE
                                                 : purge_answer(r, "purged: all that begins so\n");
    }
    (void)cached_purge_named(
        &(cached_named){.what = CACHED_TARGET, .text = q->key.text, .len = q->key.text_len}, soft);
    return purge_answer(r, "purged: this target\n");
}
