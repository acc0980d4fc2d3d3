/* SPDX-License-Identifier: Apache-2.0 */
/* brigade --calibrate-delivery DIR: the cost of sending files of that file system, by size and by
 * way. The defaults of the server (file_window.h) come from such a table. */
#include "main_parts.h"
#include "file_window.h"
#include "thread_self.h"
#include "transport.h"
#include "apr_strings.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALIBRATE_MIB ((size_t)1 << 20)
#define CALIBRATE_BYTES (128 * CALIBRATE_MIB) /* sent for each figure, at least, */
#define CALIBRATE_TIMES 4096                  /* but a file no more often than that */
#define CALIBRATE_TRIES 3                     /* the best one counts */
#define CALIBRATE_WAIT apr_time_from_sec(10)  /* for the reader, which never waits itself */

static const size_t calibrate_sizes[] = {1 << 10,
                                         4 << 10,
                                         8 << 10,
                                         16 << 10,
                                         64 << 10,
                                         256 << 10,
                                         CALIBRATE_MIB,
                                         4 * CALIBRATE_MIB,
                                         8 * CALIBRATE_MIB,
                                         16 * CALIBRATE_MIB,
                                         100 * CALIBRATE_MIB};

typedef struct calibrate_link {
    int fd;
    pid_t reader;
} calibrate_link;

static int calibrate_failed(const char *what, const char *of)
{
    fprintf(stderr, "brigade: cannot %s %s: %s\n", what, of, strerror(errno));
    return -1;
}

static void calibrate_read(const struct sockaddr_in *address)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    static char drop[256 * 1024];

    if (fd >= 0 && !connect(fd, (const struct sockaddr *)address, sizeof *address))
        while (recv(fd, drop, sizeof drop, MSG_TRUNC) > 0)
            continue;
    _exit(0);
}

/* A connection over loopback to a process that throws its input away. */
static int calibrate_connect(calibrate_link *l)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &len) || (l->reader = fork()) < 0)
        return calibrate_failed("connect to", "the loopback interface");
    if (!l->reader)
        calibrate_read(&address);
    l->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    close(listener);
    return l->fd < 0 ? calibrate_failed("connect to", "the loopback interface") : 0;
}

static int calibrate_file(const char *folder, size_t size, apr_pool_t *p)
{
    char *name = apr_pstrcat(p, folder, "/brigade-calibrate-XXXXXX", NULL), *block;
    const int fd = mkstemp(name);

    if (fd < 0)
        return calibrate_failed("make a file in", folder);
    unlink(name);
    block = apr_palloc(p, CALIBRATE_MIB);
    memset(block, 'x', CALIBRATE_MIB);
    for (size_t done = 0; done < size;) {
        const size_t want = size - done < CALIBRATE_MIB ? size - done : CALIBRATE_MIB;
        const ssize_t n = write(fd, block, want);

        if (n <= 0) {
            calibrate_failed("write to a file in", folder);
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

static ssize_t calibrate_piece(int to, int fd, off_t off, size_t len, file_way way)
{
    file_window w;
    ssize_t n;

    if (way == FILE_BY_SENDFILE)
        return sendfile(to, fd, &off, len);
    if (way == FILE_BY_WINDOW) {
        if (file_window_open(&w, fd, off, len))
            return -1;
        n = send(to, w.data, w.len, MSG_NOSIGNAL);
        file_window_close(&w);
        return n;
    }
    n = pread(fd, thread_buffer(), len < THREAD_BUFFER_BYTES ? len : THREAD_BUFFER_BYTES, off);
    return n <= 0 ? n : send(to, thread_buffer(), (size_t)n, MSG_NOSIGNAL);
}

/* 0: all was sent. */
static int calibrate_send(int to, int fd, size_t size, file_way way)
{
    for (size_t off = 0; off < size;) {
        const ssize_t n = calibrate_piece(to, fd, (off_t)off, size - off, way);

        if (n > 0)
            off += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
                 socket_wait(to, 1, CALIBRATE_WAIT) != APR_SUCCESS)
            return -1;
    }
    return 0;
}

static double calibrate_cpu_ms(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

/* Milliseconds of CPU time for a GiB; negative: this way cannot be gone. */
static double calibrate_cost(int to, int fd, size_t size, file_way way)
{
    const size_t wanted = CALIBRATE_BYTES / size + 1;
    const size_t times = wanted < CALIBRATE_TIMES ? wanted : CALIBRATE_TIMES;
    double best = -1;

    for (int i = 0; i < CALIBRATE_TRIES; i++) {
        const double began = calibrate_cpu_ms();
        double cost;

        for (size_t k = 0; k < times; k++)
            if (calibrate_send(to, fd, size, way))
                return -1;
        cost = (calibrate_cpu_ms() - began) * 1024 / ((double)(times * size) / CALIBRATE_MIB);
        best = best < 0 || cost < best ? cost : best;
    }
    return best;
}

static void calibrate_print(double cost)
{
    if (cost < 0)
        printf(" %10s", "-");
    else
        printf(" %10.1f", cost);
}

static int calibrate_row(const calibrate_link *l, const char *folder, size_t size, apr_pool_t *p)
{
    const int fd = calibrate_file(folder, size, p);

    if (fd < 0)
        return -1;
    printf("%10zu", size / 1024);
    calibrate_print(calibrate_cost(l->fd, fd, size, FILE_BY_READS));
    calibrate_print(calibrate_cost(l->fd, fd, size, FILE_BY_WINDOW));
    calibrate_print(calibrate_cost(l->fd, fd, size, FILE_BY_SENDFILE));
    printf("\n");
    fflush(stdout);
    close(fd);
    return 0;
}

static int calibrate(const char *folder, apr_pool_t *p)
{
    calibrate_link l = {-1, -1};
    int rc = thread_buffer() ? calibrate_connect(&l) : -1;

    if (!rc)
        printf(
            "Files of %s, sent over the loopback interface: CPU time of the sender in ms for each "
            "GiB\n\n%10s %10s %10s %10s\n",
            folder, "KiB", "read", "mapped", "sendfile");
    for (size_t i = 0; !rc && i < sizeof calibrate_sizes / sizeof *calibrate_sizes; i++)
        rc = calibrate_row(&l, folder, calibrate_sizes[i], p);
    if (!rc)
        printf("\nEnableSendfile On takes the last column. Else EnableMMAP On, the default, takes "
               "the one "
               "before it while\n%d KiB or more are left of a file, and reads the rest.\n",
               FILE_WINDOW_LEAST / 1024);
    if (!rc)
        printf("FileWindowLeast and FileSendfileLeast set where the second and the last column "
               "begin.\n");
    close(l.fd);
    if (l.reader > 0)
        waitpid(l.reader, NULL, 0);
    return rc ? 1 : 0;
}

void main_calibrate(process_rec *process)
{
    if (process->argc < 2 || strcmp(process->argv[1], "--calibrate-delivery"))
        return;
    if (process->argc != 3) {
        main_print_usage(stderr, process->argv[0]);
        mpm_process_exit(process, 2);
    }
    mpm_process_exit(process, calibrate(process->argv[2], process->pool));
}
