/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates without a reload. The supervisor, which is root as a rule, watches the files of each
 * server with TLS: their entries in directories, and where symbolic links lead to. After a change
 * it reads them all; if they are good, it puts them into the store, and loops take them for new
 * handshakes.
 *
 * Files come one after the other: a certificate may be there before its key. So a pair that does
 * not match is tried again for EXCHANGE_PATIENCE before it is called bad. It is said once; the
 * certificates of before stays. Another change begins this anew. */
#include "tls_certificate.h"
#include "clock.h"
#include "supervised.h"
#include "watch.h"
#include "http_log.h"
#include "mpm_common.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(ssl);

#define EXCHANGE_SETTLE (APR_USEC_PER_SEC / 5)   /* from the last change to an attempt */
#define EXCHANGE_AGAIN (APR_USEC_PER_SEC / 2)    /* between attempts */
#define EXCHANGE_PATIENCE (3 * APR_USEC_PER_SEC) /* for the other half of a pair */
#define EXCHANGE_POLL (10 * APR_USEC_PER_SEC)    /* where changes cannot be watched */
#define EXCHANGE_DAY (86400 * APR_USEC_PER_SEC)
#define EXCHANGE_HOUR (3600 * APR_USEC_PER_SEC) /* the date may be set meanwhile */

typedef struct exchange_server {
    tls_server_conf *sc;
    watch_owner owner;
    int watched;      /* changes are told; otherwise it is looked at from time to time */
    uint64_t stamp;   /* of the files that were read last */
    apr_time_t since; /* when they changed, if they were not good so far; 0: all is done */
    apr_time_t due;   /* of the next look; 0: none */
    apr_time_t from;  /* the date from which refused ones are valid; 0: none */
    int told;         /* their faults were logged */
} exchange_server;

static struct {
    pid_t owner;
    apr_pool_t *pool;
    watch_set *set;
    tls_exchange_trial *works;
    exchange_server *servers;
    int n, watching;
    apr_time_t warn; /* when certificates that expire soon are next named */
} exchange;

/* ---- changes ---- */

static uint64_t stamp_add(uint64_t stamp, const char *file)
{
    struct stat st = {0};
    uint64_t parts[6];

    if (stat(file, &st))
        return stamp * 31 + 1;
    parts[0] = (uint64_t)st.st_dev;
    parts[1] = (uint64_t)st.st_ino;
    parts[2] = (uint64_t)st.st_size;
    parts[3] = (uint64_t)st.st_mtim.tv_sec * 1000000007 + (uint64_t)st.st_mtim.tv_nsec;
    parts[4] = (uint64_t)st.st_ctim.tv_sec * 1000000007 + (uint64_t)st.st_ctim.tv_nsec;
    parts[5] = st.st_mode;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        stamp = (stamp ^ parts[i]) * 0x100000001b3;
    return stamp;
}

typedef void exchange_visit(void *baton, const char *file);

static void files_visit(const tls_server_conf *sc, exchange_visit *visit, void *baton)
{
    for (int i = 0; i < sc->pairs->nelts; i++) {
        const tls_pair *pair = &APR_ARRAY_IDX(sc->pairs, i, tls_pair);

        visit(baton, pair->cert_file);
        if (strcmp(pair->cert_file, pair->key_file) != 0)
            visit(baton, pair->key_file);
    }
    if (sc->chain_file)
        visit(baton, sc->chain_file);
    if (sc->ticket_file)
        visit(baton, sc->ticket_file);
}

static void stamp_visit(void *baton, const char *file)
{
    uint64_t *stamp = baton;

    *stamp = stamp_add(*stamp, file);
}

uint64_t tls_exchange_stamp(const tls_server_conf *sc)
{
    uint64_t stamp = 0xcbf29ce484222325;

    files_visit(sc, stamp_visit, &stamp);
    return stamp;
}

static void watch_visit(void *baton, const char *file)
{
    exchange_server *es = baton;

    es->watched = es->watched && !watch_add(exchange.set, &es->owner, file, 0);
}

static void exchange_watch(exchange_server *es)
{
    if (!exchange.set)
        return;
    watch_remove(exchange.set, &es->owner);
    es->watched = 1;
    files_visit(es->sc, watch_visit, es);
    if (!es->watched)
        watch_remove(exchange.set, &es->owner);
}

/* ---- an attempt ---- */

/* @return NULL, or a fault of certificates that OpenSSL takes; *from: until this date */
static const char *exchange_objection(const apr_array_header_t *pairs, apr_pool_t *p,
                                      apr_time_t *from)
{
    apr_time_t now = apr_time_now();
    tls_facts facts;

    for (int i = 0; i < pairs->nelts; i++) {
        if (tls_facts_of(p, &APR_ARRAY_IDX(pairs, i, tls_pair), &facts))
            return "a certificate that cannot be read";
        if (facts.until < now)
            return apr_pstrcat(p, facts.file, " is expired", NULL);
        if (facts.from > now) {
            *from = facts.from;
            return apr_pstrcat(p, facts.file, " is not valid yet: it is tried again when it is",
                               NULL);
        }
    }
    return NULL;
}

/* Read everything as a start does. @return the contents to be put, in p; NULL: not good, and logged if
 * complaints are */
static apr_array_header_t *exchange_read(const tls_server_conf *sc, apr_pool_t *p, apr_time_t *from)
{
    tls_server_conf copy = *sc;
    apr_array_header_t *pairs = tls_credentials_read(&copy, p, p);
    const char *objection;

    if (!pairs || !exchange.works(sc, pairs))
        return NULL;
    objection = exchange_objection(pairs, p, from);
    if (objection)
        ap_log_error(APLOG_MARK, tls_complaints, 0, sc->server, "TLS: %s", objection);
    return objection ? NULL : pairs;
}

static void exchange_tell(const tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p)
{
    tls_facts facts;

    for (int i = 0; i < pairs->nelts; i++) {
        const tls_pair *pair = &APR_ARRAY_IDX(pairs, i, tls_pair);

        if (tls_facts_of(p, pair, &facts))
            continue;
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, sc->server,
                     "TLS: new certificate for %s from %s: names %s, issued by %s, %d days left",
                     tls_server_label(sc, p), facts.file, tls_facts_names(p, &facts), facts.issuer,
                     tls_facts_days(&facts, apr_time_now()));
        if (!tls_certificate_is_for(pair, sc->server->server_hostname))
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, sc->server,
                         APLOGNO(01909) "%s server certificate does NOT include an ID which "
                                        "matches the server name",
                         tls_server_label(sc, p));
    }
}

/* 1: put, or the same as before. */
static int exchange_put(const tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p)
{
    BRG_ASSERT(exchange.owner == getpid() && sc->index >= 0);
    if (tls_store_has(sc->index, pairs))
        return 1;
    if (tls_store_put(sc->index, pairs)) {
        ap_log_error(APLOG_MARK, tls_complaints, errno, sc->server,
                     "TLS: no room for the new certificate of %s", tls_server_label(sc, p));
        return 0;
    }
    exchange_tell(sc, pairs, p);
    if (sc->stapled && !sc->staple_follows) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, sc->server,
                     "TLS: graceful restart, for OCSP responses of the new certificate");
        kill(getpid(), AP_SIG_GRACEFUL);
    }
    return 1;
}

/* 1: nothing is left to be done for the files as they are. */
static int exchange_try(exchange_server *es, int last, apr_pool_t *p)
{
    const tls_server_conf *sc = es->sc;
    const apr_array_header_t *pairs;
    int done;

    BRG_ASSERT(exchange.owner == getpid());
    tls_complaints = last && !es->told ? APLOG_ERR : APLOG_DEBUG;
    es->from = 0;
    pairs = exchange_read(sc, p, &es->from);
    /* Files that changed while they were read may not fit each other. */
    done = pairs && tls_exchange_stamp(sc) == es->stamp && exchange_put(sc, pairs, p);
    tls_complaints = APLOG_EMERG;
    ERR_clear_error();
    if (!done && last && !es->told)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, sc->server,
                     "TLS: the changed certificate or key of %s is not taken; the one before stays",
                     tls_server_label(sc, p));
    es->told |= last;
    return done;
}

/* No file will change when a certificate becomes valid. */
static void exchange_await_date(exchange_server *es, apr_time_t now)
{
    const apr_time_t most = es->watched ? EXCHANGE_HOUR : EXCHANGE_POLL,
                     left = es->from - apr_time_now();

    BRG_ASSERT(es->from && !es->since);
    es->since = now;
    es->due = now + (left < EXCHANGE_AGAIN ? EXCHANGE_AGAIN : left > most ? most : left);
}

static void exchange_look_at(exchange_server *es, apr_time_t now)
{
    uint64_t stamp = tls_exchange_stamp(es->sc);
    apr_pool_t *p;
    int last, done;

    es->due = es->watched ? 0 : now + EXCHANGE_POLL;
    if (stamp != es->stamp) {
        es->stamp = stamp;
        es->since = now;
        es->told = 0;
    }
    if (!es->since)
        return;
    last = now - es->since >= EXCHANGE_PATIENCE;
    apr_pool_create(&p, exchange.pool);
    done = exchange_try(es, last, p);
    apr_pool_destroy(p);
    if (!done && !last) {
        es->due = now + EXCHANGE_AGAIN;
        return;
    }
    es->since = 0;
    if (!done && es->from)
        exchange_await_date(es, now);
}

/* ---- the supervisor's work ---- */

static int exchange_fd(void)
{
    return exchange.set ? watch_fd(exchange.set) : -1;
}

static apr_time_t exchange_due(void)
{
    apr_time_t due = exchange.warn, staged = tls_staged_due();

    if (!exchange.watching)
        return 1;
    if (staged && staged < due)
        due = staged;
    for (int i = 0; i < exchange.n; i++)
        if (exchange.servers[i].due && exchange.servers[i].due < due)
            due = exchange.servers[i].due;
    return due;
}

/* Not before the supervisor is about to serve: a trial of a configuration watches nothing. */
static void exchange_start(apr_time_t now)
{
    BRG_ASSERT(!exchange.watching && !exchange.set && exchange.n > 0);
    exchange.watching = 1;
    tls_pass_serve();
    exchange.set = watch_set_create((size_t)exchange.n * 2);
    for (int i = 0; i < exchange.n; i++) {
        exchange_watch(&exchange.servers[i]);
        exchange.servers[i].due = now + EXCHANGE_SETTLE; /* changes since it was read */
    }
}

static void exchange_warn(apr_time_t now)
{
    tls_stored stored;

    exchange.warn = now + EXCHANGE_DAY;
    for (int i = 0; i < exchange.n; i++) {
        const tls_server_conf *sc = exchange.servers[i].sc;
        apr_pool_t *p;

        apr_pool_create(&p, exchange.pool);
        if (!tls_store_get(sc->index, p, &stored))
            tls_show_warn(sc, stored.pairs, p);
        apr_pool_destroy(p);
    }
}

static void exchange_look(void)
{
    apr_time_t now = clock_monotonic();

    if (exchange.owner != getpid())
        return;
    if (!exchange.watching)
        exchange_start(now);
    if (exchange.warn <= now)
        exchange_warn(now);
    tls_staged_look(exchange.pool);
    if (exchange.set)
        watch_drain(exchange.set);
    for (int i = 0; i < exchange.n; i++) {
        exchange_server *es = &exchange.servers[i];

        if (es->watched && watch_changed(exchange.set, &es->owner)) {
            exchange_watch(es);
            es->due = now + EXCHANGE_SETTLE;
        } else if (es->due && es->due <= now) {
            exchange_look_at(es, now);
        }
    }
}

static const supervised_work exchange_work = {
    .fd = exchange_fd, .due = exchange_due, .look = exchange_look};

static apr_status_t exchange_end(void *unused)
{
    supervised_set(NULL);
    tls_staged_end();
    if (exchange.set && exchange.owner != getpid()) {
        watch_set_forget(exchange.set); /* a child's: the watches are the supervisor's */
    } else if (exchange.set) {
        for (int i = 0; i < exchange.n; i++)
            watch_remove(exchange.set, &exchange.servers[i].owner);
        watch_set_destroy(exchange.set);
    }
    memset(&exchange, 0, sizeof exchange);
    return APR_SUCCESS;
}

/* Loops have keys in their heaps. A server started as root has this from its change of user. */
static void exchange_no_core(server_rec *s)
{
    if (exchange.n && !ap_coredumpdir_configured && prctl(PR_SET_DUMPABLE, 0) != 0)
        ap_log_error(APLOG_MARK, APLOG_WARNING, errno, s,
                     "TLS: core files would contain private keys");
}

void tls_exchange_child(apr_pool_t *p, server_rec *s)
{
    if (exchange.owner == getpid())
        return; /* -X */
    exchange_no_core(s);
    tls_pass_child();
    if (exchange.set)
        watch_set_forget(exchange.set);
    exchange.set = NULL;
}

void tls_exchange_begin(apr_pool_t *p, tls_server_conf **servers, int n, tls_exchange_trial *works)
{
    BRG_ASSERT(!exchange.n && n > 0);
    exchange.owner = getpid();
    exchange.pool = p;
    exchange.works = works;
    exchange.n = n;
    exchange.servers = apr_pcalloc(p, sizeof(*exchange.servers) * (apr_size_t)n);
    for (int i = 0; i < n; i++) {
        exchange.servers[i].sc = servers[i];
        exchange.servers[i].stamp = servers[i]->stamp;
    }
    if (ap_coredumpdir_configured)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, servers[0]->server,
                     "TLS: with CoreDumpDirectory, core files of server processes contain private "
                     "keys");
    tls_staged_begin(p);
    apr_pool_cleanup_register(p, NULL, exchange_end, apr_pool_cleanup_null);
    supervised_set(&exchange_work);
}
