/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration of access control: hooks and providers. Each may declare that its answer depends on
 * the configuration in force and not on the URI (AP_AUTH_INTERNAL_PER_CONF). Only if all do, access
 * control is skipped for sub-requests that have the configuration of their main request.
 */
#include "httpd.h"
#include "http_request.h"
#include "ap_provider.h"
#include "mod_auth.h"
#include "auth_private.h"
#include "brigade/assert.h"

/* Written while the configuration is read by one thread; read-only afterwards. */
static int auth_per_conf;
static int auth_per_conf_hooks;
static int auth_per_conf_providers;

int auth_internal_is_per_conf(void)
{
    return auth_per_conf;
}

AP_DECLARE(void) ap_clear_auth_internal(void)
{
    auth_per_conf = 0;
    auth_per_conf_hooks = 0;
    auth_per_conf_providers = 0;
}

static int auth_count(const apr_array_header_t *a)
{
    return a ? a->nelts : 0;
}

AP_DECLARE(void) ap_setup_auth_internal(apr_pool_t *ptemp)
{
    int hooks = auth_count(ap_hook_get_access_checker()) +
                auth_count(ap_hook_get_access_checker_ex()) +
                auth_count(ap_hook_get_check_user_id()) + auth_count(ap_hook_get_auth_checker());
    int providers =
        auth_count(ap_list_provider_names(ptemp, AUTHN_PROVIDER_GROUP, AUTHN_PROVIDER_VERSION)) +
        auth_count(ap_list_provider_names(ptemp, AUTHZ_PROVIDER_GROUP, AUTHZ_PROVIDER_VERSION));

    BRG_ASSERT(auth_per_conf_hooks >= 0 && auth_per_conf_providers >= 0);
    auth_per_conf = hooks <= auth_per_conf_hooks && providers <= auth_per_conf_providers;
}

static int auth_promises_per_conf(int type)
{
    return (type & AP_AUTH_INTERNAL_MASK) == AP_AUTH_INTERNAL_PER_CONF;
}

AP_DECLARE(apr_status_t)
ap_register_auth_provider(apr_pool_t *pool, const char *provider_group, const char *provider_name,
                          const char *provider_version, const void *provider, int type)
{
    /* A second provider of the same name replaces the first and must not be counted twice. */
    if (auth_promises_per_conf(type) &&
        !ap_lookup_provider(provider_group, provider_name, provider_version))
        auth_per_conf_providers++;
    return ap_register_provider(pool, provider_group, provider_name, provider_version, provider);
}

AP_DECLARE(void)
ap_hook_check_access(ap_HOOK_access_checker_t *pf, const char *const *aszPre,
                     const char *const *aszSucc, int nOrder, int type)
{
    auth_per_conf_hooks += auth_promises_per_conf(type);
    ap_hook_access_checker(pf, aszPre, aszSucc, nOrder);
}

AP_DECLARE(void)
ap_hook_check_access_ex(ap_HOOK_access_checker_ex_t *pf, const char *const *aszPre,
                        const char *const *aszSucc, int nOrder, int type)
{
    auth_per_conf_hooks += auth_promises_per_conf(type);
    ap_hook_access_checker_ex(pf, aszPre, aszSucc, nOrder);
}

AP_DECLARE(void)
ap_hook_check_authn(ap_HOOK_check_user_id_t *pf, const char *const *aszPre,
                    const char *const *aszSucc, int nOrder, int type)
{
    auth_per_conf_hooks += auth_promises_per_conf(type);
    ap_hook_check_user_id(pf, aszPre, aszSucc, nOrder);
}

AP_DECLARE(void)
ap_hook_check_authz(ap_HOOK_auth_checker_t *pf, const char *const *aszPre,
                    const char *const *aszSucc, int nOrder, int type)
{
    auth_per_conf_hooks += auth_promises_per_conf(type);
    ap_hook_auth_checker(pf, aszPre, aszSucc, nOrder);
}
