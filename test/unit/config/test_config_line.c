/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_pool.h"
#include "configuration.h"
#include "apr_strings.h"

static void check_lines(const char *text, const char *const *want, unsigned last_line)
{
    ap_configfile_t *f = conf_open_memory(test_pool, "text", text, strlen(text));
    conf_line line = {test_pool, NULL, 0, 0};

    for (; *want; want++) {
        assert_int_equal(conf_read_line(&line, CONF_LINE_MAX, f), APR_SUCCESS);
        assert_string_equal(line.buf, *want);
        assert_int_equal(line.len, strlen(*want));
    }
    assert_int_equal(conf_read_line(&line, CONF_LINE_MAX, f), APR_EOF);
    assert_int_equal(f->line_number, last_line);
    assert_true(ap_cfg_closefile(f));
}

static void test_lines(void **state)
{
    static const struct {
        const char *text;
        const char *want[5];
        unsigned last;
    } cases[] = {
        {"", {NULL}, 0},
        {"a", {"a", NULL}, 1},
        {"a\nb\n", {"a", "b", NULL}, 2},
        {"  a b \t\r\n\n c", {"a b", "", "c", NULL}, 3},
        {"a \\\n b\\\nc\nd\n", {"a  bc", "d", NULL}, 4},
        {"a\\\r\nb\n", {"ab", NULL}, 2},
        {"a\\ \nb\n", {"a\\", "b", NULL}, 2},
        {"# c \\\nd\ne", {"# c d", "e", NULL}, 3},
        {"a \\\n", {"a", NULL}, 1},
        {"a \\", {"a \\", NULL}, 1},
        {"\\\n\\\n\\\n", {"", NULL}, 3},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        check_lines(cases[i].text, cases[i].want, cases[i].last);
}

/* Lines around every size at which the buffer grows, joined or not. */
static void test_sizes(void **state)
{
    for (size_t n = 1; n < 1100; n++) {
        char *text = apr_palloc(test_pool, 2 * n + 4);
        ap_configfile_t *f;
        conf_line line = {test_pool, NULL, 0, 0};

        memset(text, 'x', 2 * n + 4);
        text[n] = '\\';
        text[n + 1] = '\n';
        text[2 * n + 2] = '\n';
        f = conf_open_memory(test_pool, "text", text, 2 * n + 3);
        assert_int_equal(conf_read_line(&line, CONF_LINE_MAX, f), APR_SUCCESS);
        assert_int_equal(line.len, 2 * n);
        assert_int_equal(strspn(line.buf, "x"), 2 * n);
    }
}

static void test_too_long(void **state)
{
    char text[400];
    ap_configfile_t *f;
    conf_line line = {test_pool, NULL, 0, 0};

    memset(text, 'x', sizeof text);
    f = conf_open_memory(test_pool, "text", text, sizeof text);
    assert_int_equal(conf_read_line(&line, 300, f), APR_ENOSPC);
    f = conf_open_memory(test_pool, "text", text, 298);
    assert_int_equal(conf_read_line(&line, 300, f), APR_SUCCESS);
    assert_int_equal(line.len, 298);
}

static void test_nul(void **state)
{
    static const char text[] = "good\nb\0d\n";
    ap_configfile_t *f = conf_open_memory(test_pool, "text", text, sizeof text - 1);
    conf_line line = {test_pool, NULL, 0, 0};

    assert_int_equal(conf_read_line(&line, CONF_LINE_MAX, f), APR_SUCCESS);
    assert_int_equal(conf_read_line(&line, CONF_LINE_MAX, f), APR_BADCH);
    assert_non_null(strstr(ap_pcfg_strerror(test_pool, f, APR_BADCH), "at line 2: the line holds"));
}

static void test_getline(void **state)
{
    ap_configfile_t *f = conf_open_memory(test_pool, "text", " abc \\\n d\nlonger than it\n", 26);
    char buf[10], c;

    assert_int_equal(ap_cfg_getline(buf, sizeof buf, f), APR_SUCCESS);
    assert_string_equal(buf, "abc  d");
    assert_int_equal(ap_cfg_getline(buf, sizeof buf, f), APR_ENOSPC);
    f = conf_open_memory(test_pool, "text", "x\n", 2);
    assert_int_equal(ap_cfg_getc(&c, f), APR_SUCCESS);
    assert_int_equal(f->line_number, 0);
    assert_int_equal(ap_cfg_getc(&c, f), APR_SUCCESS);
    assert_int_equal(f->line_number, 1);
    assert_int_equal(ap_cfg_getc(&c, f), APR_EOF);
}

static void test_files(void **state)
{
    ap_configfile_t *f;
    conf_line line = {test_pool, NULL, 0, 0};

    assert_int_equal(ap_pcfg_openfile(&f, test_pool, NULL), APR_EBADF);
    assert_true(APR_STATUS_IS_ENOENT(ap_pcfg_openfile(&f, test_pool, "/nonexistent/file")));
    assert_int_equal(ap_pcfg_openfile(&f, test_pool, "/dev/null"), APR_SUCCESS);
    assert_int_equal(conf_read_line(&line, CONF_LINE_MAX, f), APR_EOF);
    assert_true(ap_cfg_closefile(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(test_lines),    TEST_WITH_POOL(test_sizes),
                                       TEST_WITH_POOL(test_too_long), TEST_WITH_POOL(test_nul),
                                       TEST_WITH_POOL(test_getline),  TEST_WITH_POOL(test_files)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
