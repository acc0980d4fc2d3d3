/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_AUTHZ_H
#define AUTH_AUTHZ_H

/** @file auth_authz.h  For providers of Require that look at the user. */
#include "auth_request.h"
#include "http_config.h"
#include "mod_auth.h"
#include "apr_optional.h"

/** The rest of a Require line is an expression with a text; a parse_require_line function. */
const char *auth_authz_parse(cmd_parms *cmd, const char *line, const void **parsed);

/** Register a provider whose answers are of the kind of BRG_AUTHZ_USER_GROUP. */
void auth_authz_register(apr_pool_t *p, const char *name, const authz_provider *provider);

/** Register a provider that also looks at more. */
void auth_authz_register_open(apr_pool_t *p, const char *name, const authz_provider *provider);

/** Optional function of mod_authz_owner: the group of r's file, or NULL, and the error log says why. */
APR_DECLARE_OPTIONAL_FN(char *, authz_owner_get_file_group, (request_rec * r));

#endif
