/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates shown: by -t -D DUMP_CERTS, to the status page, and in the log before they end. */
#include "tls_certificate.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define SHOW_WARN_DAYS 14 /* or a third of a shorter life */

const char *tls_server_label(const tls_server_conf *sc, apr_pool_t *p)
{
    const server_rec *s = sc->server;
    unsigned port = s->port ? s->port : s->addrs ? s->addrs->host_port : 443;

    return apr_psprintf(p, "%s:%u", s->server_hostname ? s->server_hostname : "*", port);
}

/* ---- before the end ---- */

static int show_is_short(const tls_facts *facts, apr_time_t now)
{
    apr_time_t most = apr_time_from_sec(SHOW_WARN_DAYS * 86400), life = facts->until - facts->from;

    return facts->until - now < (life / 3 < most ? life / 3 : most);
}

void tls_show_warn(const tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p)
{
    apr_time_t now = apr_time_now();
    tls_facts facts;

    for (int i = 0; i < pairs->nelts; i++) {
        if (tls_facts_of(p, &APR_ARRAY_IDX(pairs, i, tls_pair), &facts) ||
            !show_is_short(&facts, now))
            continue;
        if (facts.until < now)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, sc->server,
                         "TLS: the certificate of %s has expired (%s)", tls_server_label(sc, p),
                         facts.file);
        else
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, sc->server,
                         "TLS: the certificate of %s expires in %d days (%s, issued by %s)",
                         tls_server_label(sc, p), tls_facts_days(&facts, now), facts.file,
                         facts.issuer);
    }
}

/* ---- the command line ---- */

static void show_print(const tls_server_conf *sc, const tls_pair *pair, apr_pool_t *p)
{
    char until[APR_RFC822_DATE_LEN];
    tls_facts facts;

    if (tls_facts_of(p, pair, &facts))
        return;
    apr_rfc822_date(until, facts.until);
    printf("  %s\n    %s: %s, names %s, issued by %s, until %s", facts.file,
           tls_server_label(sc, p), facts.key_type, tls_facts_names(p, &facts), facts.issuer,
           until);
    if (tls_facts_days(&facts, apr_time_now()) < 0)
        puts(", EXPIRED");
    else
        printf(", %d days left\n", tls_facts_days(&facts, apr_time_now()));
}

static void show_all(apr_pool_t *p, server_rec *main_server, int print)
{
    for (server_rec *s = main_server; s; s = s->next) {
        const tls_server_conf *sc = tls_conf_of(s);
        const apr_array_header_t *pairs;

        if (sc->enabled != 1 || sc->server != s)
            continue;
        pairs = tls_credentials_shown(sc, p);
        if (!print)
            tls_show_warn(sc, pairs, p);
        for (int i = 0; print && i < pairs->nelts; i++)
            show_print(sc, &APR_ARRAY_IDX(pairs, i, tls_pair), p);
    }
}

void tls_show_test(apr_pool_t *p, server_rec *main_server)
{
    int print = ap_exists_config_define("DUMP_CERTS");

    if (print)
        puts("Server certificates:");
    if (print || ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST)
        show_all(p, main_server, print);
}

/* ---- the status page ---- */

/* Contents of a server's certificates: read once for each that is put into the store. */
typedef struct show_server {
    apr_pool_t *pool; /* NULL: nothing was read yet */
    uint64_t version; /* tls_store_version() */
    brg_status_certificate *shown;
    int n;
} show_server;

static show_server *show_known; /* by tls_server_conf.index */
static int show_known_n;
static pthread_mutex_t show_lock = PTHREAD_MUTEX_INITIALIZER; /* of status pages alone */

static void show_describe(const tls_server_conf *sc, const tls_pair *pair, apr_time_t since,
                          apr_pool_t *p, brg_status_certificate *out)
{
    tls_facts facts;

    if (tls_facts_of(p, pair, &facts))
        return; /* without a name */
    *out = (brg_status_certificate){.server = tls_server_label(sc, p),
                                    .file = apr_pstrdup(p, facts.file),
                                    .names = tls_facts_names(p, &facts),
                                    .issuer = facts.issuer,
                                    .key_type = facts.key_type,
                                    .from = facts.from,
                                    .until = facts.until,
                                    .since = since};
}

/* While the store is written, the last contents stay. */
static void show_read(const tls_server_conf *sc, show_server *known, uint64_t version)
{
    apr_pool_t *pool, *read;
    tls_stored stored;

    if (apr_pool_create(&pool, NULL) != APR_SUCCESS)
        return;
    if (apr_pool_create(&read, pool) != APR_SUCCESS || tls_store_get(sc->index, read, &stored) ||
        stored.version != version) {
        apr_pool_destroy(pool);
        return;
    }
    if (known->pool)
        apr_pool_destroy(known->pool);
    *known = (show_server){.pool = pool, .version = version, .n = stored.pairs->nelts};
    known->shown = apr_pcalloc(pool, (apr_size_t)known->n * sizeof *known->shown);
    for (int i = 0; i < known->n; i++)
        show_describe(sc, &APR_ARRAY_IDX(stored.pairs, i, tls_pair), stored.since, pool,
                      &known->shown[i]);
    apr_pool_destroy(read); /* has keys */
}

/* show_lock is held. @return NULL: no memory, or nothing could be read yet */
static const show_server *show_of(const tls_server_conf *sc)
{
    uint64_t version = tls_store_version(sc->index);
    show_server *more;

    BRG_ASSERT_DEBUG(pthread_mutex_trylock(&show_lock) == EBUSY);
    if (sc->index >= show_known_n) {
        more = realloc(show_known, (size_t)(sc->index + 1) * sizeof *more);
        if (!more)
            return NULL;
        memset(more + show_known_n, 0, (size_t)(sc->index + 1 - show_known_n) * sizeof *more);
        show_known = more;
        show_known_n = sc->index + 1;
    }
    BRG_ASSERT(sc->index >= 0 && sc->index < show_known_n);
    more = &show_known[sc->index];
    if (!more->pool || more->version != version)
        show_read(sc, more, version);
    return more->pool ? more : NULL;
}

/* Of another configuration. Threads: main, while no loop runs. */
static void show_forget(void)
{
    for (int i = 0; i < show_known_n; i++)
        if (show_known[i].pool)
            apr_pool_destroy(show_known[i].pool);
    free(show_known);
    show_known = NULL;
    show_known_n = 0;
}

static int show_certificate(const tls_server_conf *sc, int i, apr_pool_t *p,
                            brg_status_certificate *out)
{
    const show_server *known;
    int found;

    pthread_mutex_lock(&show_lock);
    known = show_of(sc);
    found = known && i < known->n && known->shown[i].names;
    if (found) {
        *out = known->shown[i];
        out->server = apr_pstrdup(p, out->server);
        out->file = apr_pstrdup(p, out->file);
        out->names = apr_pstrdup(p, out->names);
        out->issuer = apr_pstrdup(p, out->issuer);
        out->key_type = apr_pstrdup(p, out->key_type);
    }
    pthread_mutex_unlock(&show_lock);
    return found;
}

static int brg_status_certificate_get(int n, apr_pool_t *p, brg_status_certificate *out)
{
    const tls_server_conf *sc;

    for (int i = 0; (sc = tls_server_at(i)) != NULL; i++) {
        if (n < sc->pairs->nelts)
            return show_certificate(sc, n, p, out);
        n -= sc->pairs->nelts;
    }
    return -1;
}

void tls_show_register(void)
{
    show_forget();
    APR_REGISTER_OPTIONAL_FN(brg_status_certificate_get);
}
