/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PRIVATE_H
#define BRIGADE_PROXY_PRIVATE_H

/* Configuration, workers, requests and shared state, for all files of the room. */
#include "http_head.h"
#include "proxy.h"
#include "proxy_settings.h"
#include "upstream.h"
#include "brigade/status.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "apr_hash.h"
#include "apr_tables.h"

/* The modules of Apache that this room is. */
#define PROXY_MODULE(name) extern module AP_MODULE_DECLARE_DATA name##_module
PROXY_MODULE(proxy);
PROXY_MODULE(proxy_http);
PROXY_MODULE(proxy_http2);
PROXY_MODULE(proxy_connect);
PROXY_MODULE(proxy_fcgi);
PROXY_MODULE(proxy_scgi);
PROXY_MODULE(proxy_uwsgi);
PROXY_MODULE(proxy_wstunnel);
PROXY_MODULE(proxy_balancer);
PROXY_MODULE(proxy_hcheck);
PROXY_MODULE(lbmethod_byrequests);
PROXY_MODULE(lbmethod_bytraffic);
PROXY_MODULE(lbmethod_bybusyness);
PROXY_MODULE(slotmem_shm);

#define PROXY_UNSET (-1)

/* ---- balancers ---- */

typedef enum proxy_method {
    PROXY_METHOD_BYREQUESTS,
    PROXY_METHOD_BYTRAFFIC,
    PROXY_METHOD_BYBUSYNESS,
    PROXY_METHOD_RANDOM2, /* the less busy of two that chance takes */
    PROXY_METHOD_HASH     /* by a key, with bounded load */
} proxy_method;

/* Bits of proxy_balancer.set. */
enum {
    BALANCER_SET_STICKY = 1u << 0,
    BALANCER_SET_SEPARATOR = 1u << 1,
    BALANCER_SET_FORCE = 1u << 2,
    BALANCER_SET_TIMEOUT = 1u << 3,
    BALANCER_SET_ATTEMPTS = 1u << 4,
    BALANCER_SET_METHOD = 1u << 5,
    BALANCER_SET_SCOLON = 1u << 6,
    BALANCER_SET_NONCE = 1u << 7,
    BALANCER_SET_GROWTH = 1u << 8,
    BALANCER_SET_RECOVERY = 1u << 9
};

#define BALANCER_STICKY_SIZE 64
#define BALANCER_NONCE_SIZE 37

/* The state of a balancer that all processes share; balancer-manager changes it. */
/* A change of a balancer, or of its member of that number (BALANCER_ITSELF: none). */
enum { BALANCER_CHANGES = 8 };
#define BALANCER_ITSELF UINT32_MAX

typedef struct balancer_change {
    _Atomic int64_t at;                     /* microseconds since the epoch */
    _Atomic uint32_t member, before, after; /* bits of its status */
} balancer_change;

typedef struct balancer_state {
    _Atomic uint64_t key;
    _Atomic uint32_t configured;
    _Atomic int32_t method, attempts, force, scolon, separator;
    _Atomic int64_t timeout, updated_at;
    _Atomic uint32_t names; /* odd while the two below are written */
    _Atomic uint32_t grown; /* moves on with each member that is added */
    char sticky[BALANCER_STICKY_SIZE], sticky_path[BALANCER_STICKY_SIZE];
    char nonce[BALANCER_NONCE_SIZE]; /* written before there are server processes */
    /* of the retry budget: tries that are not the first, and all, lately */
    _Atomic uint64_t retries, spent;
    _Atomic uint32_t changes; /* by hand, in all; the last ones are in a ring */
    balancer_change change[BALANCER_CHANGES];
} balancer_state;

struct proxy_balancer {
    const char *name; /* "balancer://name" */
    uint32_t set;     /* BALANCER_SET_* */
    const char *sticky, *sticky_path;
    char separator;
    int force, scolon, attempts, growth, recovery, fail_on_timeout;
    apr_interval_time_t timeout;
    proxy_method method;
    const char *nonce;                 /* NULL: to be made up; "": none */
    apr_array_header_t *fail_statuses; /* of int */
    const char *hash_key; /* hashkey=: "uri", "client" or a name of a field; NULL: uri */
    int retry_budget;     /* retrybudget=: tries in hundred that are not the first; 0: all may be */
    apr_array_header_t *members; /* of proxy_worker *, as configured; see proxy_members() */
    ap_conf_vector_t *section;
    server_rec *server;
    balancer_state *state;
    struct proxy_growth *grown; /* NULL: no growth= */
    const char *manager_path;   /* of the virtual host and path that ProxyPass gave */
};

/* Of the shared state, which any server process can write: a copy that ends. */
const char *proxy_nonce(apr_pool_t *p, const proxy_balancer *b);

/* ---- configuration of a server ---- */

enum {
    ALIAS_NOCANON = 1,
    ALIAS_INTERPOLATE = 2,
    ALIAS_NOQUERY = 4,
    ALIAS_ENCODED = 8,
    ALIAS_SERVLET = 16
};

/* Where requests of a ProxyPass go, whatever the rest of their path (proxy_place.c). */
typedef struct proxy_place {
    /* "proxy:SCHEME://AUTHORITY/PATH", in canonical form; the encoded rest follows */
    const char *start;
    size_t start_len;
    size_t path_at; /* in start: the path's slash */
    /* of "proxy:" and the URL as it was written: the rest follows in r->filename */
    size_t real_len;
    proxy_scheme scheme;
    const char *real, *scheme_name, *host, *authority;
    apr_port_t port;
} proxy_place;

/* ProxyPass, ProxyPassMatch */
typedef struct proxy_alias {
    const proxy_place *place; /* NULL: each request has to look */
    const char *fake;         /* path, or pattern */
    const char *real;         /* URL, or "!" */
    ap_regex_t *regex;
    unsigned flags;   /* ALIAS_* */
    const char *file; /* where it stands */
    int line;
    const ap_directive_t *directive; /* that line, or NULL */
} proxy_alias;

/* ProxyPassReverse and its forms for cookies */
typedef struct proxy_reverse {
    const char *fake, *real;
    int interpolate;
} proxy_reverse;

/* ProxyRemote, ProxyRemoteMatch */
typedef struct proxy_remote_rule {
    const char *scheme; /* "*", a scheme, or the beginning of a URL */
    ap_regex_t *regex;
    proxy_remote to;
} proxy_remote_rule;

/* NoProxy */
typedef struct proxy_direct {
    const char *name;
    apr_ipsubnet_t *net; /* NULL: it is a name */
} proxy_direct;

/* ProxyBlock */
typedef struct proxy_block {
    const char *name;
    apr_sockaddr_t *addresses;
} proxy_block;

typedef struct proxy_server_conf {
    server_rec *server;
    apr_array_header_t *aliases;   /* of proxy_alias */
    apr_array_header_t *sections;  /* of ap_conf_vector_t *: <Proxy>, <ProxyMatch> */
    apr_array_header_t *workers;   /* of proxy_worker * */
    apr_array_header_t *balancers; /* of proxy_balancer * */
    apr_array_header_t *remotes;   /* of proxy_remote_rule */
    apr_array_header_t *directs;   /* of proxy_direct */
    apr_array_header_t *blocks;    /* of proxy_block */
    proxy_worker *forward, *reverse;
    const char *domain;
    int requests, status, growth, persist, inherit, pass_inherit; /* PROXY_UNSET: not named */
    proxy_server_settings settings;
    unsigned via_set : 1, bad_set : 1, forwards_set : 1, io_set : 1, receive_set : 1;
    unsigned encoded_some : 1; /* of the aliases: mapping= */
} proxy_server_conf;

typedef struct proxy_dir_conf {
    const char *path; /* of <Proxy path> */
    ap_regex_t *regex;
    apr_array_header_t *refs;
    int is_fnmatch;
    proxy_alias *alias;
    apr_array_header_t *reverses, *cookie_paths, *cookie_domains; /* of proxy_reverse */
    /* PROXY_UNSET: not named */
    int interpolate, override, preserve_host, status_field, add_fields, pass_continue;
    apr_array_header_t *override_statuses; /* of int; NULL: all */
} proxy_dir_conf;

/** Give @a w the settings of the <Proxy URL> that it lies in, if it has none. Threads: main. */
void proxy_section_find(proxy_worker *w);

proxy_server_conf *proxy_conf_of(const server_rec *s);

/** ProxyBlock: 1, with a line in the log, if it names an address or a name that had it. A upstream_settings.refuses. */
int proxy_blocks_address(const server_rec *s, const struct sockaddr *address);
proxy_dir_conf *proxy_dir_of(const request_rec *r);
void *proxy_server_create(apr_pool_t *p, server_rec *s);
void *proxy_server_merge(apr_pool_t *p, void *base, void *add);
void *proxy_dir_create(apr_pool_t *p, char *path);
void *proxy_dir_merge(apr_pool_t *p, void *base, void *add);

/* ---- parameters: NULL or a message ---- */

const char *proxy_param_set(apr_pool_t *p, server_rec *s, proxy_worker *worker, const char *key,
                            const char *value);
const char *proxy_param_balancer(apr_pool_t *p, proxy_balancer *balancer, const char *key,
                                 const char *value);
/* Those of health checks (mod_proxy_hcheck), also of ProxyHCTemplate. */
const char *proxy_param_check(apr_pool_t *p, server_rec *s, proxy_params *to, const char *key,
                              const char *value);
/* On or off. */
const char *proxy_param_switch(const char *value, const char *message, int *to);
/* The bit of a status letter; 0: unknown. */
uint32_t proxy_status_bit(char letter);
/* Words of a status, each with a space after it, as Apache shows them. */
const char *proxy_status_words(apr_pool_t *p, uint32_t status);

/* ---- workers and balancers by URL ---- */

enum { WORKER_MATCH = 1 }; /* of ProxyPassMatch: the URL may have $1 ... */

/* "unix:path|url" in two. @return the text behind '|', @a socket is set; @a url itself, socket
 * NULL; NULL: wrong */
const char *proxy_split_socket(apr_pool_t *p, const char *url, const char **socket);
const char *proxy_worker_define(apr_pool_t *p, proxy_worker **to, proxy_server_conf *conf,
                                proxy_balancer *balancer, const char *url, int flags);
/* Set up @a w, whose server is set, by the URL and by defaults. @return NULL or the error */
const char *proxy_worker_fill(apr_pool_t *p, proxy_worker *w, proxy_balancer *balancer,
                              const char *url, int flags);
const char *proxy_balancer_define(apr_pool_t *p, proxy_balancer **to, proxy_server_conf *conf,
                                  const char *url);
proxy_balancer *proxy_balancer_find(const proxy_server_conf *conf, const char *url);
/* The worker whose name is the longest beginning of @a url; members of @a balancer if it is not NULL. */
proxy_worker *proxy_worker_find(const proxy_server_conf *conf, const proxy_balancer *balancer,
                                const char *url, const char *socket);
/* The same of the list @a from. @param least  bytes of @a url up to its path, which a name has to cover */
proxy_worker *proxy_worker_longest(const apr_array_header_t *from, const char *url, size_t least,
                                   const char *socket);
/* The worker that a directive with @a url means: as above, but of the same socket, and $1 in a name is no pattern. */
proxy_worker *proxy_worker_shared(const apr_array_header_t *workers, const char *url,
                                  const char *socket, apr_pool_t *p);
int proxy_is_balancer(const char *url);

/* ---- requests ---- */

const char *proxy_section(cmd_parms *cmd, void *dconf, const char *arg);
/* setters that several tables share */
const char *proxy_pass_cmd(cmd_parms *cmd, void *dconf, const char *args);
const char *proxy_member_cmd(cmd_parms *cmd, void *dconf, const char *args);
const char *proxy_set_cmd(cmd_parms *cmd, void *dconf, const char *args);

/* This room's data on a request. */
typedef struct proxy_request {
    const struct proxy_told *told; /* NULL: its handler did not run */
    const proxy_place *place;
    /* r->filename that place holds for, before and behind the fixups; NULL */
    const char *mapped, *canonical;
    /* the ProxyPass that the path was mapped by, and how much of it; NULL: none */
    const proxy_alias *alias;
    size_t covered;
} proxy_request;

proxy_request *proxy_request_of(request_rec *r);

/* @return NULL: not possible */
const proxy_place *proxy_place_make(apr_pool_t *p, const proxy_alias *alias);

/* r->filename was made of @a alias, and of what stands in the path behind @a covered bytes; 0: of a pattern */
void proxy_place_mapped(request_rec *r, const proxy_alias *alias, size_t covered);

/* How much of r->uri is the same for all paths that the ProxyPass of @a r leads on as it did r's, up to a slash; 0: nothing is. @param
 * path  of the target, without that of a balancer's member */
size_t proxy_place_prefix(const request_rec *r, const char *path);

/* The place that r->filename was made of; NULL: of none. @param rest  [out] the rest of the path, not encoded yet */
const proxy_place *proxy_place_of(const request_rec *r, const char **rest);

/* r->filename has its canonical form from now on. */
void proxy_place_canonical(request_rec *r);
/* Its place, while r->filename still has that form; else NULL. */
const proxy_place *proxy_place_resolved(const request_rec *r);

/* r->handler is a URL of FastCGI that this loop knows: r->filename, a file, becomes its canonical form, and @a origin the one for its
 * connections. Threads: the request's. @return 0: it is not; nothing was changed */
int proxy_by_handler(request_rec *r, upstream_origin **origin);

/* How much of a path a name covers: slashes in a row are as many as they like, and a name ends at a slash or at the path's end. 0: it
 * does not. */
size_t proxy_alias_covers(const char *uri, const char *name);
/* 1: the URL lies in a <Proxy> without a pattern. */
int proxy_section_covers(const proxy_dir_conf *d, const char *url);

int proxy_detect(request_rec *r);
int proxy_pre_translate(request_rec *r);
int proxy_translate(request_rec *r);
apr_int64_t proxy_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                       const char *filename, const char *path_info,
                       int is_file); /* a brg_cache_name_fn */
int proxy_map_to_storage(request_rec *r);
int proxy_fixup(request_rec *r);
/* "proxy:unix:path|url" in r->filename: put the socket into a note. @return OK, DECLINED or a status */
int proxy_take_socket(request_rec *r);
#define PROXY_SOCKET_NOTE "uds_path"

/* Bring url (after "proxy:") in r->filename into its canonical form. @return OK, DECLINED or a status */
int proxy_canonical(request_rec *r, const char *url);
/* Encode characters that a path may not have. NULL: it cannot be. */
char *proxy_encode_path(apr_pool_t *p, const char *path, int keep_encoded_slash);
/* The first byte of a file's name that a path of FastCGI may not have; its end if all may. */
const char *proxy_file_end(const char *path);
/* "//[user[:password]@]host[:port][/path]". @return NULL or the error; *url is the text behind the
 * first '/' */
const char *proxy_netloc(apr_pool_t *p, const char **url, const char **host, apr_port_t *port);
const char *proxy_interpolate(request_rec *r, const char *text);
/* 1: @a url, made of the target @a real of a ProxyPass and a request, names another host or port, or has user information. */
int proxy_authority_is_widened(const char *real, const char *url);
/* Host and port in brackets where needed; no port if it is the scheme's. */
const char *proxy_authority(apr_pool_t *p, const char *host, apr_port_t port, apr_port_t usual);

/* NoProxy, ProxyRemote: proxies to go by. */
void proxy_find_remotes(request_rec *r, proxy_target *t);
/* ProxyBlock by the name. OK or 403 */
int proxy_check_name(request_rec *r, const char *host);
/* 1: the module that has this scheme is loaded. */
int proxy_scheme_is_served(proxy_scheme scheme);

/* Lists of ProxyPassReverse as they hold for r, interpolated. */
const apr_array_header_t *proxy_reverses(request_rec *r);

/* ---- AllowCONNECT ---- */
int proxy_connect_allows(const server_rec *s, apr_port_t port);
/* ---- mod_proxy_wstunnel ---- */
int proxy_websocket_is_http(const request_rec *r);
/* ---- mod_proxy_hcheck ---- */
const ap_expr_info_t *proxy_check_expr(const server_rec *s, const char *name);

/* The n-th expression of ProxyHCExpr, from 0. @return its name; NULL: there are no more */
const char *proxy_check_text(const server_rec *s, int n, const char **text);

/* ---- shared state ---- */
int proxy_share(apr_pool_t *pconf, server_rec *main);
/* status and strings of a state */
void proxy_text_write(_Atomic uint32_t *names, char *to, const char *from, size_t size);
const char *proxy_text_read(_Atomic uint32_t *names, const char *from, char *to, size_t size);

/* A number and a state for a member that may be added, the @a at -th of its balancer. @return 0, or -1: no room */
int proxy_share_spare(apr_pool_t *p, proxy_worker *w, int at);
/* It is a member from now on, and proxy_worker_get() finds it. */
void proxy_worker_publish(proxy_worker *w);

#define PROXY_STATES_MOST 4096
/* The number of a state in shared memory, below PROXY_STATES_MOST; -1: it is not shared. */
int proxy_share_place_of(const proxy_state *state);

/* ---- gauges: the present use of a worker by each process ---- */
typedef struct proxy_gauges {
    upstream_gauges connections;
    _Atomic int32_t busy; /* requests that are chosen for it and not released */
} proxy_gauges;

/* Map their memory. Threads: main, behind proxy_share(). @return OK or a status */
int proxy_gauges_map(server_rec *main);
/* This server process begins: figures that a dead process left in its row are taken from the shared counts. */
void proxy_gauges_begin(void);
/* The same for a worker that is new in this process. */
void proxy_gauges_take(proxy_worker *w);
/* brigade/status.h: optional function */
int brg_status_backend_get(int n, apr_pool_t *p, brg_status_backend *out);

/* ---- choice ---- */
/* Steps of proxy_choose(), proxy_answered() and proxy_release() that have to do with the worker alone. */
void proxy_worker_take(proxy_worker *w);
void proxy_worker_answered(proxy_worker *w, int status, apr_interval_time_t waited);
void proxy_worker_release(proxy_worker *w, apr_off_t written, apr_off_t read);
int proxy_worker_usable(request_rec *r, proxy_worker *w, apr_time_t now);
/* 1: failonstatus= has it. */
int proxy_status_fails(const proxy_balancer *b, int status);

/* The session of a request at a balancer. Texts live as long as the asker's pool. */
typedef struct proxy_session {
    const char *sticky; /* name of the cookie or parameter; NULL: the balancer keeps no sessions */
    const char *route;  /* that it names; NULL: it has none */
    int changed;        /* it went to a member of another route */
} proxy_session;

/* A request, as balancers choose by it. */
typedef struct proxy_asker {
    request_rec *r;        /* NULL: it has none yet, and the log hears nothing of it */
    const http_head *head; /* without r */
    /* the first is made of the second once it is needed; with r: its pool */
    apr_pool_t *pool, *of_pool;
    server_rec *server;
    const char *url;    /* that is sent: may have the parameter of a session */
    const char *client; /* address */
    proxy_session session;
} proxy_asker;

apr_pool_t *proxy_asker_pool(proxy_asker *a);
const char *proxy_asker_field(proxy_asker *a, const char *name);

/* @return NULL: all are out */
proxy_worker *proxy_balance(proxy_asker *a, proxy_target *t, apr_time_t now);
/** 1: @a w failed for this request already. */
int proxy_was_tried(const proxy_target *t, const proxy_worker *w);
/* @return the member of the session; NULL: any may take it */
proxy_worker *proxy_sticky(proxy_asker *a, const proxy_target *t, apr_time_t now);
/* Variables and notes of @a r about its session. */
void proxy_session_tell(request_rec *r, const proxy_session *session);
const char *proxy_method_name(int method);
int proxy_method_of(const char *name); /* negative: unknown */

int balancer_manager(request_rec *r);
int proxy_status_page(request_rec *r, int flags);
void proxy_dump(apr_pool_t *p, server_rec *main);

#endif
