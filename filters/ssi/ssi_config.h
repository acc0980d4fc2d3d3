/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_CONFIG_H
#define SSI_CONFIG_H

/**
 * @file ssi_config.h
 * Server-side includes: the configuration (ssi_config.c). Read-only once it was read; threads: any.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "ssi_scan.h"

extern module AP_MODULE_DECLARE_DATA include_module;

APLOG_USE_MODULE(include);

#define SSI_UNSET (-1)

enum { SSI_XBIT_OFF, SSI_XBIT_ON, SSI_XBIT_FULL };
enum { SSI_OFF, SSI_ON, SSI_PARTS }; /* SSILastModified, SSIETag */

/** Settings of a directory. SSI_UNSET where they are not merged yet. */
typedef struct ssi_dir_conf {
    const char *error_message, *time_format, *undefined_echo; /* NULL: not set */
    int xbithack, legacy_expr, last_modified, etag;           /* SSI_UNSET: not set */
    int pass_unknown, trace;
    int includes_most, depth_most; /* per page; 0: no limit */
    int beside_most;               /* includes that run at once; 0: no limit */
    int esi; /* SSIEsi. No padding: these structs are compared as bytes (ssi_renderings.c) */
    apr_int64_t bytes_most, value_bytes_most; /* per page, per value */
    apr_int64_t include_us, exec_us;          /* time limits; 0: none */
} ssi_dir_conf;

/* A start and end tag; one per pair in the configuration, so that pages can be told apart by it. */
typedef struct ssi_tags {
    const char *start, *end;
    apr_size_t end_len;
    const ssi_pattern *pattern; /* of start */
    int pass_unknown;           /* a directive whose element nobody offers is text */
} ssi_tags;

/** Settings of a server. */
typedef struct ssi_server_conf {
    const char *start, *end;
    ssi_tags *tags[2]; /* made when the configuration was read; [1]: unknown directives pass */
} ssi_server_conf;

/** As merged: values may be SSI_UNSET. */
const ssi_dir_conf *ssi_conf_of(const request_rec *r);
/** A copy in r->pool with defaults filled in. */
const ssi_dir_conf *ssi_conf_resolved(const request_rec *r);
/** Their defaults where they are not set. */
const char *ssi_error_message(const ssi_dir_conf *conf);
const char *ssi_time_format(const ssi_dir_conf *conf);
const char *ssi_undefined_echo(const ssi_dir_conf *conf);
/** The tags of r->server. */
const ssi_tags *ssi_tags_of(const request_rec *r);
/** Bytes that the page cache of one thread may take. */
apr_size_t ssi_cache_budget(void);
extern const command_rec ssi_commands[];
void *ssi_create_dir_conf(apr_pool_t *p, char *dir);
void *ssi_merge_dir_conf(apr_pool_t *p, void *basev, void *overv);
void *ssi_create_server_conf(apr_pool_t *p, server_rec *s);
void *ssi_merge_server_conf(apr_pool_t *p, void *basev, void *overv);
/** Make the tags of all servers from @a s on. Main thread, after the configuration was read. */
void ssi_tags_prepare(apr_pool_t *p, server_rec *s);
/** Tags that no server has; NULL: the default. */
ssi_tags *ssi_tags_make(apr_pool_t *p, const char *start, const char *end);
/** Before a configuration is read: settings of the process have their defaults. */
void ssi_conf_reset(void);

#endif
