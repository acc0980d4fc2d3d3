/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: grammar, values, errors. The tables were compared with Apache 2.4.71. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>
#include "httpd.h"
#include "ap_expr.h"
#include "http_log.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "expr_private.h"
#include "test_expr.h"
#include "test_request.h"

/* 1, 0, or -1 for an error. */
static int eval(request_rec *r, const char *text, unsigned flags)
{
    const char *err;
    ap_expr_info_t *info = parse(text, flags, &err);

    if (err)
        fail_msg("'%s': %s", text, err);
    return ap_expr_exec(r, info, &err);
}

static const char *eval_text(request_rec *r, const char *text)
{
    const char *err;
    ap_expr_info_t *info = parse(text, AP_EXPR_FLAG_STRING_RESULT, &err);

    if (err)
        fail_msg("'%s': %s", text, err);
    return ap_expr_str_exec(r, info, &err);
}

static const struct {
    const char *text;
    int value;
} conditions[] = {
    {"true", 1},
    {"false", 0},
    {"\n true \t", 1},
    {"!true", 0},
    {"!!true", 1},
    {"not true", 0},
    {"true && false", 0},
    {"true and not false or false", 1},
    {"false || true && false", 0},
    {"(false || true) && true", 1},
    {"! false && false", 0},
    {"((true))", 1},
    {"(true)and(true)", 1},
    /* strings */
    {"'a' == \"a\"", 1},
    {"'a'=='b'", 0},
    {"'a' = 'a'", 1},
    {"'a' != 'b'", 1},
    {"'2' > '10'", 1},
    {"'a' < 'b' && 'a' <= 'a' && 'b' >= 'a'", 1},
    {"! 'a' == 'b'", 1},
    /* numbers */
    {"1 -eq '01'", 1},
    {"2 -gt 10", 0},
    {"10 gt 2", 1},
    {"-5 -lt 3", 1},
    {"' 12' -eq '12x'", 1},
    {"'x' eq 0", 1},
    {"'4294967297' -eq 1", 0},
    {"1 -ne 2 && 1 -le 1 && 2 -ge 1", 1},
    /* concatenation, lists */
    {"'a' . 'b' == 'ab'", 1},
    {"1 . 2 == '12'", 1},
    {"'b' in {'a', 'b'}", 1},
    {"'bc' -in { 'a', 'b' . 'c' }", 1},
    {"'c' in {'a','b'}", 0},
    /* patterns */
    {"'abc' =~ /b/", 1},
    {"'abc' =~ m#B#i", 1},
    {"'abc' !~ /b/", 0},
    {"'a/b' =~ m,a/b,", 1},
    {"'a\nb' == 'x' || 'ab' =~ /a\nb/", -2},
    {"'abc' =~ /(b)(c)/ && $2 . '$1' == 'cb'", 1},
    {"'abc' =~ /(b)/ && 'x' =~ /x/ && $1 == 'b'", 1},
    {"'abc' =~ /(b)/ && !('y' =~ /(z)/) && $1 == 'b'", 0},
    {"'abc' =~ /(x)?c/ && $1 == ''", 1},
    {"$1 == ''", 1},
    {"'abc' -strmatch 'a*c' && 'a/c' -strmatch 'a*c'", 1},
    {"'a/c' -fnmatch 'a*c'", 0},
    {"'ABC' -StrCMatch 'a?c'", 1},
    /* unary */
    {"-n 'a' && -z ''", 1},
    {"-n 'a' . ''", 1},
    {"-z\"\"", 1},
    {"-T 'on' && -T '00'", 1},
    {"-T 'OFF' || -T '0' || -T 'no' || -T 'False' || -T ''", 0},
    {"-d '/' && -e '/' && !-f '/' && -x '/bin/sh'", 1},
    {"-f '/no/such/file' || -s '/dev/null' || -e ''", 0},
    {"-L '/proc/self/exe' && -h '/proc/self/exe'", 1},
    {"-R '10.0.0.0/8' && -R '10.1.2.3' && -R '10.1'", 1},
    {"-R '192.168.0.0/255.255.0.0' || -R '::1'", 0},
    {"%{REMOTE_ADDR} -ipmatch '10.1.0.0/16'", 1},
    {"'www.example.com' -ipmatch '10.1.0.0/16'", 0},
    {"'::1' -ipmatch '::/64'", 1},
    /* functions */
    {"tolower('ABC') == 'abc' && TOUPPER('abc') == 'ABC'", 1},
    {"md5('fo' . 'o') == 'acbd18db4cc2f85cedef654fccc4a4d8'", 1},
    {"sha1('foo') == '0beec7b5ea3f0fdbc95d0dd47f3c5bc275da8a33'", 1},
    {"base64('abc') == 'YWJj' && unbase64('YWJj') == 'abc'", 1},
    {"escape('a b/c?') == 'a%20b/c%3f'", 1},
    {"unescape('a%20b%2fc') == 'a b%2fc' && unescape('%00') == '' && unescape('%zz') == ''", 1},
    {"ldap('a*(b)') == 'a\\\\2a\\\\28b\\\\29'", 1},
    {"req('host') == 'www.example.com' && %{HTTP:Host} == http('HOST')", 1},
    {"req('none') == ''", 1},
    {"osenv('EXPR_TEST_OS') == 'from-os' && env('EXPR_TEST_OS') == 'from-os'", 1},
    {"filesize('/no/such/file') == '0' && filesize('/') == '0'", 1},
    {"%{REQUEST_URI} in {'/dir/page.html','x'}", 1},
    {"%{tolower:A%{toupper:b}$0} == 'ab'", 1},
    {"'%{tolower:a\\}b}' == 'a}b'", 1},
    {"%{tolower:it's} == \"it's\"", 1},
    /* escapes */
    {"'a\\'b' == \"a'b\"", 1},
    {"'\\101\\q\\\\' == 'Aq\\\\'", 1},
    {"'\\%{X}\\$1' == '%' . '{X}' . '$' . '1'", 1},
    {"'100%' == '100%' && '$' == '$' && '$a' == '$a'", 1},
};

static void test_conditions(void **state)
{
    request_rec *r = test_request(test_pool);
    size_t i;

    for (i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        const char *err;

        if (conditions[i].value == -2) {
            parse(conditions[i].text, 0, &err);
            assert_non_null(err);
        } else if (eval(r, conditions[i].text, 0) != conditions[i].value) {
            fail_msg("%s", conditions[i].text);
        }
    }
}

static const struct {
    const char *text, *value;
} texts[] = {
    {"", ""},
    {"plain (text)", "plain (text)"},
    {"a%{REQUEST_URI}b", "a/dir/page.htmlb"},
    {"%{tolower:AbC}%{IS_SUBREQ}%", "abcfalse%"},
    {"\"q\" it's", "\"q\" it's"},
    {"a\\nb\\\\", "a\nb\\"},
    {"end\\", "end\\"},
    {"$0$1$$a", "$$a"},
    {"%%{note:none}|", "%|"},
    {"%{tolower:{}}", "{}"},
    {"%{base64:a:b}", "YTpi"},
    {"%{HTTP_USER_AGENT} %{req_novary:None}", "test/1.0 "},
    {"%{QUERY_STRING} %{PATH_INFO} %{REQUEST_METHOD}", "x=1 /info GET"},
    {"%{REQUEST_FILENAME} %{SCRIPT_FILENAME}", "/no/such/dir/page.html /no/such/dir/page.html"},
    {"%{THE_REQUEST}", "GET /dir/page.html?x=1 HTTP/1.1"},
    {"%{REMOTE_ADDR}:%{REMOTE_PORT} %{CONN_REMOTE_ADDR}", "10.1.2.3:4711 10.1.2.3"},
    {"%{TIME} %{TIME_YEAR}-%{TIME_MON}-%{TIME_DAY} %{TIME_HOUR}:%{TIME_MIN}:%{TIME_SEC} "
     "%{TIME_WDAY}",
     "20240506125320 2024-05-06 12:53:20 1"},
    {"%{SERVER_ADMIN} %{SERVER_PROTOCOL} %{REQUEST_STATUS}", "admin@example.com HTTP/1.1 200"},
    {"%{REQUEST_LOG_ID} %{CONN_LOG_ID} %{IPV6}", "request-id conn-id off"},
    {"%{API_VERSION}", "20120211"},
    {"%{LAST_MODIFIED}", "19700101000000"},
    {"[%{SCRIPT_USER}%{REMOTE_USER}%{AUTH_TYPE}%{CONTENT_TYPE}%{HANDLER}]", "[]"},
};

static void test_texts(void **state)
{
    request_rec *r = test_request(test_pool);
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_string_equal(eval_text(r, texts[i].text), texts[i].value);
}

/* What must not parse, and what the message must contain. */
static const struct {
    const char *text, *message;
} mistakes[] = {
    {"", "unexpected end of expression"},
    {"true false", "unexpected 'false', expecting end of expression"},
    {"TRUE", "expecting '('"},
    {"()", "unexpected ')'"},
    {"(true", "expecting '&&', '||' or ')'"},
    {"true)", "unexpected ')'"},
    {"'a'", "expecting a comparison"},
    {"'a' ==", "unexpected end of expression"},
    {"== 'a'", "unexpected '=='"},
    {"'a' == 'b' == 'c'", "unexpected '=='"},
    {"a == 'a'", "expecting '('"},
    {"('a') == 'a'", "expecting a comparison"},
    {"'a' == ('a')", "unexpected '('"},
    {"'a", "Unterminated string"},
    {"\"a'", "Unterminated string"},
    {"'a\nb' == ''", "Unterminated string"},
    {"%{REQUEST_URI", "Unterminated string or variable"},
    {"%{tolower:a", "Unterminated string or variable"},
    {"%{}", "lacks a name"},
    {"%{tolower:}", "lacks an argument"},
    {"%{A-B} == ''", "Invalid character in variable name '-'"},
    {"%{NOSUCH} == ''", "Variable 'NOSUCH' does not exist"},
    {"%{nosuch:x} == ''", "Function 'nosuch' does not exist"},
    {"nosuch('x') == ''", "Function 'nosuch' does not exist"},
    {"'a' in nosuch('x')", "List-returning function 'nosuch' does not exist"},
    {"-Q 'x'", "Unary operator '-Q' does not exist"},
    {"'a' -nosuch 'b'", "Binary operator '-nosuch' does not exist"},
    {"'a' -EQ 'b'", "Binary operator '-EQ' does not exist"},
    {"'a' in {}", "unexpected '}'"},
    {"'a' in {'b'", "expecting ',' or '}'"},
    {"'a' in 'b'", "expecting '{' or a function"},
    {"'a' =~ 'b'", "expecting a regular expression"},
    {"'a' =~", "expecting a regular expression"},
    {"'a' =~ /b", "Unterminated regular expression"},
    {"'a' =~ /(/", "Failed to compile regular expression"},
    {"'a' =~ /a/q", "Unknown flag 'q'"},
    {"true # x", "Parse error near '#'"},
    {"true & true", "Parse error near '&'"},
    {"- 'a'", "Parse error near '-'"},
    {"'\\400' == ''", "Escape sequence out of bound"},
    {"'\\8' == ''", "Bad escape sequence"},
    {"-R 'nonsense'", "parsing of subnet/netmask failed"},
    {"-R %{REMOTE_ADDR}", "-R requires subnet/netmask as constant argument"},
    {"'1' -ipmatch '10.0.0.0/33'", "parsing of subnet/netmask failed"},
};

static void test_mistakes(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        const char *err;
        ap_expr_info_t *info = parse(mistakes[i].text, 0, &err);

        if (!err || !strstr(err, mistakes[i].message))
            fail_msg("'%s': %s", mistakes[i].text, err ? err : "parsed");
        assert_null(info->root_node);
    }
}

static void test_restricted(void **state)
{
    static const char *const forbidden[] = {"-d '/'", "-e '/'", "-f '/'", "-s '/'",
                                            "-L '/'", "-h '/'", "-x '/'"};
    static const char *const files[] = {"file('/x') == ''", "filesize('/x') == ''",
                                        "%{file:/x} == ''"};
    const char *err;
    size_t i;

    for (i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        parse(forbidden[i], AP_EXPR_FLAG_RESTRICTED, &err);
        assert_non_null(strstr(err, "not available in restricted context"));
        parse(forbidden[i], AP_EXPR_FLAG_RESTRICTED_FILE_FUNC, &err);
        assert_null(err);
    }
    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        parse(files[i], AP_EXPR_FLAG_RESTRICTED, &err);
        assert_non_null(strstr(err, "not available in restricted context"));
        parse(files[i], AP_EXPR_FLAG_RESTRICTED_FILE_FUNC, &err);
        assert_non_null(strstr(err, "not available in restricted context"));
    }
}

/* An error ends the evaluation even if the rest could make it true. */
static void test_run_time_errors(void **state)
{
    request_rec *r = test_request(test_pool);
    const char *err;

    assert_int_equal(eval(r, "file('/no/such/file') == '' || true", 0), -1);
    assert_int_equal(eval(r, "! file('/no/such/file') == ''", 0), -1);
    assert_int_equal(eval(r, "'x' in {file('/no/such/file'), 'x'}", 0), -1);
    assert_int_equal(eval(r, "true || file('/no/such/file') == ''", 0), 1);
    assert_int_equal(eval(r, "false && file('/no/such/file') == ''", 0), 0);
    assert_null(eval_text(r, "a%{file:/no/such/file}"));
    ap_expr_exec(r, parse("-n file('/no/such/file')", 0, &err), &err);
    assert_string_equal(err, "Cannot open file /no/such/file");
    ap_expr_exec(r, parse("-n file('/')", 0, &err), &err);
    assert_string_equal(err, "Cannot read from file /");
    assert_int_equal(ap_expr_exec(r, parse("true", 0, &err), &err), 1);
    assert_null(err);
}

static void test_environment(void **state)
{
    request_rec *r = test_request(test_pool);

    apr_table_setn(r->notes, "N", "note");
    apr_table_setn(r->subprocess_env, "N", "env");
    apr_table_setn(r->subprocess_env, "EXPR_TEST_OS", "from-request");
    apr_table_setn(r->headers_out, "X-Out", "out");
    apr_table_setn(r->err_headers_out, "X-Err", "err");
    assert_string_equal(eval_text(r, "%{note:N} %{reqenv:N} %{v:N} %{env:N} %{ENV:EXPR_TEST_OS} "
                                     "%{osenv:EXPR_TEST_OS} %{resp:X-Out} %{resp:x-err}"),
                        "note env env note from-request from-os out err");
}

static const struct {
    const char *text;
    unsigned flags;
    const char *vary;
} varies[] = {
    {"%{HTTP_USER_AGENT} == ''", 0, "User-Agent"},
    {"%{HTTP_HOST} == '' || req('host') == ''", 0, NULL},
    {"req('A') == '' && %{HTTP:B} == ''", 0, "A, B"},
    {"req('A') == '' || %{HTTP:B} == ''", 0, "A"},
    {"req_novary('A') == ''", 0, NULL},
    {"req('A') == ''", AP_EXPR_FLAG_DONT_VARY, NULL},
    {"%{HTTP_COOKIE}%{HTTP_ACCEPT}", AP_EXPR_FLAG_STRING_RESULT, NULL},
};

static void test_vary(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(varies) / sizeof(varies[0]); i++) {
        request_rec *r = test_request(test_pool);
        const char *err, *vary;
        ap_expr_info_t *info = parse(varies[i].text, varies[i].flags, &err);

        assert_null(err);
        if (varies[i].flags & AP_EXPR_FLAG_STRING_RESULT)
            ap_expr_str_exec(r, info, &err);
        else
            ap_expr_exec(r, info, &err);
        vary = apr_table_get(r->headers_out, "Vary");
        if (varies[i].vary)
            assert_string_equal(vary, varies[i].vary);
        else
            assert_null(vary);
    }
}

/* SSLRequire's comparisons. */
static void test_ssl_compat(void **state)
{
    request_rec *r = test_request(test_pool);

    assert_int_equal(eval(r, "10 > 9", AP_EXPR_FLAG_SSL_EXPR_COMPAT), 1);
    assert_int_equal(eval(r, "10 > 9", 0), 0);
    assert_int_equal(eval(r, "'b' < 'aa'", AP_EXPR_FLAG_SSL_EXPR_COMPAT), 1);
    assert_int_equal(eval(r, "'a' lt 'b'", AP_EXPR_FLAG_SSL_EXPR_COMPAT), 1);
    assert_int_equal(eval(r, "1 -eq 01", AP_EXPR_FLAG_SSL_EXPR_COMPAT), 0);
}

/* Groups come in from the caller and go back. */
static void test_groups(void **state)
{
    request_rec *r = test_request(test_pool);
    ap_regmatch_t groups[AP_MAX_REG_MATCH] = {{0, 3}, {1, 2}};
    const char *source = "xyz", *err;

    assert_int_equal(
        ap_expr_exec_re(r, parse("$1 == 'y'", 0, &err), AP_MAX_REG_MATCH, groups, &source, &err),
        1);
    assert_int_equal(ap_expr_exec_re(r, parse("'abc' =~ /(b)(c)/", 0, &err), AP_MAX_REG_MATCH,
                                     groups, &source, &err),
                     1);
    assert_string_equal(source, "abc");
    assert_int_equal(groups[2].rm_so, 2);
    assert_string_equal(ap_expr_str_exec_re(r, parse("<$2$1$9>", AP_EXPR_FLAG_STRING_RESULT, &err),
                                            AP_MAX_REG_MATCH, groups, &source, &err),
                        "<cb>");
}

static char *repeat(const char *part, int n, const char *middle, const char *tail)
{
    size_t len = strlen(part), tail_len = strlen(tail);
    char *all = apr_pcalloc(test_pool, (len + tail_len) * (size_t)n + strlen(middle) + 1);
    char *d = all;
    int i;

    for (i = 0; i < n; i++, d += len)
        memcpy(d, part, len);
    d = stpcpy(d, middle);
    for (i = 0; i < n; i++, d += tail_len)
        memcpy(d, tail, tail_len);
    return all;
}

static void test_depth(void **state)
{
    request_rec *r = test_request(test_pool);
    const char *err;

    assert_int_equal(eval(r, repeat("(", 1000, "true", ")"), 0), 1);
    parse(repeat("(", 100000, "true", ")"), 0, &err);
    assert_string_equal(err, "Expression is nested too deeply");
    parse(repeat("%{tolower:", 100000, "A", "}"), AP_EXPR_FLAG_STRING_RESULT, &err);
    assert_string_equal(err, "Expression is nested too deeply");
    parse(repeat("tolower(", 100000, "'A'", ")"), 0, &err);
    assert_string_equal(err, "Expression is nested too deeply");
    assert_int_equal(eval(r, repeat("!", 100001, "true", ""), 0), 0);
    assert_int_equal(eval(r, repeat("true && ", 50000, "true", ""), 0), 1);
    assert_int_equal(
        eval(r, apr_pstrcat(test_pool, repeat("'a' . ", 50000, "'b'", ""), " == 'x'", NULL), 0), 0);
    assert_int_equal(
        eval(r, apr_pstrcat(test_pool, "'z' in {", repeat("'a',", 50000, "'z'}", ""), NULL), 0), 1);
    assert_int_equal(
        eval(r, apr_pstrcat(test_pool, repeat("tolower(", 19, "'A'", ")"), " == 'a'", NULL), 0), 1);
    assert_int_equal(
        eval(r, apr_pstrcat(test_pool, repeat("tolower(", 21, "'A'", ")"), " == 'a'", NULL), 0),
        -1);
}

/* A literal has its own room: with that of all behind it, these would have 15 gigabytes, and touch 700 megabytes. */
static void test_room(void **state)
{
    request_rec *r = test_request(test_pool);
    struct rusage used;

    assert_int_equal(
        eval(r, apr_pstrcat(test_pool, repeat("'a' . ", 50000, "'b'", ""), " == 'x'", NULL), 0), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    assert_in_range(used.ru_maxrss, 1, 500 << 10);
}

/* A module's own names. */
static const char *own_var(ap_expr_eval_ctx_t *ctx, const void *data)
{
    return data;
}

static apr_array_header_t *own_list(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    apr_array_header_t *list = apr_array_make(ctx->p, 2, sizeof(char *));

    APR_ARRAY_PUSH(list, const char *) = arg;
    return list;
}

static int own_lookup(ap_expr_lookup_parms *parms)
{
    if (parms->type == AP_EXPR_FUNC_VAR && strcmp(parms->name, "OWN") == 0) {
        *parms->func = (const void *)own_var;
        *parms->data = "own-value";
        return OK;
    }
    if (parms->type == AP_EXPR_FUNC_LIST) {
        *parms->func = (const void *)own_list;
        return OK;
    }
    if (parms->type == AP_EXPR_FUNC_STRING && strcmp(parms->name, "broken") == 0) {
        *parms->err = "own message";
        return !OK;
    }
    return ap_expr_lookup_default(parms);
}

static void test_own_lookup(void **state)
{
    request_rec *r = test_request(test_pool);
    ap_expr_info_t info = {.filename = "x", .module_index = APLOG_NO_MODULE};
    const char *err;

    assert_null(ap_expr_parse(test_pool, test_pool, &info,
                              "%{OWN} == 'own-value' && 'a' in list('a') && !('b' in list('a'))",
                              own_lookup));
    assert_int_equal(ap_expr_exec(r, &info, &err), 1);
    assert_int_equal(expr_depends(&info), 1);
    assert_string_equal(ap_expr_parse(test_pool, test_pool, &info, "broken('x') == ''", own_lookup),
                        "own message");
}

static const struct {
    const char *text;
    int depends;
} dependencies[] = {
    {"true", 0},
    {"%{REQUEST_URI} =~ m#^/(a)# && $1 == 'a'", 0},
    {"$1 == 'a'", 1},
    {"tolower(%{REQUEST_FILENAME}) -strmatch '*.html'", 0},
    {"-z %{QUERY_STRING} || 'a' in {'b', md5('c')}", 0},
    {"'10.0.0.1' -ipmatch '10.0.0.0/8'", 0},
    {"-R '10.0.0.0/8'", 1},
    {"%{HTTP_HOST} == 'x'", 1},
    {"req('A') == ''", 1},
    {"tolower(req('A')) == ''", 1},
    {"%{TIME_HOUR} -gt 9", 1},
    {"-f '/x'", 1},
    {"-n env('A')", 1},
    {"'a' == 'a' && !(%{REMOTE_ADDR} == 'x')", 1},
    {"'x' in {'a', %{REMOTE_USER}}", 1},
    {"file('/x') == ''", 1},
    {"%{REQUEST_METHOD} == 'GET'", 1},
};

static void test_depends(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(dependencies) / sizeof(dependencies[0]); i++) {
        const char *err;

        if (expr_depends(parse(dependencies[i].text, 0, &err)) != dependencies[i].depends)
            fail_msg("%s", dependencies[i].text);
    }
    assert_int_equal(expr_depends(NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_conditions),
        TEST_WITH_POOL(test_texts),
        TEST_WITH_POOL(test_mistakes),
        TEST_WITH_POOL(test_restricted),
        TEST_WITH_POOL(test_run_time_errors),
        TEST_WITH_POOL(test_environment),
        TEST_WITH_POOL(test_vary),
        TEST_WITH_POOL(test_ssl_compat),
        TEST_WITH_POOL(test_groups),
        TEST_WITH_POOL(test_depth),
        TEST_WITH_POOL(test_room),
        TEST_WITH_POOL(test_own_lookup),
        TEST_WITH_POOL(test_depends),
    };

    return cmocka_run_group_tests(tests, hooks_setup, NULL);
}
