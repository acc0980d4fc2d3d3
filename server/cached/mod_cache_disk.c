/* SPDX-License-Identifier: Apache-2.0 */
/* The directives of mod_cache_disk: which lengths of bodies are stored. */
#include "cached_private.h"
#include "configuration.h"
#include "setting.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "brigade/response_cache.h"
#include "http_log.h"
#include "apr_strings.h"
#include <errno.h>
#include <stdlib.h>

#define DISK_LEAST 1
#define DISK_MOST 1000000

static void *disk_server_create(apr_pool_t *p, server_rec *s)
{
    cached_disk_server *c = apr_pcalloc(p, sizeof *c);

    (void)s;
    c->levels = 2;
    c->length = 2;
    return c;
}

static void *disk_section_create(apr_pool_t *p, char *path)
{
    cached_disk_section *c = apr_pcalloc(p, sizeof *c);

    (void)path;
    c->least = c->most = -1;
    return c;
}

static void *disk_section_merge(apr_pool_t *p, void *base, void *add)
{
    const cached_disk_section *b = base, *a = add;
    cached_disk_section *c = apr_palloc(p, sizeof *c);

    c->least = a->least < 0 ? b->least : a->least;
    c->most = a->most < 0 ? b->most : a->most;
    return c;
}

void cached_sizes(const request_rec *r, uint64_t *least, uint64_t *most)
{
    const cached_disk_section *c = cache_disk_module.module_index >= 0
                                       ? ap_get_module_config(r->per_dir_config, &cache_disk_module)
                                       : NULL;

    *least = !c ? 0 : c->least < 0 ? DISK_LEAST : (uint64_t)c->least;
    *most = !c ? UINT64_MAX : c->most < 0 ? DISK_MOST : (uint64_t)c->most;
}

static const char disk_files[] = "stored responses do not lie in files of their own";

static void *disk_of_server(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &cache_disk_module);
}

static const char *disk_root_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_disk_server *c = disk_of_server(cmd);

    (void)dir;
    c->root = ap_server_root_relative(cmd->pool, arg);
    return c->root ? NULL : apr_psprintf(cmd->pool, "Invalid CacheRoot path %s", arg);
}

/* Both numbers, and their sum. */
static const char *disk_levels_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_disk_server *c = disk_of_server(cmd);
    int *to = cmd->info ? &c->length : &c->levels;
    const apr_int64_t n = brg_argument_number(cmd, arg);

    (void)dir;
    if (n < 1)
        return apr_psprintf(cmd->pool, "%s value must be an integer greater than 0",
                            cmd->cmd->name);
    if (n * (cmd->info ? c->levels : c->length) > 20)
        return "CacheDirLevels*CacheDirLength value must not be higher than 20";
    *to = (int)n;
    conf_notice_no_effect(cmd, cache_disk_module.module_index, disk_files);
    return NULL;
}

static const char *disk_size_cmd(cmd_parms *cmd, const char *arg, int64_t *n,
                                 const char *least_or_most)
{
    errno = 0;
    *n = apr_strtoi64(arg, NULL, 10);
    if (!errno && *n >= 0)
        return NULL;
    return apr_psprintf(cmd->pool,
                        "%s argument must be a non-negative integer representing the %s size of a "
                        "file to cache in bytes.",
                        cmd->cmd->name, least_or_most);
}

static const char *disk_least_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    return disk_size_cmd(cmd, arg, &((cached_disk_section *)dir)->least, "min");
}

static const char *disk_most_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    return disk_size_cmd(cmd, arg, &((cached_disk_section *)dir)->most, "max");
}

const char *cached_pieces_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    apr_int64_t n;

    (void)dir;
    errno = 0;
    n = apr_strtoi64(arg, NULL, 10);
    if (errno == ERANGE || n < 0)
        return apr_psprintf(cmd->pool,
                            "%s argument must be a non-negative integer representing the max "
                            "amount of %s to cache in go.",
                            cmd->cmd->name, (const char *)cmd->info);
    conf_notice_no_effect(cmd, cache_module.module_index,
                          "what is stored is sent to the client while it comes");
    return NULL;
}

#define DISK_ANY (RSRC_CONF | ACCESS_CONF)

static const command_rec disk_commands[] = {
    AP_INIT_TAKE1("CacheRoot", disk_root_cmd, NULL, RSRC_CONF,
                  "The directory to store cache files"),
    AP_INIT_TAKE1("CacheMaxSize", conf_set_bytes,
                  CONF_SETTING(.of = disk_of_server, CONF_FIELD(cached_disk_server, bytes),
                               .where = GLOBAL_ONLY, .least = 4 << 20, .most = APR_INT64_MAX,
                               .refusal = "CacheMaxSize must be a number of bytes, or with K, M or "
                                          "G behind it, from 4M on"),
                  RSRC_CONF,
                  "Bytes of the files below CacheRoot, of all stored responses together"),
    AP_INIT_TAKE1("CacheDirLevels", disk_levels_cmd, NULL, RSRC_CONF,
                  "The number of levels of subdirectories in the cache"),
    AP_INIT_TAKE1("CacheDirLength", disk_levels_cmd, (void *)1, RSRC_CONF,
                  "The number of characters in subdirectory names"),
    AP_INIT_TAKE1("CacheMinFileSize", disk_least_cmd, NULL, DISK_ANY,
                  "The minimum file size to cache a document"),
    AP_INIT_TAKE1("CacheMaxFileSize", disk_most_cmd, NULL, DISK_ANY,
                  "The maximum file size to cache a document"),
    AP_INIT_TAKE1("CacheReadSize", cached_pieces_cmd, CACHED_PIECES("data"), DISK_ANY,
                  "The maximum quantity of data to attempt to read and cache in one go"),
    AP_INIT_TAKE1("CacheReadTime", cached_pieces_cmd, CACHED_PIECES("time taken"), DISK_ANY,
                  "The maximum time taken to attempt to read and cache in go"),
    {.name = NULL}};

static void disk_hooks(apr_pool_t *p)
{
    (void)p;
    brg_cache_declare(&cache_disk_module, NULL);
}

module AP_MODULE_DECLARE_DATA cache_disk_module = {STANDARD20_MODULE_STUFF,
                                                   disk_section_create,
                                                   disk_section_merge,
                                                   disk_server_create,
                                                   NULL,
                                                   disk_commands,
                                                   disk_hooks,
                                                   0};
