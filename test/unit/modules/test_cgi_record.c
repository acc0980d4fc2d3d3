/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cgi_record.h"

static const char *const argv[] = {"a.cgi", "word", "", NULL};
static const char *const env[] = {"A=1", "B=", NULL};
static const cgi_program program = {.file = "/s/a.cgi",
                                    .folder = "/s/",
                                    .argv = argv,
                                    .env = env,
                                    .limits = {[CGI_LIMIT_MEM] = {1, 2, 3}}};

static char *made(size_t *len)
{
    char *record;

    *len = cgi_record_size(&program);
    record = malloc(*len);
    assert_non_null(record);
    cgi_record_write(record, &program);
    return record;
}

static void test_what_is_written_is_read(void **state)
{
    const char *strings[16];
    cgi_program p;
    size_t len;
    char *record = made(&len);

    (void)state;
    assert_int_equal(cgi_record_read(record, len, strings, 16, &p), 1);
    assert_string_equal(p.file, "/s/a.cgi");
    assert_string_equal(p.folder, "/s/");
    assert_string_equal(p.argv[1], "word");
    assert_string_equal(p.argv[2], "");
    assert_null(p.argv[3]);
    assert_string_equal(p.env[1], "B=");
    assert_null(p.env[2]);
    assert_int_equal(p.limits[CGI_LIMIT_MEM].hard, 3);
    assert_int_equal(p.limits[CGI_LIMIT_CPU].is_set, 0);
    free(record);
}

/* Each is refused: shorter, longer, with other numbers, with relative paths, with too many strings. */
static void test_malformed_records(void **state)
{
    const char *strings[16];
    cgi_program p;
    size_t len;
    char *record = made(&len);
    cgi_record_head *head = (cgi_record_head *)record;

    (void)state;
    for (size_t n = 0; n < len; n++) {
        if (n >= sizeof *head)
            head->length = (uint32_t)n;
        assert_int_equal(cgi_record_read(record, n, strings, 16, &p), 0);
    }
    head->length = (uint32_t)len;
    assert_int_equal(cgi_record_read(record, len, strings, 6, &p), 0);
    head->argc++;
    assert_int_equal(cgi_record_read(record, len, strings, 16, &p), 0);
    head->argc = UINT32_MAX;
    assert_int_equal(cgi_record_read(record, len, strings, 16, &p), 0);
    head->argc = 0;
    assert_int_equal(cgi_record_read(record, len, strings, 16, &p), 0);
    head->argc = 3;
    record[sizeof *head] = 'x';
    assert_int_equal(cgi_record_read(record, len, strings, 16, &p), 0);
    free(record);
}

static void test_programs_without_end(void **state)
{
    static char long_one[CGI_RECORD_MOST];
    const char *const words[] = {long_one, NULL};
    cgi_program p = program;

    (void)state;
    memset(long_one, 'x', sizeof long_one - 1);
    p.argv = words;
    assert_int_equal(cgi_record_size(&p), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_malformed_records),
        cmocka_unit_test(test_programs_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
