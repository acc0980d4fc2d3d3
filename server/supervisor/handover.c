/* SPDX-License-Identifier: Apache-2.0 */
/* State for the next program, as lines in a file without a name (handover.h). */
#include "handover.h"
#include "nameless_file.h"
#include "supervisor_parts.h"
#include "brigade/assert.h"
#include "kept_memory.h"
#include "kept_secret.h"
#include "listen_sockets.h"
#include "notify.h"
#include "pidfile.h"

#include "http_log.h"

#include "apr_escape.h"
#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

#define HANDOVER_BEGIN "brigade-handover %d\nprocess %ld\n"

/* ---- giving ---- */

/* From a signal handler, too: nothing here may take memory from the heap, or write by stdio. */
static struct {
    int out;       /* -1: nothing is written */
    int failed;    /* errno of the first failure */
    int over_exec; /* descriptors stay open over exec; 0: they do not */
    int secrets;   /* of kept_secret_give(); -1: none */
    size_t len;
    char text[8192];
} giving = {.out = -1, .secrets = -1};

static void give_flush(void)
{
    for (size_t at = 0; at < giving.len && !giving.failed;) {
        ssize_t n = write(giving.out, giving.text + at, giving.len - at);

        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR)
            giving.failed = errno;
    }
    giving.len = 0;
}

/* A piece of less than half of the buffer: paths are shorter. */
__attribute__((format(printf, 1, 2))) static void give(const char *format, ...)
{
    va_list args;

    BRG_ASSERT(giving.len <= sizeof giving.text);
    if (giving.out < 0)
        return;
    if (giving.len > sizeof giving.text / 2)
        give_flush();
    va_start(args, format);
    giving.len += (size_t)apr_vsnprintf(giving.text + giving.len, sizeof giving.text - giving.len,
                                        format, args);
    va_end(args);
}

static void give_descriptor(int fd)
{
    if (fd >= 0)
        fcntl(fd, F_SETFD, giving.over_exec ? 0 : FD_CLOEXEC);
}

static void give_kept(void)
{
    const kept_memory *k;

    for (int i = 0; (k = kept_memory_get(i)) != NULL; i++) {
        give_descriptor(k->fd);
        give("kept %d %" APR_SIZE_T_FMT " %s\n", k->fd, k->bytes, k->name);
    }
}

static void give_given(void)
{
    const char *name;
    int fd;

    for (int i = 0; (fd = listen_given_handed(i, &name)) >= 0; i++) {
        give_descriptor(fd);
        give("given %d %s\n", fd, name);
    }
}

/* Each socket of a group with the generation that has it, in their order. */
static void give_udp(void)
{
    static listen_udp_handed_over a; /* large */

    for (int i = 0; listen_udp_handed(i, &a); i++) {
        char hex[2 * sizeof a.addr + 1];

        apr_escape_hex(hex, &a.addr, a.addr_len, 0, NULL);
        give("udp %s", hex);
        for (int k = 0; k < a.n; k++) {
            give_descriptor(a.fds[k]);
            give(" %d:%d", a.fds[k], a.generation[k]);
        }
        give("\n");
    }
}

static void give_addresses(void)
{
    listen_handed a;

    for (int i = 0; listen_socket_handed(i, &a); i++) {
        char hex[2 * sizeof a.addr + 1];

        apr_escape_hex(hex, &a.addr, a.addr_len, 0, NULL);
        give("address %d %s", a.given, hex);
        for (int k = 0; k < a.n; k++) {
            give_descriptor(a.fds[k]);
            give(" %d", a.fds[k]);
        }
        give("\n");
    }
}

/* Those of the generation that this program itself started and that never served are not handed on. */
static void give_children(void)
{
    for (const sup_process *c = sup_processes; c; c = c->next) {
        BRG_ASSERT(c->pid > 0);
        if (c->generation == mpm_generation)
            continue;
        give_descriptor(c->fd);
        give("child %ld %d %d %d %d %d %d %d\n", (long)c->pid, c->index, c->generation, c->fd,
             c->up, c->stopping, c->worn, c->slot);
    }
}

static void give_all(const char *program, int back)
{
    BRG_ASSERT(program && *program == '/');
    give(HANDOVER_BEGIN "program %s\n", HANDOVER_FORMAT, (long)getpid(), program);
    if (back >= 0) {
        give("limit %d\n", mpm_settings.reload_seconds);
        give_descriptor(back);
        give("back %d\n", back);
    }
    if (upgrade_watch_fd() >= 0) {
        give_descriptor(upgrade_watch_fd());
        give("watch %d\n", upgrade_watch_fd());
    }
    give("generation %d %d\n", mpm_generation, sup_serving());
    if (giving.over_exec && (giving.secrets = kept_secret_give()) >= 0)
        give("secrets %d\n", giving.secrets);
    if (pidfile_which())
        give("pid-file %s\n", pidfile_which());
    give("failed %d\n", sup_has_failed());
    give_kept();
    give_given();
    give_addresses();
    give_udp();
    give_children();
}

static int give_write(int fd, const char *program, int back)
{
    BRG_ASSERT(giving.out < 0 && fd >= 0);
    giving.out = fd;
    giving.over_exec = 1;
    giving.failed = 0;
    give_all(program, back);
    give_flush();
    giving.out = -1;
    errno = giving.failed;
    return giving.failed ? -1 : 0;
}

/* ---- its environment ---- */

static struct {
    char **list;
    size_t bytes;
} next;

/* Pages of its own: the heap may be in the middle of a change. */
static int next_make(const char *variable)
{
    static char own[] = HANDOVER_VARIABLE "=";
    char *const *more = notify_environment();
    size_t n = 0, size = 0;

    while (environ && environ[size])
        size++;
    next.bytes = (size + 4) * sizeof *next.list;
    next.list = mmap(NULL, next.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (next.list == MAP_FAILED) {
        next.list = NULL;
        return -1;
    }
    for (size_t i = 0; i < size; i++)
        if (strncmp(environ[i], own, sizeof own - 1))
            next.list[n++] = environ[i];
    next.list[n++] = (char *)variable;
    for (int i = 0; i < 2 && more[i]; i++)
        next.list[n++] = more[i];
    BRG_ASSERT(n < size + 4 && !next.list[n]);
    return 0;
}

int handover_give(const char *program, int back, char ***environment)
{
    static char variable[sizeof HANDOVER_VARIABLE + 32];
    int fd = nameless_file("handover", 0);

    apr_snprintf(variable, sizeof variable, HANDOVER_VARIABLE "=%d %d", fd, back);
    if (fd < 0 || give_write(fd, program, back) || lseek(fd, 0, SEEK_SET) || next_make(variable)) {
        int error = errno;

        handover_undo(fd);
        errno = error;
        return -1;
    }
    *environment = next.list;
    return fd;
}

void handover_undo(int fd)
{
    BRG_ASSERT(giving.out < 0);
    if (next.list)
        munmap(next.list, next.bytes);
    next.list = NULL;
    if (fd >= 0)
        close(fd);
    giving.over_exec = 0;
    if (giving.secrets >= 0)
        close(giving.secrets);
    giving.secrets = -1;
    give_all("/", -1);
}

/* ---- taking ---- */

#define TAKEN_MOST 65536

static uint8_t taken[TAKEN_MOST / 8]; /* descriptors: handover_return() */

/* 1 for a descriptor that is open; programs that this one starts do not get it. */
static int take_descriptor(int fd)
{
    if (fd <= STDERR_FILENO || fcntl(fd, F_SETFD, FD_CLOEXEC))
        return 0;
    if (fd < TAKEN_MOST)
        taken[fd / 8] |= (uint8_t)(1u << fd % 8);
    return 1;
}

int handover_left(int *back)
{
    char *number = getenv(HANDOVER_VARIABLE), *end, begin[64];
    int fd, format;
    ssize_t n;
    long pid;

    if (!number)
        return -1;
    fd = (int)strtol(number, &end, 10);
    n = pread(fd, begin, sizeof begin - 1, 0);
    begin[n > 0 ? n : 0] = '\0';
    if (sscanf(begin, HANDOVER_BEGIN, &format, &pid) != 2 || pid != (long)getpid())
        return -1;
    *back = *end == ' ' ? atoi(end + 1) : -1;
    *end = '\0';
    return fd;
}

void handover_return(int fd)
{
    lseek(fd, 0, SEEK_SET);
    for (int i = 0; i < TAKEN_MOST; i++)
        if (taken[i / 8] & 1u << i % 8)
            fcntl(i, F_SETFD, 0);
}

static void take_kept(const char *line)
{
    char name[KEPT_MEMORY_NAME];
    size_t bytes;
    int fd;

    if (sscanf(line, "%d %zu %31s", &fd, &bytes, name) == 3 && take_descriptor(fd))
        kept_memory_take(name, bytes, fd);
}

static void take_given(const char *line)
{
    int fd, at = 0;

    if (sscanf(line, "%d %n", &fd, &at) == 1 && at && take_descriptor(fd))
        listen_given_take(fd, line + at);
}

static const char *take_sockaddr(const char *line, struct sockaddr_storage *to, socklen_t *len)
{
    unsigned char *addr = (unsigned char *)to;
    unsigned byte;

    while (*len < sizeof *to && sscanf(line, "%2x", &byte) == 1) {
        addr[(*len)++] = (unsigned char)byte;
        line += 2;
        if (*line == ' ' || !*line)
            break;
    }
    return line;
}

static void take_address(const char *line)
{
    listen_handed a = {.given = -1};
    int at = 0, *fds = NULL;
    char *end;

    if (sscanf(line, "%d %n", &a.given, &at) != 1 || !at)
        return;
    line = take_sockaddr(line + at, &a.addr, &a.addr_len);
    for (long fd; (fd = strtol(line, &end, 10), end != line); line = end)
        if (take_descriptor((int)fd)) {
            fds = ap_realloc(fds, (size_t)(a.n + 1) * sizeof *fds);
            fds[a.n++] = (int)fd;
        }
    a.fds = fds;
    if (a.n)
        listen_socket_take(&a);
    free(fds);
}

static void take_udp(const char *line)
{
    static listen_udp_handed_over a;
    int fd, generation, at;

    a = (listen_udp_handed_over){.n = 0};
    line = take_sockaddr(line, &a.addr, &a.addr_len);
    while (sscanf(line, " %d:%d%n", &fd, &generation, &at) == 2) {
        line += at;
        if (!take_descriptor(fd) || a.n == (int)(sizeof a.fds / sizeof *a.fds))
            return; /* the others would have another meaning */
        a.fds[a.n] = fd;
        a.generation[a.n++] = generation;
    }
    if (a.n)
        listen_udp_take(&a);
}

static void take_child(const char *line)
{
    sup_process c = {.slot = -1, .started = clock_monotonic()};
    int up, stopping, worn;
    long pid;

    if (sscanf(line, "%ld %d %d %d %d %d %d %d", &pid, &c.index, &c.generation, &c.fd, &up,
               &stopping, &worn, &c.slot) < 7 ||
        pid <= 1 || c.index < 0 || c.index >= MPM_MAX_PREFORK || c.generation == mpm_generation)
        return;
    c.pid = (pid_t)pid;
    c.up = up != 0;
    c.stopping = stopping != 0;
    c.worn = worn != 0;
    if (c.fd >= 0 && !take_descriptor(c.fd))
        c.fd = -1;
    sup_children_take(&c);
}

static void take_line(handover_state *out, const char *word, const char *rest)
{
    int serving;

    if (!strcmp(word, "program"))
        out->program = strdup(rest);
    else if (!strcmp(word, "limit") && atoi(rest) > 0)
        out->limit = atoi(rest);
    else if (!strcmp(word, "back"))
        out->back = take_descriptor(atoi(rest)) ? atoi(rest) : -1;
    else if (!strcmp(word, "generation") && sscanf(rest, "%d %d", &mpm_generation, &serving) == 2 &&
             serving < mpm_generation)
        sup_take_over(serving);
    else if (!strcmp(word, "watch") && take_descriptor(atoi(rest)))
        upgrade_watch_take(atoi(rest));
    else if (!strcmp(word, "secrets") && take_descriptor(atoi(rest)))
        kept_secret_take(atoi(rest));
    else if (!strcmp(word, "pid-file"))
        pidfile_logged(rest);
    else if (!strcmp(word, "failed"))
        sup_reading_failed(atoi(rest) > 0 ? atoi(rest) : 0);
    else if (!strcmp(word, "kept"))
        take_kept(rest);
    else if (!strcmp(word, "given"))
        take_given(rest);
    else if (!strcmp(word, "address"))
        take_address(rest);
    else if (!strcmp(word, "udp"))
        take_udp(rest);
    else if (!strcmp(word, "child"))
        take_child(rest);
}

/* 1 if the first two lines say that this is ours. */
static int take_begin(FILE *in)
{
    int format;
    long pid;

    return fscanf(in, HANDOVER_BEGIN, &format, &pid) == 2 && format == HANDOVER_FORMAT &&
           pid == (long)getpid();
}

/* @return 0: there is no memory for a line */
static int take_lines(FILE *in, handover_state *out)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, in) > 0) {
        size_t word = strcspn(line, " ");

        line[strcspn(line, "\n")] = '\0';
        if (!line[word])
            continue;
        line[word] = '\0';
        take_line(out, line, line + word + 1);
    }
    free(line);
    return feof(in);
}

int handover_take(handover_state *out)
{
    const char *number = getenv(HANDOVER_VARIABLE);
    int fd = number ? atoi(number) : -1;
    FILE *in;

    *out = (handover_state){.back = -1, .limit = MPM_DEFAULT_RELOAD_SECONDS};
    if (fd <= STDERR_FILENO || !(in = fdopen(fd, "r")))
        return 0;
    if (!take_begin(in) || !take_lines(in, out) || !out->program)
        return 0; /* the file stays open for whoever comes back */
    unsetenv(HANDOVER_VARIABLE);
    fclose(in);
    return 1;
}
