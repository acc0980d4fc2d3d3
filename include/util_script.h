/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_UTIL_SCRIPT_H
#define APACHE_UTIL_SCRIPT_H

/** @file util_script.h  For CGI and its kin: variables, and the head of a script's output. */
#include "apr_buckets.h"
#include "ap_config.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef APACHE_ARG_MAX
#ifdef _POSIX_ARG_MAX
/** The longest list of arguments that exec takes, bytes. */
#define APACHE_ARG_MAX _POSIX_ARG_MAX
#else
#define APACHE_ARG_MAX 512
#endif
#endif

/** "NAME=value" strings, then NULL. */
AP_DECLARE(char **) ap_create_environment(apr_pool_t *p, apr_table_t *t);
/** Length of @a uri without @a path_info at its end. */
AP_DECLARE(int) ap_find_path_info(const char *uri, const char *path_info);
/* Fill r->subprocess_env: CGI's own variables; variables of every request. */
AP_DECLARE(void) ap_add_cgi_vars(request_rec *r);
/** Variables that are the same for all kinds of scripts, into r->subprocess_env. */
AP_DECLARE(void) ap_add_common_vars(request_rec *r);
/** Arguments of the query, by name. */
AP_DECLARE(void) ap_args_to_table(request_rec *r, apr_table_t **table);

/** Environment variable: believe a script's Content-Length. */
#define AP_TRUST_CGILIKE_CL_ENVVAR "ap_trust_cgilike_cl"

/* Read a script's header fields into @a r, from a file, brigade, strings or function. OK; the status that the
 * script set; HTTP_INTERNAL_SERVER_ERROR after logging, with the bad line in @a buffer (of MAX_STRING_LEN,
 * may be NULL). _ex: log for that module. They block as their source does. */
AP_DECLARE(int) ap_scan_script_header_err(request_rec *r, apr_file_t *f, char *buffer);
/** The same; messages are those of module @a module_index. */
AP_DECLARE(int)
ap_scan_script_header_err_ex(request_rec *r, apr_file_t *f, char *buffer, int module_index);
/** From the front of a brigade, whose buckets are used up. May block. */
AP_DECLARE(int)
ap_scan_script_header_err_brigade(request_rec *r, apr_bucket_brigade *bb, char *buffer);
/** The same; messages are those of module @a module_index. */
AP_DECLARE(int)
ap_scan_script_header_err_brigade_ex(request_rec *r, apr_bucket_brigade *bb, char *buffer,
                                     int module_index);
/* Strings, then NULL; where reading stopped goes to *termch and *termarg. */
AP_DECLARE_NONSTD(int)
ap_scan_script_header_err_strs(request_rec *r, char *buffer, const char **termch, int *termarg, ...)
    AP_FN_ATTR_SENTINEL;
/** The same; messages are those of module @a module_index. */
AP_DECLARE_NONSTD(int)
ap_scan_script_header_err_strs_ex(request_rec *r, char *buffer, int module_index,
                                  const char **termch, int *termarg, ...) AP_FN_ATTR_SENTINEL;
/** Reads a line as fgets() does: 1, 0 at the end, negative on error. */
AP_DECLARE(int)
ap_scan_script_header_err_core(request_rec *r, char *buffer, int (*getsfunc)(char *, int, void *),
                               void *getsfunc_data);
AP_DECLARE(int)
ap_scan_script_header_err_core_ex(request_rec *r, char *buffer,
                                  int (*getsfunc)(char *, int, void *), void *getsfunc_data,
                                  int module_index);

#ifdef __cplusplus
}
#endif
#endif
