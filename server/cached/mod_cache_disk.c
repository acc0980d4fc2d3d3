/* SPDX-License-Identifier: Apache-2.0 */
/* The directives of mod_cache_disk: which lengths of bodies are stored. */
#include "cached_private.h"
#include "configuration.h"
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
static const char disk_pieces[] = "what is stored is sent to the client while it comes";

static const char *disk_root_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_disk_server *c = ap_get_module_config(cmd->server->module_config, &cache_disk_module);

    (void)dir;
    c->root = ap_server_root_relative(cmd->pool, arg);
    return c->root ? NULL : apr_psprintf(cmd->pool, "Invalid CacheRoot path %s", arg);
}

/* Both numbers, and what they make together. */
static const char *disk_levels_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_disk_server *c = ap_get_module_config(cmd->server->module_config, &cache_disk_module);
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

static const char *disk_max_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    cached_disk_server *c = ap_get_module_config(cmd->server->module_config, &cache_disk_module);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (error)
        return error;
    BRG_ASSERT(!cmd->server->is_virtual);
    return cached_bytes(arg, &c->bytes) || c->bytes < 4u << 20
               ? "CacheMaxSize must be a number of bytes, or with K, M or G behind it, from 4M on"
               : NULL;
}

static const char *disk_number(const char *arg, int64_t *n)
{
    char *end;

    errno = 0;
    *n = apr_strtoi64(arg, &end, 10);
    return errno || *n < 0 ? "" : NULL;
}

static const char *disk_least_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    (void)cmd;
    return disk_number(arg, &((cached_disk_section *)dir)->least)
               ? "CacheMinFileSize argument must be a non-negative integer representing the min "
                 "size "
                 "of a file to cache in bytes."
               : NULL;
}

static const char *disk_most_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    (void)cmd;
    return disk_number(arg, &((cached_disk_section *)dir)->most)
               ? "CacheMaxFileSize argument must be a non-negative integer representing the max "
                 "size "
                 "of a file to cache in bytes."
               : NULL;
}

static const char *disk_read_cmd(cmd_parms *cmd, void *dir, const char *arg)
{
    int64_t n;

    (void)dir;
    if (disk_number(arg, &n))
        return cmd->info
                   ? "CacheReadTime argument must be a non-negative integer representing the max "
                     "amount of time taken to cache in go."
                   : "CacheReadSize argument must be a non-negative integer representing the max "
                     "amount of data to cache in go.";
    conf_notice_no_effect(cmd, cache_disk_module.module_index, disk_pieces);
    return NULL;
}

#define DISK_ANY (RSRC_CONF | ACCESS_CONF)

static const command_rec disk_commands[] = {
    AP_INIT_TAKE1("CacheRoot", disk_root_cmd, NULL, RSRC_CONF,
                  "The directory to store cache files"),
    AP_INIT_TAKE1("CacheMaxSize", disk_max_cmd, NULL, RSRC_CONF,
                  "Bytes of the files below CacheRoot, of all stored responses together"),
    AP_INIT_TAKE1("CacheDirLevels", disk_levels_cmd, NULL, RSRC_CONF,
                  "The number of levels of subdirectories in the cache"),
    AP_INIT_TAKE1("CacheDirLength", disk_levels_cmd, (void *)1, RSRC_CONF,
                  "The number of characters in subdirectory names"),
    AP_INIT_TAKE1("CacheMinFileSize", disk_least_cmd, NULL, DISK_ANY,
                  "The minimum file size to cache a document"),
    AP_INIT_TAKE1("CacheMaxFileSize", disk_most_cmd, NULL, DISK_ANY,
                  "The maximum file size to cache a document"),
    AP_INIT_TAKE1("CacheReadSize", disk_read_cmd, NULL, DISK_ANY,
                  "The maximum quantity of data to attempt to read and cache in one go"),
    AP_INIT_TAKE1("CacheReadTime", disk_read_cmd, (void *)1, DISK_ANY,
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
