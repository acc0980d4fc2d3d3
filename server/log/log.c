/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error log. Every ap_log_*error_ ends in log_write_error(), which decides whether the message is
 * wanted, makes one line of it and writes that with a single call. A line that cannot be written (disk
 * full, reader of a pipe or service gone or too slow) is lost and counted; the server goes on.
 */
#include "log_private.h"
#include "log_settings.h"

#include "http_core.h"
#include "http_main.h"
#include "http_protocol.h"

#include "apr_base64.h"
#include "apr_portable.h"
#include "apr_strings.h"

#include "brigade/assert.h"
#include "brigade/pages.h"
#include "brigade/loop.h"
#include "brigade/status.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

APR_HOOK_STRUCT(APR_HOOK_LINK(error_log) APR_HOOK_LINK(generate_log_id))
AP_IMPLEMENT_HOOK_VOID(error_log, (const ap_errorlog_info *info, const char *errstr),
                       (info, errstr))
AP_IMPLEMENT_HOOK_RUN_FIRST(int, generate_log_id,
                            (const conn_rec *c, const request_rec *r, const char **id), (c, r, id),
                            DECLINED)

AP_DECLARE_DATA int ap_default_loglevel = DEFAULT_LOGLEVEL;

/* ---- ids ---- */

void log_put_new_id(char *id)
{
    static atomic_uint count;
    struct {
        uint64_t time;
        uint32_t pid, count;
    } raw = {(uint64_t)apr_time_now(), (uint32_t)log_process(), atomic_fetch_add(&count, 1)};
    unsigned char bytes[13];
    int n;

    memcpy(bytes, &raw.time, 7);
    memcpy(bytes + 7, &raw.pid, 3);
    memcpy(bytes + 10, &raw.count, 3);
    n = apr_base64_encode_binary(id, bytes, sizeof bytes);
    BRG_ASSERT(n > 0 && n <= LOG_ID_BYTES);
    id[n - 1] = '\0';
    *strchrnul(id, '=') = '\0';
}

int log_generate_id(const conn_rec *c, const request_rec *r, const char **id)
{
    char *text = apr_palloc(r ? r->pool : c->pool, LOG_ID_BYTES);

    log_put_new_id(text);
    *id = text;
    return OK;
}

void log_set_id(const conn_rec *c, const request_rec *r)
{
    conn_rec *cw = (conn_rec *)(uintptr_t)c;
    request_rec *rw = (request_rec *)(uintptr_t)r;
    const char **to = r ? &rw->log_id : &cw->log_id;

    if (!*to && ap_run_generate_log_id(c, r, to) != OK) /* the core's own hook is not there yet */
        log_generate_id(c, r, to);
}

/* ---- levels ---- */

static int log_level_for(const ap_errorlog_info *info)
{
    if (info->r)
        return ap_get_request_module_loglevel(info->r, info->module_index);
    if (info->c)
        return ap_get_conn_server_module_loglevel(info->c, info->s, info->module_index);
    return ap_get_server_module_loglevel(info->s, info->module_index);
}

log_target log_find_target(const ap_errorlog_info *info)
{
    log_target target = {.file = log_stderr, .fd = -1, .wanted = 1};
    int level = info->level & APLOG_LEVELMASK;

    if (!info->s) {
        if (!target.file && ap_server_conf)
            target.file = ap_server_conf->error_log;
        target.wanted = level == APLOG_NOTICE || level <= ap_default_loglevel;
        return target;
    }
    target.wanted = level == APLOG_NOTICE || level <= log_level_for(info);
    if (info->s->error_log)
        target.file = info->s->error_log;
    else if ((target.service = log_service_of(info->s, &target.fd)) != NULL)
        target.file = NULL;
    return target;
}

BRG_DECLARE(int) brg_error_log_descriptor(const server_rec *s)
{
    const ap_errorlog_info info = {.s = s, .level = APLOG_ERR};
    log_target target = log_find_target(&info);

    if (!target.service && (!target.file || apr_os_file_get(&target.fd, target.file)))
        return -1;
    return target.fd;
}

/* ---- lines ---- */

/* Lines that a pipe or a service did not take, as its reader stands still; of all logs of this process. */
static atomic_uint log_lost_n;
static atomic_int log_is_torn; /* the last one got in half */

static int log_send(const log_target *to, int level, const char *line, apr_size_t len)
{
    /* Messages of the supervisor at a start come faster than a service reads. */
    return brg_log_service_send(to->service, to->fd, level < LOG_DEBUG ? level : LOG_DEBUG, line,
                                len,
                                brg_thread_index() < 0 ? BRG_LOG_SERVICE_BRIEFLY
                                                       : BRG_LOG_SERVICE_NOT) == APR_SUCCESS;
}

/* @return 1 if all of it is written; a pipe that is full is not waited for */
static int log_write_bytes(int fd, const char *data, apr_size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return 0;
        if ((apr_size_t)n < len)
            atomic_store_explicit(&log_is_torn, 1, memory_order_relaxed);
        data += n;
        len -= (apr_size_t)n;
    }
    return 1;
}

/* The format of the main server's log, if that is JSON: messages that belong to no server are no exception to it. */
static const apr_array_header_t *log_main_json(void)
{
    return log_is_open && ap_server_conf ? log_json_of(ap_server_conf) : NULL;
}

/* Messages of a start: in the form of the log that stderr is, or is about to be. */
static const apr_array_header_t *log_startup_json(void)
{
    const server_rec *s = ap_server_conf;

    if (log_startup_format || ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_NORMAL)
        return log_startup_format;
    return s && s->error_fname && !strcmp(s->error_fname, "/dev/stderr") ? log_json_of(s) : NULL;
}

static const apr_array_header_t *log_choose_format(const ap_errorlog_info *info);

/* Before the first line that fits again: how many did not. */
static void log_write_lost(const log_target *to, const ap_errorlog_info *next)
{
    unsigned n = atomic_exchange_explicit(&log_lost_n, 0, memory_order_relaxed);
    int torn = atomic_exchange_explicit(&log_is_torn, 0, memory_order_relaxed);
    const apr_array_header_t *format = log_choose_format(next);
    ap_errorlog_info info = {.s = next->s, .level = APLOG_ERR, .module_index = APLOG_MODULE_INDEX};
    char text[128], line[LOG_LINE_BYTES];
    int len;

    if (!n)
        return;
    apr_snprintf(text, sizeof text,
                 "%u lines of error logs were lost: their reader was too slow, or gone", n);
    line[0] = '\n';
    len = log_json_is(format)
              ? log_json_line(format, &info, text, line + 1, sizeof line - 2)
              : apr_snprintf(line + 1, sizeof line - 2, "[core:error] [pid %" APR_PID_T_FMT "] %s",
                             getpid(), text);
    BRG_ASSERT(len > 0 && len < (int)sizeof line - 2);
    line[len + 1] = '\n';
    if (to->service
            ? !log_send(to, LOG_ERR, line + 1, (apr_size_t)len)
            : !log_write_bytes(to->fd, torn ? line : line + 1, (apr_size_t)len + (torn ? 2 : 1)))
        atomic_fetch_add_explicit(&log_lost_n, n, memory_order_relaxed);
}

static void log_lose(unsigned n)
{
    atomic_fetch_add_explicit(&log_lost_n, n, memory_order_relaxed);
    brg_status_log_lines_lost(n);
}

int log_has_lost(void)
{
    return atomic_load_explicit(&log_lost_n, memory_order_relaxed) != 0;
}

void log_write_lines(int fd, const char *lines, apr_size_t len, unsigned n)
{
    if (!log_write_bytes(fd, lines, len) && errno == EAGAIN)
        log_lose(n);
}

void log_write_line(log_target *to, const ap_errorlog_info *info, char *line, int len)
{
    log_said_write();
    if (!to->service && (!to->file || apr_os_file_get(&to->fd, to->file) != APR_SUCCESS))
        return;
    BRG_ASSERT(len > 0 && len < LOG_LINE_BYTES);
    if (log_has_lost())
        log_write_lost(to, info);
    if (to->service) {
        if (!log_send(to, info->level & APLOG_LEVELMASK, line, (apr_size_t)len))
            log_lose(1);
        return;
    }
    line[len] = '\n';
    log_write_lines(to->fd, line, (apr_size_t)len + 1, 1);
}

/* Pages of errors of the server's own look show the request's id, which is in the logs then; Apache's do not, and its lines are as they are
 * known. */
static log_kind log_kind_of(const ap_errorlog_info *info)
{
    if (info->c && info->c->outgoing)
        return LOG_OF_SERVER;
    return info->r && info->r->per_dir_config && (info->level & APLOG_LEVELMASK) <= APLOG_ERR &&
                   brg_pages_of(info->r) != BRG_PAGES_APACHE
               ? LOG_WITH_ID
               : LOG_OF_CLIENT;
}

static const apr_array_header_t *log_choose_format(const ap_errorlog_info *info)
{
    const core_server_config *conf = info->s && info->s->module_config
                                         ? ap_get_core_module_config(info->s->module_config)
                                         : NULL;
    const log_kind kind = log_kind_of(info);
    const apr_array_header_t *main_json;

    if (info->startup)
        return (main_json = log_startup_json()) ? main_json
                                                : log_format_builtin(LOG_STYLE_STARTUP, kind);
    if (conf && conf->error_log_format)
        return conf->error_log_format;
    if (!info->s && (main_json = log_main_json()) != NULL)
        return main_json;
    if (info->module_index < 0)
        return log_format_builtin(
            info->using_syslog ? LOG_STYLE_SYSLOG_NAMELESS : LOG_STYLE_FILE_NAMELESS, kind);
    return log_format_builtin(info->using_syslog ? LOG_STYLE_SYSLOG : LOG_STYLE_FILE, kind);
}

static void log_write_once(log_target *target, const ap_errorlog_info *info,
                           const apr_array_header_t *formats)
{
    char line[LOG_LINE_BYTES];

    for (int i = 0; formats && i < formats->nelts; i++) {
        const apr_array_header_t *whole = log_choose_format(info);
        int n = log_format_line(APR_ARRAY_IDX(formats, i, apr_array_header_t *), info, NULL, line,
                                sizeof line - 1);

        if (n && log_json_is(whole)) {
            char text[LOG_LINE_BYTES];

            n = log_json_line(whole, info, strcpy(text, line), line, sizeof line - 1);
        }
        if (n)
            log_write_line(target, info, line, n);
    }
}

/* The first message of a connection or request is preceded by lines about it, where they are
 * configured. */
static void log_introduce(log_target *target, const ap_errorlog_info *info)
{
    const core_server_config *conf;
    ap_errorlog_info conn = *info;
    int first;

    if (!info->c || !info->s->module_config)
        return;
    BRG_ASSERT(!info->r || info->rmain);
    conf = ap_get_core_module_config(info->s->module_config);
    first = !info->c->log_id;
    if (first)
        log_set_id(info->c, NULL);
    conn.r = conn.rmain = NULL;
    if (first && conf)
        log_write_once(target, &conn, conf->error_log_conn);
    if (!info->r || info->rmain->log_id)
        return;
    log_set_id(info->c, info->rmain);
    if (conf)
        log_write_once(target, info, conf->error_log_req);
}

static log_hear_fn *log_hear;

void log_tell(log_hear_fn *hear)
{
    log_hear = hear;
}

/* A text that is there already is said of each request that is refused from memory. */
static void log_put_text(char *text, size_t room, const char *fmt, va_list args)
{
    const char *whole;
    size_t len;

    if (strcmp(fmt, "%s") != 0) {
        apr_vsnprintf(text, room, fmt, args);
        return;
    }
    whole = va_arg(args, const char *);
    if (!whole)
        whole = "(null)";
    len = strnlen(whole, room - 1);
    memcpy(text, whole, len);
    text[len] = '\0';
}

static void log_write_error(ap_errorlog_info *info, const char *fmt, va_list args)
{
    log_target target = log_find_target(info);
    char text[LOG_LINE_BYTES], escaped[LOG_LINE_BYTES], line[LOG_LINE_BYTES];
    const apr_array_header_t *format;
    char *start = line;
    int n;

    if (!target.wanted)
        return;
    if (info->r)
        for (info->rmain = info->r; info->rmain->main; info->rmain = info->rmain->main)
            continue;
    info->using_syslog = target.service != NULL;
    info->startup = (info->level & APLOG_STARTUP) && (!log_is_open || !info->s);
    info->format = fmt;
    if (info->s)
        log_introduce(&target, info);
    log_put_text(text, sizeof text, fmt, args);
    ap_escape_errorlog_item(escaped, text, sizeof escaped);
    format = log_choose_format(info);
    n = log_json_is(format) ? log_json_line(format, info, text, line, sizeof line - 1)
                            : log_format_line(format, info, escaped, line, sizeof line - 1);
    if (info->startup && n && *start == ' ')
        start++, n--;
    if (n)
        log_write_line(&target, info, start, n);
    if (log_hear)
        log_hear(info, text);
    ap_run_error_log(info, escaped);
}

/* A message for the client: shown on the error page that this request may end with. */
static void log_note_for_client(const request_rec *r, int level, const char *fmt, va_list args)
{
    if ((level & APLOG_LEVELMASK) > APLOG_WARNING || !(level & APLOG_TOCLIENT))
        return;
    if (!apr_table_get(r->notes, "error-notes"))
        apr_table_setn(r->notes, "error-notes",
                       ap_escape_html(r->pool, apr_pvsprintf(r->pool, fmt, args)));
}

/* ---- public: messages ---- */

/* Where a message comes from: the parameters that all functions below have in common. */
#define LOG_ORIGIN                                                            \
    .file = file, .line = line, .module_index = module_index, .level = level, \
    .status = level & APLOG_NOERRNO ? 0 : status

/* Varying arguments can be walked only by the function that has them, so this can be no function.
 */
#define LOG_WRITE(info, fmt)              \
    do {                                  \
        va_list list;                     \
        va_start(list, fmt);              \
        log_write_error(info, fmt, list); \
        va_end(list);                     \
    } while (0)

AP_DECLARE(void)
ap_log_error_(const char *file, int line, int module_index, int level, apr_status_t status,
              const server_rec *s, const char *fmt, ...)
{
    ap_errorlog_info info = {.s = s, LOG_ORIGIN};

    LOG_WRITE(&info, fmt);
}

AP_DECLARE(void)
ap_log_perror_(const char *file, int line, int module_index, int level, apr_status_t status,
               apr_pool_t *p, const char *fmt, ...)
{
    ap_errorlog_info info = {.pool = p, LOG_ORIGIN};

    LOG_WRITE(&info, fmt);
}

AP_DECLARE(void)
ap_log_rerror_(const char *file, int line, int module_index, int level, apr_status_t status,
               const request_rec *r, const char *fmt, ...)
{
    ap_errorlog_info info = {
        .s = r->server, .c = r->connection, .r = r, .pool = r->pool, LOG_ORIGIN};
    va_list args;

    LOG_WRITE(&info, fmt);
    va_start(args, fmt);
    log_note_for_client(r, level, fmt, args);
    va_end(args);
}

AP_DECLARE(void)
ap_log_cserror_(const char *file, int line, int module_index, int level, apr_status_t status,
                const conn_rec *c, const server_rec *s, const char *fmt, ...)
{
    ap_errorlog_info info = {.s = s, .c = c, .pool = c->pool, LOG_ORIGIN};

    LOG_WRITE(&info, fmt);
}

AP_DECLARE(void)
ap_log_cerror_(const char *file, int line, int module_index, int level, apr_status_t status,
               const conn_rec *c, const char *fmt, ...)
{
    ap_errorlog_info info = {.s = c->base_server, .c = c, .pool = c->pool, LOG_ORIGIN};

    LOG_WRITE(&info, fmt);
}

AP_CORE_DECLARE(void) ap_register_log_hooks(apr_pool_t *p)
{
    log_register_hooks(p);
}
