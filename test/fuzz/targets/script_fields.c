/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script's head as fields, against the tables of a request_rec: what is taken is the same there, in the same order, and nothing that
 * would be refused there is taken. The first byte says how much of the head is here: its end is not found before it is.
 * Covers: server/proxy/proxy_script_head.c server/proxy/proxy_script.c
 */
#include "test_request.h"
#include "proxy_script.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_script.h"
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

/* The next field of the answer is this one. */
typedef struct expected {
    const http_head *head;
    int n;
} expected;

static int expected_field(void *baton, const char *name, const char *value)
{
    expected *e = baton;
    const http_field *f = &e->head->field[e->n++];

    check(e->n <= e->head->n_fields && strlen(name) == f->name_len &&
          strlen(value) == f->value_len && !memcmp(name, f->name, f->name_len) &&
          !memcmp(value, f->value, f->value_len));
    return 1;
}

static void check_same(request_rec *r, const http_head *head)
{
    expected e = {head, 0};
    const char *line = r->status_line ? r->status_line : "200 OK";

    check(r->status == head->code && strlen(line) == head->line_len &&
          !memcmp(line, head->line, head->line_len));
    apr_table_do(expected_field, &e, r->err_headers_out, NULL);
    apr_table_do(expected_field, &e, r->headers_out, NULL);
    if (e.n < head->n_fields) {
        const http_field *f = &head->field[e.n++];

        check(r->content_type && !strncasecmp(f->name, "Content-Type", f->name_len) &&
              strlen(r->content_type) == f->value_len &&
              !memcmp(r->content_type, f->value, f->value_len));
    }
    check(e.n == head->n_fields);
}

static void try(apr_pool_t *p, const char *text, size_t len)
{
    request_rec *r = test_request(p);
    char room[SCRIPT_HEAD_ROOM];
    http_head head;

    r->method_number = M_POST; /* no "not modified", which would look at files */
    r->server->log.level = APLOG_EMERG;
    r->status = HTTP_OK;
    if (!script_head_parse(&head, text, len, r->request_time, room))
        return;
    check(ap_scan_script_header_err_strs(r, NULL, NULL, NULL, text, NULL) == OK);
    check_same(r, &head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *pool;
    size_t len;
    char *text;

    if (size < 2 || size > 20000)
        return 0;
    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
    }
    text = apr_pstrmemdup(pool, (const char *)data + 1, size - 1);
    len = script_head_size(text, size - 1);
    check(!len || text[len - 1] == '\n');
    check(!len || data[0] >= len || !script_head_size(text, data[0]));
    if (len) {
        text[len] = '\0';
        try(pool, text, len);
    }
    apr_pool_clear(pool);
    return 0;
}
