/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTHN_CORE_PRIVATE_H
#define AUTHN_CORE_PRIVATE_H

/** @file authn_core_private.h  Parts of mod_authn_core: authn_core_alias.c has <AuthnProviderAlias>. */
#include "auth_hashes.h"
#include "auth_request.h"
#include "http_config.h"

extern module AP_MODULE_DECLARE_DATA authn_core_module;

/** A directive's setter. */
const char *authn_cmd_alias(cmd_parms *cmd, void *mconfig, const char *args);

/** No alias is known any more: a configuration is read. */
void authn_alias_reset(apr_pool_t *pconf);

#endif
