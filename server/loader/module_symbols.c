/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of a module's file beside the loaded ones. */
#include "module_symbols.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* A library that the file at @a path needs, found as the dynamic linker would find it. */
static void *module_library(const module_file *file, const char *path, const char *name,
                            apr_pool_t *p)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    char *last, *dirs = apr_pstrdup(p, file->run_path ? file->run_path : "");
    const char *slash = strrchr(path, '/');
    const char *origin = slash ? apr_pstrmemdup(p, path, (apr_size_t)(slash - path)) : ".";

    for (char *dir = apr_strtok(dirs, ":", &last); dir && !handle;
         dir = apr_strtok(NULL, ":", &last)) {
        const char *at = strncmp(dir, "$ORIGIN", 7)
                             ? apr_pstrcat(p, dir, "/", name, NULL)
                             : apr_pstrcat(p, origin, dir + 7, "/", name, NULL);

        handle = dlopen(at, RTLD_LAZY | RTLD_LOCAL);
    }
    return handle;
}

static int module_offered(const apr_array_header_t *libraries, const char *name)
{
    int found = dlsym(RTLD_DEFAULT, name) != NULL;

    for (int i = 0; !found && i < libraries->nelts; i++)
        found = dlsym(APR_ARRAY_IDX(libraries, i, void *), name) != NULL;
    return found;
}

apr_array_header_t *module_symbols_missing(const module_file *file, const char *path,
                                           apr_array_header_t **lost, apr_pool_t *p)
{
    apr_array_header_t *libraries = apr_array_make(p, 8, sizeof(void *));
    apr_array_header_t *missing = apr_array_make(p, 4, sizeof(const char *));

    BRG_ASSERT(file->libraries != NULL && file->wanted != NULL);
    *lost = apr_array_make(p, 4, sizeof(const char *));
    for (int i = 0; i < file->libraries->nelts; i++) {
        const char *name = APR_ARRAY_IDX(file->libraries, i, const char *);
        void *handle = module_library(file, path, name, p);

        if (handle)
            APR_ARRAY_PUSH(libraries, void *) = handle;
        else
            APR_ARRAY_PUSH(*lost, const char *) = name;
    }
    for (int i = 0; i < file->wanted->nelts; i++) {
        const module_file_symbol *symbol = &APR_ARRAY_IDX(file->wanted, i, module_file_symbol);

        if (!symbol->weak && !module_offered(libraries, symbol->name))
            APR_ARRAY_PUSH(missing, const char *) = symbol->name;
    }
    return missing;
}

/* Symbols that linkers put into every shared object, and symbols that compilers make several of. */
static int module_is_common(const char *name)
{
    static const char *const common[] = {"_init", "_fini", "_edata", "_end", "__bss_start", NULL};
    int i = 0;

    while (common[i] && strcmp(common[i], name))
        i++;
    return common[i] != NULL || !strncmp(name, "__asan", 6) || !strncmp(name, "__odr_asan", 10);
}

/* The file that an address is in: NULL if it is @a path, which may be loaded still. */
static const char *module_other_file(const void *address, const char *path)
{
    const char *name;
    Dl_info info;

    BRG_ASSERT(address != NULL);
#ifdef __GLIBC__ /* the name is that of dlopen(), and nothing for the program */
    struct link_map *map = NULL;

    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return "";
    name = map->l_name;
#else
    if (!dladdr(address, &info))
        return "";
    name = info.dli_fname;
#endif
    return strcmp(name, path) ? name : NULL;
}

apr_array_header_t *module_symbols_twice(const module_file *file, const char *path, apr_pool_t *p)
{
    apr_array_header_t *twice = apr_array_make(p, 4, sizeof(module_symbol_twice));

    for (int i = 0; i < file->defined->nelts; i++) {
        const module_file_symbol *symbol = &APR_ARRAY_IDX(file->defined, i, module_file_symbol);
        const void *address = symbol->weak || module_is_common(symbol->name)
                                  ? NULL
                                  : dlsym(RTLD_DEFAULT, symbol->name);
        const char *other = address ? module_other_file(address, path) : NULL;

        if (other) {
            module_symbol_twice *t = apr_array_push(twice);

            t->name = symbol->name;
            t->other = apr_pstrdup(p, other);
        }
    }
    return twice;
}
