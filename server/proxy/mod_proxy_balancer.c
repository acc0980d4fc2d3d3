/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in mod_proxy_balancer. */
#include "proxy_private.h"
#include "brigade/response_cache.h"

static void balancer_hooks(apr_pool_t *p)
{
    (void)p;
    brg_cache_declare(&proxy_balancer_module, NULL);
}

module AP_MODULE_DECLARE_DATA proxy_balancer_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, balancer_hooks, 0};
