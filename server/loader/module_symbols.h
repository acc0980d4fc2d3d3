/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOADER_MODULE_SYMBOLS_H
#define BRIGADE_LOADER_MODULE_SYMBOLS_H

/**
 * @file module_symbols.h
 * Matching of a module file's symbols with the loaded ones. The file itself
 * is not opened, the libraries that it needs are. Threads: the main thread. Lifetime of all
 * results: @a p.
 */
#include "module_file.h"

/**
 * Names that the file needs, and that neither the server, nor modules loaded before, nor its
 * libraries offer.
 * @param path   absolute
 * @param lost   filled with the names of libraries that were not found (const char *)
 * @return of const char *
 */
apr_array_header_t *module_symbols_missing(const module_file *file, const char *path,
                                           apr_array_header_t **lost, apr_pool_t *p);

typedef struct module_symbol_twice {
    const char *name;
    /** file that has it too, and whose symbol everybody gets; "" for the server itself */
    const char *other;
} module_symbol_twice;

/**
 * Names that the file offers although the server, or a module loaded before, has them.
 * @return of module_symbol_twice
 */
apr_array_header_t *module_symbols_twice(const module_file *file, const char *path, apr_pool_t *p);

#endif
