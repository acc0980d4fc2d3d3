/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONFIG_FAMILY_PRIVATE_H
#define BRIGADE_CONFIG_FAMILY_PRIVATE_H

/**
 * @file config_family_private.h
 * Families of modules (module_rows.def): their modules call each
 * other by more than the module API. The loaded modules of a family are all built in, or all files.
 *
 * Rows and states are arrays of the same length. Threads: main.
 */
#include "module_rows.h"

enum { CONF_ON = 1, CONF_UNLESS_LACKING };

/** The configuration of a module. */
typedef struct conf_module_state {
    char off;         /**< BuiltinModule NAME Off */
    char on;          /**< CONF_ON, or CONF_UNLESS_LACKING by Auto */
    char named;       /**< LoadModule named it */
    char replaceable; /**< and a file that is there */
    char active;      /**< the built-in one takes part; as it was when last looked at */
    /** for which line its family is left to files, or it alone if it has none; "": not so */
    char lack[256];
} conf_module_state;

/** 1 if all of the family of row @a at are files: one of them lacks something, or is not built in. 0 without one. */
int conf_family_is_out(const module_row *rows, const conf_module_state *states, int n, int at);

/** 1 if BuiltinModule On holds for one of the family: whatever else is loaded, the built-in ones stay. */
int conf_family_is_kept(const module_row *rows, const conf_module_state *states, int n, int at);

/** 1 if a built-in one of the family takes part. */
int conf_family_is_active(const module_row *rows, const conf_module_state *states, int n, int at);

/** 1 if files can take the places of all built-in ones of the family that take part. */
int conf_family_has_files(const module_row *rows, const conf_module_state *states, int n, int at);

#endif
