/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header fields that are lists, and cookies. The first line is what is looked for, the rest the
 * field: items lie within it, one after the other, and each is found again.
 * Covers: server/http/util_cookies.c server/base/util_list.c server/base/util_word.c
 */
#include "test_request.h"
#include "http_log.h"
#include "util_cookies.h"
#include "apr_general.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

/* Only the last item of a field may end within a quoted string. */
static void check_quotes(const char *item, int len)
{
    int quoted = 0;

    if (memchr(item, '(', (size_t)len)) /* a comment may have a quote in it */
        return;
    for (int i = 0; i < len; i++) {
        quoted ^= item[i] == '"';
        i += item[i] == '\\';
    }
    check(!quoted);
}

static void items(apr_pool_t *p, const char *field)
{
    const char *end = field + strlen(field), *at = field, *again = field, *item;
    int len;

    while ((item = ap_size_list_item(&at, &len)) != NULL) {
        char *text = ap_get_list_item(p, &again);

        check(len > 0 && item >= field && item + len <= at && at <= end && again == at);
        check(text && strlen(text) <= (size_t)len);
        if (at < end)
            check_quotes(item, len);
        check(ap_find_list_item(p, field, apr_pstrmemdup(p, item, (apr_size_t)len)));
    }
    check(at == end && ap_get_list_item(p, &again) == NULL);
}

static void tokens(apr_pool_t *p, const char *field, int skip)
{
    apr_array_header_t *list = NULL;
    const char *error = ap_parse_token_list_strict(p, field, &list, skip);

    check(!error || *error);
    for (int i = 0; list && i < list->nelts; i++) {
        const char *token = APR_ARRAY_IDX(list, i, const char *);

        check(*token && !*ap_scan_http_token(token));
        check(ap_find_token(p, field, token));
    }
}

/* A cookie that was taken out is not there any more. */
static void cookie(request_rec *r, const char *name, const char *field)
{
    const char *value, *gone;

    apr_table_setn(r->headers_in, "Cookie", field);
    r->server->log.level = APLOG_EMERG;
    if (ap_cookie_read(r, name, &value, 1) != APR_SUCCESS || !value)
        return;
    check(ap_cookie_read(r, name, &gone, 0) == APR_SUCCESS && !gone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *pool;
    char *wanted, *field;

    if (size > 10000)
        return 0;
    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
    }
    field = apr_pstrmemdup(pool, (const char *)data, size);
    wanted = apr_strtok(field, "\n", &field);
    if (wanted && field) {
        items(pool, field);
        tokens(pool, field, 0);
        tokens(pool, field, 1);
        check(!ap_find_etag_strong(pool, field, wanted) || ap_find_etag_weak(pool, field, wanted));
        ap_find_last_token(pool, field, wanted);
        ap_is_chunked(pool, field);
        if (ap_cookie_check_string(wanted) == APR_SUCCESS)
            cookie(test_request(pool), wanted, field);
    }
    apr_pool_clear(pool);
    return 0;
}
