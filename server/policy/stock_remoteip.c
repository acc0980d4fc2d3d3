/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that mod_remoteip takes addresses from, and changes: an answer cannot be selected by the
 * value of one, since that is another one when the answer is looked up. */
#include "stock_policy.h"
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"

#define REMOTEIP_VARY_MOST 8

/* Of the configuration that is read, or in force. Main thread; read only afterwards. */
static apr_array_header_t *remoteip_fields; /* of const char * */

static apr_status_t stock_remoteip_forget(void *unused)
{
    remoteip_fields = NULL;
    return APR_SUCCESS;
}

void stock_remoteip_directive(const cmd_parms *cmd, const char *name, const char *args)
{
    if (ap_cstr_casecmp(name, "RemoteIPHeader") != 0 &&
        ap_cstr_casecmp(name, "RemoteIPProxiesHeader") != 0)
        return;
    if (!remoteip_fields) {
        remoteip_fields = apr_array_make(cmd->pool, 2, sizeof(const char *));
        apr_pool_cleanup_register(cmd->pool, NULL, stock_remoteip_forget, apr_pool_cleanup_null);
    }
    APR_ARRAY_PUSH(remoteip_fields, const char *) = ap_getword_conf(cmd->pool, &args);
}

int stock_remoteip_changes_vary(const request_rec *r)
{
    const char *names[REMOTEIP_VARY_MOST];
    int n = remoteip_fields ? brg_cache_vary_fields(r, names, REMOTEIP_VARY_MOST) : 0;

    BRG_ASSERT(n >= 0);
    for (int i = 0; i < n && i < REMOTEIP_VARY_MOST; i++)
        for (int k = 0; k < remoteip_fields->nelts; k++)
            if (!ap_cstr_casecmp(names[i], APR_ARRAY_IDX(remoteip_fields, k, const char *)))
                return 1;
    return n > REMOTEIP_VARY_MOST;
}
