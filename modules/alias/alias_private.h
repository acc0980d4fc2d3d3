/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ALIAS_PRIVATE_H
#define BRIGADE_ALIAS_PRIVATE_H

/**
 * @file alias_private.h
 * Shared by the files of mod_alias. All structures are made when the
 * configuration is read and only read afterwards, by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "apr_tables.h"

extern module AP_MODULE_DECLARE_DATA alias_module;

/** One Alias, ScriptAlias, Redirect or their Match forms with a path or pattern of its own. */
typedef struct alias_entry {
    const char *fake;    /**< URL path or pattern, as written */
    const char *real;    /**< file, or URL */
    ap_regex_t *regex;   /**< the Match forms */
    const char *handler; /**< ScriptAlias: forced handler */
    int status;          /**< redirects: HTTP status */
    const ap_directive_t *line;
} alias_entry;

typedef struct alias_server_conf {
    apr_array_header_t *aliases;   /**< alias_entry, first match counts; NULL = none */
    apr_array_header_t *redirects; /**< alias_entry */
} alias_server_conf;

/** A setting that a narrower context overrides only where it is given. */
typedef enum alias_flag { ALIAS_UNSET = -1, ALIAS_OFF = 0, ALIAS_ON = 1 } alias_flag;

typedef struct alias_dir_conf {
    apr_array_header_t *redirects; /**< alias_entry */

    /* The forms without a path, for <Location>. */
    ap_expr_info_t *alias;
    const char *alias_fake; /**< the section's path, or NULL if it is a pattern */
    const char *handler;
    ap_expr_info_t *redirect;
    int redirect_status;
    unsigned alias_set : 1;
    unsigned redirect_set : 1;

    int redirect_relative; /**< alias_flag */
    int preserve_path;     /**< alias_flag */
} alias_dir_conf;

/**
 * Is @a fake a prefix of @a uri that ends at a segment? Any number of slashes equals any number of
 * slashes.
 * @return how much of uri it covers; 0 = no match
 */
apr_size_t alias_match(const char *uri, const char *fake);

extern const command_rec alias_commands[];

/** A brg_cache_name_fn (alias_told.c). */
apr_int64_t alias_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                       const char *filename, const char *path_info, int is_file);

#endif
