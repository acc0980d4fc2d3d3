/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOG_LOG_SETTINGS_H
#define BRIGADE_LOG_LOG_SETTINGS_H

/** @file log_settings.h
 * The error log, as the core module sets it up. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"

/** Setter of ErrorLogFormat: [connection|request] format (TAKE12). */
const char *log_set_error_format(cmd_parms *cmd, void *dummy, const char *arg1, const char *arg2);

/** Hooks of the error log; the work of ap_register_log_hooks, too. */
void log_register_hooks(apr_pool_t *p);

/** Hears a message once it is written. @param text  as it was logged, with nothing escaped */
typedef void log_hear_fn(const ap_errorlog_info *info, const char *text);

/** The listener to all wanted messages; NULL: nobody. Threads: main, while there is no other. */
void log_tell(log_hear_fn *hear);

#endif
