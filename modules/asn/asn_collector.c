/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of the collector: there is one at a time, whose life is longer than that of a configuration. */
#include <signal.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "http_log.h"
#include "http_main.h"
#include "unixd.h"
#include "brigade/assert.h"
#include "brigade/log_service.h"
#include "brigade/loop.h"
#include "asn_collector.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

#define SOON_US (30 * APR_USEC_PER_SEC)
#define DELAY_MAX 60 /* seconds */

static asn_collector *running;

static void maintain(int reason, void *data, apr_wait_t status);

/* Whether the next process may write tables and figures. */
static void hand(const asn_collector *c, int on)
{
    for (int i = 0; i < 2; i++)
        brg_asn_table_hand(c->tables[i], on);
    brg_one_writer_hand(c->figures_memory, on);
}

static void close_control(asn_collector *c, int end)
{
    if (c->control[end] >= 0)
        close(c->control[end]);
    c->control[end] = -1;
}

static apr_status_t spawn(asn_collector *c, server_rec *s)
{
    pid_t pid;
    int error;

    c->supervisor = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, c->control))
        return errno;
    hand(c, 1);
    pid = fork();
    error = errno;
    if (pid)
        hand(c, 0);
    if (pid < 0) {
        close_control(c, 0);
        close_control(c, 1);
        return error;
    }
    if (!pid)
        asn_collect(c, s);
    close_control(c, 1);
    c->process = (apr_proc_t){.pid = pid};
    c->started = brg_monotonic_now();
    apr_proc_other_child_register(&c->process, maintain, c, NULL, c->pool);
    return APR_SUCCESS;
}

static void maintain(int reason, void *data, apr_wait_t status)
{
    asn_collector *c = data;
    apr_status_t rv;

    if (reason != APR_OC_REASON_DEATH && reason != APR_OC_REASON_LOST)
        return;
    apr_proc_other_child_unregister(c);
    c->process.pid = 0;
    close_control(c, 0);
    c->delay = brg_monotonic_now() - c->started > SOON_US ? 0 : c->delay ? 2 * c->delay : 1;
    if (c->delay > DELAY_MAX)
        c->delay = DELAY_MAX;
    ap_log_error(
        APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
        "the collector of ASTable died (status %d); another one reads the sources in %d seconds",
        status, c->delay);
    if ((rv = spawn(c, ap_server_conf)))
        ap_log_error(
            APLOG_MARK, APLOG_ERR, rv, ap_server_conf,
            "the collector of ASTable cannot be started again; this is tried until it can");
}

void asn_collector_look(server_rec *s)
{
    if (running && running->started && !running->process.pid && spawn(running, s) == APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "the collector of ASTable is started again");
}

/* In server processes, and where a configuration is tried, the collector is somebody else's. */
static apr_status_t stop(void *data)
{
    asn_collector *c = data;

    if (running == c)
        running = NULL;
    munmap(c->counts, sizeof *c->counts);
    if (getpid() != c->supervisor || !c->process.pid)
        return APR_SUCCESS;
    apr_proc_other_child_unregister(c);
    kill(c->process.pid, SIGTERM);
    close_control(c, 0);
    return APR_SUCCESS;
}

void asn_collector_leave(void)
{
    if (running && running->supervisor != getpid())
        close_control(running, 0);
}

/* ---- one for a configuration ---- */

static const char *signature_of(const apr_array_header_t *sources, apr_size_t table_bytes,
                                const server_rec *s, apr_pool_t *p)
{
    const asn_source *all = (const asn_source *)sources->elts;
    const char *text =
        apr_psprintf(p, "%" APR_SIZE_T_FMT " %d %d %s", table_bytes, (int)ap_unixd_config.user_id,
                     (int)ap_unixd_config.group_id, s->error_fname);

    for (int i = 0; i < sources->nelts; i++)
        text = apr_pstrcat(p, text, "\n", all[i].words, NULL);
    return text;
}

/* The configuration's memory goes with the configuration. */
static apr_array_header_t *copy_sources(const apr_array_header_t *sources, apr_pool_t *p)
{
    apr_array_header_t *copy = apr_array_copy(p, sources);
    bgp_conf *bgp;

    for (int i = 0; i < copy->nelts; i++) {
        asn_source *source = &((asn_source *)copy->elts)[i];

        source->words = apr_pstrdup(p, source->words);
        source->file = source->file ? apr_pstrdup(p, source->file) : NULL;
        if (!source->bgp)
            continue;
        source->bgp = bgp = apr_pmemdup(p, source->bgp, sizeof *bgp);
        bgp->name = apr_pstrdup(p, bgp->name);
        bgp->password = bgp->password ? apr_pstrdup(p, bgp->password) : NULL;
    }
    return copy;
}

static apr_status_t make(const apr_array_header_t *sources, apr_size_t table_bytes,
                         const char *signature, apr_pool_t *process_pool)
{
    apr_pool_t *p;
    asn_collector *c;
    apr_status_t rv;
    void *shared;

    apr_pool_create(&p, process_pool);
    apr_pool_tag(p, "asn_collector");
    c = apr_pcalloc(p, sizeof *c);
    *c = (asn_collector){.pool = p,
                         .signature = apr_pstrdup(p, signature),
                         .sources = copy_sources(sources, p),
                         .control = {-1, -1}};
    for (int i = 0; i < 2; i++)
        if ((rv = brg_asn_table_create(&c->tables[i], table_bytes, p))) {
            apr_pool_destroy(p);
            return rv;
        }
    if ((rv = brg_one_writer_create(&c->figures_memory, "brigade-asn-figures", sizeof *c->figures,
                                    p))) {
        apr_pool_destroy(p);
        return rv;
    }
    shared =
        mmap(NULL, sizeof *c->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        rv = errno;
        apr_pool_destroy(p);
        return rv;
    }
    c->figures = brg_one_writer_read(c->figures_memory);
    c->counts = shared;
    apr_pool_pre_cleanup_register(p, c, stop);
    running = c;
    return APR_SUCCESS;
}

apr_status_t asn_collector_of(const apr_array_header_t *sources, apr_size_t table_bytes,
                              const server_rec *s, asn_collector **c)
{
    const char *signature = signature_of(sources, table_bytes, s, sources->pool);
    apr_status_t rv = APR_SUCCESS;

    /* A start leaves the terminal by a fork: then memory of the first reading is not this process's
     * to write. */
    if (running && (!sources->nelts || strcmp(running->signature, signature) != 0 ||
                    !brg_one_writer_is_own(running->figures_memory)))
        apr_pool_destroy(running->pool);
    if (!running && sources->nelts)
        rv = make(sources, table_bytes, signature, s->process->pool);
    *c = running;
    return rv;
}

static void wait_for_files(const asn_collector *c)
{
    for (int i = 0; i < ASN_START_SECONDS * 200 && !atomic_load(&c->figures->tried); i++)
        apr_sleep(5000);
    if (!atomic_load(&c->figures->tried))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     "files of ASTable are not read after %d seconds", ASN_START_SECONDS);
}

apr_status_t asn_collector_start(asn_collector *c, server_rec *s)
{
    const int log = brg_error_log_descriptor(s);
    apr_status_t rv;

    BRG_ASSERT(c == running);
    if (c->process.pid) {
        if (log >= 0)
            asn_collect_log(c->control[0], log);
        return APR_SUCCESS;
    }
    if ((rv = spawn(c, s)))
        return rv;
    wait_for_files(c);
    return APR_SUCCESS;
}
