/* SPDX-License-Identifier: Apache-2.0 */
/* RewriteMap: the directive, and look-ups of each kind of map. */
#include "rewrite_private.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_dbm.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

#include <string.h>

APLOG_USE_MODULE(rewrite);

/* ---- functions ---- */

static apr_hash_t *rewrite_functions; /* while the configuration is read */

/* The key is changed, as third-party functions may do. */
static char *rewrite_fn_toupper(request_rec *r, char *key)
{
    ap_str_toupper(key);
    return key;
}

static char *rewrite_fn_tolower(request_rec *r, char *key)
{
    ap_str_tolower(key);
    return key;
}

static char *rewrite_fn_escape(request_rec *r, char *key)
{
    return ap_escape_uri(r->pool, key);
}

static char *rewrite_fn_unescape(request_rec *r, char *key)
{
    ap_unescape_url(key);
    return key;
}

static const struct {
    const char *name;
    rewrite_mapfunc_t *function;
} rewrite_own[] = {{"tolower", rewrite_fn_tolower},
                   {"toupper", rewrite_fn_toupper},
                   {"escape", rewrite_fn_escape},
                   {"unescape", rewrite_fn_unescape}};

void ap_register_rewrite_mapfunc(char *name, rewrite_mapfunc_t *func)
{
    apr_hash_set(rewrite_functions, name, APR_HASH_KEY_STRING, (const void *)func);
}

void rewrite_functions_register(apr_pool_t *p)
{
    rewrite_functions = apr_hash_make(p);
    for (size_t i = 0; i < sizeof rewrite_own / sizeof *rewrite_own; i++)
        apr_hash_set(rewrite_functions, rewrite_own[i].name, APR_HASH_KEY_STRING,
                     (const void *)rewrite_own[i].function);
}

static rewrite_mapfunc_t *rewrite_function_named(const char *name, int *is_plain)
{
    rewrite_mapfunc_t *fn =
        (rewrite_mapfunc_t *)apr_hash_get(rewrite_functions, name, APR_HASH_KEY_STRING);

    *is_plain = 0;
    for (size_t i = 0; i < sizeof rewrite_own / sizeof *rewrite_own; i++)
        *is_plain |= fn == rewrite_own[i].function;
    return fn;
}

/* ---- the directive ---- */

static const char *rewrite_make_text(cmd_parms *cmd, rewrite_map *map, const char *kind,
                                     const char *path)
{
    map->file = ap_server_root_relative(cmd->pool, path);
    if (!map->file)
        return apr_pstrcat(cmd->pool, "RewriteMap: bad path to ", kind, " map: ", path, NULL);
    map->text = rewrite_text_make(cmd->pool, map->file);
    return NULL;
}

/* "dbm:FILE" or "dbm=TYPE:FILE". */
static const char *rewrite_make_dbm(cmd_parms *cmd, rewrite_map *map, const char *spec)
{
    const char *path = NULL, *colon = strchr(spec, ':');
    apr_status_t status;

    map->kind = REWRITE_MAP_DBM;
    if (spec[3] == ':') {
        map->dbm_type = "default";
        path = spec + 4;
    } else if (spec[3] == '=' && colon) {
        map->dbm_type = apr_pstrmemdup(cmd->pool, spec + 4, (apr_size_t)(colon - spec - 4));
        path = colon + 1;
    }
    if (!path)
        return apr_pstrcat(cmd->pool, "RewriteMap: bad map:", spec, NULL);
    map->dbm_name = ap_server_root_relative(cmd->pool, path);
    if (!map->dbm_name)
        return apr_pstrcat(cmd->pool, "RewriteMap: bad path to dbm map: ", path, NULL);
    status =
        apr_dbm_get_usednames_ex(cmd->pool, map->dbm_type, map->dbm_name, &map->file, &map->file2);
    if (status != APR_SUCCESS)
        return apr_pstrcat(cmd->pool, "RewriteMap: dbm type ", map->dbm_type, " is invalid", NULL);
    return NULL;
}

static const char *rewrite_make_dbd(cmd_parms *cmd, rewrite_map *map, const char *query,
                                    rewrite_map_kind kind)
{
    map->kind = kind;
    map->query = query;
    if (!rewrite_dbd_prepare(cmd->server, query))
        return "RewriteMap types dbd and fastdbd require mod_dbd!";
    brg_phases_need_worker();
    return NULL;
}

static const char *rewrite_make_program(cmd_parms *cmd, rewrite_map *map, const char *spec,
                                        const char *options)
{
    char *rest = NULL;

    map->kind = REWRITE_MAP_PROGRAM;
    apr_tokenize_to_argv(spec, &map->argv, cmd->pool);
    map->file = ap_server_root_relative(cmd->pool, map->argv[0] ? map->argv[0] : "");
    if (!map->file)
        return apr_pstrcat(cmd->pool, "RewriteMap: bad path to prg map: ", spec, NULL);
    map->argv[0] = apr_pstrdup(cmd->pool, map->file);
    if (options) {
        map->user = apr_strtok(apr_pstrdup(cmd->pool, options), ":", &rest);
        map->group = map->user ? apr_strtok(NULL, ":", &rest) : NULL;
    }
    brg_phases_need_worker();
    return NULL;
}

static const char *rewrite_make_function(cmd_parms *cmd, rewrite_map *map, const char *name)
{
    map->kind = REWRITE_MAP_FUNCTION;
    map->function = rewrite_function_named(name, &map->is_plain);
    return map->function
               ? NULL
               : apr_pstrcat(cmd->pool, "RewriteMap: internal map not found:", name, NULL);
}

static const char *rewrite_make_map(cmd_parms *cmd, rewrite_map *map, const char *spec,
                                    const char *options)
{
    map->kind = REWRITE_MAP_TEXT;
    if (!strncmp(spec, "txt:", 4))
        return rewrite_make_text(cmd, map, "txt", spec + 4);
    if (!strncmp(spec, "rnd:", 4)) {
        map->kind = REWRITE_MAP_RANDOM;
        return rewrite_make_text(cmd, map, "rnd", spec + 4);
    }
    if (!strncmp(spec, "dbm", 3))
        return rewrite_make_dbm(cmd, map, spec);
    if (!strncmp(spec, "dbd:", 4))
        return rewrite_make_dbd(cmd, map, spec + 4, REWRITE_MAP_DBD);
    if (!strncmp(spec, "fastdbd:", 8))
        return rewrite_make_dbd(cmd, map, spec + 8, REWRITE_MAP_DBD_KEPT);
    if (!strncmp(spec, "prg:", 4))
        return rewrite_make_program(cmd, map, spec + 4, options);
    if (!strncmp(spec, "int:", 4))
        return rewrite_make_function(cmd, map, spec + 4);
    return rewrite_make_text(cmd, map, "txt", spec);
}

const char *rewrite_set_map(cmd_parms *cmd, void *dir, const char *name, const char *spec,
                            const char *options)
{
    rewrite_conf *conf = ap_get_module_config(cmd->server->module_config, &rewrite_module);
    rewrite_map *map = apr_pcalloc(cmd->pool, sizeof *map);
    const char *error = rewrite_make_map(cmd, map, spec, options);
    apr_finfo_t found;

    if (error)
        return error;
    if (map->file && apr_stat(&found, map->file, APR_FINFO_MIN, cmd->temp_pool) != APR_SUCCESS)
        return apr_pstrcat(cmd->pool, "RewriteMap: file for map ", name, " not found:", map->file,
                           NULL);
    map->name = name;
    apr_hash_set(conf->maps, name, APR_HASH_KEY_STRING, map);
    return NULL;
}

/* ---- look-ups ---- */

/* One of the alternatives of a value, which '|' separates. */
static const char *rewrite_pick(request_rec *r, const char *value)
{
    apr_uint32_t parts = 1, which;
    const char *end;

    for (const char *at = value; *at; at++)
        parts += *at == '|';
    if (parts > 1) {
        which = ap_random_pick(1, parts);
        while (--which > 0)
            value = strchr(value, '|') + 1;
        end = value + strcspn(value, "|");
        value = apr_pstrmemdup(r->pool, value, (apr_size_t)(end - value));
    }
    REWRITE_LOG(r, 4, NULL, "randomly chosen the subvalue `%s'", value);
    return value;
}

static const char *rewrite_log_found(request_rec *r, const rewrite_map *map, const char *kind,
                                     const char *key, const char *value, int fresh)
{
    if (fresh)
        REWRITE_LOG(r, 6, NULL, "cache lookup FAILED, forcing new map lookup");
    if (!value)
        REWRITE_LOG(r, 5, NULL, "map lookup FAILED: map=%s[%s] key=%s", map->name, kind, key);
    else if (fresh)
        REWRITE_LOG(r, 5, NULL, "map lookup OK: map=%s[%s] key=%s -> val=%s", map->name, kind, key,
                    value);
    else
        REWRITE_LOG(r, 5, NULL, "cache lookup OK: map=%s[%s] key=%s -> val=%s", map->name, kind,
                    key, value);
    return value;
}

static const char *rewrite_lookup_text(request_rec *r, const rewrite_map *map, const char *key)
{
    const char *value = NULL;
    apr_status_t status;
    int fresh = 1;

    brg_cache_depends_on(r, map->file);
    status = rewrite_text_find(map->text, r->pool, key, &value, &fresh);
    if (status != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, status, r,
                      APLOGNO(00661) "mod_rewrite: can't access text RewriteMap file %s",
                      map->file);
        REWRITE_LOG(r, 5, NULL, "map lookup FAILED: map=%s[txt] key=%s", map->name, key);
        return NULL;
    }
    value = rewrite_log_found(r, map, "txt", key, value, fresh);
    if (value && map->kind == REWRITE_MAP_RANDOM) {
        rewrite_is_volatile(r);
        value = rewrite_pick(r, value);
    }
    return value;
}

static const char *rewrite_fetch_dbm(request_rec *r, const rewrite_map *map, const char *key)
{
    apr_datum_t wanted = {(char *)key, strlen(key)}, found;
    const char *value = NULL;
    apr_dbm_t *dbm;
    apr_status_t status = apr_dbm_open_ex(&dbm, map->dbm_type, map->dbm_name, APR_DBM_READONLY,
                                          APR_OS_DEFAULT, r->pool);

    if (status != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, status, r,
                      APLOGNO(00656) "mod_rewrite: can't open DBM RewriteMap %s", map->file);
        return NULL;
    }
    if (apr_dbm_fetch(dbm, wanted, &found) == APR_SUCCESS && found.dptr)
        value = apr_pstrmemdup(r->pool, found.dptr, found.dsize);
    apr_dbm_close(dbm);
    return value;
}

static int rewrite_dbm_is_there(request_rec *r, const char *file, const char *number)
{
    apr_finfo_t found;
    apr_status_t status = apr_stat(&found, file, APR_FINFO_MIN, r->pool);

    brg_cache_depends_on(r, file);
    if (status == APR_SUCCESS)
        return 1;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, status, r,
                  "%smod_rewrite: can't access DBM RewriteMap file %s", number, file);
    return 0;
}

static const char *rewrite_lookup_dbm(request_rec *r, const rewrite_map *map, const char *key)
{
    const char *value = NULL;

    if (rewrite_dbm_is_there(r, map->file, APLOGNO(00662)) &&
        (!map->file2 || rewrite_dbm_is_there(r, map->file2, APLOGNO(00663)))) {
        value = rewrite_fetch_dbm(r, map, key);
        return rewrite_log_found(r, map, "dbm", key, value, 1);
    }
    REWRITE_LOG(r, 5, NULL, "map lookup FAILED: map=%s[dbm] key=%s", map->name, key);
    return NULL;
}

/* Programs and functions. */
static const char *rewrite_lookup_made(request_rec *r, const rewrite_map *map, char *key)
{
    const char *value;

    if (map->kind == REWRITE_MAP_PROGRAM || !map->is_plain)
        rewrite_is_volatile(r);
    value =
        map->kind == REWRITE_MAP_PROGRAM ? rewrite_program_ask(r, map, key) : map->function(r, key);
    if (value)
        REWRITE_LOG(r, 5, NULL, "map lookup OK: map=%s key=%s -> val=%s", map->name, key, value);
    else
        REWRITE_LOG(r, 5, NULL, "map lookup FAILED: map=%s key=%s", map->name, key);
    return value;
}

const char *rewrite_lookup(request_rec *r, const char *name, char *key)
{
    const rewrite_conf *conf = ap_get_module_config(r->server->module_config, &rewrite_module);
    const rewrite_map *map =
        conf->maps ? apr_hash_get(conf->maps, name, APR_HASH_KEY_STRING) : NULL;

    if (!map)
        return NULL;
    switch (map->kind) {
    case REWRITE_MAP_TEXT:
    case REWRITE_MAP_RANDOM:
        return rewrite_lookup_text(r, map, key);
    case REWRITE_MAP_DBM:
        return rewrite_lookup_dbm(r, map, key);
    case REWRITE_MAP_DBD:
    case REWRITE_MAP_DBD_KEPT:
        rewrite_is_volatile(r);
        return rewrite_dbd_find(r, map, key);
    default:
        return rewrite_lookup_made(r, map, key);
    }
}
