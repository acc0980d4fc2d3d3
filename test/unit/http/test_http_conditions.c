/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional requests: the single tests, their precedence, dates in their three forms, entity tags
 * of files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_pool.h"
#include "test_request.h"
#include "http_config.h"
#include "http_core.h"
#include "http_etag.h"
#include "http_protocol.h"
#include "apr_date.h"
#include <stdio.h>
#include <string.h>

/* The request is made at 12:53:20; the file changed an hour before, or half a minute before. */
#define NOW "Mon, 06 May 2024 12:53:20 GMT"
#define OLD "Mon, 06 May 2024 11:53:20 GMT"
#define OLDER "Mon, 06 May 2024 11:53:19 GMT"
#define YOUNG "Mon, 06 May 2024 12:52:50 GMT"
#define LATER "Mon, 06 May 2024 12:53:10 GMT"
#define FUTURE "Mon, 06 May 2024 12:53:21 GMT"

typedef struct condition_case {
    const char *method, *etag, *changed;
    const char *fields[6]; /* name, value, ... */
    int want;
} condition_case;

static const condition_case cases[] = {
    {"GET", "\"a\"", OLD, {NULL}, OK},
    /* If-Match */
    {"GET", "\"a\"", OLD, {"If-Match", "\"a\""}, OK},
    {"GET", "\"a\"", OLD, {"If-Match", "\"b\", \"a\""}, OK},
    {"GET", "\"a\"", OLD, {"If-Match", "*"}, OK},
    {"GET", NULL, OLD, {"If-Match", "*"}, OK},
    {"GET", "\"a\"", OLD, {"If-Match", "\"b\""}, 412},
    {"GET", "\"a\"", OLD, {"If-Match", "W/\"a\""}, 412},
    {"GET", "W/\"a\"", OLD, {"If-Match", "\"a\""}, 412},
    {"GET", "W/\"a\"", OLD, {"If-Match", "W/\"a\""}, 412},
    {"GET", NULL, OLD, {"If-Match", "\"a\""}, 412},
    {"PUT", "\"a\"", OLD, {"If-Match", "\"b\""}, 412},
    /* If-Unmodified-Since */
    {"GET", NULL, OLD, {"If-Unmodified-Since", OLD}, OK},
    {"GET", NULL, OLD, {"If-Unmodified-Since", OLDER}, 412},
    {"GET", NULL, YOUNG, {"If-Unmodified-Since", OLD}, 412},
    {"GET", NULL, OLD, {"If-Unmodified-Since", "garbage"}, OK},
    {"POST", NULL, OLD, {"If-Unmodified-Since", OLDER}, 412},
    /* an entity tag outweighs a date */
    {"GET", "\"a\"", OLD, {"If-Match", "\"a\"", "If-Unmodified-Since", OLDER}, OK},
    {"GET", "\"a\"", OLD, {"If-Match", "\"b\"", "If-Unmodified-Since", OLD}, 412},
    {"GET", "\"a\"", OLD, {"If-None-Match", "\"a\"", "If-Modified-Since", OLDER}, 304},
    {"GET", "\"a\"", OLD, {"If-None-Match", "\"b\"", "If-Modified-Since", OLD}, OK},
    /* If-None-Match */
    {"GET", "\"a\"", OLD, {"If-None-Match", "\"a\""}, 304},
    {"HEAD", "\"a\"", OLD, {"If-None-Match", "\"a\""}, 304},
    {"POST", "\"a\"", OLD, {"If-None-Match", "\"a\""}, 412},
    {"GET", "\"a\"", OLD, {"If-None-Match", "W/\"a\""}, 304},
    {"GET", "W/\"a\"", OLD, {"If-None-Match", "\"a\""}, 304},
    {"POST", "W/\"a\"", OLD, {"If-None-Match", "W/\"a\""}, OK},
    {"GET", "W/\"a\"", OLD, {"If-None-Match", "W/\"a\"", "Range", "bytes=0-1"}, OK},
    {"GET", "\"a\"", OLD, {"If-None-Match", "\"a\"", "Range", "bytes=0-1"}, 304},
    {"GET", "\"a\"", OLD, {"If-None-Match", "*"}, 304},
    {"GET", NULL, OLD, {"If-None-Match", "*"}, 304},
    {"PUT", NULL, OLD, {"If-None-Match", "*"}, 412},
    {"GET", "\"a\"", OLD, {"If-None-Match", "\"ab\""}, OK},
    {"GET", NULL, OLD, {"If-None-Match", "\"a\""}, OK},
    /* If-Modified-Since */
    {"GET", NULL, OLD, {"If-Modified-Since", OLD}, 304},
    {"HEAD", NULL, OLD, {"If-Modified-Since", NOW}, 304},
    {"GET", NULL, OLD, {"If-Modified-Since", OLDER}, OK},
    {"GET", NULL, OLD, {"If-Modified-Since", FUTURE}, OK},
    {"GET", NULL, YOUNG, {"If-Modified-Since", LATER}, 304},
    {"GET", NULL, OLD, {"If-Modified-Since", "garbage"}, OK},
    {"POST", NULL, OLD, {"If-Modified-Since", OLD}, OK},
    {"GET", NULL, OLD, {"If-Modified-Since", "Monday, 06-May-24 11:53:20 GMT"}, 304},
    {"GET", NULL, OLD, {"If-Modified-Since", "Mon May  6 11:53:20 2024"}, 304},
    {"GET", NULL, OLD, {"If-Modified-Since", "Monday, 06-May-24 11:53:19 GMT"}, OK},
    /* both kinds */
    {"GET", "\"a\"", OLD, {"If-Match", "\"a\"", "If-None-Match", "\"a\""}, 304},
    {"GET", "\"a\"", OLD, {"If-Unmodified-Since", OLD, "If-Modified-Since", OLD}, 304},
};

static request_rec *make_request(const condition_case *c)
{
    request_rec *r = test_request(test_pool);

    r->method = c->method;
    r->header_only = !strcmp(c->method, "HEAD");
    r->method_number = ap_method_number_of(c->method);
    if (c->etag)
        apr_table_setn(r->headers_out, "ETag", c->etag);
    apr_table_setn(r->headers_out, "Last-Modified", c->changed);
    for (int i = 0; i < 6 && c->fields[i]; i += 2)
        apr_table_setn(r->headers_in, c->fields[i], c->fields[i + 1]);
    return r;
}

static void test_conditions(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        request_rec *r = make_request(&cases[i]);
        const int got = ap_meets_conditions(r);

        if (got != cases[i].want)
            print_error("%zu: %s %s: got %d\n", i, cases[i].method, cases[i].fields[1], got);
        assert_int_equal(got, cases[i].want);
        /* What failed already, or is no copy of the client's, has no condition. */
        r->status = HTTP_NOT_FOUND;
        assert_int_equal(ap_meets_conditions(r), OK);
        r->status = HTTP_OK;
        r->no_local_copy = 1;
        assert_int_equal(ap_meets_conditions(r), OK);
    }
}

static void test_if_range(void **state)
{
    static const struct {
        condition_case c;
        ap_condition_e want;
    } table[] = {
        {{"GET", "\"a\"", OLD, {"If-Range", "\"a\""}, 0}, AP_CONDITION_NONE},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1"}, 0}, AP_CONDITION_NONE},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "\"a\""}, 0},
         AP_CONDITION_STRONG},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "\"b\""}, 0},
         AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "\"a\", \"b\""}, 0},
         AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "W/\"a\""}, 0},
         AP_CONDITION_NOMATCH},
        {{"GET", "W/\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "W/\"a\""}, 0},
         AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "*"}, 0}, AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", OLD}, 0}, AP_CONDITION_STRONG},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", OLDER}, 0}, AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", NOW}, 0}, AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", YOUNG, {"Range", "bytes=0-1", "If-Range", YOUNG}, 0},
         AP_CONDITION_NOMATCH},
        {{"GET", "\"a\"", OLD, {"Range", "bytes=0-1", "If-Range", "x"}, 0}, AP_CONDITION_NOMATCH},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        request_rec *r = make_request(&table[i].c);

        assert_int_equal(ap_condition_if_range(r, r->headers_out), table[i].want);
    }
}

/* ---- entity tags ---- */

static request_rec *file_request(const core_dir_config *conf)
{
    request_rec *r = test_request(test_pool);
    void **vector = apr_pcalloc(test_pool, 64 * sizeof(void *));

    vector[0] = (void *)(uintptr_t)conf; /* the core's place */
    r->per_dir_config = (struct ap_conf_vector_t *)vector;
    r->finfo.filetype = APR_REG;
    r->finfo.inode = 0x9842dc;
    r->finfo.size = 12;
    r->mtime = r->finfo.mtime = APR_INT64_C(0x660b217d78e9d);
    r->request_time = r->mtime + apr_time_from_sec(10);
    return r;
}

static void test_etag(void **state)
{
    static const struct {
        etag_components_t bits, add, remove;
        const char *want;
    } table[] = {{ETAG_UNSET, 0, 0, "\"c-660b217d78e9d\""},
                 {ETAG_ALL, 0, 0, "\"9842dc-c-660b217d78e9d\""},
                 {ETAG_SIZE, 0, 0, "\"c\""},
                 {ETAG_MTIME, 0, 0, "\"660b217d78e9d\""},
                 {ETAG_INODE | ETAG_MTIME, 0, 0, "\"9842dc-660b217d78e9d\""},
                 {ETAG_UNSET, ETAG_INODE, ETAG_SIZE, "\"9842dc\""},
                 {ETAG_UNSET, 0, ETAG_SIZE, "\"c-660b217d78e9d\""},
                 {ETAG_NONE, 0, 0, ""}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        core_dir_config conf = {
            .etag_bits = table[i].bits, .etag_add = table[i].add, .etag_remove = table[i].remove};

        assert_string_equal(ap_make_etag(file_request(&conf), 0), table[i].want);
    }
}

static void test_etag_weak(void **state)
{
    core_dir_config conf = {.etag_bits = ETAG_SIZE};
    request_rec *r = file_request(&conf);

    assert_string_equal(ap_make_etag(r, 1), "W/\"c\"");
    r->request_time = r->mtime + APR_USEC_PER_SEC + 1;
    assert_string_equal(ap_make_etag(r, 0), "\"c\"");
    r->request_time = r->mtime + APR_USEC_PER_SEC;
    assert_string_equal(ap_make_etag(r, 0), "W/\"c\"");
    r->request_time += apr_time_from_sec(10);
    r->vlist_validator = (char *)"\"v1\"";
    assert_string_equal(ap_make_etag(r, 0), "\"c;v1\"");
    r->vlist_validator = (char *)"W/\"v1\"";
    assert_string_equal(ap_make_etag(r, 0), "W/\"c;v1\"");
    r->vlist_validator = NULL;
    r->finfo.filetype = APR_NOFILE;
    assert_string_equal(ap_make_etag(r, 0), "\"660b217d78e9d\"");
    ap_set_etag(r);
    assert_string_equal(apr_table_get(r->headers_out, "ETag"), "\"660b217d78e9d\"");
}

static void test_etag_digest(void **state)
{
    core_dir_config conf = {.etag_bits = ETAG_DIGEST};
    request_rec *r = file_request(&conf);
    char name[] = "/tmp/brigade-etag-XXXXXX";
    apr_off_t at = 1;
    apr_file_t *fd;

    assert_int_equal(
        apr_file_mktemp(&fd, name, APR_FOPEN_READ | APR_FOPEN_WRITE | APR_FOPEN_CREATE, test_pool),
        0);
    assert_int_equal(apr_file_puts("abc", fd), APR_SUCCESS);
    assert_int_equal(apr_file_seek(fd, APR_SET, &at), APR_SUCCESS);
    ap_set_etag_fd(r, fd);
    assert_string_equal(apr_table_get(r->headers_out, "ETag"), "\"qZk+NkcGgWq6PiVxeFDCbJzQ2J0=\"");
    at = 0;
    assert_int_equal(apr_file_seek(fd, APR_CUR, &at), APR_SUCCESS);
    assert_int_equal(at, 1); /* the handler's place in the file is not moved */
    r->filename = name;
    assert_string_equal(ap_make_etag(r, 0), "\"qZk+NkcGgWq6PiVxeFDCbJzQ2J0=\"");
    apr_file_close(fd);
    remove(name);
    /* No file to read, and no other parts: no tag, which all such files would share. */
    r->filename = (char *)"/no/such/file";
    assert_string_equal(ap_make_etag(r, 0), "");
}

static void test_times(void **state)
{
    request_rec *r = test_request(test_pool);

    assert_int_equal(ap_rationalize_mtime(r, r->request_time - 5), r->request_time - 5);
    assert_int_equal(ap_rationalize_mtime(r, r->request_time + 5), r->request_time);
    assert_int_equal(ap_rationalize_mtime(r, APR_DATE_BAD), r->request_time);
    r->mtime = r->request_time - apr_time_from_sec(3600);
    ap_set_last_modified(r);
    assert_string_equal(apr_table_get(r->headers_out, "Last-Modified"), OLD);
    ap_set_content_length(r, APR_INT64_C(9223372036854775807));
    assert_string_equal(apr_table_get(r->headers_out, "Content-Length"), "9223372036854775807");
}

static void tags_have_hexadecimal_numbers(void **state)
{
    char tag[HTTP_ETAG_ROOM], same[HTTP_ETAG_ROOM];

    for (int bits = 0; bits < 64; bits++) {
        const apr_uint64_t n = UINT64_C(0xfedcba9876543210) >> bits;
        const size_t len =
            http_etag_put(tag, ETAG_INODE | ETAG_SIZE | ETAG_MTIME, n, bits & 1 ? 0 : n, ~n);

        assert_int_equal(apr_snprintf(same, sizeof same,
                                      "%" APR_UINT64_T_HEX_FMT "-%" APR_UINT64_T_HEX_FMT
                                      "-%" APR_UINT64_T_HEX_FMT,
                                      n, bits & 1 ? 0 : n, ~n),
                         (int)len);
        assert_string_equal(tag, same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_conditions),
        TEST_WITH_POOL(test_if_range),
        TEST_WITH_POOL(test_etag),
        TEST_WITH_POOL(test_etag_weak),
        TEST_WITH_POOL(test_etag_digest),
        TEST_WITH_POOL(test_times),
        cmocka_unit_test(tags_have_hexadecimal_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
