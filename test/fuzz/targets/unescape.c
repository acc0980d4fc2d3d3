/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes, paths and lists: in place functions must stay within the string, and what was escaped
 * comes back.
 * Covers: server/base/util_unescape.c server/base/util_escape.c server/base/util_path.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "httpd.h"
#include "apr_general.h"
#include "apr_strings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

/* A heap copy of the exact size, so that a sanitizer sees the first byte beyond it. */
static char *copy_of(const char *text)
{
    char *copy = strdup(text);

    check(copy != NULL);
    return copy;
}

static void in_place(const char *text)
{
    size_t len = strlen(text);
    unsigned flags;

    for (flags = 0; flags < 16; flags++) {
        char *copy = copy_of(text);
        int ok = ap_normalize_path(copy, flags);

        check(strlen(copy) <= len);
        if (ok && (flags & AP_NORMALIZE_NOT_ABOVE_ROOT) && copy[0] == '/')
            check(!strstr(copy, "/../"));
        if (flags < 8) {
            strcpy(copy, text);
            ap_unescape_url_ex(copy, flags);
            check(strlen(copy) <= len);
        }
        strcpy(copy, text);
        ap_unescape_urlencoded(copy);
        check(strlen(copy) <= len);
        strcpy(copy, text);
        ap_no2slash(copy);
        check(!strstr(copy, "//"));
        free(copy);
    }
}

static void round_trips(apr_pool_t *pool, const char *text)
{
    char *escaped = ap_escape_path_segment(pool, text);

    check(ap_unescape_all(escaped) == OK && strcmp(escaped, text) == 0);
    escaped = ap_escape_urlencoded(pool, text);
    check(ap_unescape_urlencoded(escaped) == OK && strcmp(escaped, text) == 0);
    escaped = ap_escape_logitem(pool, text);
    check(strpbrk(escaped, "\n\r\x1b") == NULL);
    escaped = ap_escape_html2(pool, text, 1);
    check(strpbrk(escaped, "<>\"") == NULL);
    ap_escape_shell_cmd(pool, text);
    ap_escape_quotes(pool, text);
    ap_os_escape_path(pool, text, 0);
}

static void words_and_lists(apr_pool_t *pool, const char *text)
{
    const char *line;
    int len;

    for (line = text; *line;)
        ap_getword_conf(pool, &line);
    for (line = text; *line;)
        ap_getword_conf2(pool, &line);
    for (line = text; ap_get_list_item(pool, &line);)
        ;
    for (line = text; ap_size_list_item(&line, &len);)
        check(len > 0);
    ap_find_etag_weak(pool, text, "\"a\"");
    ap_find_list_item(pool, text, "a");
    ap_find_token(pool, text, "a");
    ap_field_noparam(pool, text);
    ap_is_chunked(pool, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *global;
    apr_pool_t *pool;
    char *text, small[16];

    if (!global) {
        apr_initialize();
        apr_pool_create(&global, NULL);
    }
    apr_pool_create(&pool, global);
    text = apr_pstrmemdup(pool, (const char *)data, size);
    in_place(text);
    round_trips(pool, text);
    words_and_lists(pool, text);
    check(ap_escape_errorlog_item(small, text, sizeof(small)) < sizeof(small));
    apr_pool_destroy(pool);
    return 0;
}
