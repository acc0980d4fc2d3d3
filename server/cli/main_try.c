/* SPDX-License-Identifier: Apache-2.0 */
/* -t -D DUMP_CACHE URL: the configuration is read as for a start, and its hooks run, but no log and
 * no socket of the network is opened. A connection of this process to itself then asks for the URL,
 * as often as it takes to be stored, and counts as one to the address that the URL means. */
#include "httpd.h"
#include "ap_listen.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "scoreboard.h"
#include "brigade/memory.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include "apr_uri.h"
#include "configuration.h"
#include "connection.h"
#include "core_settings.h"
#include "crash.h"
#include "generation.h"
#include "loop.h"
#include "main_parts.h"
#include "main_trial.h"
#include "memory_settings.h"
#include "placement.h"
#include "request_context.h"
#include "cache_plan.h"
#include "response_cache.h"
#include "scores.h"
#include "supervisor_parts.h"
#include "thread_self.h"
#include "trial.h"
#include "vhosts.h"
#include "unixd.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* The second request of a connection, since the first may be told of other protocols. An
 * answer is asked for, armed, filled and sent; one more is for a worker that compresses it. */
#define TRY_ROUNDS 4
#define TRY_WAIT_S 60
#define TRY_WORKERS 4
#define TRY_FIELDS 8
#define TRY_LAST "Connection: close\r\n\r\n" /* in place of the last end of line */
#define TRY_FIELDS_SENT "Accept-Encoding: gzip\r\n"

static struct {
    apr_uri_t uri;
    const char *url, *host_field, *target;
    const main_trial *asks;
    int tls; /* the URL is one of https */
    brg_listener listener;
    struct sockaddr_un address; /* of listener.fd */
    socklen_t address_len;
    const char *error; /* of the client */
    const response_cache *cache;
    pthread_mutex_t lock; /* for the following: workers tell, too */
    int told, status, fields_n;
    int asks_backend; /* a backend answers */
    char unplanned[256];
    char file[1024], host[1024], module[256], why[256], fields[TRY_FIELDS][64];
} trial = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void try_fail(process_rec *process, const char *what) __attribute__((noreturn));
static void try_fail(process_rec *process, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", process->short_name, trial.url, what);
    mpm_process_exit(process, 2);
}

/* ---- address of the request ---- */

static apr_port_t try_listen_port(apr_port_t wanted)
{
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next)
        if (l->bind_addr->port == wanted)
            return wanted;
    return ap_listeners ? ap_listeners->bind_addr->port : wanted;
}

/* Where the URL does not say: whether the hosts of the port have TLS. */
static int try_port_has_tls(apr_port_t port)
{
    const server_rec *found = ap_server_conf;

    for (const server_rec *s = ap_server_conf->next; s && found == ap_server_conf; s = s->next)
        for (const server_addr_rec *a = s->addrs; a; a = a->next)
            if (a->host_port == port)
                found = s;
    return main_trial_host_has_tls(found);
}

static int try_is_any(const apr_sockaddr_t *addr)
{
    const unsigned char *byte = addr->ipaddr_ptr;

    for (int i = 0; i < addr->ipaddr_len; i++)
        if (byte[i])
            return 0;
    return 1;
}

/* The address of a virtual host of that name that is bound to one; NULL: not found. */
static const char *try_host_address(apr_pool_t *p, const char *name, apr_port_t port)
{
    for (const server_rec *s = ap_server_conf->next; s; s = s->next)
        for (const server_addr_rec *a = s->addrs; a && vhost_server_has_name(s, name);
             a = a->next) {
            char *ip = NULL;

            if (a->host_addr && !try_is_any(a->host_addr) &&
                (!a->host_port || a->host_port == port))
                apr_sockaddr_ip_get(&ip, a->host_addr);
            if (ip)
                return apr_pstrdup(p, ip);
        }
    return NULL;
}

static void try_address(process_rec *process, apr_pool_t *p)
{
    apr_port_t port = trial.uri.port ? trial.uri.port : try_listen_port(trial.tls ? 443 : 80);
    const char *name = trial.uri.hostname, *ip;
    apr_sockaddr_t *address;
    apr_ipsubnet_t *subnet;

    ip = name ? try_host_address(p, name, port) : NULL;
    if (!ip && name && apr_ipsubnet_create(&subnet, name, NULL, p) == APR_SUCCESS)
        ip = name;
    if (apr_sockaddr_info_get(&address, ip ? ip : "127.0.0.1", APR_UNSPEC, port, 0, p) !=
        APR_SUCCESS)
        try_fail(process, "its host has no usable address");
    if (!trial.uri.scheme)
        trial.tls = try_port_has_tls(port);
    trial.listener.addr = address;
    trial.listener.pretended = address;
    trial.listener.lr = ap_listeners;
    for (ap_listen_rec *l = ap_listeners; l; l = l->next)
        if (l->bind_addr->port == port)
            trial.listener.lr = l;
}

/* Both ends of a connection are of one family. */
static void try_from(process_rec *process, apr_pool_t *p, const char *from)
{
    const int family = trial.listener.addr->family;
    apr_sockaddr_t *client;
    apr_ipsubnet_t *subnet;

    if (apr_ipsubnet_create(&subnet, from, NULL, p) != APR_SUCCESS ||
        apr_sockaddr_info_get(&client, from, APR_UNSPEC, 1024, 0, p) != APR_SUCCESS)
        try_fail(process, apr_pstrcat(p, from, " is no address of a client", NULL));
    if (client->family != family)
        try_fail(process, apr_psprintf(p,
                                       "a client at %s reaches an address of the other family: "
                                       "ask for http://%s/, with the host in a field",
                                       from, client->family == APR_INET6 ? "[::1]" : "127.0.0.1"));
    trial.listener.pretended_client = client;
}

static void try_target(process_rec *process, apr_pool_t *p)
{
    char *host;

    if (apr_uri_parse(p, trial.url, &trial.uri) != APR_SUCCESS || !trial.uri.path ||
        trial.uri.path[0] != '/' || strpbrk(trial.url, " \t\r\n"))
        try_fail(process, "this is not a URL: wanted is http://HOST[:PORT]/PATH or /PATH");
    trial.tls = trial.uri.scheme && !ap_cstr_casecmp(trial.uri.scheme, "https");
    if (trial.uri.hostname && !trial.tls && (!trial.uri.scheme || strcmp(trial.uri.scheme, "http")))
        try_fail(process, "only http:// and https:// are known");
    if (trial.uri.hostname)
        ap_str_tolower(trial.uri.hostname);
    trial.uri.fragment = NULL;
    host =
        trial.uri.hostname
            ? apr_uri_unparse(p, &trial.uri, APR_URI_UNP_OMITPATHINFO | APR_URI_UNP_OMITUSERINFO) +
                  strlen(trial.tls ? "https://" : "http://")
            : apr_pstrdup(p, "localhost");
    trial.host_field = host;
    trial.target = apr_uri_unparse(p, &trial.uri, APR_URI_UNP_OMITSITEPART);
}

char *main_trial_requests(apr_pool_t *p, int n)
{
    const char *more = trial.asks->fields ? trial.asks->fields : "";
    char *one = apr_psprintf(p, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n",
                             trial.asks->method ? trial.asks->method : "GET", trial.target,
                             trial.asks->host ? trial.asks->host : trial.host_field, more,
                             ap_strcasestr(more, "Accept-Encoding:") ? "" : TRY_FIELDS_SENT),
         *text = apr_palloc(p, (apr_size_t)n * strlen(one) + sizeof TRY_LAST), *at = text;

    for (int i = 0; i < n; i++)
        at = apr_cpystrn(at, one, strlen(one) + 1);
    strcpy(at - (n ? 2 : 0), TRY_LAST);
    return text;
}

/* A name that the system chooses, and that only this process learns. */
static void try_listen(process_rec *process)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof name.sun_family; /* any name, which no file has */

    if (trial.asks->socket) {
        if (strlen(trial.asks->socket) >= sizeof name.sun_path)
            try_fail(process, "the name of its socket is too long");
        strcpy(name.sun_path, trial.asks->socket);
        len = sizeof name;
    }
    trial.address_len = sizeof trial.address;
    trial.listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (trial.listener.fd < 0 || bind(trial.listener.fd, (struct sockaddr *)&name, len) ||
        listen(trial.listener.fd, TRY_ROUNDS) ||
        getsockname(trial.listener.fd, (struct sockaddr *)&trial.address, &trial.address_len))
        try_fail(process, strerror(errno));
}

/* ---- the client ---- */

static void try_read_all(int fd)
{
    char buf[65536];
    ssize_t n;

    do
        n = read(fd, buf, sizeof buf);
    while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0)
        trial.error = errno == EAGAIN ? "there was no answer in time" : strerror(errno);
}

static int try_send(int fd, const char *request)
{
    for (size_t len = strlen(request); len;) {
        const ssize_t n = send(fd, request, len, MSG_NOSIGNAL);

        if (n < 0)
            return -1;
        request += n;
        len -= (size_t)n;
    }
    return 0;
}

const char *main_trial_ask(const char *requests)
{
    struct timeval limit = {.tv_sec = TRY_WAIT_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) ||
        connect(fd, (struct sockaddr *)&trial.address, trial.address_len))
        trial.error = strerror(errno);
    else if (trial.tls)
        trial.error = main_trial_ask_tls(fd, trial.uri.hostname, requests);
    else if (try_send(fd, requests))
        trial.error = strerror(errno);
    else
        try_read_all(fd);
    if (fd >= 0)
        close(fd);
    return trial.error;
}

void main_trial_rounds(void)
{
    const char *requests = main_trial_requests(ap_server_conf->process->pool, 2);

    for (int i = 0; i < TRY_ROUNDS && !trial.error; i++)
        main_trial_ask(requests);
}

void main_trial_once(void)
{
    main_trial_ask(main_trial_requests(ap_server_conf->process->pool, 1));
}

static void *try_client(void *unused)
{
    trial.asks->client();
    loops_stop(0);
    return NULL;
}

/* ---- the server ---- */

/* Why a request that a backend answers was not sent on by a plan. */
static void try_note_plan(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);
    policy_reason reason = {.module = NULL};
    const char *why = found ? found->unplanned : NULL;

    trial.asks_backend = why || cache_plan_is_offered(r);
    if (why && found->unplanned_filter)
        why = apr_pstrcat(r->pool, "the filter ", found->unplanned_filter,
                          " is on the answer's way", NULL);
    if (!why && trial.asks_backend && policy_ask_modules(r, &reason) == BRG_CACHE_VOLATILE)
        why = apr_pstrcat(r->pool, reason.module, ": ", reason.why, NULL);
    apr_snprintf(trial.unplanned, sizeof trial.unplanned, "%s", why ? why : "");
}

void main_trial_teller(void *baton, request_rec *r, const policy_reason *reason)
{
    const char *names[TRY_FIELDS];
    int n = brg_cache_vary_fields(r, names, TRY_FIELDS);

    pthread_mutex_lock(&trial.lock);
    trial.told = 1;
    try_note_plan(r);
    trial.status = r->status;
    apr_snprintf(trial.file, sizeof trial.file, "%s", r->filename ? r->filename : "no file");
    apr_snprintf(trial.host, sizeof trial.host, "%s%s%s",
                 r->server->server_hostname ? r->server->server_hostname : "the server",
                 r->server->is_virtual ? ", virtual host of " : "",
                 r->server->is_virtual ? r->server->defn_name : "");
    apr_snprintf(trial.module, sizeof trial.module, "%s", reason->module ? reason->module : "");
    apr_snprintf(trial.why, sizeof trial.why, "%s", reason->why ? reason->why : "");
    n = n < TRY_FIELDS ? n : TRY_FIELDS;
    trial.fields_n = n ? n : trial.fields_n; /* nobody is asked once all is stored */
    for (int i = 0; i < n; i++)
        apr_snprintf(trial.fields[i], sizeof trial.fields[i], "%s", names[i]);
    pthread_mutex_unlock(&trial.lock);
}

static void try_cache_begin(brg_loop *loop)
{
    server_process_services.begin(loop);
    trial.cache = loop->cache;
}

static void try_no_orders(void *baton, int come)
{
}

static void try_serve(process_rec *process, apr_pool_t *p)
{
    static brg_listener *listeners[] = {&trial.listener, NULL};
    static brg_listener **of_loop[] = {listeners};
    static loop_services services;
    loops_config conf = {.server = ap_server_conf,
                         .services = &services,
                         .n_loops = 1,
                         .cache_bytes = mpm_cache_bytes(),
                         .listeners = of_loop,
                         .n_workers = mpm_settings.prefork ? 0 : TRY_WORKERS,
                         .queue_most = TRY_ROUNDS,
                         .max_files = TRY_WORKERS,
                         .max_connections = TRY_ROUNDS + 1,
                         .stack_bytes = ap_thread_stacksize,
                         .order_fds = {-1, -1},
                         .orders = try_no_orders};
    pthread_t client;

    services = server_process_services;
    services.begin = try_cache_begin;
    if (loops_start(p, &conf) != APR_SUCCESS)
        try_fail(process, "the event loop cannot be started");
    mpm_state = AP_MPMQ_RUNNING;
    if (!mpm_settings.prefork) {
        try_client(NULL);
    } else {
        if (thread_start(try_client, NULL, 0, &client))
            try_fail(process, "no thread can be started");
        loops_run_here();
        pthread_join(client, NULL);
    }
    loops_join(-1);
}

/* The steps of a server process before it serves. */
static apr_pool_t *try_set_up(process_rec *process)
{
    const scoreboard_limits limits = {.processes = 1, .loops = 1, .threads = TRY_WORKERS + 1};
    const char *error = memory_conf_apply(ap_server_conf, process->pconf);
    apr_pool_t *p;

    if (error)
        try_fail(process, error);
    scoreboard_set_limits(&limits);
    trial_begin(TRIAL_START); /* modules start none of their own processes */
    if (ap_run_pre_mpm(process->pool, SB_SHARED) != OK)
        try_fail(process, "the scoreboard cannot be made");
    brg_pool_create_scoped(&p, process->pconf, BRG_SCOPE_PROCESS);
    apr_pool_tag(p, "pchild");
    if (ap_run_drop_privileges(p, ap_server_conf) > 0)
        try_fail(process, "privileges cannot be given up");
    connection_child_init(0);
    ap_run_child_init(p, ap_server_conf);
    return p;
}

/* ---- the result ---- */

int main_trial_is_kept(void)
{
    cache_figures figures;

    cache_figures_of(trial.cache, &figures);
    return figures.hits > 0;
}

static void try_print_plan(void)
{
    cache_figures figures;

    if (!trial.asks_backend)
        return;
    cache_figures_of(trial.cache, &figures);
    if (figures.planned)
        printf("Sent on by a plan: yes\n");
    else
        printf("Sent on by a plan: no\n  %s\n",
               *trial.unplanned ? trial.unplanned : "there is none within a few requests");
}

const char *main_trial_why(apr_pool_t *p, const char **reason)
{
    const char *fields = "";

    *reason = main_trial_is_kept() || !*trial.module ? NULL : trial.module;
    if (*reason)
        return apr_pstrcat(p, trial.module, ": ", trial.why, NULL);
    if (!main_trial_is_kept())
        return "the core: it is not stored within a few requests";
    for (int i = 0; i < trial.fields_n; i++)
        fields = apr_pstrcat(p, fields, i ? ", " : "", trial.fields[i], NULL);
    return *fields ? apr_pstrcat(p, "one answer for each kind of value of ", fields, NULL) : "";
}

static int try_print(void)
{
    const char *reason, *why = main_trial_why(ap_server_conf->process->pool, &reason);

    printf("%s: %d, by %s, from %s\nKept in memory: %s\n", trial.url, trial.status, trial.host,
           trial.file, main_trial_is_kept() ? "yes" : "no");
    if (*why)
        printf("  %s\n", why);
    try_print_plan();
    fflush(stdout);
    main_lines_blame(reason);
    return !main_trial_is_kept();
}

static int try_status(void)
{
    printf("%d\n", trial.status);
    fflush(stdout);
    return 0;
}

void main_trial_read(process_rec *process)
{
    APR_ARRAY_PUSH(ap_server_config_defines, const char *) = "FOREGROUND";
    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    if (conf_generation_read(process, CONF_DEPTH_TRIAL) != APR_SUCCESS)
        mpm_process_exit(process, 2);
    conf_generation_clear(process);
    if (conf_generation_read(process, CONF_DEPTH_TRIAL) != APR_SUCCESS)
        mpm_process_exit(process, 2);
    ap_main_state = AP_SQ_MS_RUN_MPM;
}

/* In a process of its own, since it gives up its rights; the parent removes the files that the
 * configuration's modules left behind. @return its exit status */
static int try_in_child(process_rec *process)
{
    apr_pool_t *serving;
    int status = 2;
    pid_t child = fork();

    if (child < 0)
        try_fail(process, strerror(errno));
    if (child > 0)
        return main_wait(child);
    serving = try_set_up(process);
    cache_tell_to(trial.asks->teller, NULL);
    try_serve(process, serving);
    if (trial.error || (trial.asks->teller && !trial.told))
        fprintf(stderr, "%s: %s: %s\n", process->short_name, trial.url,
                trial.error ? trial.error : "it is refused before any module sees it");
    else
        status = trial.asks->tell();
    loops_free();
    apr_pool_destroy(serving);
    crash_exit_expected();
    exit(status);
}

int main_trial_run(process_rec *process, const char *url, const main_trial *asks)
{
    trial.url = url;
    trial.asks = asks;
    try_target(process, process->pool);
    try_address(process, process->pool);
    if (asks->from)
        try_from(process, process->pool, asks->from);
    try_listen(process);
    return try_in_child(process);
}

/* Output for main_try_lines.c. */
static int try_verdict(void)
{
    cache_figures figures;

    cache_figures_of(trial.cache, &figures);
    if (figures.hits)
        printf("yes\n");
    else
        printf("no\n%s\n%s\n", trial.module, trial.why);
    fflush(stdout);
    return 0;
}

static void try_teller(void *baton, request_rec *r, const policy_reason *reason)
{
    pthread_mutex_lock(&trial.lock);
    main_lines_note(r);
    pthread_mutex_unlock(&trial.lock);
    main_trial_teller(baton, r, reason);
}

void main_try(process_rec *process, const char *url)
{
    static const main_trial
        asks = {.client = main_trial_rounds, .tell = try_print, .teller = try_teller},
        again = {.client = main_trial_rounds, .tell = try_verdict, .teller = main_trial_teller},
        once = {.client = main_trial_once, .tell = try_status, .teller = main_trial_teller};
    int status;

    if (ap_exists_config_define(MAIN_TRIAL_STATUS)) {
        main_trial_read(process);
        mpm_process_exit(process, main_trial_run(process, url, &once));
    }
    if (main_lines_are_left_out()) {
        main_trial_read(process);
        mpm_process_exit(process, main_trial_run(process, url, &again));
    }
    main_lines_watch(process);
    main_trial_read(process);
    status = main_trial_run(process, url, &asks);
    main_lines_report(process);
    mpm_process_exit(process, status);
}
