/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a module's file before it is opened. Opening runs its constructors, and may crash if the
 * file is damaged.
 */
#include "mod_so_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "module_symbols.h"
#include "apr_strings.h"

APLOG_USE_MODULE(so);

#define SO_COOKIE_MASK 0xffffff00UL /* "AP2", and a digit for the minor version */

static const char *so_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "a, b, c" */
static const char *so_list(apr_pool_t *p, const apr_array_header_t *names)
{
    const char *list = "";

    for (int i = 0; i < names->nelts; i++)
        list = apr_pstrcat(p, list, i ? ", " : "", APR_ARRAY_IDX(names, i, const char *), NULL);
    return list;
}

/* ---- the module structure ---- */

static const char *so_no_structure(cmd_parms *cmd, const module_file *file, const char *symbol,
                                   const char *path)
{
    apr_array_header_t *others = apr_array_make(cmd->temp_pool, 2, sizeof(const char *));
    unsigned long magic;
    int version, minor;

    BRG_ASSERT(symbol != NULL && file->defined != NULL);
    for (int i = 0; i < file->defined->nelts; i++) {
        const module_file_symbol *s = &APR_ARRAY_IDX(file->defined, i, module_file_symbol);

        if (module_file_is_module(s, &magic, &version, &minor))
            APR_ARRAY_PUSH(others, const char *) = s->name;
    }
    if (others->nelts)
        return apr_psprintf(cmd->pool, "Cannot load %s into server: it has no module %s, but %s",
                            path, symbol, so_list(cmd->temp_pool, others));
    return apr_psprintf(
        cmd->pool,
        "Cannot load %s into server: it is no module: there is no module structure %s in it", path,
        symbol);
}

static const char *so_wrong_magic(cmd_parms *cmd, const char *symbol, const char *path,
                                  unsigned long magic, int version)
{
    BRG_ASSERT(magic != MODULE_MAGIC_COOKIE);
    if ((magic & SO_COOKIE_MASK) == (MODULE_MAGIC_COOKIE & SO_COOKIE_MASK))
        return apr_psprintf(
            cmd->pool,
            "Cannot load %s into server: %s was compiled for Apache 2.%c (module interface %d); "
            "this server takes modules for Apache 2.4 (%d)",
            path, symbol, (char)(magic & 0xff), version, MODULE_MAGIC_NUMBER_MAJOR);
    return apr_psprintf(cmd->pool,
                        "Cannot load %s into server: %s is no module structure: it has the "
                        "signature %08lx, not %08lx",
                        path, symbol, magic, MODULE_MAGIC_COOKIE);
}

static const char *so_versions(cmd_parms *cmd, const char *symbol, const char *path,
                               const module_file_symbol *s)
{
    unsigned long magic;
    int version, minor;

    if (!module_file_is_module(s, &magic, &version, &minor))
        return apr_psprintf(cmd->pool, "Cannot load %s into server: %s is no module structure",
                            path, symbol);
    if (magic != MODULE_MAGIC_COOKIE)
        return so_wrong_magic(cmd, symbol, path, magic, version);
    if (version != MODULE_MAGIC_NUMBER_MAJOR)
        return apr_psprintf(
            cmd->pool,
            "Cannot load %s into server: %s was compiled for module interface %d, this is %d", path,
            symbol, version, MODULE_MAGIC_NUMBER_MAJOR);
    if (minor > MODULE_MAGIC_NUMBER_MINOR)
        ap_log_perror(APLOG_MARK, APLOG_WARNING, 0, cmd->pool,
                      "%s: %s was compiled for module interface %d:%d, newer than this one "
                      "(%d:%d): what it does with "
                      "later additions will not work",
                      path, symbol, version, minor, MODULE_MAGIC_NUMBER_MAJOR,
                      MODULE_MAGIC_NUMBER_MINOR);
    return NULL;
}

static const char *so_check_structure(cmd_parms *cmd, const module_file *file, const char *symbol,
                                      const char *path)
{
    for (int i = 0; i < file->defined->nelts; i++) {
        const module_file_symbol *s = &APR_ARRAY_IDX(file->defined, i, module_file_symbol);

        if (!strcmp(s->name, symbol))
            return so_versions(cmd, symbol, path, s);
    }
    return so_no_structure(cmd, file, symbol, path);
}

/* ---- its symbols ---- */

static void so_tell_twice(cmd_parms *cmd, const module_file *file, const char *path, apr_pool_t *p)
{
    const apr_array_header_t *twice = module_symbols_twice(file, path, p);

    for (int i = 0; i < twice->nelts; i++) {
        const module_symbol_twice *t = &APR_ARRAY_IDX(twice, i, module_symbol_twice);

        ap_log_perror(APLOG_MARK, APLOG_WARNING, 0, cmd->pool,
                      "%s defines %s, which %s has too: that one is used by all, by %s as well",
                      path, t->name, *t->other ? t->other : "the server", so_base(path));
    }
}

const char *so_check_file(cmd_parms *cmd, const char *symbol, const char *path)
{
    const char *error;
    module_file file;
    apr_pool_t *p;

    apr_pool_create(&p, cmd->temp_pool);
    error = module_file_read(&file, path, p);
    if (error)
        error = apr_psprintf(cmd->pool, "Cannot load %s into server: it %s", path, error);
    else if (symbol && (error = so_check_structure(cmd, &file, symbol, path)) == NULL)
        so_tell_twice(cmd, &file, path, p);
    apr_pool_destroy(p);
    return error;
}

const char *so_missing(cmd_parms *cmd, const char *path, const char *first)
{
    apr_array_header_t *lost, *missing = apr_array_make(cmd->temp_pool, 1, sizeof(const char *));
    module_file file;

    BRG_ASSERT(first != NULL);
    if (!module_file_read(&file, path, cmd->temp_pool))
        missing = module_symbols_missing(&file, path, &lost, cmd->temp_pool);
    if (!missing->nelts)
        APR_ARRAY_PUSH(missing, const char *) = first;
    return apr_psprintf(
        cmd->pool,
        "Cannot load %s into server: %s needs %s, which this version does not offer (where another "
        "module offers it, that one is to be loaded first)",
        path, so_base(path), so_list(cmd->temp_pool, missing));
}
