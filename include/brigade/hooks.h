/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_H
#define BRIGADE_HOOKS_H

/**
 * @file brigade/hooks.h How a module tells which of its hooks have nothing to do, so that requests
 * do not call them. A module that declares nothing is called as ever. The order of hooks, and the
 * list of ap_hook_get_NAME(), stay as they are.
 *
 * Call these from the module's register_hooks function. Threads: main. Strings live as long as the module.
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A directive counts in its server; one of the main server, or of an .htaccess file, counts in all servers. */
#define BRG_HOOKS_BY_SERVER 0
/** A directive counts in all servers: the hooks look at the connection, or at settings that the
 * servers share. */
#define BRG_HOOKS_EVERYWHERE 1

/**
 * The functions of @a m for some hooks of requests do nothing, and return DECLINED (or OK, where all functions
 * of the hook are run), as long as the configuration has none of some directives. They are then not called. The
 * first .htaccess file with such a directive has them called from then on.
 *
 * Where it is declared more than once for a hook, a directive of any of the declarations is enough.
 *
 * @param hooks       names with single blanks between them: "translate_name fixups"
 * @param directives  names with single blanks between them, of any modules; NULL: all directives of @a m
 * @param where       BRG_HOOKS_BY_SERVER or BRG_HOOKS_EVERYWHERE
 */
BRG_DECLARE(void)
brg_hooks_need_directive(const module *m, const char *hooks, const char *directives, int where);

/**
 * The handlers of @a m decline all requests but those whose r->handler is one of @a names. If it also declares that
 * "handler" needs a directive, either is enough for them to be called.
 *
 * @param names  with single blanks between them, in the case in which r->handler has them; "proxy:*" stands for all
 *               that begin with "proxy:"
 */
BRG_DECLARE(void) brg_handlers_are_for(const module *m, const char *names);

#ifdef __cplusplus
}
#endif
#endif
