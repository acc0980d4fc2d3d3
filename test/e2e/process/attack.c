/* SPDX-License-Identifier: Apache-2.0 */
/* A module that attacks what the server's other processes believe of the one that it runs in. GET /attack?WAY does so, and answers with
 * "PID DONE": the process, and how often something worked that must not; or how much was attacked, for the test to see. */
#define _GNU_SOURCE
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t attack_seed = 88172645463325252u;

static uint64_t attack_random(void)
{
    attack_seed ^= attack_seed << 13;
    attack_seed ^= attack_seed >> 7;
    return attack_seed ^= attack_seed << 17;
}

/* ---- memory ---- */

static void attack_fill(char *from, const char *to, const char *with)
{
    if (!strcmp(with, "random"))
        for (uint64_t *at = (uint64_t *)from; (char *)(at + 1) <= to; at++)
            *at = attack_random();
    else
        memset(from, !strcmp(with, "ones") ? 0xff : !strcmp(with, "text") ? 'x' : 0,
               (size_t)(to - from));
}

/* All that is shared and can be written. @return bytes */
static long attack_memory(const char *with)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], mode[8];
    char *from[64], *to[64];
    long bytes = 0;
    int n = 0;

    while (maps && n < 64 && fgets(line, sizeof line, maps))
        if (sscanf(line, "%p-%p %7s", (void **)&from[n], (void **)&to[n], mode) == 3 &&
            mode[1] == 'w' && mode[3] == 's')
            bytes += to[n] - from[n], n++;
    if (maps)
        fclose(maps);
    while (n-- > 0)
        attack_fill(from[n], to[n], with);
    return bytes;
}

/* What is shared and cannot be written: a way to write it after all? @return how many there are */
static int attack_sealed(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], mode[8], path[128];
    int opened = 0, fd;
    void *from, *to;

    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%p-%p %7s", &from, &to, mode) != 3 || strcmp(mode, "r--s") ||
            !strstr(line, "memfd:"))
            continue;
        opened += !mprotect(from, 4096, PROT_READ | PROT_WRITE);
        opened += !madvise(from, 4096, MADV_REMOVE);
        snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", (long)from, (long)to);
        if ((fd = open(path, O_RDWR)) >= 0) {
            opened += write(fd, "x", 1) == 1 || !ftruncate(fd, 0);
            close(fd);
        }
    }
    if (maps)
        fclose(maps);
    return opened;
}

/* ---- descriptors ---- */

static int attack_each(int (*attack)(int fd))
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int done = 0;

    while (dir && (entry = readdir(dir)) != NULL)
        if (*entry->d_name != '.' && atoi(entry->d_name) != dirfd(dir))
            done += attack(atoi(entry->d_name));
    if (dir)
        closedir(dir);
    return done;
}

static int attack_is(int fd, int name)
{
    int value = 0;
    socklen_t len = sizeof value;

    return !getsockopt(fd, SOL_SOCKET, name, &value, &len) ? value : -1;
}

static int attack_is_local(int fd)
{
    return attack_is(fd, SO_DOMAIN) == AF_UNIX;
}

/* Files become short, and descriptors that are shared wait, or signal. */
static int attack_descriptor(int fd)
{
    struct stat st;
    int done = 0;

    if (fstat(fd, &st))
        return 0;
    done += !ftruncate(fd, 0);
    (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
    (void)!fchmod(fd, 0777);
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode) && attack_is(fd, SO_TYPE) < 0)
        fcntl(fd, F_SETFL, O_ASYNC);
    return done;
}

static int attack_flood(int fd)
{
    static const char letters[] = "RLGTxRL\0\xff";
    char text[4096];
    int done = 0;

    if (!attack_is_local(fd))
        return 0;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = letters[attack_random() % sizeof letters];
    for (int i = 0; i < 100000; i++) {
        size_t n = 1 + attack_random() % sizeof text;

        done += send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    }
    return done;
}

static int attack_descriptors_sent(int fd)
{
    char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int null = open("/dev/null", O_WRONLY), done = 0;

    head->cmsg_len = CMSG_LEN(sizeof null);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(head), &null, sizeof null);
    for (int i = 0; attack_is_local(fd) && i < 8; i++)
        done += sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    close(null);
    return done;
}

/* ---- listening sockets ---- */

static int attack_listening(int fd)
{
    if (attack_is(fd, SO_ACCEPTCONN) != 1)
        return 0;
    fcntl(fd, F_SETFL, 0);
    return !shutdown(fd, SHUT_RDWR);
}

static uint16_t attack_port;

/* It is a client's then, and cannot listen again; one of each address, since two cannot have the same connection. */
static int attack_listening_connect(int fd)
{
    struct sockaddr_in own;
    socklen_t len = sizeof own;

    if (attack_is(fd, SO_ACCEPTCONN) != 1 || getsockname(fd, (struct sockaddr *)&own, &len))
        return 0;
    own.sin_port = htons(attack_port);
    fcntl(fd, F_SETFL, 0);
    if (shutdown(fd, SHUT_RDWR))
        return 0;
    (void)connect(fd, (struct sockaddr *)&own, len);
    return 1;
}

static int attack_limits(void)
{
    static const int what[] = {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_NPROC, RLIMIT_CPU, RLIMIT_FSIZE};
    struct rlimit64 none = {0, 0};
    int done = 0;

    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        done += !prlimit64(getppid(), what[i], &none, NULL);
    return done;
}

static long attack_try(const char *way)
{
    if (!strncmp(way, "memory-", 7))
        return attack_memory(way + 7);
    if (!strcmp(way, "sealed"))
        return attack_sealed();
    if (!strcmp(way, "descriptors"))
        return attack_each(attack_descriptor);
    if (!strcmp(way, "flood"))
        return attack_each(attack_flood);
    if (!strcmp(way, "sent"))
        return attack_each(attack_descriptors_sent);
    if (!strncmp(way, "listening:", 10))
        return attack_each(attack_listening);
    if (!strncmp(way, "listening-connect:", 18)) {
        attack_port = (uint16_t)atoi(way + 18);
        return attack_each(attack_listening_connect);
    }
    if (!strcmp(way, "limits"))
        return attack_limits();
    return -1;
}

static int attack_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "attack"))
        return DECLINED;
    ap_rprintf(r, "%ld ", (long)getpid());
    ap_rflush(r); /* it may be the last word of this process */
    if (r->args && strcmp(r->args, "pid"))
        ap_rprintf(r, "%ld", attack_try(r->args));
    return OK;
}

static void attack_hooks(apr_pool_t *p)
{
    ap_hook_handler(attack_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(attack) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, attack_hooks, 0};
