/* SPDX-License-Identifier: Apache-2.0 */
/* The items of ErrorLogFormat. Each writes at most buflen bytes (NUL included) and returns how
 * many; 0 = nothing to say. */
#include "log_private.h"
#include "brigade/assert.h"
#include "brigade/client_mask.h"
#include "brigade/decimal.h"

#include "http_protocol.h"
#include "util_time.h"

#include "apr_strings.h"

#include <ctype.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static ap_errorlog_handler log_handlers[128];

AP_DECLARE(void)
ap_register_errorlog_handler(apr_pool_t *p, char *tag, ap_errorlog_handler_fn_t *handler, int flags)
{
    unsigned char c = (unsigned char)tag[0];

    if (c < sizeof log_handlers / sizeof *log_handlers) {
        log_handlers[c].func = handler;
        log_handlers[c].flags = flags;
    }
}

const ap_errorlog_handler *log_item_find(char tag)
{
    unsigned char c = (unsigned char)tag;

    if (c >= sizeof log_handlers / sizeof *log_handlers || !log_handlers[c].func)
        return NULL;
    return &log_handlers[c];
}

int log_put(char *buf, int buflen, const char *s)
{
    size_t n;

    if (!s || buflen <= 0)
        return 0;
    n = strnlen(s, (size_t)buflen - 1);
    memcpy(buf, s, n);
    buf[n] = '\0';
    return (int)n;
}

static int log_put_number(char *buf, int buflen, apr_uint64_t number)
{
    char text[BRG_DECIMAL_ROOM + 1];

    text[brg_decimal_put(text, number)] = '\0';
    return log_put(buf, buflen, text);
}

static int log_put_escaped(char *buf, int buflen, const char *s)
{
    if (!s || buflen <= 0)
        return 0;
    ap_escape_errorlog_item(buf, s, (apr_size_t)buflen);
    return (int)strlen(buf);
}

/* ---- process, thread, client ---- */

static int log_put_address(char *buf, int buflen, const char *ip, const apr_sockaddr_t *addr)
{
    int n;

    if (!ip || !addr)
        return 0;
    n = log_put(buf, buflen, ip);
    if (addr->family == APR_UNIX)
        return n;
    n += log_put(buf + n, buflen - n, ":");
    return n + log_put_number(buf + n, buflen - n, addr->port);
}

static int log_put_client(char *buf, int buflen, const char *ip, const apr_sockaddr_t *addr)
{
    const brg_client_mask *mask = brg_client_mask_of_logs();
    char masked[BRG_CLIENT_MASK_ROOM];

    if (mask && ip)
        brg_client_masked(mask, ip, masked);
    return log_put_address(buf, buflen, mask && ip ? masked : ip, addr);
}

static int log_item_client(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    if (info->r && !(arg && *arg == 'c'))
        return log_put_client(buf, buflen, info->r->useragent_ip, info->r->useragent_addr);
    return info->c ? log_put_client(buf, buflen, info->c->client_ip, info->c->client_addr) : 0;
}

static int log_item_local(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->c ? log_put_address(buf, buflen, info->c->local_ip, info->c->local_addr) : 0;
}

static int log_item_pid(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return log_put_number(buf, buflen, (apr_uint64_t)log_process());
}

static int log_item_tid(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return log_put_number(buf, buflen, (apr_uint64_t)log_thread());
}

static int log_item_server(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->s ? log_put(buf, buflen, info->s->server_hostname) : 0;
}

static int log_item_virtual(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    if (info->r)
        return log_put(buf, buflen, ap_get_server_name((request_rec *)(uintptr_t)info->r));
    return log_item_server(info, arg, buf, buflen);
}

/* ---- message and place in the source ---- */

static const char *const log_level_names[] = {
    "emerg",  "alert",  "crit",   "error",  "warn",   "notice", "info",   "debug",
    "trace1", "trace2", "trace3", "trace4", "trace5", "trace6", "trace7", "trace8"};

const char *log_level_name(int level)
{
    BRG_ASSERT(level >= 0 && level <= APLOG_TRACE8);
    return log_level_names[level];
}

static int log_item_level(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return log_put(buf, buflen, log_level_name(info->level & APLOG_LEVELMASK));
}

static int log_item_module(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->module_index < 0
               ? 0
               : log_put(buf, buflen, ap_find_module_short_name(info->module_index));
}

static int log_item_file(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    const char *slash;

    if (!info->file)
        return 0;
    slash = strrchr(info->file, '/');
    return apr_snprintf(buf, (apr_size_t)buflen, "%s(%d)", slash ? slash + 1 : info->file,
                        info->line);
}

static int log_item_error(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    int len;

    if (!info->status)
        return 0;
    if (info->status >= APR_OS_START_EAIERR && info->status < APR_OS_START_SYSERR)
        len = apr_snprintf(buf, (apr_size_t)buflen, "(EAI %d)", info->status - APR_OS_START_EAIERR);
    else
        len = apr_snprintf(buf, (apr_size_t)buflen, "(%d)", info->status);
    BRG_ASSERT(len >= 0 && len < buflen);
    apr_strerror(info->status, buf + len, (apr_size_t)(buflen - len));
    return len + (int)strlen(buf + len);
}

/* log_format_line() puts the message in. */
static int log_item_message(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return 0;
}

/* ---- the request ---- */

static int log_item_header(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->r && arg && info->r->headers_in
               ? log_put_escaped(buf, buflen, apr_table_get(info->r->headers_in, arg))
               : 0;
}

static int log_item_note(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->r && arg && info->r->notes
               ? log_put_escaped(buf, buflen, apr_table_get(info->r->notes, arg))
               : 0;
}

static int log_item_env(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->r && arg && info->r->subprocess_env
               ? log_put_escaped(buf, buflen, apr_table_get(info->r->subprocess_env, arg))
               : 0;
}

static int log_item_keepalives(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return info->c ? apr_snprintf(buf, (apr_size_t)buflen, "%d", info->c->keepalives) : 0;
}

static int log_item_id(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    const char *id = NULL;

    if (arg && (*arg == 'c' || *arg == 'C')) {
        if (info->c && (*arg == 'c' || !info->r))
            id = info->c->log_id;
    } else if (info->rmain)
        id = info->rmain->log_id;
    else if (info->c)
        id = info->c->log_id;
    return log_put(buf, buflen, id);
}

/* ---- time ---- */

static int log_put_strftime(char *buf, int buflen, const char *format)
{
    apr_time_exp_t t;
    apr_size_t len = 0;

    apr_time_exp_lt(&t, apr_time_now());
    apr_strftime(buf, &len, (apr_size_t)buflen, format, &t);
    return (int)len;
}

static int log_item_time(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    int option = AP_CTIME_OPTION_NONE, len = buflen;

    if (arg && strchr(arg, '%'))
        return log_put_strftime(buf, buflen, arg);
    for (; arg && *arg; arg++)
        option |= *arg == 'u'   ? AP_CTIME_OPTION_USEC
                  : *arg == 'm' ? AP_CTIME_OPTION_MSEC
                  : *arg == 'c' ? AP_CTIME_OPTION_COMPACT
                  : *arg == 'z' ? AP_CTIME_OPTION_GMTOFF
                                : AP_CTIME_OPTION_NONE;
    if (ap_recent_ctime_ex(buf, apr_time_now(), option, &len) != APR_SUCCESS)
        return 0;
    return (int)strlen(buf);
}

void log_items_register(void)
{
    static const struct {
        char tag[2];
        ap_errorlog_handler_fn_t *func;
        int flags;
    } items[] = {
        {"a", log_item_client, 0},
        {"A", log_item_local, 0},
        {"e", log_item_env, 0},
        {"E", log_item_error, 0},
        {"F", log_item_file, 0},
        {"i", log_item_header, 0},
        {"k", log_item_keepalives, 0},
        {"l", log_item_level, 0},
        {"L", log_item_id, 0},
        {"m", log_item_module, 0},
        {"M", log_item_message, AP_ERRORLOG_FLAG_MESSAGE},
        {"n", log_item_note, 0},
        {"P", log_item_pid, 0},
        {"t", log_item_time, 0},
        {"T", log_item_tid, 0},
        {"v", log_item_server, 0},
        {"V", log_item_virtual, 0},
    };
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        ap_register_errorlog_handler(NULL, (char *)(uintptr_t)items[i].tag, items[i].func,
                                     items[i].flags);
}
