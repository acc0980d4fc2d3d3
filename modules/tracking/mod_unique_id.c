/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_unique_id: UNIQUE_ID, a name of a request that no other one has, of no server.
 *
 * It has 20 bytes in base64 for URLs: the second, ten random bytes of the server, a counter and the
 * number of the thread. Each request has another one, so it is made only where LoadModule names the
 * module. Answers are stored all the same: a module that shows it in one says so, and logs get one
 * of their own for each answer from memory.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/directive.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include <stdatomic.h>
#include <string.h>
#include <arpa/inet.h>

#define UNIQUE_BYTES 20
#define UNIQUE_ROOT 10
#define UNIQUE_TEXT 27

extern module unique_id_module;
APLOG_USE_MODULE(unique_id);

static int unique_is_on;
static unsigned char unique_root[UNIQUE_ROOT]; /* of this process */
static atomic_ushort unique_count;

/* @param text  [out] UNIQUE_TEXT bytes */
static void unique_encode(char *text, const unsigned char *bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned held = 0, bits = 0;
    int n = 0;

    for (int i = 0; i < UNIQUE_BYTES; i++) {
        held = held << 8 | bytes[i];
        for (bits += 8; bits >= 6; bits -= 6)
            text[n++] = letters[held >> (bits - 6) & 63];
    }
    text[n] = letters[held << (6 - bits) & 63];
}

static void unique_make(char *text, apr_time_t when)
{
    const apr_uint32_t stamp = htonl((apr_uint32_t)apr_time_sec(when));
    const apr_uint32_t thread = htonl((apr_uint32_t)brg_thread_index());
    const apr_uint16_t count =
        htons(atomic_fetch_add_explicit(&unique_count, 1, memory_order_relaxed));
    unsigned char bytes[UNIQUE_BYTES];

    memcpy(bytes, &stamp, 4);
    memcpy(bytes + 4, unique_root, UNIQUE_ROOT);
    memcpy(bytes + 14, &count, 2);
    memcpy(bytes + 16, &thread, 4);
    unique_encode(text, bytes);
}

static char *unique_text(const request_rec *r)
{
    char *text = apr_palloc(r->pool, UNIQUE_TEXT + 1);

    unique_make(text, r->request_time);
    text[UNIQUE_TEXT] = '\0';
    return text;
}

/* One request keeps its name over redirects. */
static const char *unique_of(request_rec *r)
{
    const char *id = apr_table_get(r->subprocess_env, "UNIQUE_ID");

    if (!id && r->prev)
        id = apr_table_get(r->subprocess_env, "REDIRECT_UNIQUE_ID");
    if (!id)
        id = unique_text(r);
    apr_table_setn(r->subprocess_env, "UNIQUE_ID", id);
    return id;
}

static void unique_renew(request_rec *r)
{
    const char *id = unique_text(r);

    apr_table_setn(r->subprocess_env, "UNIQUE_ID", id);
    if (apr_table_get(r->subprocess_env, "REDIRECT_UNIQUE_ID"))
        apr_table_setn(r->subprocess_env, "REDIRECT_UNIQUE_ID", id);
}

/* Of an answer from memory, the environment has the name of the request that it was made for. */
static int unique_post_read(request_rec *r)
{
    if (unique_is_on && brg_request_is_stored(r))
        unique_renew(r);
    else if (unique_is_on)
        unique_of(r);
    return DECLINED;
}

static apr_size_t unique_of_stored(const brg_transaction *t, char *out)
{
    unique_make(out, t->request_time);
    return UNIQUE_TEXT;
}

/* Logs without a request_rec get it by unique_of_stored(). */
static int unique_is_made(const brg_transaction *t)
{
    return 1;
}

static int unique_log_id(const conn_rec *c, const request_rec *r, const char **id)
{
    if (!unique_is_on || !r)
        return DECLINED;
    *id = unique_of((request_rec *)r);
    return OK;
}

static int unique_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    unique_is_on = brg_module_is_named(&unique_id_module);
    if (unique_is_on) {
        brg_transaction_observe(&unique_id_module, unique_is_made);
        brg_transaction_variable(p, "UNIQUE_ID", unique_of_stored);
    }
    return OK;
}

static void unique_child_init(apr_pool_t *p, server_rec *s)
{
    apr_uint16_t first;

    ap_random_insecure_bytes(unique_root, sizeof unique_root);
    ap_random_insecure_bytes(&first, sizeof first);
    atomic_store(&unique_count, first);
}

static void unique_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(unique_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(unique_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(unique_post_read, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_generate_log_id(unique_log_id, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&unique_id_module, NULL); /* modules that show it in an answer say so */
    brg_cache_leaves_query(&unique_id_module);
}

module AP_MODULE_DECLARE_DATA unique_id_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, unique_register_hooks, 0,
};
