/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory system from outside: `scrub` clears what is given back, so that nothing of a request
 * remains readable in memory when it is over.
 *
 *     LoadModule   sms_scrub_module modules/sms_sample.so
 *     MemorySystem request scrub arena
 *     MemorySystem connection scrub(0xdd) arena
 *
 * It takes its blocks from whatever it is put on, needs no state but its parameter, and may be
 * called by any thread if what is below may.
 *
 *     brigade-apxs -c -i -a -n sms_scrub sms_sample.c
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/sms.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRUB_HELP "the byte to fill with, 0 to 255"

/* A system begins with brg_sms. */
typedef struct scrub_sms {
    brg_sms base;
    int fill;
} scrub_sms;

/* Take and give count what goes to the parent and comes from it, for the figures. */
static void *scrub_allocate(brg_sms *s, size_t bytes)
{
    return brg_sms_take(s, bytes);
}

static void scrub_free(brg_sms *s, void *block, size_t bytes)
{
    memset(block, ((scrub_sms *)s)->fill, bytes);
    __asm__ volatile("" : : "r"(block) : "memory"); /* nobody reads it again; do it all the same */
    brg_sms_give(s, block, bytes);
}

/* Every block was freed before: there is nothing left to give back. */
static void scrub_destroy(brg_sms *s)
{
}

static void scrub_describe(const brg_sms *s, char *out, size_t n)
{
    snprintf(out, n, "%d", ((const scrub_sms *)s)->fill);
}

/* Without `resize`, blocks are moved and the old place is freed, which clears it. */
static const brg_sms_ops scrub_ops = {
    .kind = "scrub",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_AS_PARENT, /* pools take chunks if the system below is for chunks */
    .allocate = scrub_allocate,
    .free = scrub_free,
    .destroy = scrub_destroy,
    .describe = scrub_describe,
};

static const char *scrub_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                                int params_n, apr_pool_t *p)
{
    char *end;
    long fill = 0;

    if (params_n > 1 || (params_n == 1 && params[0].name != NULL))
        return "its only parameter is " SCRUB_HELP;
    if (params_n == 1) {
        fill = strtol(params[0].value, &end, 0);
        if (*end != '\0' || fill < 0 || fill > 255)
            return brg_sms_message(p, "\"%.32s\" is not %s", params[0].value, SCRUB_HELP);
    }
    *out = brg_sms_make(sizeof(scrub_sms), &scrub_ops, parent);
    if (*out == NULL)
        return "out of memory";
    ((scrub_sms *)*out)->fill = (int)fill;
    return NULL;
}

static void scrub_hooks(apr_pool_t *p)
{
    brg_sms_kind_register("scrub", scrub_create, SCRUB_HELP);
}

AP_DECLARE_MODULE(sms_scrub) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, scrub_hooks, 0,
};
