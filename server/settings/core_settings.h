/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SETTINGS_CORE_SETTINGS_H
#define BRIGADE_SETTINGS_CORE_SETTINGS_H

/**
 * @file core_settings.h
 * The core module's own configuration beyond Apache's public structs, and the seams by which the
 * parts of the core register their hooks.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "brigade/pages.h"

/** FileCacheValidate: how a cached file is known to be current. */
typedef enum brg_validate {
    BRG_VALIDATE_UNSET = 0,
    BRG_VALIDATE_INOTIFY, /**< change events, drained once per turn (the default) */
    BRG_VALIDATE_STAT,    /**< one stat call per request */
    BRG_VALIDATE_AGE      /**< trusted for file_cache_age_us after it was looked at */
} brg_validate;

/** Core settings of a server that Apache does not have. Values are merged: nothing is left unset
 * after reading. */
typedef struct brg_core_conf {
    brg_validate file_cache_validate;
    apr_interval_time_t file_cache_age_us; /**< for BRG_VALIDATE_AGE, microseconds */
    /** FileCacheSize: memory of the response cache, bytes per loop; 0 = store no bodies; BRG_FILE_CACHE_BY_MEMORY */
    apr_off_t file_cache_bytes;
    /** FileCacheMaxFile: largest body kept in memory, bytes */
    apr_off_t file_cache_max_file_bytes;
    int file_cache_entries_n; /**< FileCacheEntries: stored responses per loop; 0 = none */
    /** Protocols that come before http/1.1, as Upgrade tells them in the first response of a connection; NULL:
     * none. Set when the configuration is read. */
    const char *upgrade;
} brg_core_conf;

#define BRG_FILE_CACHE_BY_MEMORY (-2) /**< the default: loops_config.cache_bytes */
#define BRG_DEFAULT_FILE_CACHE_MAX_FILE_BYTES (2 * 1024 * 1024)
#define BRG_DEFAULT_FILE_CACHE_ENTRIES 65536

/**
 * Our core settings of server @a s. Never NULL. Ownership: pconf. Threads: any, read-only once the
 * configuration is read. In a virtual host without core directives of its own this is the main
 * server's.
 */
const brg_core_conf *core_conf_of(const server_rec *s);

/** The public core settings of server @a s; as core_conf_of. */
static inline const core_server_config *core_server_conf_of(const server_rec *s)
{
    return (const core_server_config *)ap_get_core_module_config(s->module_config);
}

/** The core's settings of r's sections, merged. */
static inline const core_dir_config *core_dir_conf_of(const request_rec *r)
{
    return (const core_dir_config *)ap_get_core_module_config(r->per_dir_config);
}

/** The core's own part of a request. */
static inline core_request_config *core_request_conf_of(const request_rec *r)
{
    return (core_request_config *)ap_get_core_module_config(r->request_config);
}

/** FlushMaxThreshold and FlushMaxPipelined. */
const char *core_set_flush_threshold(cmd_parms *cmd, void *dir, const char *arg);
const char *core_set_flush_pipelined(cmd_parms *cmd, void *dir, const char *arg);

/** As core_conf_of, to be written by directives. */
brg_core_conf *core_conf_writable(server_rec *s);

/* ---- core configuration: core_config.c ---- */

void *core_create_dir_config(apr_pool_t *p, char *dir);
void *core_merge_dir_configs(apr_pool_t *p, void *base, void *over);
void *core_create_server_config(apr_pool_t *p, server_rec *s);
void *core_merge_server_configs(apr_pool_t *p, void *base_, void *virt_);

/**
 * The log levels for requests with the merged per-directory settings @a d; to be assigned to
 * r->log.
 * @return NULL when d sets none; else d's levels completed by the server's (copied to @a p if that
 * is needed)
 */
const struct ap_logconf *core_log_config(apr_pool_t *p, const server_rec *s,
                                         const core_dir_config *d);

/** AllowEncodedSlashes was said for this server (or inherited). */
void core_set_encoded_slashes(core_dir_config *d, int allow, int decode);

/** BuiltinPages was said for this section. */
void core_set_pages(core_dir_config *d, brg_pages pages);

/** As brg_pages_of(). */
brg_pages core_pages_of(const core_dir_config *d);

/* ---- product tokens: core_banner.c ---- */

/** Server name of the Server field, without version. */
#define BRG_PRODUCT "Brigade"

/** Compose the banner of this generation, unless a module had it composed; called when the configuration is read. */
void core_banner_complete(void);

/** ServerTokens. */
const char *core_set_tokens(cmd_parms *cmd, void *unused, const char *arg);

/** ServerSoftware. */
const char *core_set_software(cmd_parms *cmd, void *unused, const char *arg);

/** The value of SERVER_SOFTWARE for applications; the Server field is ap_get_server_banner(). Lives as
 * long as the configuration. Threads: any. */
const char *core_software(void);

/** Forget the components that modules added; called when a configuration is about to be read. */
void core_banner_reset(apr_pool_t *pconf);

#endif
