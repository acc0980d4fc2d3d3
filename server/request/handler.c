/* SPDX-License-Identifier: Apache-2.0 */
/* From the phases to the handler: filters are inserted, and the handlers are called until one takes the request. */
#include "handler_private.h"
#include "request_parts.h"
#include "http_config.h"
#include "http_log.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"

APLOG_USE_MODULE(core);

/* Filters of another request on the chain, the main request's, were initialised with that one. */
static int handler_init_filters(request_rec *r, ap_filter_t *f)
{
    for (; f && f->frec->ftype < AP_FTYPE_CONNECTION; f = f->next) {
        if (f->frec->filter_init_func && f->r == r) {
            int status = f->frec->filter_init_func(f);

            if (status != OK)
                return status;
        }
    }
    return OK;
}

int handler_prepare(request_rec *r)
{
    int status;

    ap_run_insert_filter(r);
    status = handler_init_filters(r, r->input_filters);
    return status == OK ? handler_init_filters(r, r->output_filters) : status;
}

/* A type that the configuration gives stands for a handler (AddType application/x-httpd-php .php). A type from
 * elsewhere, such as a script, does not. */
static const char *handler_of_type(request_rec *r)
{
    const char *end;

    if (!r->content_type || !AP_REQUEST_IS_TRUSTED_CT(r))
        return AP_DEFAULT_HANDLER_NAME;
    end = strchr(r->content_type, ';');
    if (!end)
        return r->content_type;
    while (end > r->content_type && end[-1] == ' ')
        end--;
    return apr_pstrmemdup(r->pool, r->content_type, (apr_size_t)(end - r->content_type));
}

void handler_name(request_rec *r)
{
    if (!r->handler)
        r->handler = handler_of_type(r);
}

static int handler_result_is_valid(request_rec *r, int result)
{
    switch (result) {
    case OK:
    case DONE:
    case SUSPENDED:
    case AP_FILTER_ERROR:
        return 1;
    default:
        /* The note lets a module speak a protocol with other numbers. */
        return ap_is_HTTP_VALID_RESPONSE(result) || apr_table_get(r->notes, "HTTP_IGNORE_RANGE");
    }
}

/* A FIFO, a socket or a device: an open() may wait for ever. The name is no longer a path where a fixup chose
 * another target, as mod_rewrite does ("redirect:/..."). */
static int handler_is_for_special_file(const request_rec *r)
{
    return r->finfo.filetype > APR_DIR && r->finfo.filetype != APR_LNK && r->filename &&
           r->filename[0] == '/';
}

static handler_instead_fn *handler_instead; /* set before threads start */

void request_handle_instead(handler_instead_fn *fn)
{
    handler_instead = fn;
}

int handler_run(request_rec *r)
{
    const char *configured = r->handler;
    int result;

    if (__builtin_expect(handler_is_for_special_file(r), 0)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00038) "Forbidden: %s doesn't point to a file or directory",
                      r->filename);
        return HTTP_FORBIDDEN;
    }
    handler_name(r);
    if (__builtin_expect(handler_instead != NULL, 0) && handler_instead(r, configured) == OK) {
        r->handler = configured;
        return OK;
    }
    result = ap_run_handler(r);
    r->handler = configured;

    if (result == DECLINED) {
        if (r->handler && r->filename) {
            ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r, "handler \"%s\" not found for: %s",
                          r->handler, r->filename);
        }
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!handler_result_is_valid(r, result)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00524) "Handler for %s returned invalid result code %d",
                      r->handler ? r->handler : "(default)", result);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return result;
}

AP_CORE_DECLARE(int) ap_invoke_handler(request_rec *r)
{
    int status = handler_prepare(r);

    return status == OK ? handler_run(r) : status;
}
