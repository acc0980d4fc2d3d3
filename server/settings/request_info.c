/* SPDX-License-Identifier: Apache-2.0 */
/* Values that modules set for one request: document root, context, custom error responses. */
#include "httpd.h"
#include "http_core.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include "apr_strings.h"

static core_request_config *request_conf_of(const request_rec *r)
{
    BRG_ASSERT(r->request_config != NULL);
    return ap_get_core_module_config(r->request_config);
}

AP_DECLARE(const char *) ap_document_root(request_rec *r)
{
    const core_request_config *conf = request_conf_of(r);
    const core_server_config *sconf = ap_get_core_module_config(r->server->module_config);

    return conf && conf->document_root ? conf->document_root : sconf->ap_document_root;
}

AP_DECLARE(void) ap_set_document_root(request_rec *r, const char *document_root)
{
    request_conf_of(r)->document_root = document_root;
}

AP_DECLARE(const char *) ap_context_prefix(request_rec *r)
{
    const core_request_config *conf = request_conf_of(r);

    return conf->context_prefix ? conf->context_prefix : "";
}

AP_DECLARE(const char *) ap_context_document_root(request_rec *r)
{
    const core_request_config *conf = request_conf_of(r);

    return conf->context_document_root ? conf->context_document_root : ap_document_root(r);
}

AP_DECLARE(void)
ap_set_context_info(request_rec *r, const char *context_prefix, const char *context_document_root)
{
    core_request_config *conf = request_conf_of(r);

    if (context_prefix)
        conf->context_prefix = context_prefix;
    if (context_document_root)
        conf->context_document_root = context_document_root;
}

/* A response for one status, set by a module: a URL, a path, or else a text, which is marked by a
 * quote. */
AP_DECLARE(void) ap_custom_response(request_rec *r, int status, const char *string)
{
    core_request_config *conf = request_conf_of(r);
    int is_place = ap_is_url(string) || *string == '/';

    if (!conf->response_code_strings) {
        conf->response_code_strings =
            apr_pcalloc(r->pool, RESPONSE_CODES * sizeof *conf->response_code_strings);
    }
    conf->response_code_strings[ap_index_of_response(status)] =
        apr_pstrcat(r->pool, is_place ? "" : "\"", string, NULL);
}
