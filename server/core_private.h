/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CORE_PRIVATE_H
#define BRIGADE_CORE_PRIVATE_H

/**
 * @file core_private.h
 * The core module's own configuration beyond Apache's public structs, and the seams by which the
 * parts of the core register their hooks.
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

/** Core settings of a server that Apache does not have. Values are merged: nothing is left unset
 * after reading. */
typedef struct brg_core_conf {
    brg_validate file_cache_validate;
    apr_interval_time_t file_cache_age_us; /**< for BRG_VALIDATE_AGE, microseconds */
    apr_off_t
        file_cache_bytes; /**< FileCacheSize: contents in memory, bytes per loop; 0 = keep none */
    apr_off_t
        file_cache_max_file_bytes; /**< FileCacheMaxFile: largest file kept in memory, bytes */
    int filter_statistics;         /**< FilterStatistics: filters are counted */
    int file_cache_entries_n;      /**< FileCacheEntries: files remembered per loop; 0 = none */
} brg_core_conf;

#define BRG_DEFAULT_FILE_CACHE_BYTES (64 * 1024 * 1024)
#define BRG_DEFAULT_FILE_CACHE_MAX_FILE_BYTES (2 * 1024 * 1024)
#define BRG_DEFAULT_FILE_CACHE_ENTRIES 65536

/**
 * Our core settings of server @a s. Never NULL. Ownership: pconf. Threads: any, read-only once the
 * configuration is read. In a virtual host without core directives of its own this is the main
 * server's.
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

/* ---- setters, by file; listed in core_module.c's table ---- */

typedef const char *core_take1_fn(cmd_parms *cmd, void *dir, const char *arg);
typedef const char *core_take2_fn(cmd_parms *cmd, void *dir, const char *a, const char *b);
typedef const char *core_flag_fn(cmd_parms *cmd, void *dir, int on);
typedef const char *core_argv_fn(cmd_parms *cmd, void *dir, int argc, char *const argv[]);

/* core_sections.c */
core_take1_fn core_section_directory, core_section_location, core_section_files, core_section_if,
    core_section_virtualhost;

/* core_conditional.c */
core_take1_fn core_if_module, core_if_define, core_if_file, core_if_directive, core_if_section;

/* core_directives_read.c: acting while the file is read */
core_take1_fn core_set_server_root, core_set_runtime_dir, core_set_state_dir, core_include,
    core_undefine, core_error, core_warning;
core_take2_fn core_define, core_builtin_module;

/* core_directives_dir.c */
core_take1_fn core_set_options, core_set_accept_path_info, core_set_default_charset,
    core_set_default_type, core_set_hostname_lookups, core_set_server_signature,
    core_set_canonical_name, core_set_enable_mmap, core_set_enable_sendfile, core_set_file_etag,
    core_set_handler, core_set_encoded_slashes_arg;
core_take2_fn core_set_error_document, core_set_cgi_var;
core_flag_fn core_set_content_md5, core_set_canonical_phys_port, core_set_cgi_pass_auth,
    core_set_qualify_redirect_url;

/* core_directives_override.c */
core_take1_fn core_set_allow_override, core_set_access_name;
core_argv_fn core_set_allow_override_list;

/* core_directives_limits.c */
core_take1_fn core_set_limit_line, core_set_limit_fieldsize, core_set_limit_fields,
    core_set_limit_body, core_set_limit_xml_body, core_set_read_buf_size, core_set_max_ranges,
    core_set_max_overlaps, core_set_max_reversals;
core_take2_fn core_set_recursion_limit, core_set_rlimit;

/* core_directives_server.c, core_directives_protocol.c */
core_take1_fn core_set_document_root, core_set_server_name, core_set_server_admin,
    core_set_server_alias, core_set_server_path, core_set_timeout, core_set_protocol,
    core_set_protocols, core_set_protocol_options, core_set_trace, core_register_method,
    core_set_regex_options, core_set_flush_threshold, core_set_flush_pipelined;
core_take2_fn core_set_accept_filter;
core_flag_fn core_set_honor_order, core_set_merge_trailers, core_set_merge_slashes,
    core_set_strict_host, core_set_filter_statistics;

/* core_directives_log.c */
core_take1_fn core_set_log_level;
core_take2_fn core_set_error_log;

/* core_directives_cache.c */
core_take1_fn core_set_cache_validate, core_set_cache_size, core_set_cache_max_file,
    core_set_cache_entries;

/**
 * A whole number, nothing behind it.
 * @return NULL with *value set, or a message that names the directive
 */
const char *core_number(const cmd_parms *cmd, const char *arg, apr_int64_t min, apr_int64_t max,
                        apr_int64_t *value);

/* ---- product tokens: core_banner.c ---- */

/** Server name of the Server field, without version. */
#define BRG_PRODUCT "Brigade"

/** Compose the banner of this generation; called when the configuration is read. */
void core_banner_settle(void);

/** ServerTokens. */
const char *core_set_tokens(cmd_parms *cmd, void *unused, const char *arg);

/** Forget the components that modules added; called when a configuration is about to be read. */
void core_banner_reset(apr_pool_t *pconf);

#endif
