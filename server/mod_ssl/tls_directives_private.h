/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MOD_SSL_TLS_DIRECTIVES_PRIVATE_H
#define BRIGADE_MOD_SSL_TLS_DIRECTIVES_PRIVATE_H

/**
 * @file tls_directives_private.h
 * Setters of directives. Threads: those of the configuration, or of a request whose .htaccess file is read.
 *
 * tls_directives*.c       those of servers
 * tls_options.c           those of directories
 * tls_proxy_directives.c  SSLProxy*
 */
#include "tls_conf.h"

/* ---- tls_options.c: setters ---- */

const char *tls_of_directory(cmd_parms *cmd);
const char *tls_set_verify(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_depth(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_crl_check(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_ocsp(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_ocsp_number(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_ocsp_proxy(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_session_cache(cmd_parms *cmd, void *dir, const char *arg);
/** The (BYTES) behind shmcb:FILE, if there are any. */
const char *tls_cache_size(cmd_parms *cmd, const char *arg, apr_size_t *bytes);
const char *tls_set_pass_phrase(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_set_seed(cmd_parms *cmd, void *dir, const char *when, const char *source,
                         const char *bytes);
const char *tls_set_require_ssl(cmd_parms *cmd, void *dir);
const char *tls_set_user_name(cmd_parms *cmd, void *dir, const char *name);
const char *tls_set_options(cmd_parms *cmd, void *dir, const char *args);
const char *tls_set_requirement(cmd_parms *cmd, void *dir, const char *text);
const char *tls_set_buffer(cmd_parms *cmd, void *dir, const char *arg);

/* ---- tls_directives.c ---- */

/**
 * The result of a setter for a feature that this module lacks: the configuration is read again with
 * the module that LoadModule names, or it is refused.
 * @param value  behind the directive's name; NULL: the name is enough
 * @param why    for the message that refuses it
 */
const char *tls_not_offered(cmd_parms *cmd, const char *value, const char *why);

extern const command_rec tls_commands[];

/** The setting of cmd's server that cmd->info is the offset of. */
void *tls_setting_of(const cmd_parms *cmd);

/* Words of directives. @return NULL or a message */
const char *tls_check_file(cmd_parms *cmd, const char **file);
const char *tls_check_folder(cmd_parms *cmd, const char **path);
const char *tls_protocols(cmd_parms *cmd, const char *args, int *protocols);
const char *tls_ciphers(cmd_parms *cmd, const char *first, const char *second, const char **list,
                        const char **suites);
const char *tls_verify_word(cmd_parms *cmd, const char *arg, int *verify);
const char *tls_crl_words(cmd_parms *cmd, const char *args, int *check, int *may_lack);
const char *tls_number(cmd_parms *cmd, const char *arg, int *n);

/* ---- tls_proxy_directives.c ---- */

const char *tls_px_flag(cmd_parms *cmd, void *dir, int on);
const char *tls_px_file(cmd_parms *cmd, void *dir, const char *file);
const char *tls_px_folder(cmd_parms *cmd, void *dir, const char *path);
const char *tls_px_protocols(cmd_parms *cmd, void *dir, const char *args);
const char *tls_px_ciphers(cmd_parms *cmd, void *dir, const char *first, const char *second);
const char *tls_px_verify(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_px_depth(cmd_parms *cmd, void *dir, const char *arg);
const char *tls_px_crl(cmd_parms *cmd, void *dir, const char *args);

#endif
