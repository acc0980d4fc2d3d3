/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of CGI for FastCGI, SCGI and uwsgi. */
#include "proxy_private.h"
#include "proxy_gateway_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "script_vars.h"
#include <string.h>

/* The file of a URL of FastCGI: the path behind the host, without parts that do not belong to the
 * name. */
static const char *variables_file(request_rec *r, const char *filename)
{
    const char *path = strstr(filename, "://");

    path = path ? strchr(path + 3, '/') : NULL;
    return path ? apr_pstrmemdup(r->pool, path, strcspn(path, "?")) : filename;
}

/* PHP-FPM takes the proxy's name off SCRIPT_FILENAME itself, and the query with it; other servers get a path. */
static void variables_of_fcgi(request_rec *r, const struct proxy_target *target)
{
    char *filename = r->filename;

    BRG_ASSERT(!strncmp(r->filename, "proxy:", 6));
    if (target->balancer) /* the member's name, not the balancer's */
        r->filename = apr_pstrcat(
            r->pool, "proxy:", apr_pstrmemdup(r->pool, target->url, strcspn(target->url, "?")),
            NULL);
    if (proxy_fcgi_is_generic(r))
        r->filename = (char *)variables_file(r, r->filename);
    script_add_all(r);
    r->filename = filename;
}

int proxy_script_environment(request_rec *r, const struct proxy_target *target)
{
    BRG_ASSERT(r->proxyreq != PROXYREQ_NONE);
    if (target->scheme != PROXY_SCHEME_FCGI) {
        script_add_all(r);
        return OK;
    }
    variables_of_fcgi(r, target);
    return proxy_fcgi_set_variables(r);
}
