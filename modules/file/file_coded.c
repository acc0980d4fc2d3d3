/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were compressed beforehand.
 *
 * The sibling is looked up by a sub-request, so rules for its name and its links hold, and its
 * dependencies are known, also where it is missing. The choice is made once all filters are
 * inserted: a filter that wants to read the file must get the file itself.
 */
#include "file_coded.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(file);

/* By number. */
static const char *const coding_suffixes[BRG_CODINGS] = {NULL, ".br", ".zst", ".gz"};

const char *file_codings_add(cmd_parms *cmd, brg_codings *codings, const char *name)
{
    const enum brg_coding coding = brg_coding_named(name);
    brg_codings before;

    if (*codings == FILE_CODINGS_UNSET)
        *codings = 0;
    if (!ap_cstr_casecmp(name, "off") || !ap_cstr_casecmp(name, "none"))
        return *codings ? "PrecompressedFiles takes names of codings, or off" : NULL;
    if (!coding)
        return apr_psprintf(cmd->pool, "PrecompressedFiles takes br, zstd, gzip or off, not %s",
                            name);
    before = *codings;
    *codings = brg_codings_append(before, coding);
    return *codings == before ? apr_psprintf(cmd->pool, "PrecompressedFiles names %s twice", name)
                              : NULL;
}

/* ---- choosing ---- */

/* Filters see the rest of the file: one that reads it must see the file itself. */
static int coded_suits(const request_rec *r)
{
    if (r->main || r->method_number != M_GET || r->status != HTTP_OK || !r->filename ||
        r->finfo.filetype != APR_REG || (r->path_info && *r->path_info) || r->content_encoding ||
        (r->handler && *r->handler && strcmp(r->handler, "default-handler")) || r->vlist_validator)
        return 0;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec->ftype < AP_FTYPE_CONTENT_SET)
            return 0;
    return 1;
}

static request_rec *coded_look_up(request_rec *r, int coding)
{
    const char *name = apr_pstrcat(r->pool, r->filename, coding_suffixes[coding], NULL);
    request_rec *sub = ap_sub_req_lookup_file(name, r, NULL);

    if (sub->status == HTTP_OK && sub->finfo.filetype == APR_REG &&
        sub->finfo.mtime >= r->finfo.mtime)
        return sub;
    ap_destroy_sub_req(sub);
    return NULL;
}

static void coded_take(request_rec *r, const request_rec *sub, int coding)
{
    ap_log_rerror(APLOG_MARK, APLOG_TRACE1, 0, r, "sends %s in its place", sub->filename);
    r->filename = r->canonical_filename = apr_pstrdup(r->pool, sub->filename);
    r->finfo = sub->finfo;
    r->finfo.fname = r->filename;
    r->finfo.name = NULL;
    r->content_encoding = brg_coding_name((enum brg_coding)coding);
    /* With FileETag MTime both could have the same entity tag. */
    r->vlist_validator = apr_pstrcat(r->pool, "\"", r->content_encoding, "\"", NULL);
}

/* @return codings that are there, in the order of codings; *subs by number */
static brg_codings coded_present(request_rec *r, brg_codings codings, request_rec **subs)
{
    brg_codings present = 0;
    int to = 0;

    for (int shift = 0; codings >> shift & BRG_CODING_MASK; shift += BRG_CODING_BITS) {
        const int coding = codings >> shift & BRG_CODING_MASK;

        if ((subs[coding] = coded_look_up(r, coding)) != NULL) {
            present |= coding << to;
            to += BRG_CODING_BITS;
        }
    }
    return present;
}

/* Without permission to read the file none of its forms is sent, and an unreadable form does not
 * count. Both were just looked up, so that no disk is asked. */
static int coded_is_readable(request_rec *r, const request_rec *sub)
{
    if (!access(r->filename, R_OK) && !access(sub->filename, R_OK))
        return 1;
    if (errno != EACCES && errno != ENOENT)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, errno, r,
                      "cannot tell whether %s may be read: the file itself is sent", sub->filename);
    return 0;
}

void file_coded_choose(request_rec *r, brg_codings codings, module *self)
{
    request_rec *subs[BRG_CODINGS] = {NULL};
    const char *accept;
    brg_codings present;
    int best;

    if (codings <= 0 || !coded_suits(r) || !(present = coded_present(r, codings, subs)))
        return;
    apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding");
    ap_set_module_config(r->request_config, self, (void *)(intptr_t)present);
    accept = apr_table_get(r->headers_in, "Accept-Encoding");
    best =
        brg_coding_accepted((const void *)(intptr_t)present, accept, accept ? strlen(accept) : 0);
    BRG_ASSERT(!best || subs[best]);
    if (best && coded_is_readable(r, subs[best]))
        coded_take(r, subs[best], best);
    for (int i = 1; i < BRG_CODINGS; i++)
        if (subs[i])
            ap_destroy_sub_req(subs[i]);
}

int file_coded_depends(request_rec *r, module *self)
{
    void *present = ap_get_module_config(r->request_config, self);

    if (present)
        brg_cache_vary(r, "Accept-Encoding", brg_coding_accepted, present);
    return BRG_CACHE_STATIC;
}
