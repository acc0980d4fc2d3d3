/* SPDX-License-Identifier: Apache-2.0 */
/* ErrorLogFormat connection: lines in front of the first message of a connection. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_server.h"
#include "http_log.h"

static int group_set_up(void **state)
{
    test_server_up("ErrorLogFormat \"%M\"\n"
                   "ErrorLogFormat connection \"first of %a\"\n"
                   "ErrorLogFormat connection \"second\"\n");
    return 0;
}

static void each_line_comes_once(void **state)
{
    char path[64], text[4096];
    brg_conn conn;
    int client;
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "%s/error.log", test_dir);
    assert_int_equal(apr_file_open(&ap_server_conf->error_log, path,
                                   APR_FOPEN_WRITE | APR_FOPEN_CREATE, APR_FPROT_OS_DEFAULT,
                                   test_process->pconf),
                     APR_SUCCESS);
    test_connect(&conn, &client);
    ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, conn.c, "one");
    ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, conn.c, "two");
    test_disconnect(&conn, client);
    assert_non_null(f = fopen(path, "r"));
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    assert_int_equal(strncmp(text, "first of 127.0.0.1", strlen("first of 127.0.0.1")), 0);
    assert_string_equal(strchr(text, '\n'), "\nsecond\none\ntwo\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_line_comes_once)};

    return cmocka_run_group_tests(tests, group_set_up, test_server_down);
}
