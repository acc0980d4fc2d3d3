/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes wrong where it is told to. "Mishap WHERE HOW": in the hook or filter WHERE do HOW (once for requests whose query
 * is "now", in other hooks while the file "mishap" is below the server root). Filters with mistakes of their own:
 * M_LEAK, M_KEEP, M_TWICE, M_TORN, M_STALE, M_USED, M_SENT, M_LEFT, M_STRANGE, and M_FINE without one.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *mishap_where, *mishap_how;
static char mishap_file[4096];
static int (*mishap_nowhere)(request_rec *);

__attribute__((noinline)) static int mishap_recurse(volatile char *above, int depth)
{
    volatile char here[512];

    here[0] = (char)depth;
    here[511] = above ? above[0] : 0;
    return mishap_recurse(here, depth + 1) + here[511];
}

__attribute__((noinline)) static void mishap_happen(request_rec *r)
{
    if (!strcmp(mishap_how, "segv"))
        *(volatile char *)8 = 'x';
    else if (!strcmp(mishap_how, "null"))
        mishap_nowhere(r);
    else if (!strcmp(mishap_how, "recurse"))
        mishap_recurse(NULL, 0);
    else if (!strcmp(mishap_how, "abort"))
        abort();
    else if (!strcmp(mishap_how, "libc"))
        memset((void *)(apr_uintptr_t)8, 1, (size_t)atol("5000"));
    else if (!strcmp(mishap_how, "exit"))
        exit(3);
}

static void *mishap_thread(void *unused)
{
    for (;;)
        poll(NULL, 0, 1);
    return NULL;
}

/* What belongs to the whole process, and is not a module's to change. */
static void mishap_surroundings(void)
{
    static const char *const locales[] = {"tr_TR.UTF-8", "de_DE.UTF-8", "C.UTF-8"};
    unsigned i;

    umask(0777);
    (void)!chdir("/proc");
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    for (i = 0; i < 3 && !setlocale(LC_ALL, locales[i]); i++)
        continue;
}

static void mishap_block_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
}

/* What leaves the process alive. */
static void mishap_live_on(void)
{
    pthread_t id;

    if (!strcmp(mishap_how, "thread"))
        pthread_create(&id, NULL, mishap_thread, NULL);
    else if (!strcmp(mishap_how, "surroundings"))
        mishap_surroundings();
    else if (!strcmp(mishap_how, "signals"))
        mishap_block_signals();
}

static int mishap_is(const char *where)
{
    return mishap_where && !strcmp(mishap_where, where);
}

static void mishap_at(const char *where, request_rec *r)
{
    if (mishap_is(where) && (r ? r->args && !strcmp(r->args, "now") : access(mishap_file, F_OK) == 0))
        mishap_happen(r), mishap_live_on();
}

static int mishap_translate(request_rec *r)
{
    mishap_at("translate", r);
    return DECLINED;
}

static int mishap_fixups(request_rec *r)
{
    if (mishap_is("fixups") && r->args && !strcmp(r->args, "now"))
        return mishap_nowhere(r); /* may become a jump, and leave no frame of this function */
    return DECLINED;
}

static int mishap_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "mishap"))
        return DECLINED;
    mishap_at("handler", r);
    ap_set_content_type(r, "text/plain");
    ap_rputs("handled\n", r);
    return OK;
}

/* Reads the body and tells its length. */
static int mishap_read(request_rec *r)
{
    char buf[1000];
    long n, sum = 0;

    if (!r->handler || strcmp(r->handler, "mishap-read"))
        return DECLINED;
    if (ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK) == OK && ap_should_client_block(r))
        while ((n = ap_get_client_block(r, buf, sizeof buf)) > 0)
            sum += n;
    ap_rprintf(r, "%ld\n", sum);
    return OK;
}

static int mishap_log(request_rec *r)
{
    mishap_at("log", r);
    return DECLINED;
}

static void mishap_child_init(apr_pool_t *p, server_rec *s)
{
    mishap_at("child_init", NULL);
}

static int mishap_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_cpystrn(mishap_file, ap_server_root_relative(p, "mishap"), sizeof mishap_file);
    mishap_at("post_config", NULL);
    return OK;
}

/* ---- filters ---- */

static apr_status_t mishap_fine(ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (f->r)
        mishap_at("output", f->r);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t mishap_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_read_type_e block,
                                 apr_off_t n)
{
    if (f->r)
        mishap_at("input", f->r);
    return ap_get_brigade(f->next, bb, mode, block, n);
}

static apr_bucket *mishap_bucket(ap_filter_t *f, const char *text)
{
    return apr_bucket_immortal_create(text, strlen(text), f->c->bucket_alloc);
}

/* Makes a bucket that nobody gets. */
static apr_status_t mishap_leak(ap_filter_t *f, apr_bucket_brigade *bb)
{
    mishap_bucket(f, "lost");
    return ap_pass_brigade(f->next, bb);
}

/* Passes a bucket, and again while it waits to be sent. */
static apr_status_t mishap_twice(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket_brigade *mine = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    apr_bucket *e = mishap_bucket(f, "again and again");
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(mine, e);
    rv = ap_pass_brigade(f->next, mine);
    if (rv == APR_SUCCESS) {
        APR_BRIGADE_INSERT_TAIL(mine, e);
        rv = ap_pass_brigade(f->next, mine);
    }
    return rv == APR_SUCCESS ? ap_pass_brigade(f->next, bb) : rv;
}

/* A bucket in two brigades. */
static apr_status_t mishap_torn(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket_brigade *mine = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    apr_bucket *e = mishap_bucket(f, "torn");

    APR_BRIGADE_INSERT_HEAD(bb, e);
    APR_BRIGADE_INSERT_TAIL(mine, e);
    return ap_pass_brigade(f->next, bb);
}

/* Destroys a bucket and leaves it where it is. */
static apr_status_t mishap_stale(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *e = mishap_bucket(f, "stale");

    APR_BRIGADE_INSERT_HEAD(bb, e);
    apr_bucket_destroy(e);
    return ap_pass_brigade(f->next, bb);
}

/* Reads a bucket after its end. */
static apr_status_t mishap_used(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *e = mishap_bucket(f, "used");
    const char *data;
    apr_size_t n;

    APR_BRIGADE_INSERT_HEAD(bb, e);
    apr_bucket_delete(e);
    apr_bucket_read(e, &data, &n, APR_BLOCK_READ);
    return ap_pass_brigade(f->next, bb);
}

/* Sends the memory of a bucket that is gone. */
static apr_status_t mishap_sent(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *e = mishap_bucket(f, "gone");
    char copy[32];

    apr_bucket_destroy(e);
    apr_snprintf(copy, sizeof copy, "%.10s", ap_escape_html(f->r->pool, (const char *)e));
    return ap_pass_brigade(f->next, bb);
}

/* Keeps what it gets, for longer than the request. */
static apr_status_t mishap_keep(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket_brigade *mine = apr_brigade_create(f->c->pool, f->c->bucket_alloc);

    APR_BRIGADE_INSERT_TAIL(mine, mishap_bucket(f, "kept"));
    return ap_pass_brigade(f->next, bb);
}

/* Passes copies, and says that all was taken. */
static apr_status_t mishap_left(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket_brigade *mine = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    apr_bucket *e, *copy;

    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e))
        if (apr_bucket_copy(e, &copy) == APR_SUCCESS)
            APR_BRIGADE_INSERT_TAIL(mine, copy);
    return ap_pass_brigade(f->next, mine);
}

/* A bucket from an allocator of its own. */
static apr_status_t mishap_strange(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket_alloc_t *list = apr_bucket_alloc_create(f->c->pool);

    APR_BRIGADE_INSERT_HEAD(bb, apr_bucket_immortal_create("strange", 7, list));
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

/* ---- the module ---- */

static const char *mishap_set(cmd_parms *cmd, void *unused, const char *where, const char *how)
{
    mishap_where = where;
    mishap_how = how;
    if (!strcmp(where, "directive"))
        mishap_happen(NULL);
    return NULL;
}

static const command_rec mishap_commands[] = {
    AP_INIT_TAKE2("Mishap", mishap_set, NULL, RSRC_CONF, "where and how to go wrong"), {NULL}};

static void mishap_register_hooks(apr_pool_t *p)
{
    static const struct {
        const char *name;
        ap_out_filter_func function;
    } filters[] = {{"M_FINE", mishap_fine}, {"M_LEAK", mishap_leak}, {"M_TWICE", mishap_twice}, {"M_TORN", mishap_torn},
                   {"M_STALE", mishap_stale}, {"M_LEFT", mishap_left}, {"M_USED", mishap_used}, {"M_KEEP", mishap_keep}, {"M_SENT", mishap_sent}, {"M_STRANGE", mishap_strange}};
    unsigned i;

    mishap_where = NULL;
    for (i = 0; i < sizeof filters / sizeof *filters; i++)
        ap_register_output_filter(filters[i].name, filters[i].function, NULL, AP_FTYPE_RESOURCE);
    ap_register_input_filter("M_INPUT", mishap_input, NULL, AP_FTYPE_RESOURCE);
    ap_hook_translate_name(mishap_translate, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(mishap_fixups, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(mishap_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(mishap_read, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(mishap_log, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(mishap_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(mishap_post_config, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(mishap) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, mishap_commands, mishap_register_hooks,
};
