/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access logs: the logs of a server, their destinations, and the items of each request.
 *
 * A virtual host with logs of its own does not use the main server's; one without any does.
 * GlobalLog goes to all.
 */
#include "log_config_writer.h"
#include "ap_mpm.h"
#include "mpm_common.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"

APLOG_USE_MODULE(log_config);

#define LOG_DEFAULT_FORMAT "%h %l %u %t \"%r\" %>s %b"

static apr_hash_t *log_foreign; /* handlers of other modules by tag */
static apr_hash_t *log_stored;  /* their functions without a request_rec */
static int log_idents;          /* %l may have something to tell */

/* -D: a trial, which opens no logs, is to write its lines all the same, where nobody reads them:
 * `--profile` counts that work. */
#define LOG_TRIAL "BRIGADE_TRIAL_LOGS"

static void *log_writer_init_default(apr_pool_t *p, server_rec *s, const char *name)
{
    return log_file_open(p, s, ap_exists_config_define(LOG_TRIAL) ? "/dev/null" : name);
}

static apr_status_t log_writer_default(request_rec *r, void *handle, const char **portions,
                                       int *lengths, int nelts, apr_size_t len)
{
    log_out *out = log_line_begin();

    if (!out)
        return APR_ENOMEM;
    for (int i = 0; i < nelts; i++)
        log_out_bytes(out, portions[i], (apr_size_t)lengths[i]);
    log_line_end(handle, r->request_time);
    return APR_SUCCESS;
}

static ap_log_writer_init *log_writer_init = log_writer_init_default;
static ap_log_writer *log_line_writer = log_writer_default;

static void ap_register_log_handler(apr_pool_t *p, char *tag, ap_log_handler_fn_t *func, int def)
{
    ap_log_handler *handler = apr_palloc(p, sizeof(*handler));

    handler->func = func;
    handler->want_orig_default = def;
    apr_hash_set(log_foreign, apr_pstrdup(p, tag), APR_HASH_KEY_STRING, handler);
    apr_hash_set(log_stored, apr_pstrdup(p, tag), APR_HASH_KEY_STRING, NULL);
}

static void brg_register_transaction_item(const char *tag, brg_transaction_item_fn *fn)
{
    apr_hash_set(log_stored, tag, APR_HASH_KEY_STRING, (const void *)fn);
}

static ap_log_writer_init *ap_log_set_writer_init(ap_log_writer_init *func)
{
    ap_log_writer_init *old = log_writer_init;

    log_writer_init = func;
    return old;
}

static ap_log_writer *ap_log_set_writer(ap_log_writer *func)
{
    ap_log_writer *old = log_line_writer;

    log_line_writer = func;
    return old;
}

const ap_log_handler *log_foreign_find(const char *tag)
{
    return log_foreign ? apr_hash_get(log_foreign, tag, APR_HASH_KEY_STRING) : NULL;
}

brg_transaction_item_fn *log_foreign_stored(const char *tag)
{
    return log_stored
               ? (brg_transaction_item_fn *)apr_hash_get(log_stored, tag, APR_HASH_KEY_STRING)
               : NULL;
}

static int log_wanted(const brg_transaction *t, const log_config *log)
{
    const char *err = NULL, *name = log->variable;
    int truth;

    if (name)
        return *name == '!' ? !brg_transaction_env(t, name + 1)
                            : brg_transaction_env(t, name) != NULL;
    if (!log->condition)
        return 1;
    BRG_ASSERT(t->r != NULL);
    truth = ap_expr_exec(t->r, log->condition, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, t->r,
                      APLOGNO(00644) "Error evaluating log condition: %s", err);
    }
    return truth > 0;
}

/* Hand a line to a writer that another module installed, which wants a request_rec. */
static void log_write_foreign(const log_config *log, log_out *out, log_entry *entry)
{
    request_rec *r = entry->last->r;
    apr_size_t len;
    const char *line = log_line_text(out, &len);
    int portion = (int)len;

    line = apr_pstrmemdup(r->pool, line, len);
    log_line_end(NULL, 0);
    log_line_writer(r, log->handle, &line, &portion, 1, len);
}

static void log_write(const log_config *log, const log_plan *plan, log_entry *entry)
{
    log_out *out;

    if (!log->handle || !plan || !(out = log_line_begin()))
        return;
    log_plan_emit(out, plan, entry);
    if (log_line_writer == log_writer_default)
        log_line_end(log->handle, entry->last->request_time);
    else
        log_write_foreign(log, out, entry);
}

/* The logs that requests of a server go to, and its configuration. NULL: none. */
static const apr_array_header_t *log_logs_of(const server_rec *s, const log_server **server)
{
    *server = ap_get_module_config(s->module_config, &log_config_module);
    return (*server)->logs->nelts ? (*server)->logs : (*server)->main_logs;
}

/* @param t  the request that logs are chosen for */
static void log_to_all(const apr_array_header_t *logs, const log_server *server,
                       const brg_transaction *t, log_entry *entry)
{
    for (int i = 0; i < logs->nelts; i++) {
        const log_config *log = &APR_ARRAY_IDX(logs, i, log_config);

        if (log_wanted(t, log))
            log_write(log, log->format ? log->plan : server->default_plan, entry);
    }
}

static const request_rec *log_first(const request_rec *r)
{
    while (r->prev)
        r = r->prev;
    return r;
}

static const request_rec *log_last(const request_rec *r)
{
    while (r->next)
        r = r->next;
    return r;
}

static int log_transaction(request_rec *r)
{
    const log_server *server;
    const apr_array_header_t *logs = log_logs_of(r->server, &server);
    brg_transaction of_r, of_first, of_last;
    log_entry entry = {.first = &of_r, .last = &of_r};

    if (!logs)
        return OK;
    brg_transaction_of(&of_r, r);
    if (r->prev) {
        brg_transaction_of(&of_first, (request_rec *)(uintptr_t)log_first(r));
        entry.first = &of_first;
    }
    if (r->next) {
        brg_transaction_of(&of_last, (request_rec *)(uintptr_t)log_last(r));
        entry.last = &of_last;
    }
    log_to_all(logs, server, &of_r, &entry);
    return OK;
}

/* Without a request_rec. */
static int log_transaction_ready(const brg_transaction *t)
{
    const log_server *server;

    return !log_logs_of(t->server, &server) || server->needs == LOG_NEEDS_NOTHING ||
           (server->needs == LOG_NEEDS_PORT && t->server->port);
}

static void log_transaction_alone(const brg_transaction *t)
{
    const log_server *server;
    const apr_array_header_t *logs = log_logs_of(t->server, &server);
    log_entry entry = {.first = t, .last = t};

    if (logs)
        log_to_all(logs, server, t, &entry);
}

/* The needs of a server's logs, once all formats are known. */
static log_needs log_server_needs(server_rec *s)
{
    const log_server *server;
    const apr_array_header_t *logs = log_logs_of(s, &server);
    log_needs needs = LOG_NEEDS_NOTHING;

    if (log_line_writer != log_writer_default || log_idents)
        return LOG_NEEDS_RECORD;
    for (int i = 0; logs && i < logs->nelts; i++) {
        const log_config *log = &APR_ARRAY_IDX(logs, i, log_config);
        const apr_array_header_t *format = log->format ? log->format : server->default_format;
        log_needs one = log->condition ? LOG_NEEDS_RECORD
                        : format       ? log_format_needs(format)
                                       : LOG_NEEDS_NOTHING;

        needs = one < needs ? one : needs;
    }
    return needs;
}

static int log_format_crosses(const apr_array_header_t *format)
{
    for (int i = 0; format && i < format->nelts; i++)
        if (APR_ARRAY_IDX(format, i, log_item).crosses)
            return 1;
    return 0;
}

static int log_server_crosses(const server_rec *s)
{
    const log_server *server;
    const apr_array_header_t *logs = log_logs_of(s, &server);

    for (int i = 0; logs && i < logs->nelts; i++) {
        const log_config *log = &APR_ARRAY_IDX(logs, i, log_config);

        if (log->condition || log->variable ||
            log_format_crosses(log->format ? log->format : server->default_format))
            return 1;
    }
    return 0;
}

/* Of a request with an error document one view is kept, in which each item has its usual value. */
static int log_depends(request_rec *r)
{
    const log_server *server;
    const apr_array_header_t *logs = log_logs_of(r->server, &server);

    if (r->prev && server->crosses)
        return BRG_CACHE_VOLATILE;
    return logs && logs->nelts ? BRG_CACHE_OBSERVED : BRG_CACHE_STATIC;
}

static void *log_create_server(apr_pool_t *p, server_rec *s)
{
    log_server *server = apr_pcalloc(p, sizeof(*server));

    server->logs = apr_array_make(p, 1, sizeof(log_config));
    server->formats = apr_table_make(p, 4);
    apr_table_setn(server->formats, "CLF", LOG_DEFAULT_FORMAT);
    return server;
}

static void *log_merge_server(apr_pool_t *p, void *basev, void *addv)
{
    const log_server *base = basev, *add = addv;
    log_server *server = apr_pmemdup(p, add, sizeof(*add));

    server->main_logs = base->logs;
    if (!server->default_name) {
        server->default_name = base->default_name;
        server->default_format = base->default_format;
    }
    server->formats = apr_table_overlay(p, add->formats, base->formats);
    if (add->logs->nelts) {
        server->logs = apr_array_copy(p, add->logs);
        for (int i = 0; i < base->logs->nelts; i++) {
            const log_config *log = &APR_ARRAY_IDX(base->logs, i, log_config);
            if (log->is_global)
                APR_ARRAY_PUSH(server->logs, log_config) = *log;
        }
    }
    return server;
}

static log_server *log_server_of(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &log_config_module);
}

static const char *log_cmd_format(cmd_parms *cmd, void *dummy, const char *format, const char *name)
{
    log_server *server = log_server_of(cmd);
    const char *err = NULL;
    apr_array_header_t *parsed = logconf_format_parse(cmd->pool, format, &err);

    if (name) {
        apr_table_setn(server->formats, name, format);
    } else {
        server->default_name = format;
        server->default_format = parsed;
    }
    return err;
}

static const char *log_set_condition(cmd_parms *cmd, log_config *log, const char *clause)
{
    const char *err = NULL;

    if (strncasecmp(clause, "env=", 4) == 0) {
        log->variable = clause + 4;
        return !*log->variable || strcmp(log->variable, "!") == 0
                   ? "missing environment variable name"
                   : NULL;
    }
    if (strncasecmp(clause, "expr=", 5) == 0) {
        if (!clause[5])
            return "missing condition";
        log->condition = ap_expr_parse_cmd(cmd, clause + 5, AP_EXPR_FLAG_DONT_VARY, &err, NULL);
        brg_transaction_log_shows(cmd->pool, NULL);
        return err;
    }
    return "error in condition clause";
}

static const char *log_cmd_custom(cmd_parms *cmd, void *dummy, const char *file, const char *format,
                                  const char *clause)
{
    log_config *log = apr_array_push(log_server_of(cmd)->logs);
    const char *err = NULL;

    if (brg_log_service_is_named(file)) {
        brg_log_service *unused;

        if ((err = brg_log_service_parse(cmd->temp_pool, file, &unused)))
            return apr_pstrcat(cmd->pool, file, ": ", err, NULL);
    }
    memset(log, 0, sizeof(*log));
    log->file = file;
    log->directive = cmd->directive;
    if (clause && (err = log_set_condition(cmd, log, clause)))
        return err;
    if (format) {
        log->format_name = format;
        log->format = logconf_format_parse(cmd->pool, format, &err);
    }
    return err;
}

static const char *log_cmd_transfer(cmd_parms *cmd, void *dummy, const char *file)
{
    return log_cmd_custom(cmd, dummy, file, NULL, NULL);
}

static const char *log_cmd_global(cmd_parms *cmd, void *dummy, const char *file, const char *format,
                                  const char *clause)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_array_header_t *logs = log_server_of(cmd)->logs;

    if (err || (err = log_cmd_custom(cmd, dummy, file, format, clause)))
        return err;
    APR_ARRAY_IDX(logs, logs->nelts - 1, log_config).is_global = 1;
    return NULL;
}

/* One setting for all servers, wherever it stands. */
static const char *log_cmd_buffered(cmd_parms *cmd, void *dummy, int flag)
{
    log_buffer_hold(flag);
    return NULL;
}

/* One setting for all servers, too. */
static const char *log_cmd_overflow(cmd_parms *cmd, void *dummy, const char *what)
{
    if (strcasecmp(what, "drop") == 0)
        log_writers_overflow(LOG_OVERFLOW_DROP);
    else if (strcasecmp(what, "wait") == 0)
        log_writers_overflow(LOG_OVERFLOW_WAIT);
    else
        return "LogOverflow must be drop or wait";
    return NULL;
}

/* The format of that name, which may be defined further down. */
static apr_array_header_t *log_resolve(apr_pool_t *p, const log_server *server, const char *name,
                                       apr_array_header_t *as_text)
{
    const char *format = name ? apr_table_get(server->formats, name) : NULL, *err;
    apr_array_header_t *parsed;

    if (!format && name)
        format = log_preset(name);
    parsed = format ? logconf_format_parse(p, format, &err) : NULL;
    return parsed ? parsed : as_text;
}

static log_plan *log_plan_for(apr_pool_t *p, const apr_array_header_t *format)
{
    return format ? log_plan_make(p, format, log_idents) : NULL;
}

static int log_open_server(apr_pool_t *p, server_rec *s)
{
    log_server *server = ap_get_module_config(s->module_config, &log_config_module);

    server->default_format = log_resolve(
        p, server, server->default_name ? server->default_name : "CLF", server->default_format);
    server->default_plan = log_plan_for(p, server->default_format);
    for (int i = 0; i < server->logs->nelts; i++) {
        log_config *log = &APR_ARRAY_IDX(server->logs, i, log_config);

        if (log->handle)
            continue; /* shared with a server before this one */
        log->format = log_resolve(p, server, log->format_name, log->format);
        log->plan = log_plan_for(p, log->format);
        log->handle = log_writer_init(p, s, log->file);
        if (!log->handle)
            return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static int log_open_logs(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int rv = OK;

    log_idents = APR_RETRIEVE_OPTIONAL_FN(ap_ident_lookup) != NULL;
    for (server_rec *v = s; v && rv == OK; v = v->next)
        rv = log_open_server(pconf, v);
    for (; s; s = s->next) {
        log_server *server = ap_get_module_config(s->module_config, &log_config_module);

        server->needs = log_server_needs(s);
        server->crosses = log_server_crosses(s);
    }
    return rv;
}

static int log_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    log_file_reset(pconf);
    log_buffer_hold(0);
    log_writers_overflow(LOG_OVERFLOW_DROP);
    log_writer_init = log_writer_init_default;
    log_line_writer = log_writer_default;
    return OK;
}

static void log_child_init(apr_pool_t *pchild, server_rec *s)
{
    if (ap_exists_config_define(LOG_TRIAL))
        (void)log_open_logs(pchild, NULL, NULL, s);
    log_writers_start(log_files_list());
    apr_pool_cleanup_register(pchild, NULL, log_buffer_close, apr_pool_cleanup_null);
}

/* A process that has to end with requests at work does not wait for the logs. */
static void log_child_stopping(apr_pool_t *pchild, int graceful)
{
    log_writers_hurry(graceful);
}

static void log_register_hooks(apr_pool_t *p)
{
    /* Other modules register their handlers from pre_config on. */
    log_foreign = apr_hash_make(p);
    log_stored = apr_hash_make(p);
    APR_REGISTER_OPTIONAL_FN(brg_register_transaction_item);
    APR_REGISTER_OPTIONAL_FN(ap_register_log_handler);
    APR_REGISTER_OPTIONAL_FN(ap_log_set_writer_init);
    APR_REGISTER_OPTIONAL_FN(ap_log_set_writer);
    ap_hook_pre_config(log_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_check_config(log_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_open_logs(log_open_logs, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(log_transaction, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(log_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_stopping(log_child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
    brg_hook_turn_end(log_buffer_turn_end, NULL, NULL, APR_HOOK_LAST);
    brg_cache_declare(&log_config_module, log_depends);
    brg_hooks_need_directive(&log_config_module, "log_transaction", NULL, BRG_HOOKS_BY_SERVER);
    brg_transaction_log_declare(&log_config_module, log_transaction_ready, log_transaction_alone);
}

static const command_rec log_directives[] = {
    AP_INIT_TAKE23("CustomLog", log_cmd_custom, NULL, RSRC_CONF,
                   "a file name, a custom log format string or format name, and an optional "
                   "\"env=\" or \"expr=\" clause (see docs)"),
    AP_INIT_TAKE23("GlobalLog", log_cmd_global, NULL, RSRC_CONF,
                   "Same as CustomLog, but forces virtualhosts to inherit the log"),
    AP_INIT_TAKE1("TransferLog", log_cmd_transfer, NULL, RSRC_CONF,
                  "the filename of the access log"),
    AP_INIT_TAKE12("LogFormat", log_cmd_format, NULL, RSRC_CONF,
                   "a log format string (see docs) and an optional format name"),
    AP_INIT_FLAG("BufferedLogs", log_cmd_buffered, NULL, RSRC_CONF,
                 "whether log entries may be held back for up to a second"),
    AP_INIT_TAKE1("LogOverflow", log_cmd_overflow, NULL, RSRC_CONF,
                  "what happens when a log takes entries too slowly: 'drop' (they are lost and "
                  "counted) or 'wait' (requests wait)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA log_config_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, log_create_server, log_merge_server, log_directives,
    log_register_hooks,      0,
};
