/* SPDX-License-Identifier: Apache-2.0 */
/* ErrorLogFormat json and ecs: a line is one object, whatever its message and its request hold. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "log_private.h"
#include "test_pool.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <string.h>

static request_rec request;
static conn_rec connection;
static server_rec server;

static ap_errorlog_info info_of(int level, apr_status_t status)
{
    static apr_sockaddr_t peer;

    peer.port = 4711;
    server.server_hostname = (char *)(uintptr_t) "www.example.org";
    connection.client_addr = &peer;
    connection.client_ip = (char *)(uintptr_t) "192.0.2.1";
    connection.log_id = "conn-id";
    connection.base_server = &server;
    request.connection = &connection;
    request.server = &server;
    request.useragent_addr = &peer;
    request.useragent_ip = (char *)(uintptr_t) "198.51.100.7";
    request.log_id = "req-id";
    request.method = "GET";
    request.uri = (char *)(uintptr_t) "/a\"b";
    request.headers_in = apr_table_make(test_pool, 2);
    return (ap_errorlog_info){.s = &server,
                              .file = "/some/where/file.c",
                              .line = 12,
                              .module_index = -1,
                              .level = level,
                              .status = status};
}

/* A line of the format, but for its time, which is that of now, and the numbers of process and thread. */
static const char *line(const char *format, const ap_errorlog_info *info, const char *message)
{
    static char text[LOG_LINE_BYTES];
    const int n = log_json_line(log_json_format(format), info, message, text, (int)sizeof text);
    const char *pid = strstr(text, "pid\":"), *behind = strstr(text, "tid\":");

    if (!behind)
        behind = strstr(text, "thread.id\":");
    assert_int_equal(n, strlen(text));
    assert_true(pid && behind && pid < behind);
    behind = strchr(behind, ',');
    return apr_pstrcat(test_pool, apr_pstrmemdup(test_pool, text, (apr_size_t)(pid - text)), "..",
                       behind, NULL);
}

static void test_of_a_server(void **state)
{
    const ap_errorlog_info info = info_of(APLOG_WARNING, 0);
    const char *text = line("json", &info, "AH00124: over");

    assert_memory_equal(text, "{\"time\":\"2", 10);
    assert_string_equal(strstr(text, ",\"level\""),
                        ",\"level\":\"warn\",\"..,\"server\":\"www.example.org\","
                        "\"code\":\"AH00124\",\"message\":\"over\"}");
}

static void test_of_a_request(void **state)
{
    ap_errorlog_info info = info_of(APLOG_DEBUG, 2);

    info.c = &connection;
    info.r = info.rmain = &request;
    apr_table_setn(request.headers_in, "Referer", "x\ny");
    apr_table_setn(request.headers_in, "traceparent", "00-1-2-01");
    assert_string_equal(
        strstr(line("json", &info, "no file"), ",\"level\""),
        ",\"level\":\"debug\",\"..,\"source\":\"file.c(12)\",\"server\":\"www.example.org\","
        "\"client\":\"198.51.100.7:4711\",\"connection_id\":\"conn-id\",\"request_id\":\"req-id\","
        "\"method\":\"GET\",\"path\":\"/a\\\"b\",\"traceparent\":\"00-1-2-01\","
        "\"referer\":\"x\\u000ay\",\"error_code\":2,\"error\":\"No such file or directory\","
        "\"message\":\"no file\"}");
}

/* The first members of ECS stand in the beginning of each line: no second comma. */
static void test_ecs(void **state)
{
    const ap_errorlog_info info = info_of(APLOG_ERR, 0);
    const char *text = line("ecs", &info, "AH0012: text");

    assert_non_null(strstr(text, "{\"ecs.version\":\"8.11.0\",\"event.dataset\":"
                                 "\"brigade.error\",\"@timestamp\":\"2"));
    assert_non_null(strstr(text, ",\"log.level\":\"error\",\"process."));
    /* Apache's numbers have five digits. */
    assert_non_null(strstr(text, ",\"url.domain\":\"www.example.org\",\"message\":"
                                 "\"AH0012: text\"}"));
    assert_null(log_json_format("xml"));
}

/* A long message is cut, and the line is whole all the same. */
static void test_long(void **state)
{
    const ap_errorlog_info info = info_of(APLOG_ERR, 0);
    char *message = apr_palloc(test_pool, 2 * LOG_LINE_BYTES);
    const char *text;
    size_t len;

    memset(message, '"', 2 * LOG_LINE_BYTES);
    message[2 * LOG_LINE_BYTES - 1] = '\0';
    text = line("json", &info, message);
    len = strlen(text);
    assert_in_range(len, LOG_LINE_BYTES - 128, LOG_LINE_BYTES - 1);
    assert_string_equal(text + len - 6, "\\\"\\\"\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_of_a_server),
        TEST_WITH_POOL(test_of_a_request),
        TEST_WITH_POOL(test_ecs),
        TEST_WITH_POOL(test_long),
    };

    apr_initialize();
    log_format_builtin(LOG_STYLE_FILE, 0); /* registers the items */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
