/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_MODULE_ROWS_H
#define BRIGADE_HOOKS_MODULE_ROWS_H

/**
 * @file module_rows.h
 * Facts about modules by their names, from module_rows.def: our own, Apache's,
 * and some others. policy/stock_policy.h has the declarations that those files would make, by the
 * same rows.
 *
 * Threads: any; nothing changes. Blocking: no.
 */
#include <stddef.h>

typedef struct module_row {
    const char *short_name;    /**< "alias" */
    const char *symbol;        /**< "alias_module" */
    const char *name;          /**< module->name: "mod_alias.c" */
    const char *file;          /**< the name without its end: "mod_alias" */
    const char *directives;    /**< of Apache's version, with blanks between them; or NULL */
    const char *label;         /**< whose they are, where messages do not say the file; or NULL */
    const char *plain_filters; /**< output filters that leave bodies as they are; or NULL */
    const char *needs;         /**< symbol of the module with which it gives way; or NULL */
    const char *family;        /**< all built in, or none; NULL: none */
    /** name of the module that does its work where it is not named itself; or NULL */
    const char *served_by;
    unsigned is_builtin : 1;
    unsigned shared : 1;      /**< needs LoadModule in configurations of Apache's */
    unsigned second : 1;      /**< gives way to Apache's there */
    unsigned vital : 1;       /**< the server needs it */
    unsigned not_apaches : 1; /**< does not come with Apache 2.4 */
    unsigned other_mpm : 1;   /**< a process model that is not ours */
    unsigned idle : 1;        /**< it serves modules of Apache's alone */
    unsigned query_free : 1;  /**< never looks at the query of a plain file */
    unsigned name_free : 1;   /**< decides nothing by a name that is not there */
    /** its hooks before the phases do the same for all targets of a host */
    unsigned early_alike : 1;
} module_row;

extern const module_row module_rows[];
extern const int module_rows_n;

/** Rows there may be: for arrays of changing facts, by the row's place. */
#define MODULE_ROWS_MOST 224

/** The row for a module->name, or NULL. */
const module_row *module_row_named(const char *name);

/** The row for a symbol ("alias_module"), or NULL. */
const module_row *module_row_of_symbol(const char *symbol);

/** 1 if @a word is one of the words, with single blanks between them, of @a list, in any case. @a list: or NULL */
int module_list_has(const char *list, const char *word, size_t len);

/** Name of the Apache module ("mod_rewrite") whose directive @a name (without '<', any case) is;
 * NULL if unknown. */
const char *module_rows_directive(const char *name);

/** 1 if @a symbol ("rewrite_module") is of a module that comes with Apache 2.4 and is no MPM. */
int module_rows_apaches(const char *symbol);

/** The module symbol of one of Apache's other MPMs ("mpm_worker_module")? */
int module_rows_other_mpm(const char *symbol);

/** 1 for the module symbol of an Apache module that serves other modules of Apache's alone
 * ("slotmem_shm_module"). */
int module_rows_idle(const char *symbol);

#endif
