/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_SETUP_H
#define BRIGADE_TLS_TLS_SETUP_H

/**
 * @file tls_setup.h
 * TLS as the configuration is read: for the ssl module.
 */
#include "tls_conf.h"

/** See that all servers with TLS would work: before a reload takes place, and for -t. */
int tls_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server);
int tls_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server);

/**
 * The first suite without authenticated encryption (in CBC mode, as a rule) that a server with TLS offers.
 * @return its name in OpenSSL, static; NULL: none, or the server has no TLS
 * Threads: main, once the configuration was read.
 */
const char *tls_suite_of_cbc(const server_rec *s);

/** 1: a module proposes acme-tls/1, and nothing else: handshakes that do not offer it need not ask modules. Threads: main. */
void tls_challenges_set(int on);

/** 1 if a certificate of this configuration names an OCSP responder. Blocking: reads files. */
int tls_staple_is_wanted(const ap_directive_t *node, apr_pool_t *p);

#endif
