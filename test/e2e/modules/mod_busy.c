/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that computes for as many milliseconds as the query says, and that says of itself that it may run on an
 * event loop. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

module busy_module;

static int busy_handler(request_rec *r)
{
    apr_time_t end;

    if (!r->handler || strcmp(r->handler, "busy"))
        return DECLINED;
    end = apr_time_now() + apr_time_from_msec(r->args ? atoi(r->args) : 0);
    while (apr_time_now() < end)
        continue;
    ap_set_content_type(r, "text/plain");
    ap_rputs("done\n", r);
    return OK;
}

/* "spin" never comes to an end; on a worker if the query is "worker". The filter BUSY_SPIN does so on an event loop. Where the
 * query is "sleep" they wait instead, and "once" is no endless loop. */
__attribute__((noinline)) static void spin(const request_rec *r)
{
    static volatile int never;

    if (r->args && !strcmp(r->args, "once"))
        return;
    while (!never)
        if (r->args && !strcmp(r->args, "sleep"))
            apr_sleep(apr_time_from_sec(100));
}

static int spin_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "spin"))
        return DECLINED;
    spin(r);
    ap_rputs("spun\n", r);
    return OK;
}

static apr_status_t spin_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    spin(f->r);
    return ap_pass_brigade(f->next, bb);
}

/* "sleep" waits, and so is left to a worker; it reads the body first. */
static int sleep_handler(request_rec *r)
{
    char buf[512];

    if (!r->handler || strcmp(r->handler, "sleep"))
        return DECLINED;
    if (ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK) == OK && ap_should_client_block(r))
        while (ap_get_client_block(r, buf, sizeof buf) > 0)
            continue;
    apr_sleep(apr_time_from_msec(r->args ? atoi(r->args) : 0));
    ap_set_content_type(r, "text/plain");
    ap_rputs("slept\n", r);
    return OK;
}

/* "endless": an answer without an end. */
static int endless_handler(request_rec *r)
{
    static const char text[8192];

    if (!r->handler || strcmp(r->handler, "endless"))
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    while (ap_rwrite(text, sizeof text, r) > 0)
        continue;
    return OK;
}

/* "much": as many bytes as the query says, a counter in each eight of them; "flush-" before the number: a flush after
 * each block. "drip": so many bytes, flushed, and the rest of the answer so many milliseconds later. */
static int much_handler(request_rec *r)
{
    uint64_t block[1024], n = 0, size;
    const char *number = r->args;
    int flush = number && !strncmp(number, "flush-", 6);

    if (!r->handler || strcmp(r->handler, "much"))
        return DECLINED;
    size = number ? (uint64_t)apr_atoi64(flush ? number + 6 : number) / 8 : 0;
    ap_set_content_type(r, "application/octet-stream");
    while (n < size) {
        size_t i;

        for (i = 0; i < 1024 && n < size; i++)
            block[i] = n++;
        if (ap_rwrite(block, (int)(i * 8), r) < 0 || (flush && ap_rflush(r) < 0))
            break;
    }
    return OK;
}

static int drip_handler(request_rec *r)
{
    static const char text[8192];
    char *rest;

    if (!r->handler || strcmp(r->handler, "drip"))
        return DECLINED;
    ap_set_content_type(r, "application/octet-stream");
    for (long n = r->args ? strtol(r->args, &rest, 10) : 0; n > 0; n -= (long)sizeof text)
        if (ap_rwrite(text, sizeof text, r) < 0)
            return OK;
    ap_rflush(r);
    apr_sleep(apr_time_from_msec(r->args && *rest ? atoi(rest + 1) : 0));
    ap_rputs("end", r);
    return OK;
}

/* "piece": a few bytes down the filters, without a flush, and the rest so many milliseconds later. */
static int piece_handler(request_rec *r)
{
    apr_bucket_brigade *bb;

    if (!r->handler || strcmp(r->handler, "piece"))
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_brigade_puts(bb, NULL, NULL, "begin ");
    ap_pass_brigade(r->output_filters, bb);
    apr_sleep(apr_time_from_msec(r->args ? atoi(r->args) : 0));
    ap_rputs("end", r);
    return OK;
}

static int sleep_fixup(request_rec *r)
{
    if (r->handler && (!strcmp(r->handler, "sleep") || !strcmp(r->handler, "endless") || !strcmp(r->handler, "much") ||
                       !strcmp(r->handler, "drip") || !strcmp(r->handler, "piece") ||
                       (!strcmp(r->handler, "spin") && r->args && !strcmp(r->args, "worker"))))
        brg_request_needs_worker(r);
    return DECLINED;
}

static void busy_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(sleep_fixup, NULL, NULL, APR_HOOK_LAST);
    ap_hook_handler(sleep_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(spin_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_register_output_filter("BUSY_SPIN", spin_filter, NULL, AP_FTYPE_RESOURCE);
    ap_hook_handler(endless_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(much_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(drip_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(piece_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(busy_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&busy_module, NULL);
}

AP_DECLARE_MODULE(busy) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, busy_register_hooks,
};
