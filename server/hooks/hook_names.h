/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_HOOK_NAMES_H
#define BRIGADE_HOOKS_HOOK_NAMES_H

/**
 * @file hook_names.h
 * The hooks of the server and of its modules by name, and the modules that registered for them. Costs nothing
 * while hooks run: it looks at the lists that APR-util's macros keep.
 */
#include <stddef.h>

/**
 * Call @a visit for every hook that a function is registered for, until it returns other than 0.
 * @param name  "translate_name"
 * @param run   the function that runs the hook, or NULL where it is not exported
 * @return the value of the last call
 * Threads: any, once the configuration was read. Async-signal-safe.
 */
int hook_names_each(int (*visit)(void *baton, int hook, const char *name, const void *run),
                    void *baton);

/**
 * The @a n th function of a hook, in the order in which they are run.
 * @param hook    as given to visit
 * @param module_name  of its module (module->name), NULL where it was not registered by register_hooks
 * @return NULL after the last. Threads and signals: as above
 */
const void *hook_names_function(int hook, int n, const char **module_name);

#endif
