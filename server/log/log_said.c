/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about requests that memory answers (log_said.h). Clients that are refused are many: each line is put together without the items of
 * formats, and leaves with the others of its loop's turn: one write for all of them costs as much as for each of them. */
#include "log_said.h"
#include "log_private.h"
#include "util_char.h"

#include "util_time.h"

#include "apr_portable.h"

#include "brigade/assert.h"
#include "brigade/client_mask.h"
#include "brigade/decimal.h"
#include "brigade/loop.h"

#include <limits.h>
#include <string.h>

#define SAID_TIME 31        /* "Mon Nov 30 14:10:12.125443 2026" */
#define SAID_MICROSECOND 20 /* where its digits are */
#define SAID_ESCAPED 4      /* bytes that one may become */

/* ---- which ---- */

static int said_is_plain(const server_rec *s)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config);
    const apr_array_header_t *hooks = ap_hook_get_error_log();

    return s->error_log && !(hooks && hooks->nelts) && !conf->error_log_format &&
           !conf->error_log_conn && !conf->error_log_req && !brg_client_mask_of_logs();
}

int log_said_begin(log_said *said)
{
    const conn_rec *c = said->c;

    BRG_ASSERT(said->s && c && c->client_ip && !c->outgoing);
    said->was_said = 0;
    said->id[0] = '\0';
    if (!said_is_plain(said->s) || !c->client_addr || c->client_addr->family == APR_UNIX)
        return 0;
    log_set_id(c, NULL);
    return 1;
}

const char *log_said_id(log_said *said)
{
    if (!said->was_said)
        return NULL;
    if (!said->id[0])
        log_put_new_id(said->id);
    return said->id;
}

/* ---- a line ---- */

static char *said_put(char *to, const char *text)
{
    return stpcpy(to, text);
}

static char *said_put_number(char *to, apr_uint64_t number)
{
    return to + brg_decimal_put(to, number);
}

/* All but the microseconds is the same for a second. */
static char *said_put_time(char *to, apr_time_t now)
{
    static _Thread_local struct {
        apr_int64_t second;
        char text[SAID_TIME + 1];
    } shown;
    unsigned rest = (unsigned)apr_time_usec(now);

    if (shown.second != apr_time_sec(now)) {
        int len = sizeof shown.text;

        ap_recent_ctime_ex(shown.text, now, AP_CTIME_OPTION_USEC, &len);
        shown.second = apr_time_sec(now);
    }
    memcpy(to, shown.text, SAID_TIME);
    for (int i = 5; i >= 0; i--, rest /= 10)
        to[SAID_MICROSECOND + i] = (char)('0' + rest % 10);
    return to + SAID_TIME;
}

static char *said_put_origin(char *to, const log_said *said, int module_index, int level)
{
    *to++ = '[';
    to = said_put_time(to, said->now);
    to = said_put(to, "] [");
    if (module_index >= 0)
        to = said_put(to, ap_find_module_short_name(module_index));
    *to++ = ':';
    to = said_put(to, log_level_name(level));
    to = said_put(to, "] [pid ");
    to = said_put_number(to, (apr_uint64_t)log_process());
    to = said_put(to, ":tid ");
    to = said_put_number(to, (apr_uint64_t)log_thread());
    to = said_put(to, "] [client ");
    to = said_put(to, said->c->client_ip);
    *to++ = ':';
    to = said_put_number(to, said->c->client_addr->port);
    return said_put(to, "] ");
}

static char *said_put_line(char *to, log_said *said, int module_index, int level, const char *text)
{
    const size_t len = strlen(text);

    BRG_ASSERT(len + said->referer.len <= LOG_SAID_MOST);
    to = said_put_origin(to, said, module_index, level);
    to += util_escape_errorlog(to, SAID_ESCAPED * len + 1, text, len);
    if (said->shows_id && level <= APLOG_ERR) {
        to = said_put(to, ", request: ");
        to = said_put(to, log_said_id(said));
    }
    if (said->referer.len) {
        to = said_put(to, ", referer: ");
        to += util_escape_errorlog(to, SAID_ESCAPED * said->referer.len + 1, said->referer.at,
                                   said->referer.len);
    }
    return to;
}

/* ---- lines of a turn ---- */

/* So many bytes stay together in a pipe, whoever else writes to it. */
#define SAID_KEPT PIPE_BUF

static _Thread_local struct {
    pid_t process; /* a child that was forked has them, too */
    int fd;
    unsigned n;
    size_t len;
    char lines[SAID_KEPT];
} said_kept;

void log_said_write(void)
{
    const size_t len = said_kept.len;

    if (!len)
        return;
    said_kept.len = 0;
    if (said_kept.process == log_process())
        log_write_lines(said_kept.fd, said_kept.lines, len, said_kept.n);
    said_kept.n = 0;
}

/* @return 0: it has to be written at once */
static int said_keep(const log_target *to, const char *line, size_t len)
{
    int fd;

    if (!brg_thread_is_loop() || log_has_lost() || len >= SAID_KEPT ||
        apr_os_file_get(&fd, to->file) != APR_SUCCESS)
        return 0;
    if (said_kept.fd != fd || len >= SAID_KEPT - said_kept.len)
        log_said_write();
    said_kept.process = log_process();
    said_kept.fd = fd;
    memcpy(said_kept.lines + said_kept.len, line, len);
    said_kept.len += len;
    said_kept.lines[said_kept.len++] = '\n';
    said_kept.n++;
    return 1;
}

void log_said_turn_end(apr_time_t now)
{
    (void)now;
    log_said_write();
}

void log_say(log_said *said, int module_index, int level, const char *text)
{
    const ap_errorlog_info info = {
        .s = said->s, .c = said->c, .level = level, .module_index = module_index};
    log_target target = log_find_target(&info);
    char line[LOG_LINE_BYTES], *end;

    BRG_ASSERT(!target.service && !(level & APLOG_TOCLIENT));
    if (!target.wanted)
        return;
    said->was_said = 1;
    end = said_put_line(line, said, module_index, level & APLOG_LEVELMASK, text);
    BRG_ASSERT(end < line + sizeof line);
    if (!said_keep(&target, line, (size_t)(end - line)))
        log_write_line(&target, &info, line, (int)(end - line));
}
