/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CORE_PRIVATE_H
#define BRIGADE_CORE_PRIVATE_H

/**
 * @file core_private.h
 * The core module's own configuration beyond Apache's public structs, and the seams by which the parts of the
 * core register their hooks.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"

/** FileCacheValidate: how a remembered file is known to be current. */
typedef enum brg_validate {
    BRG_VALIDATE_UNSET = 0,
    BRG_VALIDATE_INOTIFY, /**< change events, drained once per turn (the default) */
    BRG_VALIDATE_STAT,    /**< one stat call per request */
    BRG_VALIDATE_AGE      /**< trusted for file_cache_age_us after it was looked at */
} brg_validate;

/** Core settings of a server that Apache does not have. Values are merged: nothing is left unset after reading. */
typedef struct brg_core_conf {
    brg_validate file_cache_validate;
    apr_interval_time_t file_cache_age_us; /**< for BRG_VALIDATE_AGE, microseconds */
    apr_off_t file_cache_bytes;            /**< FileCacheSize: contents in memory, bytes per loop; 0 = keep none */
    apr_off_t file_cache_max_file_bytes;   /**< FileCacheMaxFile: largest file kept in memory, bytes */
    int file_cache_entries_n;              /**< FileCacheEntries: files remembered per loop; 0 = none */
} brg_core_conf;

#define BRG_DEFAULT_FILE_CACHE_BYTES (64 * 1024 * 1024)
#define BRG_DEFAULT_FILE_CACHE_MAX_FILE_BYTES (64 * 1024)
#define BRG_DEFAULT_FILE_CACHE_ENTRIES 65536

/**
 * Our core settings of server @a s. Never NULL. Ownership: pconf. Threads: any, read-only once the configuration
 * is read. In a virtual host without core directives of its own this is the main server's.
 */
const brg_core_conf *core_conf_of(const server_rec *s);

/** The public core settings of server @a s; as core_conf_of. */
const core_server_config *core_server_conf_of(const server_rec *s);

/** As core_conf_of, to be written by directives. */
brg_core_conf *core_conf_writable(server_rec *s);

/* ---- hooks of the parts; called from core_module's register_hooks ---- */

void request_register_hooks(apr_pool_t *p);    /* request phases, walks, vhosts */
void connection_register_hooks(apr_pool_t *p); /* connection.c, core filters */
void log_register_hooks(apr_pool_t *p);        /* error log */
void resolution_register_hooks(apr_pool_t *p); /* resolution and file caches */

/* ---- core configuration: core_config.c ---- */

void *core_create_dir_config(apr_pool_t *p, char *dir);
void *core_merge_dir_configs(apr_pool_t *p, void *base, void *over);
void *core_create_server_config(apr_pool_t *p, server_rec *s);
void *core_merge_server_configs(apr_pool_t *p, void *base, void *over);

/* ---- product tokens: core_banner.c ---- */

/** Server name of the Server field, without version. */
#define BRG_PRODUCT "Brigade"

/** Forget the components that modules added; called when a configuration is about to be read. */
void core_banner_reset(apr_pool_t *pconf);

#endif
