/* SPDX-License-Identifier: Apache-2.0 */
/* The field X-Chain: the output filters of a request above the connection's, with their types, as they are before its
 * handler runs. */
#include "httpd.h"
#include "http_config.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"

static void chain_show(request_rec *r)
{
    const char *text = "";

    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec->ftype < AP_FTYPE_CONNECTION)
            text = apr_psprintf(r->pool, "%s %s:%d", text, f->frec->name, f->frec->ftype);
    apr_table_setn(r->err_headers_out, "X-Chain", text);
}

static void chain_hooks(apr_pool_t *p)
{
    ap_hook_insert_filter(chain_show, NULL, NULL, APR_HOOK_REALLY_LAST);
}

module AP_MODULE_DECLARE_DATA chain_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, chain_hooks, 0};
