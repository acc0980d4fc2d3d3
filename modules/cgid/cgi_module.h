/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CGI_MODULE_H
#define BRIGADE_CGI_MODULE_H

/** @file cgi_module.h  The parts of mod_cgid and mod_cgi that are the same. */
#include "cgi_private.h"

void *cgi_create_server(apr_pool_t *p, server_rec *s);
void *cgi_merge_server(apr_pool_t *p, void *base_conf, void *add_conf);
void *cgi_create_dir(apr_pool_t *p, char *dir);
void *cgi_merge_dir(apr_pool_t *p, void *base_conf, void *add_conf);

const char *cgi_set_log(cmd_parms *cmd, void *dummy, const char *path);
const char *cgi_set_log_length(cmd_parms *cmd, void *dummy, const char *arg);
const char *cgi_set_log_buffer(cmd_parms *cmd, void *dummy, const char *arg);
const char *cgi_set_timeout(cmd_parms *cmd, void *mconfig, const char *arg);

/** The directives of both; the setters' info is the module. */
#define CGI_DIRECTIVES(m)                                                            \
    AP_INIT_TAKE1("ScriptLog", cgi_set_log, (void *)(m), RSRC_CONF,                  \
                  "the name of a log for script debugging info"),                    \
        AP_INIT_TAKE1("ScriptLogLength", cgi_set_log_length, (void *)(m), RSRC_CONF, \
                      "the maximum length (in bytes) of the script debug log"),      \
        AP_INIT_TAKE1("ScriptLogBuffer", cgi_set_log_buffer, (void *)(m), RSRC_CONF, \
                      "the maximum size (in bytes) to record of a POST request")

/** The hooks of both but for the handler. */
void cgi_register(apr_pool_t *p, module *m);

#endif
