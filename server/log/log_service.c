/* SPDX-License-Identifier: Apache-2.0 */
/* brigade/log_service.h: syslog and the journal, for error logs and access logs. */
#include "brigade/log_service.h"
#include "brigade/assert.h"
#include "httpd.h"
#include "apr_strings.h"
#include "apr_time.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define SERVICE_HEAD 256 /* bytes in front of a line */
#define SERVICE_TAG_MOST 64

struct brg_log_service {
    struct sockaddr_un to;
    const char *tag;
    int facility, journal;
};

static const struct {
    const char *name;
    int code;
} service_facilities[] = {
    {"auth", LOG_AUTH},     {"authpriv", LOG_AUTHPRIV}, {"cron", LOG_CRON},
    {"daemon", LOG_DAEMON}, {"ftp", LOG_FTP},           {"kern", LOG_KERN},
    {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1},     {"local2", LOG_LOCAL2},
    {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},     {"local5", LOG_LOCAL5},
    {"local6", LOG_LOCAL6}, {"local7", LOG_LOCAL7},     {"lpr", LOG_LPR},
    {"mail", LOG_MAIL},     {"news", LOG_NEWS},         {"syslog", LOG_SYSLOG},
    {"user", LOG_USER},     {"uucp", LOG_UUCP}};

static int service_facility(const char *name)
{
    for (size_t i = 0; i < sizeof service_facilities / sizeof *service_facilities; i++)
        if (!strcasecmp(name, service_facilities[i].name))
            return service_facilities[i].code;
    return *name ? -1 : LOG_LOCAL7;
}

/* Bytes of the word that @a name begins with and that is followed by a colon or nothing; 0: it is no service. */
static size_t service_word(const char *name)
{
    const size_t len = strcspn(name, ":");

    return (len == 6 && !strncasecmp(name, "syslog", len)) ||
                   (len == 8 && !strncasecmp(name, "journald", len))
               ? len
               : 0;
}

BRG_DECLARE(int) brg_log_service_is_named(const char *name)
{
    return service_word(name) != 0;
}

/* The next part between colons; "" at the end. */
static const char *service_part(apr_pool_t *p, const char **at)
{
    const char *from = *at, *end = strchrnul(from, ':');

    *at = *end ? end + 1 : end;
    return apr_pstrmemdup(p, from, (apr_size_t)(end - from));
}

BRG_DECLARE(const char *)
brg_log_service_parse(apr_pool_t *p, const char *name, brg_log_service **out)
{
    const size_t word = service_word(name);
    brg_log_service *s = apr_pcalloc(p, sizeof *s);
    const char *at = name + word + (name[word] == ':'), *path;

    BRG_ASSERT(word > 0);
    *out = s;
    s->journal = *name == 'j' || *name == 'J';
    s->facility = s->journal ? LOG_LOCAL7 : service_facility(service_part(p, &at));
    if (s->facility < 0)
        return "unknown facility; they are auth, authpriv, cron, daemon, ftp, kern, local0 to "
               "local7, lpr, mail, news, syslog, user, uucp";
    s->tag = service_part(p, &at);
    if (!*s->tag)
        s->tag = "brigade";
    if (strlen(s->tag) > SERVICE_TAG_MOST || s->tag[strcspn(s->tag, " \t\r\n")])
        return "the tag has blanks, or more than 64 characters";
    path = *at ? at : s->journal ? "/run/systemd/journal/socket" : "/dev/log";
    if (*path != '/' || strlen(path) >= sizeof s->to.sun_path)
        return "the socket is an absolute path of at most 107 characters";
    s->to.sun_family = AF_UNIX;
    apr_cpystrn(s->to.sun_path, path, sizeof s->to.sun_path);
    return NULL;
}

static apr_status_t service_close(void *fd)
{
    close((int)(intptr_t)fd);
    return APR_SUCCESS;
}

BRG_DECLARE(apr_status_t) brg_log_service_open(apr_pool_t *p, int *fd)
{
    *fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    apr_pool_cleanup_register(p, (void *)(intptr_t)*fd, service_close, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

static int service_head(const brg_log_service *s, int level, char head[SERVICE_HEAD])
{
    apr_time_exp_t t;

    if (s->journal)
        return apr_snprintf(head, SERVICE_HEAD,
                            "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=", level, s->tag);
    apr_time_exp_lt(&t, apr_time_now());
    return apr_snprintf(head, SERVICE_HEAD,
                        "<%d>%s %2d %02d:%02d:%02d %s[%d]: ", s->facility | level,
                        apr_month_snames[t.tm_mon], t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                        s->tag, (int)getpid());
}

/* There is no waiting for a datagram socket of another one with a limit, but by asking again. */
static apr_status_t service_send_briefly(int fd, const struct msghdr *msg)
{
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};

    for (int ms = 0; sendmsg(fd, msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0; ms += 5) {
        if ((errno != EAGAIN && errno != EINTR) || ms >= BRG_LOG_SERVICE_BRIEF_MS)
            return errno;
        nanosleep(&pause, NULL);
    }
    return APR_SUCCESS;
}

BRG_DECLARE(apr_status_t)
brg_log_service_send(const brg_log_service *s, int fd, int level, const char *line, apr_size_t len,
                     brg_log_service_wait wait)
{
    char head[SERVICE_HEAD], end[] = "\n";
    struct iovec parts[3] = {{.iov_base = head},
                             {.iov_base = (char *)(uintptr_t)line, .iov_len = len},
                             {.iov_base = end, .iov_len = 1}};
    /* The journal wants the line's end, syslog does not. */
    const struct msghdr msg = {.msg_name = (void *)(uintptr_t)&s->to,
                               .msg_namelen = sizeof s->to,
                               .msg_iov = parts,
                               .msg_iovlen = s->journal ? 3 : 2};
    const int flags = MSG_NOSIGNAL | (wait == BRG_LOG_SERVICE_LONG ? 0 : MSG_DONTWAIT);
    ssize_t n;

    BRG_ASSERT(level >= LOG_EMERG && level <= LOG_DEBUG && fd >= 0);
    parts[0].iov_len = (apr_size_t)service_head(s, level, head);
    BRG_ASSERT(parts[0].iov_len < sizeof head);
    if (wait == BRG_LOG_SERVICE_BRIEFLY)
        return service_send_briefly(fd, &msg);
    do
        n = sendmsg(fd, &msg, flags);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : APR_SUCCESS;
}
