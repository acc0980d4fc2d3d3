/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOADER_MODULE_CHECK_H
#define BRIGADE_LOADER_MODULE_CHECK_H

/**
 * @file module_check.h
 * `brigade --check-module FILE...`: would these modules load, and with which directives, hooks and filters? Prints to
 * standard output.
 */
#include "http_config.h"

/**
 * Each file is looked at, and opened, in a process of its own; files before it count as loaded.
 * Call after ap_setup_prelinked_modules().
 * @return 0 if all can be loaded, else 1
 */
int module_check(process_rec *process, int files_n, const char *const *files);

/* ---- module_check_show.c: the offers of an open module ---- */

/** Its directives. Nothing of the module is run. */
void module_check_directives(const module *m);

/** Its register_hooks function is run, and its registrations are told with their cost. @param name  of its structure */
void module_check_hooks(process_rec *process, module *m, const char *name);

#endif
