/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_MAIN_H
#define APACHE_HTTP_MAIN_H

/** @file http_main.h  Command line and state of the program. Set by the main thread, read by all. */
#include "httpd.h"
#include "apr_optional.h"

/** Options for getopt; an MPM adds its own. */
#define AP_SERVER_BASEARGS "C:c:D:d:E:e:f:vVlLtTSMh?X"

#ifdef __cplusplus
extern "C" {
#endif

/** The name by which the program was called. */
AP_DECLARE_DATA extern const char *ap_server_argv0;
/** ServerRoot. */
AP_DECLARE_DATA extern const char *ap_server_root;
/** DefaultRuntimeDir. */
AP_DECLARE_DATA extern const char *ap_runtime_dir;
AP_DECLARE_DATA extern server_rec *ap_server_conf; /**< main server of the configuration in use */
AP_DECLARE_DATA extern apr_pool_t *ap_pglobal;     /**< lives to the end */
AP_DECLARE_DATA extern int ap_main_state;          /**< AP_SQ_MS_* */
AP_DECLARE_DATA extern int ap_run_mode;            /**< AP_SQ_RM_* */
/** Counts how often the configuration was read. */
AP_DECLARE_DATA extern int ap_config_generation;

/* Of const char *: lines by -C, lines by -c, names by -D and Define. */
AP_DECLARE_DATA extern apr_array_header_t *ap_server_pre_read_config;
/** Directives of -c, which are read after the configuration. */
AP_DECLARE_DATA extern apr_array_header_t *ap_server_post_read_config;
/** Names of -D and Define. */
AP_DECLARE_DATA extern apr_array_header_t *ap_server_config_defines;
/** 0 with -T: DocumentRoot need not be there. */
AP_DECLARE_DATA extern int ap_document_root_check;

/** The action of -k, for programs that host the server. */
APR_DECLARE_OPTIONAL_FN(int, ap_signal_server, (int *status, apr_pool_t *pool));

#ifdef __cplusplus
}
#endif
#endif
