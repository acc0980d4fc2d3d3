/* SPDX-License-Identifier: Apache-2.0 */
/* ErrorLogFormat: what parses, and what a line then looks like. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "log_private.h"
#include "test_pool.h"

#include <apr_strings.h>
#include <string.h>
#include <unistd.h>

static request_rec request;
static conn_rec connection;
static server_rec server;

static void make_records(void)
{
    static apr_sockaddr_t peer, here;

    peer.port = 4711;
    here.port = 80;
    memset(&request, 0, sizeof request);
    memset(&connection, 0, sizeof connection);
    memset(&server, 0, sizeof server);
    server.server_hostname = (char *)(uintptr_t) "www.example.org";
    connection.client_ip = (char *)(uintptr_t) "192.0.2.1";
    connection.client_addr = &peer;
    connection.local_ip = (char *)(uintptr_t) "192.0.2.80";
    connection.local_addr = &here;
    connection.keepalives = 3;
    connection.log_id = "conn-id";
    connection.base_server = &server;
    request.connection = &connection;
    request.server = &server;
    request.useragent_ip = (char *)(uintptr_t) "198.51.100.7";
    request.useragent_addr = &peer;
    request.log_id = "req-id";
    request.headers_in = apr_table_make(test_pool, 2);
    request.notes = apr_table_make(test_pool, 2);
    request.subprocess_env = apr_table_make(test_pool, 2);
    apr_table_setn(request.headers_in, "Referer", "http://example.org/\n");
    apr_table_setn(request.notes, "n", "note");
    apr_table_setn(request.subprocess_env, "E", "env");
}

enum { NONE, WITH_C, WITH_R };

static ap_errorlog_info info_for(int records, int level, apr_status_t status)
{
    ap_errorlog_info info = {.s = &server,
                             .file = "/some/where/file.c",
                             .line = 12,
                             .module_index = -1,
                             .level = level,
                             .status = status};
    if (records >= WITH_C)
        info.c = &connection;
    if (records >= WITH_R)
        info.r = info.rmain = &request;
    return info;
}

static const struct {
    const char *format;
    int records, level;
    apr_status_t status;
    const char *line;
} lines[] = {
    {"%M", NONE, APLOG_ERR, 0, "text"},
    {"[%l] %M", NONE, APLOG_WARNING, 0, "[warn] text"},
    {"[%l] %M", NONE, APLOG_TRACE8, 0, "[trace8] text"},
    {"[%l] %M", NONE, APLOG_NOTICE | APLOG_STARTUP | APLOG_TOCLIENT, 0, "[notice] text"},
    /* A field goes with the blank before it when one of its items has nothing to say. */
    {"[%l] [client %a] %M", NONE, APLOG_ERR, 0, "[error] [client text"},
    {"[%l] [client\\ %a] %M", NONE, APLOG_ERR, 0, "[error] text"},
    {"[%l] [client\\ %a] %M", WITH_C, APLOG_ERR, 0, "[error] [client 192.0.2.1:4711] text"},
    {"[client\\ %a] %M", WITH_R, APLOG_ERR, 0, "[client 198.51.100.7:4711] text"},
    {"[client\\ %{c}a] %M", WITH_R, APLOG_ERR, 0, "[client 192.0.2.1:4711] text"},
    {"%A %M", WITH_C, APLOG_ERR, 0, "192.0.2.80:80 text"},
    {"%E: %M", NONE, APLOG_ERR, 2, "(2)No such file or directory: text"},
    {"x %E: %M", NONE, APLOG_ERR, 0, "x text"},
    {"%M% ,\\ referer\\ %{Referer}i", WITH_R, APLOG_ERR, 0, "text, referer http://example.org/\\n"},
    {"%M% ,\\ referer\\ %{Referer}i", WITH_C, APLOG_ERR, 0, "text"},
    {"%-{Cookie}i %M", WITH_R, APLOG_ERR, 0, "- text"},
    {"%{n}n %{E}e %M", WITH_R, APLOG_ERR, 0, "note env text"},
    {"%k %M", WITH_C, APLOG_ERR, 0, "3 text"},
    /* Numbers show an item at that level and at less severe ones, as Apache does. */
    {"a %7F: %M", NONE, APLOG_ERR, 0, "a text"},
    {"a %7F: %M", NONE, APLOG_DEBUG, 0, "a file.c(12): text"},
    {"a %7F: %M", NONE, APLOG_TRACE1, 0, "a file.c(12): text"},
    {"%L %M", WITH_R, APLOG_ERR, 0, "req-id text"},
    {"%{c}L %M", WITH_R, APLOG_ERR, 0, "conn-id text"},
    {"%{C}L %M", WITH_C, APLOG_ERR, 0, "conn-id text"},
    {"x %{C}L %M", WITH_R, APLOG_ERR, 0, "x text"},
    {"%L %M", WITH_C, APLOG_ERR, 0, "conn-id text"},
    {"%v 100%% %M", NONE, APLOG_ERR, 0, "www.example.org 100% text"},
    {"%-m %M", NONE, APLOG_ERR, 0, "- text"},
    {"a\\ b %M", NONE, APLOG_ERR, 0, "a b text"},
    /* The message stays, whatever is missing in its field. */
    {"a%{Referer}i%M", NONE, APLOG_ERR, 0, "text"},
    {"%L%M %l", NONE, APLOG_ERR, 0, "text error"},
    {"x a%{n}nb%M y", WITH_C, APLOG_ERR, 0, "xtext y"},
};

static void formats_give_lines(void **state)
{
    (void)state;
    make_records();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ap_errorlog_info info = info_for(lines[i].records, lines[i].level, lines[i].status);
        apr_array_header_t *format;
        char line[LOG_LINE_BYTES];
        int n;

        assert_null(log_format_parse(test_pool, lines[i].format, 0, &format));
        n = log_format_line(format, &info, "text", line, sizeof line);
        assert_string_equal(line, lines[i].line);
        assert_int_equal(n, strlen(line));
    }
}

static void formats_once_per_request(void **state)
{
    ap_errorlog_info info;
    apr_array_header_t *format;
    char line[LOG_LINE_BYTES];

    (void)state;
    make_records();
    info = info_for(WITH_R, APLOG_ERR, 0);
    assert_null(log_format_parse(test_pool, "Cookie %+{Cookie}i", 1, &format));
    assert_int_equal(log_format_line(format, &info, NULL, line, sizeof line), 0);
    assert_null(log_format_parse(test_pool, "Note %+{n}n", 1, &format));
    assert_int_equal(log_format_line(format, &info, NULL, line, sizeof line), 9);
    assert_string_equal(line, "Note note");
}

static const struct {
    const char *format;
    int once;
} bad[] = {
    {"no message", 0},      {"%M %M", 0},         {"%M", 1},
    {"%+{Referer}i %M", 0}, {"%j %M", 0},         {"%M %", 0},
    {"%{unclosed %M", 0},   {"%0M", 0},           {"%16M", 0},
    {"%M %-", 0},           {"%M %99999999F", 0}, {"%4294967297M", 0},
};

static void nonsense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        apr_array_header_t *format = NULL;

        assert_non_null(log_format_parse(test_pool, bad[i].format, bad[i].once, &format));
        assert_null(format); /* else the message about it would be written by half a format */
    }
}

/* Whatever the room: never past it, always ended. */
static void lines_keep_their_bounds(void **state)
{
    char line[LOG_LINE_BYTES], text[LOG_LINE_BYTES];
    ap_errorlog_info info;

    (void)state;
    make_records();
    info = info_for(WITH_R, APLOG_DEBUG, 13);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int room = 1; room < 400; room++) {
        memset(line, '#', sizeof line);
        log_format_line(log_format_builtin(LOG_STYLE_FILE, 0), &info, text, line, room);
        assert_int_equal(line[room], '#');
        assert_non_null(memchr(line, '\0', (size_t)room));
    }
}

static void builtin_format_is_apaches(void **state)
{
    ap_errorlog_info info;
    char line[LOG_LINE_BYTES], expect[256];

    (void)state;
    make_records();
    info = info_for(WITH_R, APLOG_ERR, 13);
    log_format_line(log_format_builtin(LOG_STYLE_FILE_NAMELESS, 0), &info, "AH00035: text", line,
                    sizeof line);
    apr_snprintf(expect, sizeof expect,
                 "] [:error] [pid %d:tid %d] (13)Permission denied: [client 198.51.100.7:4711] "
                 "AH00035: text, referer: http://example.org/\\n",
                 (int)getpid(), (int)gettid());
    assert_int_equal(line[0], '[');
    assert_string_equal(strchr(line, ']'), expect);
    /* [Thu May 12 08:28:57.652118 2011] */
    assert_int_equal(strchr(line, ']') - line, 32);
    log_format_line(log_format_builtin(LOG_STYLE_FILE, 1), &info, "text", line, sizeof line);
    assert_non_null(strstr(line, ": [remote 198.51.100.7:4711] text, referer: "));
    info = info_for(NONE, APLOG_ERR, 0);
    log_format_line(log_format_builtin(LOG_STYLE_STARTUP, 0), &info, "text", line, sizeof line);
    assert_string_equal(line + strspn(line, " "), "text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(formats_give_lines),        TEST_WITH_POOL(formats_once_per_request),
        TEST_WITH_POOL(nonsense_is_refused),       TEST_WITH_POOL(lines_keep_their_bounds),
        TEST_WITH_POOL(builtin_format_is_apaches),
    };

    apr_initialize();
    log_format_builtin(LOG_STYLE_FILE, 0); /* registers the items */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
