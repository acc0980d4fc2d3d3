/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ErrorLogFormat: from format string to items, from items to a line.
 *
 * A format is a row of fields. A field begins with the blanks before it, and at a percent sign that is
 * followed by a blank. If an item is empty, its whole field is left out, with the blanks before it:
 * "[client %a]" vanishes where there is no client.
 */
#include "log_private.h"

#include "apr_strings.h"
#include "brigade/assert.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#define LOG_LITERAL_MAX 256
#define LOG_LEVEL_MAX 15

/* ---- parsing ---- */

typedef struct log_parser {
    apr_pool_t *p;
    const char *at;
    apr_array_header_t *items;
    int once, has_message;
    char literal[LOG_LITERAL_MAX];
    int literal_n;
    int blank;     /* the last character taken was an unescaped blank */
    int new_field; /* the next item begins a field */
} log_parser;

static int log_item_literal(const ap_errorlog_info *info, const char *arg, char *buf, int buflen)
{
    return log_put(buf, buflen, arg);
}

static ap_errorlog_format_item *log_parser_push(log_parser *ps)
{
    ap_errorlog_format_item *item = apr_array_push(ps->items);

    memset(item, 0, sizeof *item);
    if (ps->new_field)
        item->flags |= AP_ERRORLOG_FLAG_FIELD_SEP;
    ps->new_field = 0;
    return item;
}

static void log_parser_end_literal(log_parser *ps)
{
    ap_errorlog_format_item *item;

    if (!ps->literal_n)
        return;
    item = log_parser_push(ps);
    item->func = log_item_literal;
    item->arg = apr_pstrmemdup(ps->p, ps->literal, (apr_size_t)ps->literal_n);
    ps->literal_n = 0;
}

static void log_parser_begin_field(log_parser *ps)
{
    log_parser_end_literal(ps);
    ps->new_field = 1;
}

static void log_parser_char(log_parser *ps, char c, int escaped)
{
    int blank = !escaped && (c == ' ' || c == '\t');

    if (blank && !ps->blank)
        log_parser_begin_field(ps);
    ps->blank = blank;
    if (ps->literal_n == LOG_LITERAL_MAX)
        log_parser_end_literal(ps);
    BRG_ASSERT(ps->literal_n >= 0 && ps->literal_n < LOG_LITERAL_MAX);
    ps->literal[ps->literal_n++] = c;
}

static void log_parser_escape(log_parser *ps)
{
    char c;

    BRG_ASSERT(*ps->at == '\\');
    c = *++ps->at;
    if (!c) {
        log_parser_char(ps, '\\', 1);
        return;
    }
    ps->at++;
    log_parser_char(ps, c == 'n' ? '\n' : c == 't' ? '\t' : c, 1);
}

static const char *log_parser_braces(log_parser *ps, const char **arg)
{
    const char *end = strchr(ps->at, '}');

    BRG_ASSERT(*ps->at == '{');
    if (!end)
        return "missing closing \"}\" in error log format";
    *arg = apr_pstrmemdup(ps->p, ps->at + 1, (apr_size_t)(end - ps->at - 1));
    ps->at = end + 1;
    return NULL;
}

/* Modifiers and argument, in any order, up to the character of the item. */
static const char *log_parser_modifiers(log_parser *ps, ap_errorlog_format_item *item)
{
    const char *err = NULL;

    while (!err) {
        if (*ps->at == '-') {
            item->flags |= AP_ERRORLOG_FLAG_NULL_AS_HYPHEN;
            ps->at++;
        } else if (*ps->at == '+') {
            if (!ps->once)
                return "'+' flag is only allowed in once-per-connection and once-per-request "
                       "formats";
            item->flags |= AP_ERRORLOG_FLAG_REQUIRED;
            ps->at++;
        } else if (isdigit((unsigned char)*ps->at)) {
            for (item->min_loglevel = 0; isdigit((unsigned char)*ps->at); ps->at++)
                if (item->min_loglevel <= LOG_LEVEL_MAX)
                    item->min_loglevel = item->min_loglevel * 10 + (unsigned)(*ps->at - '0');
            if (item->min_loglevel < 1 || item->min_loglevel > LOG_LEVEL_MAX)
                return "error log format: level must be from 1 to 15";
        } else if (*ps->at == '{')
            err = log_parser_braces(ps, &item->arg);
        else
            break;
    }
    return err;
}

static const char *log_parser_item(log_parser *ps)
{
    const ap_errorlog_handler *handler;
    ap_errorlog_format_item *item;
    const char *err;

    BRG_ASSERT(*ps->at == '%');
    ps->at++;
    if (*ps->at == ' ' || *ps->at == '%') {
        if (*ps->at == ' ')
            log_parser_begin_field(ps);
        else
            log_parser_char(ps, '%', 1);
        ps->at++;
        return NULL;
    }
    log_parser_end_literal(ps);
    ps->blank = 0;
    item = log_parser_push(ps);
    if ((err = log_parser_modifiers(ps, item)) != NULL)
        return err;
    if (!*ps->at)
        return "error log format ends in an incomplete item";
    if (!(handler = log_item_find(*ps->at)))
        return apr_psprintf(ps->p, "Unrecognized error log format directive %%%c", *ps->at);
    if (handler->flags & AP_ERRORLOG_FLAG_MESSAGE) {
        if (ps->once || ps->has_message)
            return ps->once ? "%M cannot be used in once-per-request or once-per-connection formats"
                            : "%M can only be used once in an error log format";
        ps->has_message = 1;
    }
    item->func = handler->func;
    item->flags |= (unsigned)handler->flags;
    ps->at++;
    return NULL;
}

const char *log_format_parse(apr_pool_t *p, const char *format, int once, apr_array_header_t **out)
{
    log_parser ps = {.p = p, .at = format, .once = once};
    const char *err = NULL;

    ps.items = apr_array_make(p, 16, sizeof(ap_errorlog_format_item));
    while (*ps.at && !err)
        if (*ps.at == '%')
            err = log_parser_item(&ps);
        else if (*ps.at == '\\')
            log_parser_escape(&ps);
        else
            log_parser_char(&ps, *ps.at++, 0);
    log_parser_end_literal(&ps);
    if (!err && !once && !ps.has_message)
        err = "error log format must contain %M";
    if (!err)
        *out = ps.items;
    return err;
}

/* ---- the directive ---- */

static const char *log_add_once(cmd_parms *cmd, core_server_config *conf, const char *kind,
                                const char *format)
{
    apr_array_header_t **list, *items;
    const char *err;

    if (!ap_cstr_casecmp(kind, "connection"))
        list = &conf->error_log_conn;
    else if (!ap_cstr_casecmp(kind, "request"))
        list = &conf->error_log_req;
    else
        return "First parameter of ErrorLogFormat must be 'request' or 'connection' if two "
               "parameters are given";
    if ((err = log_format_parse(cmd->pool, format, 1, &items)) != NULL)
        return err;
    if (!*list)
        *list = apr_array_make(cmd->pool, 4, sizeof items);
    APR_ARRAY_PUSH(*list, apr_array_header_t *) = items;
    return NULL;
}

const char *log_set_error_format(cmd_parms *cmd, void *dummy, const char *arg1, const char *arg2)
{
    core_server_config *conf = ap_get_core_module_config(cmd->server->module_config);
    const char *err = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    const apr_array_header_t *json;

    if (err)
        return err;
    if (arg2)
        return log_add_once(cmd, conf, arg1, arg2);
    if ((json = log_json_format(arg1)) != NULL) {
        conf->error_log_format = (apr_array_header_t *)(uintptr_t)json;
        return NULL;
    }
    return log_format_parse(cmd->pool, arg1, 0, &conf->error_log_format);
}

/* ---- built-in formats ---- */

#define LOG_FORMAT_REST " [pid %P:tid %T]"

static apr_array_header_t *log_builtin[5][3]; /* by log_kind */
static apr_pool_t *log_builtin_pool;          /* for ever */

static void log_builtin_make(void)
{
    static const char *const formats[] = {[LOG_STYLE_FILE] = "[%{u}t] [%m:%l]" LOG_FORMAT_REST,
                                          [LOG_STYLE_FILE_NAMELESS] =
                                              "[%{u}t] [:%l]" LOG_FORMAT_REST,
                                          [LOG_STYLE_SYSLOG] = "[%m:%l]" LOG_FORMAT_REST,
                                          [LOG_STYLE_SYSLOG_NAMELESS] = "[:%l]" LOG_FORMAT_REST,
                                          [LOG_STYLE_STARTUP] = ""};
    static const char *const peers[] = {[LOG_OF_CLIENT] = "%7F: %E: [client\\ %a] %M",
                                        [LOG_OF_SERVER] = "%7F: %E: [remote\\ %a] %M",
                                        [LOG_WITH_ID] =
                                            "%7F: %E: [client\\ %a] %M% ,\\ request:\\ %L"};

    log_items_register();
    apr_pool_create(&log_builtin_pool, NULL);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) {
            const char *begin =
                *formats[i] ? apr_pstrcat(log_builtin_pool, formats[i], " ", NULL) : "";
            const char *end = *formats[i] ? "% ,\\ referer:\\ %{Referer}i" : "";

            log_format_parse(log_builtin_pool,
                             apr_pstrcat(log_builtin_pool, begin, peers[k], end, NULL), 0,
                             &log_builtin[i][k]);
        }
}

const apr_array_header_t *log_format_builtin(log_style style, log_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, log_builtin_make);
    BRG_ASSERT(log_builtin[style][kind] != NULL);
    return log_builtin[style][kind];
}

/* ---- lines ---- */

static int log_run_item(const ap_errorlog_format_item *item, const ap_errorlog_info *info,
                        const char *message, char *buf, int buflen)
{
    int len;

    /* The manual says the opposite of Apache's behaviour, and its own default format needs the
     * latter: an item with a level shows at that level and at all less severe ones. */
    if ((info->level & APLOG_LEVELMASK) < (int)item->min_loglevel)
        return 0;
    if (item->flags & AP_ERRORLOG_FLAG_MESSAGE)
        return log_put(buf, buflen, message);
    len = item->func(info, item->arg, buf, buflen);
    if (!len && (item->flags & AP_ERRORLOG_FLAG_NULL_AS_HYPHEN)) {
        buf[0] = '-';
        len = 1;
    }
    return len;
}

int log_format_line(const apr_array_header_t *format, const ap_errorlog_info *info,
                    const char *message, char *buf, int buflen)
{
    const ap_errorlog_format_item *items = (const ap_errorlog_format_item *)(void *)format->elts;
    int len = 0, field = 0, skip = 0, n;

    BRG_ASSERT(!log_json_is(format));
    for (int i = 0; i < format->nelts && len < buflen - 2; i++) {
        const int is_message = items[i].flags & AP_ERRORLOG_FLAG_MESSAGE;

        if (items[i].flags & AP_ERRORLOG_FLAG_FIELD_SEP) {
            field = skip ? field : len;
            skip = 0;
        }
        if (skip && !is_message) /* the message stays, as in Apache */
            continue;
        n = log_run_item(&items[i], info, message, buf + len, buflen - len);
        if (!n && (items[i].flags & AP_ERRORLOG_FLAG_REQUIRED))
            return 0;
        if (!n && !is_message) {
            skip = 1;
            len = field;
        }
        len += n;
    }
    buf[len] = '\0';
    return len;
}
