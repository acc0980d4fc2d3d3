/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small services of the operating system: random bytes, load, host name, the output of a command.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_main.h"
#include "ap_mpm.h"
#include "scoreboard.h"
#include "apr_general.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"

APLOG_USE_MODULE(core);

/*
 * Random bytes come from the kernel, in batches per thread: no lock, and one system call for dozens
 * of small requests. A batch that a fork copied must not be used by both processes, so the child
 * counts the generation up and every thread compares.
 */
#define UTIL_RANDOM_BATCH 256 /* getrandom() never returns less than asked up to this size */

/* Relaxed: it changes in a new process, which has one thread. */
static atomic_uint util_random_generation = 1;

static _Thread_local struct {
    unsigned generation, left;
    unsigned char bytes[UTIL_RANDOM_BATCH];
} util_random;

static void util_random_forked(void)
{
    atomic_fetch_add_explicit(&util_random_generation, 1, memory_order_relaxed);
}

static void util_random_watch(void)
{
    pthread_atfork(NULL, NULL, util_random_forked);
}

/* For kernels and sandboxes without getrandom(). A server does not go on with bytes that others can
 * guess. */
static void util_random_read(unsigned char *at, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : 1;

    while (n > 0 && got > 0) {
        do
            got = read(fd, at, n);
        while (got < 0 && errno == EINTR);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    if (n > 0) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_EMERG, got < 0 ? errno : 0, NULL,
                     "no random bytes, neither from getrandom() nor from /dev/urandom: ending");
        exit(1);
    }
    close(fd);
}

static void util_random_fill(void *buf, size_t n)
{
    unsigned char *at = buf;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got > 0) {
            BRG_ASSERT((size_t)got <= n);
            at += got;
            n -= (size_t)got;
        } else if (errno != EINTR) {
            util_random_read(at, n);
            return;
        }
    }
}

AP_DECLARE(void) ap_random_insecure_bytes(void *buf, apr_size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned generation;

    if (size > UTIL_RANDOM_BATCH / 2) {
        util_random_fill(buf, size);
        return;
    }
    generation = atomic_load_explicit(&util_random_generation, memory_order_relaxed);
    if (util_random.left < size || util_random.generation != generation) {
        pthread_once(&once, util_random_watch);
        util_random_fill(util_random.bytes, UTIL_RANDOM_BATCH);
        util_random.left = UTIL_RANDOM_BATCH;
        util_random.generation = generation;
    }
    BRG_ASSERT(util_random.left >= size && util_random.left <= UTIL_RANDOM_BATCH);
    util_random.left -= (unsigned)size;
    memcpy(buf, util_random.bytes + util_random.left, size);
}

/* Values beyond the last whole multiple of the range are thrown away, so that none is favoured. */
AP_DECLARE(apr_uint32_t) ap_random_pick(apr_uint32_t min, apr_uint32_t max)
{
    apr_uint32_t value, range = max - min + 1, surplus;

    if (max <= min)
        return min;
    surplus = range ? (APR_UINT32_MAX - range + 1) % range : 0;
    do {
        ap_random_insecure_bytes(&value, sizeof(value));
    } while (value < surplus);
    return range ? min + value % range : value;
}

AP_DECLARE(void) ap_get_loadavg(ap_loadavg_t *ld)
{
    double load[3];

    ld->loadavg = ld->loadavg5 = ld->loadavg15 = -1.0f;
    if (getloadavg(load, 3) == 3) {
        ld->loadavg = (float)load[0];
        ld->loadavg5 = (float)load[1];
        ld->loadavg15 = (float)load[2];
    }
}

typedef struct util_load {
    int ready, busy;
} util_load;

static void util_count_worker(ap_sload_t *ld, util_load *load, int process, int thread)
{
    worker_score *worker = ap_get_scoreboard_worker_from_indexes(process, thread);

    if (!worker)
        return;
    if (worker->status == SERVER_READY)
        load->ready++;
    else if (worker->status != SERVER_DEAD && worker->status != SERVER_STARTING &&
             worker->status != SERVER_IDLE_KILL)
        load->busy++;
    ld->access_count += worker->access_count;
    ld->bytes_served += worker->bytes_served;
}

AP_DECLARE(void) ap_get_sload(ap_sload_t *ld)
{
    int processes = 0, threads = 0, i, j, all;
    util_load load = {0, 0};

    ld->idle = ld->busy = -1;
    ld->bytes_served = 0;
    ld->access_count = 0;
    if (!ap_exists_scoreboard_image() ||
        ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &processes) != APR_SUCCESS ||
        ap_mpm_query(AP_MPMQ_HARD_LIMIT_THREADS, &threads) != APR_SUCCESS)
        return;
    for (i = 0; i < processes; i++)
        for (j = 0; j < threads; j++)
            util_count_worker(ld, &load, i, j);
    all = load.ready + load.busy;
    ld->idle = all ? load.ready * 100 / all : 0;
    ld->busy = all ? load.busy * 100 / all : 0;
}

AP_DECLARE(char *) ap_append_pid(apr_pool_t *p, const char *string, const char *delim)
{
    return apr_psprintf(p, "%s%s%" APR_PID_T_FMT, string, delim, getpid());
}

static const char *util_canonical_host(apr_pool_t *p, const char *name)
{
    struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM}, *found = NULL;
    const char *host = NULL;

    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return NULL;
    if (found && found->ai_canonname && strchr(found->ai_canonname, '.'))
        host = apr_pstrdup(p, found->ai_canonname);
    freeaddrinfo(found);
    return host;
}

char *ap_get_local_host(apr_pool_t *p)
{
    char name[APRMAXHOSTLEN + 1];
    const char *host = NULL;

    if (apr_gethostname(name, sizeof(name), p) == APR_SUCCESS) {
        name[sizeof(name) - 1] = '\0';
        host = util_canonical_host(p, name);
    }
    if (!host)
        host = apr_pstrdup(p, "127.0.0.1");
    ap_log_perror(APLOG_MARK, APLOG_ALERT | APLOG_STARTUP, 0, p,
                  APLOGNO(00558) "%s: Could not reliably determine the server's fully qualified "
                                 "domain name, using %s. Set the 'ServerName' directive globally "
                                 "to suppress this message",
                  ap_server_argv0 ? ap_server_argv0 : "brigade", host);
    return (char *)host;
}

AP_DECLARE(char *) ap_get_exec_line(apr_pool_t *p, const char *cmd, const char *const *argv)
{
    char line[MAX_STRING_LEN];
    apr_procattr_t *attr;
    apr_proc_t *proc = apr_pcalloc(p, sizeof(*proc));
    apr_size_t len = sizeof(line) - 1;

    if (apr_procattr_create(&attr, p) != APR_SUCCESS ||
        apr_procattr_io_set(attr, APR_FULL_BLOCK, APR_FULL_BLOCK, APR_NO_PIPE) != APR_SUCCESS ||
        apr_procattr_cmdtype_set(attr, APR_PROGRAM) != APR_SUCCESS ||
        apr_proc_create(proc, cmd, argv, NULL, attr, p) != APR_SUCCESS)
        return NULL;
    apr_file_close(proc->in);
    if (apr_file_gets(line, (int)len, proc->out) != APR_SUCCESS)
        line[0] = '\0';
    apr_file_close(proc->out);
    apr_proc_wait(proc, NULL, NULL, APR_WAIT);
    line[strcspn(line, "\r\n")] = '\0';
    return line[0] ? apr_pstrdup(p, line) : NULL;
}
