/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTH_BASIC_PRIVATE_H
#define AUTH_BASIC_PRIVATE_H

/** @file auth_basic_private.h  Parts of mod_auth_basic: auth_basic_config.c has its directives. */
#include "auth_password.h"
#include "http_config.h"
#include "ap_expr.h"

typedef struct auth_basic_conf {
    authn_provider_list *providers; /**< NULL: the default one */
    int authoritative, authoritative_set;
    int use_digest, use_digest_set; /**< AuthBasicUseDigestAlgorithm */
    ap_expr_info_t *fake_user, *fake_password;
    int fake_set;
} auth_basic_conf;

extern module AP_MODULE_DECLARE_DATA auth_basic_module;
extern const command_rec auth_basic_directives[];

void *auth_basic_create(apr_pool_t *p, char *dir);
void *auth_basic_merge(apr_pool_t *p, void *base_conf, void *add_conf);

#endif
