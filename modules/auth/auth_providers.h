/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_PROVIDERS_H
#define AUTH_PROVIDERS_H

/** @file auth_providers.h  Lists of providers in directives. Threads: the reader of the
 *   configuration. */
#include "httpd.h"
#include "http_config.h"
#include "mod_auth.h"

/** @return NULL and the provider of that name, or a message */
const char *auth_provider_find(cmd_parms *cmd, const char *name, const authn_provider **provider);

/** Add it to the end of the list. */
void auth_provider_append(apr_pool_t *p, authn_provider_list **list, const char *name,
                          const authn_provider *provider);

#endif
