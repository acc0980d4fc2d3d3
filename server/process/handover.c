/* SPDX-License-Identifier: Apache-2.0 */
#include "handover.h"
#include "supervisor_private.h"
#include "brigade/assert.h"
#include "kept_memory.h"
#include "listen_private.h"
#include "notify.h"

#include "http_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

MPM_USE_LOG_MODULE;

/* ---- giving ---- */

static struct {
    FILE *out;
    int over_exec; /* descriptors stay open over exec; 0: they do not */
} giving;

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
        fprintf(giving.out, "kept %d %zu %s\n", k->fd, k->bytes, k->name);
    }
}

static void give_given(void)
{
    const char *name;
    int fd;

    for (int i = 0; (fd = listen_given_handed(i, &name)) >= 0; i++) {
        give_descriptor(fd);
        fprintf(giving.out, "given %d %s\n", fd, name);
    }
}

static void give_addresses(void)
{
    listen_handed a;

    for (int i = 0; listen_socket_handed(i, &a); i++) {
        const unsigned char *addr = (const unsigned char *)&a.addr;

        fprintf(giving.out, "address %d ", a.given);
        for (socklen_t k = 0; k < a.addr_len; k++)
            fprintf(giving.out, "%02x", addr[k]);
        for (int k = 0; k < a.n; k++) {
            give_descriptor(a.fds[k]);
            fprintf(giving.out, " %d", a.fds[k]);
        }
        fputc('\n', giving.out);
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
        fprintf(giving.out, "child %ld %d %d %d %d %d %d %d\n", (long)c->pid, c->index,
                c->generation, c->fd, c->up, c->stopping, c->worn, c->slot);
    }
}

static void give_all(const char *program, int back)
{
    BRG_ASSERT(program && *program == '/');
    fprintf(giving.out, "brigade-handover %d\nprocess %ld\nprogram %s\n", HANDOVER_FORMAT,
            (long)getpid(), program);
    if (back >= 0) {
        fprintf(giving.out, "limit %d\n", mpm_reload_seconds);
        give_descriptor(back);
        fprintf(giving.out, "back %d\n", back);
    }
    fprintf(giving.out, "generation %d %d\n", mpm_generation, sup_serving());
    give_kept();
    give_given();
    give_addresses();
    give_children();
}

static int give_write(int fd, const char *program, int back)
{
    int copy = dup(fd), failed;

    BRG_ASSERT(!giving.out);
    if (copy < 0 || !(giving.out = fdopen(copy, "w")))
        return -1;
    giving.over_exec = 1;
    give_all(program, back);
    failed = fflush(giving.out) | ferror(giving.out);
    failed |= fclose(giving.out);
    giving.out = NULL;
    return failed ? -1 : 0;
}

int handover_give(const char *program, int back)
{
    int fd = memfd_create("handover", 0);
    char number[16];

    if (fd < 0 || give_write(fd, program, back) || lseek(fd, 0, SEEK_SET)) {
        int error = errno;

        handover_undo(fd);
        errno = error;
        return -1;
    }
    snprintf(number, sizeof number, "%d", fd);
    setenv(HANDOVER_VARIABLE, number, 1);
    notify_environment(1);
    return fd;
}

void handover_undo(int fd)
{
    BRG_ASSERT(!giving.out);
    unsetenv(HANDOVER_VARIABLE);
    notify_environment(0);
    if (fd >= 0)
        close(fd);
    if (!(giving.out = fopen("/dev/null", "we")))
        return;
    giving.over_exec = 0;
    give_all("/", -1);
    fclose(giving.out);
    giving.out = NULL;
}

/* ---- taking ---- */

/* 1 for a descriptor that is open; programs that this one starts do not get it. */
static int take_descriptor(int fd)
{
    return fd > STDERR_FILENO && !fcntl(fd, F_SETFD, FD_CLOEXEC);
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

static const char *take_sockaddr(const char *line, listen_handed *a)
{
    unsigned char *addr = (unsigned char *)&a->addr;
    unsigned byte;

    while (a->addr_len < sizeof a->addr && sscanf(line, "%2x", &byte) == 1) {
        addr[a->addr_len++] = (unsigned char)byte;
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
    line = take_sockaddr(line + at, &a);
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
    else if (!strcmp(word, "kept"))
        take_kept(rest);
    else if (!strcmp(word, "given"))
        take_given(rest);
    else if (!strcmp(word, "address"))
        take_address(rest);
    else if (!strcmp(word, "child"))
        take_child(rest);
}

/* 1 if the first two lines say that this is ours. */
static int take_begin(FILE *in)
{
    int format;
    long pid;

    return fscanf(in, "brigade-handover %d\nprocess %ld\n", &format, &pid) == 2 &&
           format == HANDOVER_FORMAT && pid == (long)getpid();
}

static void take_lines(FILE *in, handover_state *out)
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
}

int handover_take(handover_state *out)
{
    const char *number = getenv(HANDOVER_VARIABLE);
    int fd = number ? atoi(number) : -1, ours;
    FILE *in;

    *out = (handover_state){.back = -1, .limit = MPM_DEFAULT_RELOAD_SECONDS};
    unsetenv(HANDOVER_VARIABLE);
    if (fd <= STDERR_FILENO || !(in = fdopen(fd, "r")))
        return 0;
    ours = take_begin(in);
    if (ours)
        take_lines(in, out);
    fclose(in);
    BRG_ASSERT(ours || !out->program);
    return ours && out->program;
}
