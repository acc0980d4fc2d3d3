/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_HOOK_NEEDS_H
#define BRIGADE_HOOKS_HOOK_NEEDS_H

/**
 * @file hook_needs.h
 * Which hooks have something to do in which server: declarations of modules (brigade/hooks.h), and the
 * directives that were read since.
 */
#include "httpd.h"
#include "http_config.h"
#include "hook_link.h"
#include <stdint.h>

#define HOOK_NEEDS_MOST 128 /**< declarations; functions of those beyond are always called */
#define HOOK_NEEDS_WORDS (HOOK_NEEDS_MOST / 64)

/** Which of the declarations have a directive of theirs. */
typedef struct hook_needs {
    uint64_t met[HOOK_NEEDS_WORDS];
} hook_needs;

/** Modules are about to register their hooks anew: declarations count once they are made again. Threads: main. */
void hook_needs_forget(void);

/**
 * A directive is about to be carried out.
 * @param m     whose it is
 * @param name  as the module has it
 * @param s     the server it stands in; NULL: in all
 * @param p     the configuration's pool; not used once hook_lists_make() was called, as for .htaccess files
 * Threads: any; takes a lock where an .htaccess file has the first directive of a declaration.
 */
void hook_needs_directive(const module *m, const char *name, server_rec *s, apr_pool_t *p);

/** Directives met in server @a s, whose main server is @a main_server; or, for both NULL, in all servers. */
hook_needs hook_needs_of(const server_rec *main_server, const server_rec *s);

/** 1 if nobody declared a need of @a hook for the module of @a link; 2: some need is met; 0: none is. */
int hook_needs_met(const hook_needs *of, const hook_link *link, const char *hook);

/** Handlers that the module of that name declared (brg_handlers_are_for()), or NULL. */
const char *hook_needs_handlers(const char *module_name);

/** Call @a visit for each name of handlers that was declared. */
void hook_needs_each_handler(void (*visit)(void *baton, const char *name, size_t len), void *baton);

/** Set the function that is called when a need is met after all in all servers. Threads: main. */
void hook_needs_on_change(void (*fn)(void));

#endif
