/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MemoryTrace FILE [requests=N] [bytes=SIZE]: calls that requests make of their pools are recorded in the
 * form that brigade-membench replays.
 *
 * The file is opened with the logs, as the user who starts the server, and written at its end only:
 * restarts append to it. A file that is no trace is never touched.
 */
#include "httpd.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/sms.h"
#include "memory_settings.h"
#include "memory_scope.h"
#include "pool_trace.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(memory);

#define TRACE_REQUESTS 1000
#define TRACE_BYTES ((apr_size_t)16 << 20)

typedef struct memory_trace {
    const char *path;  /* NULL: nothing is recorded */
    const char *place; /* "line 7 of /etc/x.conf": where the directive stands */
    apr_size_t requests, bytes;
    pool_trace_file file;
} memory_trace;

static memory_trace trace_conf;

/* ---- the directive ---- */

static const char *trace_option(apr_pool_t *p, const char *word)
{
    const char *value = strchr(word, '=');
    apr_size_t *where = NULL;

    if (value != NULL && strncmp(word, "requests=", 9) == 0)
        where = &trace_conf.requests;
    else if (value != NULL && strncmp(word, "bytes=", 6) == 0)
        where = &trace_conf.bytes;
    if (where == NULL)
        return apr_psprintf(p, "MemoryTrace: \"%s\" is none of requests=N, bytes=SIZE", word);
    if (brg_sms_parse_size(value + 1, where) != 0 || *where == 0)
        return apr_psprintf(p, "MemoryTrace: \"%s\" is no number above 0, such as 500 or 4M",
                            value + 1);
    return NULL;
}

/* Reads the file so far. @return the size of a trace, 0 for an empty file, -1 for any other: errno,
 * which is 0 where it is no trace */
static off_t trace_look(int fd)
{
    char head[sizeof(POOL_TRACE_HEAD) - 1];
    struct stat st;
    ssize_t n;

    BRG_ASSERT(fd >= 0);
    if (fstat(fd, &st) != 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = 0;
        return -1;
    }
    n = pread(fd, head, sizeof(head), 0);
    if (n < 0)
        return -1;
    if (n > 0 && (n < (ssize_t)sizeof(head) || memcmp(head, POOL_TRACE_HEAD, sizeof(head)) != 0)) {
        errno = 0;
        return -1;
    }
    return st.st_size;
}

static const char *trace_error(apr_pool_t *p, int error)
{
    if (error == 0)
        return apr_psprintf(p,
                            "MemoryTrace: %s is there already and is no memory trace: "
                            "it stays as it is",
                            trace_conf.path);
    return apr_psprintf(p, "MemoryTrace: cannot open %s: %s", trace_conf.path, strerror(error));
}

/* Whether the file can be opened, without making it: the configuration may only be looked at. */
static const char *trace_try(apr_pool_t *p)
{
    int fd = open(trace_conf.path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK), error = 0;

    if (fd < 0 && errno == ENOENT)
        return access(ap_make_dirstr_parent(p, trace_conf.path), W_OK | X_OK) == 0
                   ? NULL
                   : trace_error(p, errno);
    if (fd < 0)
        return trace_error(p, errno);
    if (trace_look(fd) < 0)
        error = errno == 0 ? -1 : errno;
    close(fd);
    return error != 0 ? trace_error(p, error > 0 ? error : 0) : NULL;
}

const char *memory_trace_directive(cmd_parms *cmd, void *dir, const char *args)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *path = ap_getword_conf(cmd->pool, &args);

    if (error == NULL && *path == '\0')
        error = "MemoryTrace takes a file, and optionally requests=N and bytes=SIZE";
    if (error == NULL)
        error = memory_unavailable(cmd->temp_pool);
    if (error != NULL)
        return error;
    trace_conf = (memory_trace){.requests = TRACE_REQUESTS, .bytes = TRACE_BYTES};
    while (error == NULL && *args != '\0')
        error = trace_option(cmd->pool, ap_getword_conf(cmd->temp_pool, &args));
    if (error != NULL)
        return error;
    path = ap_server_root_relative(cmd->pool, path);
    if (path == NULL)
        return "MemoryTrace: this is no name of a file";
    trace_conf.path = path;
    trace_conf.place = apr_psprintf(cmd->pool, "line %d of %s", cmd->directive->line_num,
                                    cmd->directive->filename);
    error = trace_try(cmd->pool);
    if (error != NULL)
        trace_conf.path = NULL;
    return error;
}

/* ---- the file ---- */

static apr_status_t trace_close(void *data)
{
    pool_trace_file *file = data;

    BRG_ASSERT(file == &trace_conf.file && file->fd >= 0);
    pool_trace_to(NULL);
    close(file->fd);
    munmap(file->sums, sizeof(*file->sums));
    return APR_SUCCESS;
}

static void trace_ended(int error)
{
    if (error != 0)
        ap_log_error(APLOG_MARK, APLOG_ERR, error, NULL,
                     "MemoryTrace: %s cannot be written: no more is recorded", trace_conf.path);
    else
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, NULL,
                     "MemoryTrace: %s is complete: it may have %" APR_SIZE_T_FMT
                     " requests and %" APR_SIZE_T_FMT " bytes",
                     trace_conf.path, trace_conf.requests, trace_conf.bytes);
}

static int trace_begin(int fd)
{
    static const char remark[] = "# Brigade: requests of all connections, each "
                                 "as a whole, as if they were of one.\nc\n";
    char text[sizeof(POOL_TRACE_HEAD) + sizeof(remark)];
    int n = apr_snprintf(text, sizeof(text), "%s%s", POOL_TRACE_HEAD, remark);

    BRG_ASSERT(n > 0 && n < (int)sizeof(text));
    return write(fd, text, (size_t)n) == n ? 0 : -1;
}

static int trace_open(pool_trace_file *file)
{
    off_t size = -1;

    BRG_ASSERT(trace_conf.path != NULL);
    file->fd = open(trace_conf.path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (file->fd < 0)
        return -1;
    size = trace_look(file->fd);
    file->sums = size < 0 || (size == 0 && trace_begin(file->fd) != 0)
                     ? MAP_FAILED
                     : mmap(NULL, sizeof(*file->sums), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (file->sums == MAP_FAILED) {
        size = errno;
        close(file->fd);
        errno = (int)size;
        return -1;
    }
    atomic_init(&file->sums->bytes, (uint64_t)size);
    return 0;
}

int memory_trace_open(apr_pool_t *pconf, server_rec *s)
{
    pool_trace_file *file = &trace_conf.file;

    if (trace_conf.path == NULL)
        return OK;
    if (trace_open(file) != 0) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "%s: %s", trace_conf.place,
                     trace_error(pconf, errno));
        return !OK;
    }
    BRG_ASSERT(trace_conf.requests > 0 && trace_conf.bytes > 0);
    file->requests_most = trace_conf.requests;
    file->bytes_most = trace_conf.bytes;
    file->ended = trace_ended;
    pool_trace_to(file);
    apr_pool_cleanup_register(pconf, file, trace_close, trace_close);
    return OK;
}

void memory_trace_forget(void)
{
    trace_conf.path = NULL;
}

void memory_trace_stack(memory_stack *stack)
{
    if (trace_conf.path != NULL && stack != NULL)
        memory_stack_trace(stack);
}
