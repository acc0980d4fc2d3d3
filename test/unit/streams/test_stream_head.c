/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field lines to request heads: what makes a request malformed, and what the head says.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_stream.h"

#define GET ":method=GET|:scheme=https|:path=/a?b|:authority=host"
#define LINES 32

/* "name=value|name=value" */
typedef struct head_case {
    const char *lines;
    const char *why; /* NULL: it is well-formed */
} head_case;

static const head_case cases[] = {
    {GET, NULL},
    {GET "|accept=*/*|host=HOST|te=trailers", NULL},
    {":method=OPTIONS|:scheme=http|:path=*", NULL},
    {":method=GET|:scheme=https|:path=*", "bad method or path"},
    {":method=GET|:scheme=https|:path=a", "bad method or path"},
    {":method=GET|:scheme=https|:path=", "bad method or path"},
    {":method=G T|:scheme=https|:path=/", "bad method or path"},
    {":method=GET|:scheme=https", "pseudo field missing"},
    {":scheme=https|:path=/", "pseudo field missing"},
    {":method=GET|:path=/", "pseudo field missing"},
    {":method=GET|:scheme=|:path=/", "pseudo field missing"},
    {GET "|:path=/b", "pseudo field that comes twice"},
    {GET "|accept=x|:protocol=y", "pseudo field behind others"},
    {GET "|:status=200", "unknown pseudo field"},
    {":method=GET|:scheme=https|:path=/\x01", "bad value of a pseudo field"},
    {":method=GET|:scheme=ht\x01s|:path=/", "bad value of a pseudo field"},
    {GET "|Accept=x", "bad field name"},
    {GET "|=x", "bad field name"},
    {GET "|a b=x", "bad field name"},
    {GET "|accept= x", "bad field value"},
    {GET "|accept=x\t", "bad field value"},
    {GET "|accept=x\ny", "bad field value"},
    {GET "|connection=close", "field of a connection of HTTP/1"},
    {GET "|keep-alive=x", "field of a connection of HTTP/1"},
    {GET "|proxy-connection=x", "field of a connection of HTTP/1"},
    {GET "|transfer-encoding=chunked", "field of a connection of HTTP/1"},
    {GET "|upgrade=x", "field of a connection of HTTP/1"},
    {GET "|te=gzip", "field of a connection of HTTP/1"},
    {GET "|host=other", "Host is not :authority"},
    {GET "|host=host|host=host", "more than one Host"},
    {GET "|content-length=1|content-length=1", "more than one Content-Length"},
    {":method=CONNECT|:protocol=websocket|:scheme=https|:path=/c|:authority=h", NULL},
    {":method=GET|:protocol=websocket|:scheme=https|:path=/c|:authority=h", "bad :protocol"},
    {":method=CONNECT|:protocol=other|:scheme=https|:path=/c|:authority=h", "bad :protocol"},
};

static void lines_of(const char *text, http_field *field, http_field_block *list)
{
    *list = (http_field_block){.field = field, .most = LINES};
    while (*text) {
        const size_t name = strcspn(text + 1, "=") + (*text != '='), all = strcspn(text, "|");

        field[list->n++] = (http_field){.name = text,
                                        .name_len = (uint32_t)name,
                                        .value = text + name + 1,
                                        .value_len = (uint32_t)(all - name - 1)};
        text += all + (text[all] == '|');
    }
}

static void every_case(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        http_field field[LINES];
        http_field_block list;
        stream_request p;

        lines_of(cases[i].lines, field, &list);
        stream_parts_of(&p, &list, 1);
        if (cases[i].why)
            assert_string_equal(p.why ? p.why : cases[i].lines, cases[i].why);
        else
            assert_null(p.why);
    }
}

/* Without the setting the extended CONNECT is malformed. */
static void no_tunnels(void **state)
{
    http_field field[LINES];
    http_field_block list;
    stream_request p;

    lines_of(":method=CONNECT|:protocol=websocket|:scheme=https|:path=/c|:authority=h", field,
             &list);
    stream_parts_of(&p, &list, 0);
    assert_string_equal(p.why, "bad :protocol");
}

static void field_is(const http_field *f, const char *name, const char *value)
{
    assert_int_equal(f->name_len, strlen(name));
    assert_memory_equal(f->name, name, f->name_len);
    assert_int_equal(f->value_len, strlen(value));
    assert_memory_equal(f->value, value, f->value_len);
}

static void fill(http_head *head, const char *lines, char *to)
{
    static http_field field[LINES];
    const stream_protocol protocol = {.name = "HTTP/9", .name_len = 6, .major = 9};
    http_field_block list;
    stream_request p;

    lines_of(lines, field, &list);
    stream_parts_of(&p, &list, 1);
    assert_null(p.why);
    stream_head_begin(head, &protocol);
    stream_head_fill(head, &p, &list, to);
    assert_int_equal(head->major, 9);
    assert_int_equal(head->protocol_len, 6);
}

/* :authority is Host, and Cookie lines are one. */
static void filled(void **state)
{
    static http_head head;
    char text[256];

    fill(&head, GET "|cookie=a=1|accept=x|cookie=b=2|host=host", text);
    assert_int_equal(head.method_id, HTTP_METHOD_GET);
    assert_memory_equal(head.uri, "/a?b", head.uri_len);
    assert_int_equal(head.n_fields, 3);
    field_is(&head.field[0], "Host", "host");
    field_is(&head.field[1], "accept", "x");
    field_is(&head.field[2], "Cookie", "a=1; b=2");
    assert_int_equal(head.known[HTTP_F_COOKIE], 2);
    assert_int_equal(head.status, 0);

    fill(&head, ":method=GET|:scheme=ftp|:path=/|host=h", text);
    field_is(&head.field[0], "Host", "h");
    assert_int_equal(head.status, 400);
}

static void tunnel(void **state)
{
    static http_head head;
    char text[256];

    fill(&head,
         ":method=CONNECT|:protocol=websocket|:scheme=https|:path=/c|:authority=h|"
         "sec-websocket-version=13",
         text);
    assert_int_equal(head.method_id, HTTP_METHOD_GET);
    assert_true(head.upgrade);
    assert_int_equal(head.n_fields, 5);
    field_is(&head.field[2], "Upgrade", "websocket");
    assert_int_equal(head.field[4].value_len, 24); /* the nonce */
}

static void spelled(void **state)
{
    char name[] = "x-long-name";
    static http_head head;

    head.field = head.own;
    head.n_fields = 2;
    head.own[0] = (http_field){.name = name, .name_len = sizeof name - 1};
    head.own[1] = (http_field){.name = "host", .name_len = 4}; /* not in the text */
    stream_head_spell(&head, name, sizeof name);
    assert_string_equal(name, "X-Long-Name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(no_tunnels),
                                       cmocka_unit_test(filled), cmocka_unit_test(tunnel),
                                       cmocka_unit_test(spelled)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
