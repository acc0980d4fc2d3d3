/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SERVER_MEMORY_PRIVATE_H
#define BRIGADE_SERVER_MEMORY_PRIVATE_H

/*
 * memory_directives.c: what the configuration says about memory systems.
 */
#include "httpd.h"

/**
 * In a server process, before its threads begin: build the systems of its scopes.
 * @return NULL, or why one cannot be built, in @a p
 */
const char *memory_conf_apply(server_rec *main_server, apr_pool_t *p);

/** The server of a request is known: let it draw from that one's memory system. Hot: one comparison
 * as a rule. */
void memory_request_settle(request_rec *r);

#endif
