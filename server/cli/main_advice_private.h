/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_ADVICE_PRIVATE_H
#define BRIGADE_CLI_MAIN_ADVICE_PRIVATE_H

/**
 * @file main_advice_private.h
 * Requests that --advice makes to learn answers. Main thread; blocks.
 */
#include "httpd.h"
#include "util_cfgtree.h"

/** The arguments of this program, which live as long as the process, with -t in place of --advice. */
void main_advice_arguments(int argc, const char *const *argv);

/**
 * Whether a path below a document root is answered with a success by a server that has this root from this line.
 * @param main_server  the first of all servers
 * @param line         a DocumentRoot
 * @param root         its folder, without symbolic links
 * @param path         of a file, or of a folder, the first file of which is asked for; begins with a slash
 * @return the path that was asked for; NULL: it is refused, it is not there, or no answer could be had
 */
const char *main_advice_served(apr_pool_t *p, const server_rec *main_server,
                               const ap_directive_t *line, const char *root, const char *path);

/** Start this program once more. @return its output, as far as there is room, from @a p; NULL: it
 * could not be started */
char *main_advice_start(apr_pool_t *p, const char *const *argv);

/** The output of -t -D DUMP_CACHE for a path of @a s, which begins with a slash; NULL: failed. */
char *main_advice_dump(apr_pool_t *p, const server_rec *s, const char *path);

/** Print advice about servers that speak HTTP/3 (main_advice_http3.c). @return how many pieces of
 * advice */
int main_advice_http3(apr_pool_t *p, const server_rec *s);

/** Print the lines that keep answers out of memory, if there are some (main_advice_cache.c). */
void main_advice_keeps(apr_pool_t *p, const server_rec *main_server);

#endif
