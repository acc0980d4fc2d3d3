/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were compressed beforehand.
 *
 * The sibling is looked up by a sub-request, so rules for its name and its links hold, and what it
 * depends on is known, also where it is missing. The choice is made once all filters are inserted: a
 * filter that wants to read the file must get the file itself.
 */
#include "file_coded.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>

#define CODING_BITS 2
#define CODING_MASK 3
#define QUALITY_ONE 1000

/* By number, from 1 on. */
static const struct {
    const char *name, *suffix;
} codings_known[FILE_CODINGS + 1] = {
    {NULL, NULL}, {"br", ".br"}, {"zstd", ".zst"}, {"gzip", ".gz"}};

const char *file_codings_add(cmd_parms *cmd, file_codings *codings, const char *name)
{
    int shift = 0;

    if (*codings == FILE_CODINGS_UNSET)
        *codings = 0;
    if (!ap_cstr_casecmp(name, "off") || !ap_cstr_casecmp(name, "none"))
        return *codings ? "PrecompressedFiles takes names of codings, or off" : NULL;
    for (; *codings >> shift & CODING_MASK; shift += CODING_BITS)
        if (!ap_cstr_casecmp(name, codings_known[*codings >> shift & CODING_MASK].name))
            return apr_psprintf(cmd->pool, "PrecompressedFiles names %s twice", name);
    for (int i = 1; i <= FILE_CODINGS; i++)
        if (!ap_cstr_casecmp(name, codings_known[i].name)) {
            *codings |= i << shift;
            return NULL;
        }
    return apr_psprintf(cmd->pool, "PrecompressedFiles takes br, zstd, gzip or off, not %s", name);
}

/* ---- Accept-Encoding (RFC 9110 section 12.5.3) ---- */

/* "q=0.5": in thousandths; what is malformed counts as a refusal. */
static int quality_of(const char *p, const char *end)
{
    int value, digits = 100;

    while (p < end && (*p == ';' || apr_isspace(*p)))
        p++;
    if (p == end)
        return QUALITY_ONE;
    if (end - p < 3 || (*p != 'q' && *p != 'Q') || p[1] != '=' || (p[2] != '0' && p[2] != '1'))
        return 0;
    value = (p[2] - '0') * QUALITY_ONE;
    p += 3;
    if (p < end && *p == '.')
        for (p++; p < end && apr_isdigit(*p); p++, digits /= 10)
            value += (*p - '0') * digits;
    return value > QUALITY_ONE ? QUALITY_ONE : value;
}

static int coding_is_named(int coding, const char *name, apr_size_t len)
{
    const char *own = codings_known[coding].name;

    if (strlen(own) == len && !strncasecmp(own, name, len))
        return 1;
    return !strcmp(own, "gzip") && len == 6 && !strncasecmp(name, "x-gzip", 6);
}

/* What the field says of one coding: a name outweighs "*". */
static int quality_for(int coding, const char *value, apr_size_t len)
{
    const char *p = value, *end = value + len;
    int all = 0;

    while (p < end) {
        const char *stop = memchr(p, ',', (apr_size_t)(end - p)), *name_end;

        stop = stop ? stop : end;
        while (p < stop && apr_isspace(*p))
            p++;
        for (name_end = p; name_end < stop && *name_end != ';' && !apr_isspace(*name_end);)
            name_end++;
        if (coding_is_named(coding, p, (apr_size_t)(name_end - p)))
            return quality_of(name_end, stop);
        if (name_end - p == 1 && *p == '*')
            all = quality_of(name_end, stop);
        p = stop + (stop < end);
    }
    return all;
}

int file_codings_accepted(const void *data, const char *value, apr_size_t len)
{
    const int codings = (int)(intptr_t)data;
    int best[FILE_CODINGS], quality[FILE_CODINGS], n = 0, accepted = 0;

    if (!value)
        return 0;
    for (int shift = 0; codings >> shift & CODING_MASK; shift += CODING_BITS) {
        const int coding = codings >> shift & CODING_MASK, q = quality_for(coding, value, len);
        int at = n;

        if (!q)
            continue;
        for (; at > 0 && quality[at - 1] < q; at--) { /* equal ones keep the directive's order */
            best[at] = best[at - 1];
            quality[at] = quality[at - 1];
        }
        best[at] = coding;
        quality[at] = q;
        n++;
    }
    while (n--)
        accepted = accepted << CODING_BITS | best[n];
    return accepted;
}

/* ---- choosing ---- */

/* What is left of the file is what its filters see: one that reads it must see the file itself. */
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
    const char *name = apr_pstrcat(r->pool, r->filename, codings_known[coding].suffix, NULL);
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
    r->content_encoding = codings_known[coding].name;
    /* With FileETag MTime both could have the same entity tag. */
    r->vlist_validator = apr_pstrcat(r->pool, "\"", r->content_encoding, "\"", NULL);
}

/* @return codings that are there, in the order of codings; *subs by number */
static file_codings coded_present(request_rec *r, file_codings codings, request_rec **subs)
{
    file_codings present = 0;
    int to = 0;

    for (int shift = 0; codings >> shift & CODING_MASK; shift += CODING_BITS) {
        const int coding = codings >> shift & CODING_MASK;

        if ((subs[coding] = coded_look_up(r, coding)) != NULL) {
            present |= coding << to;
            to += CODING_BITS;
        }
    }
    return present;
}

void file_coded_choose(request_rec *r, file_codings codings, module *self)
{
    request_rec *subs[FILE_CODINGS + 1] = {NULL};
    const char *accept;
    file_codings present;
    int best;

    if (codings <= 0 || !coded_suits(r) || !(present = coded_present(r, codings, subs)))
        return;
    apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding");
    ap_set_module_config(r->request_config, self, (void *)(intptr_t)present);
    accept = apr_table_get(r->headers_in, "Accept-Encoding");
    best = file_codings_accepted((const void *)(intptr_t)present, accept,
                                 accept ? strlen(accept) : 0) &
           CODING_MASK;
    BRG_ASSERT(!best || subs[best]);
    if (best)
        coded_take(r, subs[best], best);
    for (int i = 1; i <= FILE_CODINGS; i++)
        if (subs[i])
            ap_destroy_sub_req(subs[i]);
}

int file_coded_depends(request_rec *r, module *self)
{
    void *present = ap_get_module_config(r->request_config, self);

    if (present)
        brg_cache_vary(r, "Accept-Encoding", file_codings_accepted, present);
    return BRG_CACHE_STATIC;
}
