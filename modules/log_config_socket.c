/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that go to a service of the machine, a datagram for each line: "syslog:" (RFC 3164, as syslog(3) sends it) and
 * "journald:" (the native protocol of systemd's journal). The log's own writer thread waits while the service is slow; while it
 * is away lines are lost and counted, and the next line tries again.
 */
#include "log_config_writer.h"
#include "apr_strings.h"
#include "apr_time.h"
#include "brigade/assert.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#define SOCKET_HEAD 256 /* bytes in front of a line */
#define SOCKET_TAG_MOST 64

struct log_socket {
    struct sockaddr_un to;
    const char *tag;
    int facility, journal;
};

static const struct {
    const char *name;
    int code;
} socket_facilities[] = {{"auth", LOG_AUTH},     {"authpriv", LOG_AUTHPRIV}, {"cron", LOG_CRON},
                         {"daemon", LOG_DAEMON}, {"ftp", LOG_FTP},           {"local0", LOG_LOCAL0},
                         {"local1", LOG_LOCAL1}, {"local2", LOG_LOCAL2},     {"local3", LOG_LOCAL3},
                         {"local4", LOG_LOCAL4}, {"local5", LOG_LOCAL5},     {"local6", LOG_LOCAL6},
                         {"local7", LOG_LOCAL7}, {"lpr", LOG_LPR},           {"mail", LOG_MAIL},
                         {"news", LOG_NEWS},     {"syslog", LOG_SYSLOG},     {"user", LOG_USER},
                         {"uucp", LOG_UUCP}};

int log_socket_is_named(const char *name)
{
    return !strncasecmp(name, "syslog:", 7) || !strncasecmp(name, "journald:", 9);
}

static int socket_facility(const char *name)
{
    for (apr_size_t i = 0; i < sizeof socket_facilities / sizeof *socket_facilities; i++)
        if (!strcasecmp(name, socket_facilities[i].name))
            return socket_facilities[i].code;
    return *name ? -1 : LOG_LOCAL7;
}

/* The next part of what stands between colons; "" if there is none. */
static const char *socket_part(apr_pool_t *p, const char **at)
{
    const char *from = *at, *end = strchrnul(from, ':');

    *at = *end ? end + 1 : end;
    return apr_pstrmemdup(p, from, (apr_size_t)(end - from));
}

const char *log_socket_parse(apr_pool_t *p, const char *name, log_socket **out)
{
    const int journal = !strncasecmp(name, "journald:", 9);
    log_socket *s = apr_pcalloc(p, sizeof *s);
    const char *at = name + (journal ? 9 : 7), *path;

    BRG_ASSERT(log_socket_is_named(name));
    *out = s;
    s->journal = journal;
    s->facility = journal ? LOG_LOCAL7 : socket_facility(socket_part(p, &at));
    if (s->facility < 0)
        return "unknown facility; they are auth, authpriv, cron, daemon, ftp, local0 to local7, "
               "lpr, mail, news, syslog, user, uucp";
    s->tag = socket_part(p, &at);
    if (!*s->tag)
        s->tag = "brigade";
    if (strlen(s->tag) > SOCKET_TAG_MOST || s->tag[strcspn(s->tag, " \t\r\n")])
        return "the tag has blanks, or more than 64 characters";
    path = *at ? at : journal ? "/run/systemd/journal/socket" : "/dev/log";
    if (*path != '/' || strlen(path) >= sizeof s->to.sun_path)
        return "the socket is an absolute path of at most 107 characters";
    s->to.sun_family = AF_UNIX;
    apr_cpystrn(s->to.sun_path, path, sizeof s->to.sun_path);
    return NULL;
}

static apr_status_t socket_close(void *fd)
{
    close((int)(intptr_t)fd);
    return APR_SUCCESS;
}

apr_status_t log_socket_open(apr_pool_t *p, int *fd)
{
    *fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    apr_pool_cleanup_register(p, (void *)(intptr_t)*fd, socket_close, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

static int socket_head(const log_socket *s, char head[SOCKET_HEAD])
{
    apr_time_exp_t t;

    if (s->journal)
        return apr_snprintf(head, SOCKET_HEAD,
                            "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=", LOG_INFO, s->tag);
    apr_time_exp_lt(&t, apr_time_now());
    return apr_snprintf(head, SOCKET_HEAD,
                        "<%d>%s %2d %02d:%02d:%02d %s[%d]: ", s->facility | LOG_INFO,
                        apr_month_snames[t.tm_mon], t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                        s->tag, (int)getpid());
}

static apr_status_t socket_send(const log_file *file, struct iovec parts[2])
{
    const struct msghdr msg = {.msg_name = (void *)(uintptr_t)&file->socket->to,
                               .msg_namelen = sizeof file->socket->to,
                               .msg_iov = parts,
                               .msg_iovlen = 2};
    const int flags = MSG_NOSIGNAL | (file->writer ? 0 : MSG_DONTWAIT); /* a loop does not wait */
    ssize_t n;

    do
        n = sendmsg(file->fd, &msg, flags);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : APR_SUCCESS;
}

apr_status_t log_socket_write(const log_file *file, const struct iovec *vec, int vec_n,
                              unsigned *left)
{
    char head[SOCKET_HEAD];
    struct iovec parts[2] = {{.iov_base = head}};
    apr_status_t rv = APR_SUCCESS, one;
    unsigned lost = 0;

    parts[0].iov_len = (apr_size_t)socket_head(file->socket, head);
    BRG_ASSERT(parts[0].iov_len < sizeof head);
    for (int i = 0; i < vec_n; i++) {
        char *at = vec[i].iov_base, *end = at + vec[i].iov_len;

        while (at < end) {
            char *feed = memchr(at, '\n', (apr_size_t)(end - at));

            parts[1].iov_base = at;
            /* The journal wants the line's end, syslog does not. */
            parts[1].iov_len =
                (apr_size_t)((feed ? feed : end) - at) + (feed && file->socket->journal);
            if ((one = socket_send(file, parts)) != APR_SUCCESS) {
                rv = one;
                lost++;
            }
            at = feed ? feed + 1 : end;
        }
    }
    *left = lost;
    return rv;
}
