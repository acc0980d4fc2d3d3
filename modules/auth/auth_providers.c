/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of providers in directives. */
#include "auth_providers.h"
#include "ap_provider.h"
#include "apr_strings.h"

const char *auth_provider_find(cmd_parms *cmd, const char *name, const authn_provider **provider)
{
    *provider = ap_lookup_provider(AUTHN_PROVIDER_GROUP, name, AUTHN_PROVIDER_VERSION);
    return *provider ? NULL : apr_psprintf(cmd->pool, "Unknown Authn provider: %s", name);
}

void auth_provider_append(apr_pool_t *p, authn_provider_list **list, const char *name,
                          const authn_provider *provider)
{
    authn_provider_list *one = apr_palloc(p, sizeof *one);

    *one = (authn_provider_list){name, provider, NULL};
    while (*list)
        list = &(*list)->next;
    *list = one;
}
