/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mod_usertrack reads: a Cookie field that clients send, and CookieExpires in words. The first line of the input is the name of
 * the cookie, the rest is both.
 * Covers: modules/tracking/usertrack_text.c
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "usertrack_private.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_cookie(apr_pool_t *p, const char *name, const char *field)
{
    const char *value = track_find(p, field, name), *more;

    check(!track_find(p, NULL, name));
    if (value)
        check(*value && !strpbrk(value, ";,") &&
              strstr(field, apr_pstrcat(p, name, "=", value, NULL)));
    if (strpbrk(name, "=;, \t"))
        return;
    more = track_find(p, apr_pstrcat(p, field, "; ", name, "=last", NULL), name);
    check(more && !strcmp(more, value ? value : "last"));
    more = track_find(p, apr_pstrcat(p, name, "=first,", field, NULL), name);
    check(more && !strcmp(more, "first"));
}

static void check_period(apr_pool_t *p, const char *text)
{
    apr_int64_t seconds = -1, more = -1;

    if (track_period(p, text, &seconds))
        return;
    check(seconds >= 0 && seconds <= TRACK_LONGEST);
    if (strpbrk(text, "\"'\\")) /* words that may go on */
        return;
    check(!track_period(p, apr_pstrcat(p, *text ? text : "plus", " 2 minutes", NULL), &more));
    check(more == seconds + 120 || more == TRACK_LONGEST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_pool_t *p;
    char *name, *text;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    apr_pool_create(&p, root);
    name = apr_pstrmemdup(p, (const char *)data, size);
    if ((text = strchr(name, '\n')) != NULL) {
        *text++ = '\0';
        check_cookie(p, name, text);
        check_period(p, text);
    }
    apr_pool_destroy(p);
    return 0;
}
