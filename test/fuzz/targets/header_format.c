/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of Header and RequestHeader: up to the first NUL stands the format, behind it the variable E as a client may
 * have made it. Nothing but the format itself can add a line. Expressions have a target of their own.
 * Covers: modules/headers/headers_format.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "headers_private.h"
#include "test_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void run(apr_pool_t *p, const char *text, const char *client)
{
    cmd_parms cmd = {.pool = p, .temp_pool = p};
    headers_format format;
    const char *error = headers_format_parse(&cmd, text, &format), *value;
    request_rec *r;

    if (error) {
        check(*error);
        return;
    }
    r = test_request(p);
    apr_table_setn(r->subprocess_env, "E", client);
    value = headers_format_run(r, &format);
    check(value != NULL);
    check(!format.literal || headers_format_is_known(&format));
    if (!strpbrk(text, "\\\r\n"))
        check(!strpbrk(value, "\r\n"));
    if (!strpbrk(text, "%\\"))
        check(!strcmp(text, value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int started;
    const char *text;
    apr_pool_t *p;

    if (!started) {
        started = 1;
        apr_initialize();
    }
    apr_pool_create(&p, NULL);
    text = apr_pstrmemdup(p, (const char *)data, size);
    if (strncmp(text, "expr=", 5))
        run(p, text, size > strlen(text) ? text + strlen(text) + 1 : "");
    apr_pool_destroy(p);
    return 0;
}
