/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CORE_CORE_DOUBTS_PRIVATE_H
#define BRIGADE_CORE_CORE_DOUBTS_PRIVATE_H

/**
 * @file core_doubts_private.h
 * Warnings about a configuration that is valid and hardly meant: once when it is checked, once when it is put into force.
 */
#include "httpd.h"
#include "http_log.h"
#include "util_cfgtree.h"
#include "apr_hash.h"
#include "brigade/directive.h"

/** Common state of the looks at a configuration. */
typedef struct core_doubts {
    apr_pool_t *p;        /**< for as long as they take */
    server_rec *main;     /**< the main server */
    server_rec *to;       /**< whose log is told; NULL: standard error */
    apr_hash_t *places;   /**< "FILE:LINE" of a <VirtualHost> -> its server_rec */
    apr_hash_t *nodes;    /**< server_rec * of a virtual host -> its node in the tree */
    brg_nearest *nearest; /**< of a search through the tree, and its result: */
    int found;
} core_doubts;

/** Register the hooks that look. */
void core_doubts_register(void);

/** Tell of one. Threads: main. */
void core_doubts_tell(const core_doubts *d, const char *file, int line, const char *what);

/** The virtual host that a node of the tree is in; the main server outside of them. */
server_rec *core_doubts_server(const core_doubts *d, const ap_directive_t *node);

/** A node's arguments, which nodes that modules make may lack. */
static inline const char *core_doubts_args(const ap_directive_t *node)
{
    return node->args ? node->args : "";
}

/** Call @a visit for each node of a tree. */
void core_doubts_each(core_doubts *d, const ap_directive_t *tree,
                      void (*visit)(core_doubts *d, const ap_directive_t *node));

/** Tell of the line that @a node is. */
void core_doubts_say(const core_doubts *d, const ap_directive_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** A word of a node's arguments, from 0, "" beyond the last one; that of a section without its ">". */
const char *core_doubts_word(const core_doubts *d, const ap_directive_t *node, int n);

/** The last line of that name in the virtual host itself (in the main server: outside of all sections), or NULL. */
const ap_directive_t *core_doubts_line(const core_doubts *d, const server_rec *s, const char *name);

/** @return 1 if the word is one of @a n in any case; else they are offered as the nearest one. */
int core_doubts_known(brg_nearest *nearest, const char *const known[], size_t n);

/** Names that nothing here has, of a line. */
void core_doubts_names(core_doubts *d, const ap_directive_t *node);

/** Redirects, ProxyPass and rewrite rules. */
void core_doubts_urls(core_doubts *d, const ap_directive_t *node);

/** Passwords and access. */
void core_doubts_auth(core_doubts *d, const ap_directive_t *node);

/** Virtual hosts of ports without Listen. */
void core_doubts_ports(core_doubts *d);

/** Document roots that nobody may see. */
void core_doubts_roots(core_doubts *d);

/** ErrorDocuments whose file is not there. */
void core_doubts_documents(core_doubts *d);

#endif
