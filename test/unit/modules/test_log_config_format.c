/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "brigade/decimal.h"
#include "log_config_private.h"

static apr_pool_t *pool;

static request_rec *make_request(void)
{
    request_rec *r = apr_pcalloc(pool, sizeof(*r));
    conn_rec *c = apr_pcalloc(pool, sizeof(*c));
    server_rec *s = apr_pcalloc(pool, sizeof(*s));

    s->server_hostname = apr_pstrdup(pool, "www.example.com");
    s->port = 8080;
    s->keep_alive_max = 3;
    c->client_ip = apr_pstrdup(pool, "192.0.2.1");
    c->local_ip = apr_pstrdup(pool, "192.0.2.2");
    c->keepalive = AP_CONN_KEEPALIVE;
    c->keepalives = 2;
    r->pool = pool;
    r->connection = c;
    r->server = s;
    r->useragent_ip = apr_pstrdup(pool, "198.51.100.7");
    r->method = "GET";
    r->protocol = apr_pstrdup(pool, "HTTP/1.1");
    r->the_request = apr_pstrdup(pool, "GET /a\"b\\c\x01\xc3?q=1 HTTP/1.1");
    r->uri = apr_pstrdup(pool, "/a");
    r->args = apr_pstrdup(pool, "q=1");
    r->user = apr_pstrdup(pool, "");
    r->status = 404;
    r->sent_bodyct = 1;
    r->bytes_sent = 1234567;
    r->headers_in = apr_table_make(pool, 4);
    r->headers_out = apr_table_make(pool, 4);
    r->err_headers_out = apr_table_make(pool, 4);
    r->trailers_in = apr_table_make(pool, 4);
    r->trailers_out = apr_table_make(pool, 4);
    r->notes = apr_table_make(pool, 4);
    r->subprocess_env = apr_table_make(pool, 4);
    r->request_time = apr_time_from_sec(1316373508) + 7089;
    apr_table_setn(r->headers_in, "User-Agent", "tab\there");
    apr_table_setn(r->headers_in, "Cookie", "a=1; B = two words ;c=");
    apr_table_setn(r->notes, "n", "note");
    apr_table_setn(r->subprocess_env, "e", "env");
    return r;
}

static const char *line_of(const char *format, request_rec *first, request_rec *last)
{
    const char *err, *text;
    apr_array_header_t *items = logconf_format_parse(pool, format, &err);
    brg_transaction of_first, of_last;
    log_entry entry = {.first = &of_first, .last = &of_last};
    apr_size_t len;
    log_out *out;

    assert_non_null(items);
    out = log_line_begin();
    assert_non_null(out);
    brg_transaction_of(&of_first, first);
    brg_transaction_of(&of_last, last);
    log_plan_emit(out, log_plan_make(pool, items, 1), &entry);
    text = log_line_text(out, &len);
    text = apr_pstrmemdup(pool, text, len);
    log_line_end(NULL, 0);
    return text;
}

static void test_items(void **state)
{
    static const struct {
        const char *format, *line;
    } cases[] = {
        {"", "\n"},
        {"text %% \\t\\n\\\\ \\q", "text % \t\n\\ \\q\n"},
        {"%a %{c}a %A", "198.51.100.7 192.0.2.1 192.0.2.2\n"},
        {"%r", "GET /a\\\"b\\\\c\\x01\\xc3?q=1 HTTP/1.1\n"},
        {"%b %B", "1234567 1234567\n"},
        {"%u", "\"\"\n"},
        {"%q %U %m %H", "?q=1 /a GET HTTP/1.1\n"},
        {"%{User-agent}i", "tab\\there\n"},
        {"%{absent}i %{n}n %{e}e", "- note env\n"},
        {"%{A}C|%{b}C|%{c}C|%{d}C", "1|two words||-\n"},
        {"%404s %!404s %200,404s %!200,304s %200s", "404 - 404 404 -\n"},
        {"%k %X", "1 +\n"},
        {"%{sec}t %{msec_frac}t %{usec_frac}t", "1316373508 007 007089\n"},
        {"%{nonsense}T %{nonsense}p", "nonsense nonsense\n"},
        {"%L %{c}L", "- -\n"},
        {"%v %p", "www.example.com 8080\n"},
    };
    request_rec *r = make_request();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(line_of(cases[i].format, r, r), cases[i].line);
}

static void test_first_and_last_request(void **state)
{
    request_rec *first = make_request(), *last = make_request();

    (void)state;
    last->status = 200;
    last->uri = apr_pstrdup(pool, "/error.html");
    assert_string_equal(line_of("%s %>s %<s %U %>U", first, last), "404 200 404 /a /error.html\n");
    assert_string_equal(line_of("%200s", first, last), "404\n");
}

static void test_bad_formats(void **state)
{
    static const struct {
        const char *format, *message;
    } cases[] = {
        {"%", "Ran off end of LogFormat parsing args to some directive"},
        {"%{x", "Ran off end of LogFormat parsing args to some directive"},
        {"%200", "Ran off end of LogFormat parsing args to some directive"},
        {"%z", "Unrecognized LogFormat directive %z"},
        {"%^tq", "Unrecognized LogFormat directive %^"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *err = NULL;

        assert_null(logconf_format_parse(pool, cases[i].format, &err));
        assert_string_equal(err, cases[i].message);
    }
}

static void test_long_value(void **state)
{
    request_rec *r = make_request();
    char *uri = apr_palloc(pool, 300001);
    const char *line;

    (void)state;
    memset(uri, '\xff', 300000);
    uri[300000] = '\0';
    r->uri = uri;
    line = line_of("%U", r, r);
    assert_int_equal(strlen(line), 4 * 300000 + 1);
    assert_memory_equal(line + 4 * 299999, "\\xff\n", 6);
}

/* Escaped byte by byte. */
static size_t escaped(char *to, const unsigned char *s, size_t len)
{
    static const char bytes[] = "\b\t\n\v\r\"\\", names[] = "btnvr\"\\";
    char *d = to;

    for (size_t i = 0; i < len; i++) {
        const char *byte = strchr(bytes, s[i]);

        if (byte)
            d += sprintf(d, "\\%c", names[byte - bytes]);
        else
            d += sprintf(d, s[i] < 0x20 || s[i] > 0x7e ? "\\x%02x" : "%c", s[i]);
    }
    return (size_t)(d - to);
}

/* One byte that is escaped, and two, at each place of texts of each length. */
static void test_escapes_everywhere(void **state)
{
    unsigned char text[80];
    char wanted[4 * sizeof text];

    for (size_t len = 1; len < sizeof text; len++)
        for (size_t at = 0; at <= len; at++) {
            log_out *out = log_line_begin();
            const char *line;
            apr_size_t n, want;

            for (size_t i = 0; i < len; i++)
                text[i] = (unsigned char)('a' + i % 26);
            text[at] = "\n\x01\x7f\"\\\xff"[at % 6];
            text[len - 1 - at / 2] = at % 3 ? 'z' : '\t';
            want = escaped(wanted, text, len);
            log_out_escaped_n(out, (const char *)text, len);
            line = log_line_text(out, &n);
            assert_int_equal(n, want);
            assert_memory_equal(line, wanted, want);
            log_line_end(NULL, 0);
        }
}

static void test_numbers(void **state)
{
    static const apr_int64_t numbers[] = {0,    9,     10, 99,   100,       304,      999,
                                          1000, 65535, -1, -100, INT64_MAX, INT64_MIN};
    char text[BRG_DECIMAL_ROOM + 2];

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        log_out *out = log_line_begin();
        const char *line;
        apr_size_t n;

        log_out_number(out, numbers[i]);
        line = log_line_text(out, &n);
        assert_int_equal(n, sprintf(text, "%" APR_INT64_T_FMT, numbers[i]));
        assert_memory_equal(line, text, n);
        log_line_end(NULL, 0);
    }
    text[brg_decimal_put(text, UINT64_MAX)] = '\0';
    assert_string_equal(text, "18446744073709551615");
}

/* A full disk loses lines and nothing else. */
static void test_full_disk(void **state)
{
    log_file *file;
    log_out *out;

    (void)state;
    log_file_reset(pool);
    file = log_file_open(pool, NULL, "/dev/full");
    assert_non_null(file);
    assert_ptr_equal(file, log_file_open(pool, NULL, "/dev/full"));
    for (int i = 0; i < 3; i++) {
        out = log_line_begin();
        assert_non_null(out);
        log_out_bytes(out, "line\n", 5);
        log_line_end(file, apr_time_now());
        log_buffer_flush();
    }
}

static void test_lines_reach_their_files(void **state)
{
    char a[] = "/tmp/log_a_XXXXXX", b[] = "/tmp/log_b_XXXXXX", text[64];
    int fd_a = mkstemp(a), fd_b = mkstemp(b);
    log_file *file_a, *file_b;
    ssize_t n;

    (void)state;
    log_file_reset(pool);
    file_a = log_file_open(pool, NULL, a);
    file_b = log_file_open(pool, NULL, b);
    assert_true(file_a && file_b && file_a != file_b);
    for (int i = 0; i < 4; i++) {
        log_out *out = log_line_begin();

        log_out_number(out, i);
        log_out_bytes(out, "\n", 1);
        log_line_end(i == 1 ? file_b : file_a, 1);
    }
    log_buffer_flush();
    n = read(fd_a, text, sizeof(text));
    assert_int_equal(n, 6);
    assert_memory_equal(text, "0\n2\n3\n", 6);
    n = read(fd_b, text, sizeof(text));
    assert_int_equal(n, 2);
    assert_memory_equal(text, "1\n", 2);
    close(fd_a);
    close(fd_b);
    unlink(a);
    unlink(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_first_and_last_request),
        cmocka_unit_test(test_bad_formats),
        cmocka_unit_test(test_long_value),
        cmocka_unit_test(test_escapes_everywhere),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_lines_reach_their_files),
    };

    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&pool, NULL) != APR_SUCCESS)
        return 1;
    return cmocka_run_group_tests_name("log_config", tests, NULL, NULL);
}
