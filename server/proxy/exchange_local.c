/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of scripts that name an answer of this server: a path of its own, or a file. The script's body is dropped. An internal
 * redirect may block, so it may come to a worker, by the handler once more (brigade/wait.h): the note says where it leads. */
#include "exchange_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

APLOG_USE_MODULE(proxy_scgi);

#define HERE_NOTE "brg-proxy-redirect"

/* ap_scan_script_header() has Location apart, and fields that it does not know in the other table. */
static const char *here_get(const request_rec *r, const char *field)
{
    const char *value = field ? apr_table_get(r->headers_out, field) : NULL;

    return value || !field ? value : apr_table_get(r->err_headers_out, field);
}

static void here_drop(request_rec *r, const char *field)
{
    apr_table_unset(r->headers_out, field);
    apr_table_unset(r->err_headers_out, field);
}

void exchange_look_here(proxy_exchange *x)
{
    request_rec *r = x->r;
    const char *field = x->codec->file_field ? x->codec->file_field(x) : NULL;
    const char *value = here_get(r, field);

    if (r->status != HTTP_OK)
        return;
    if (value) {
        here_drop(r, field);
        x->answer.local_file = value;
        x->answer.swallow = 1;
        return;
    }
    field = x->codec->path_field(x);
    value = here_get(r, field);
    if (!value || *value != '/')
        return;
    apr_table_setn(r->notes, HERE_NOTE, value);
    here_drop(r, field);
    x->answer.swallow = 1;
}

/* The file in place of the body, if the client may have it: a sub-request asks the sections of its path. */
static int here_send(proxy_exchange *x)
{
    request_rec *r = x->r, *rr;
    int status = OK;

    BRG_ASSERT(!x->loop); /* proxy_waits() */
    rr = ap_sub_req_lookup_file(x->answer.local_file, r, r->output_filters);
    if (rr->status == HTTP_OK && rr->finfo.filetype != APR_NOFILE) {
        x->answer.passed = 1;
        (void)ap_run_sub_req(rr); /* errors of sending are not told, as by Apache's module */
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00864) "Subrequest to file '%s' not possible. "
                                     "(rr->status=%d, rr->finfo.filetype=%d)",
                      x->answer.local_file, rr->status, (int)rr->finfo.filetype);
        status = HTTP_INTERNAL_SERVER_ERROR;
    }
    ap_destroy_sub_req(rr);
    return status;
}

int exchange_answer_local(proxy_exchange *x)
{
    BRG_ASSERT(x->state == EXCHANGE_DONE);
    if (!x->answer.complete || x->status != OK)
        return x->status;
    return x->answer.local_file ? here_send(x) : exchange_redirect_local(x->r, x->status);
}

int exchange_redirect_local(request_rec *r, int otherwise)
{
    const char *location = apr_table_get(r->notes, HERE_NOTE);

    if (!location)
        return otherwise;
    r->method = "GET"; /* the body was the script's */
    r->method_number = M_GET;
    apr_table_unset(r->headers_in, "Content-Length");
    ap_internal_redirect_handler(location, r);
    return OK;
}
