/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOADER_MOD_SO_PRIVATE_H
#define BRIGADE_LOADER_MOD_SO_PRIVATE_H

/**
 * @file mod_so_private.h
 * Parts of mod_so.
 */
#include "httpd.h"
#include "http_config.h"

/**
 * Whether a file can be opened, and has the module structure that LoadModule names, of this
 * interface. Warns of symbols that others have too. Nothing in the file is run.
 * @param symbol  NULL where any shared object will do
 * @return NULL or a message
 */
const char *so_check_file(cmd_parms *cmd, const char *symbol, const char *path);

/** A message for a file that needs symbols which nobody offers. @param first  the symbol that the
 * dynamic linker named */
const char *so_missing(cmd_parms *cmd, const char *path, const char *first);

#endif
