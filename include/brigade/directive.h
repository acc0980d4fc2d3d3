/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_DIRECTIVE_H
#define BRIGADE_DIRECTIVE_H

/**
 * @file brigade/directive.h Shared by setters of directives: numbers as Apache reads them, near
 * names, and places of directives.
 */
#include "brigade/declare.h"
#include "http_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The number that an argument begins with, as atoi() reads it; many of Apache's directives take
 * their numbers so. 0 without a number. A warning says so where it is not the whole argument. A
 * number beyond 64 bits becomes the nearest one within.
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(apr_int64_t) brg_argument_number(const cmd_parms *cmd, const char *arg);

/** @a n, or the bound that it lies beyond, with a warning. Threads: any. Blocking: no. */
BRG_DECLARE(apr_int64_t)
brg_argument_clamp(const cmd_parms *cmd, apr_int64_t n, apr_int64_t least, apr_int64_t most);

/** The name that is nearest to a word. Begin with {word}; the other members are the functions' own. */
typedef struct brg_nearest {
    const char *word; /**< as it was given */
    const char *name; /**< the nearest name so far; NULL: none is near */
    int distance;
} brg_nearest;

/** Offer a name (NULL: none); it must live as long as @a nearest is asked. Threads: any. Blocking: no. */
BRG_DECLARE(void) brg_nearest_offer(brg_nearest *nearest, const char *name);

/** Offer the names of all filters that are registered, for requests or for responses. Threads: main. Blocking: no. */
BRG_DECLARE(void) brg_nearest_offer_filters(brg_nearest *nearest, int input);

/** "; did you mean 'NAME'?", or "" where no name is near. Threads: any. Blocking: no. */
BRG_DECLARE(const char *) brg_nearest_question(apr_pool_t *p, const brg_nearest *nearest);

/**
 * Where a directive stands, for messages: "FILE:LINE: Require all denied, in <Directory "/"> of
 * line 8". @a d is the value of cmd->directive; it lives as long as the configuration, that of an
 * .htaccess file as long as the request. Threads: any. Blocking: no.
 */
BRG_DECLARE(const char *) brg_directive_place(apr_pool_t *p, const ap_directive_t *d);

/**
 * 1 if a LoadModule line of this configuration names a built-in module, which may be there without one. Call it in post_config
 * or later. Threads: any. Blocking: no.
 */
BRG_DECLARE(int) brg_module_is_named(const module *m);

#ifdef __cplusplus
}
#endif

#endif
