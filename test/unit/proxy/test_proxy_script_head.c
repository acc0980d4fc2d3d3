/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of scripts as fields: their order, and what is left to a request. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "proxy_script.h"
#include "apr_time.h"

#define NOW apr_time_from_sec(1795000000) /* in November 2026 */

static char room[SCRIPT_HEAD_ROOM];

static int parse(http_head *head, const char *text)
{
    return script_head_parse(head, text, strlen(text), NOW, room);
}

static void ends(void **state)
{
    assert_int_equal(script_head_size("A: b\r\n\r\nbody", 12), 8);
    assert_int_equal(script_head_size("A: b\n\nbody", 10), 6);
    assert_int_equal(script_head_size("A: b\n\r\nbody", 11), 7);
    for (size_t n = 0; n < 8; n++)
        assert_int_equal(script_head_size("A: b\r\n\r\n", n), 0);
}

static void order(void **state)
{
    static const char *const names[] = {"X-A",      "X-B",  "Set-Cookie",  "set-cookie",
                                        "Location", "ETag", "content-type"};
    http_head head;

    assert_true(parse(&head,
                      "set-cookie: a\r\nX-A: b\r\nLocation: /c\r\ncontent-type: Text/HTML;Q=A \r\n"
                      "X-B:\r\nETag: \"d\"\r\nStatus: 404 Not here\r\nContent-Length: 9\r\n"
                      "Transfer-Encoding: x\r\nSet-Cookie: e\r\n\r\n"));
    assert_int_equal(head.code, 404);
    assert_memory_equal(head.line, "404 Not here", head.line_len);
    assert_int_equal(head.n_fields, 7);
    for (int i = 0; i < head.n_fields; i++) {
        const char *name = i == 2 ? "set-cookie" : i == 3 ? "Set-Cookie" : names[i];

        assert_int_equal(head.field[i].name_len, strlen(name));
        assert_memory_equal(head.field[i].name, name, strlen(name));
    }
    assert_int_equal(head.field[6].value_len, strlen("text/html;Q=A"));
    assert_memory_equal(head.field[6].value, "text/html;Q=A", head.field[6].value_len);
}

static void one_name_is_one_field(void **state)
{
    static char text[2 * SCRIPT_HEAD_ROOM];
    http_head head;

    assert_true(parse(&head, "Link: a\r\nX: b\r\nlink:\r\nLINK: c\r\n\r\n"));
    assert_int_equal(head.n_fields, 2);
    assert_memory_equal(head.field[0].name, "Link", 4);
    assert_int_equal(head.field[0].value_len, strlen("a, , c"));
    assert_memory_equal(head.field[0].value, "a, , c", head.field[0].value_len);
    assert_memory_equal(head.field[1].name, "X", 1);
    snprintf(text, sizeof text, "A: b\r\nA: %0*d\r\n\r\n", SCRIPT_HEAD_ROOM - 3, 0);
    assert_true(parse(&head, text));
    assert_int_equal(head.field[0].value_len, SCRIPT_HEAD_ROOM);
    snprintf(text, sizeof text, "A: b\r\nA: %0*d\r\n\r\n", SCRIPT_HEAD_ROOM - 2, 0);
    assert_false(parse(&head, text));
}

static void left_to_a_request(void **state)
{
    static const char *const heads[] = {"\r\n",
                                        "ETag: a\r\netag: b\r\n\r\n",
                                        "Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n",
                                        "Content-Type:\r\n\r\n",
                                        "Status: 404\r\nA: b\r\n\r\n",
                                        "Status: 4x4 Odd\r\nA: b\r\n\r\n",
                                        "Status: 404 a\r\nStatus: 200 OK\r\nA: b\r\n\r\n",
                                        "Connection: close\r\n\r\n",
                                        "no field\r\n\r\n",
                                        "a b: c\r\n\r\n",
                                        ": c\r\n\r\n",
                                        "A: \x01\r\n\r\n",
                                        "A: b\r\r\n\r\n",
                                        "Last-Modified: Friday, 20-Nov-26 08:00:00 GMT\r\n\r\n",
                                        "Last-Modified: Fri, 20 Nov 2099 08:00:00 GMT\r\n\r\n",
                                        "Last-Modified: Sat, 20 Nov 2020 08:00:00 GMT\r\n\r\n"};
    http_head head;

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (parse(&head, heads[i]))
            fail_msg("%s", heads[i]);
    assert_true(parse(&head, "Last-Modified: Fri, 20 Nov 2020 08:00:00 GMT\r\n\r\n"));
    assert_int_equal(head.code, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends), cmocka_unit_test(order),
                                       cmocka_unit_test(one_name_is_one_field),
                                       cmocka_unit_test(left_to_a_request)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
