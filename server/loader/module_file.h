/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOADER_MODULE_FILE_H
#define BRIGADE_LOADER_MODULE_FILE_H

/**
 * @file module_file.h
 * Facts about a shared object, without opening it: nothing in it is run.
 * Threads: the main thread.
 */
#include "httpd.h"
#include "apr_tables.h"

typedef struct module_file_symbol {
    const char *name;
    int weak, is_data;
    apr_size_t size;
    const void *content; /**< of data: as it is in the file, unrelocated; NULL if it is not there */
} module_file_symbol;

typedef struct module_file {
    apr_array_header_t *defined;   /**< of module_file_symbol: those it offers to others */
    apr_array_header_t *wanted;    /**< the same: symbols that others have to offer */
    apr_array_header_t *libraries; /**< of const char *: libraries that are opened with it */
    int is_program;                /**< a program that may lie at any address */
    const char *run_path;          /**< where these lie besides the usual places, or NULL */
} module_file;

/**
 * @param path  of the shared object
 * @return NULL, or a message: it is not for this machine
 * Blocking: reads the file. Lifetime of all results: @a p.
 */
const char *module_file_read(module_file *out, const char *path, apr_pool_t *p);

/** Is it a module structure? Then *magic and *version, *minor are those of its headers. */
int module_file_is_module(const module_file_symbol *symbol, unsigned long *magic, int *version,
                          int *minor);

#endif
