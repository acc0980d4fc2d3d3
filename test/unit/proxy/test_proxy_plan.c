/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of fields, whoever sends them on; and what a plan sends around those of its clients. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "http_config.h"
#include "http_core.h"
#include "http_fields.h"
#include "proxy_fields.h"
#include "proxy_private.h"
#include "test_config.h"
#include "test_request.h"

static proxy_field_rule rule_of(const char *name)
{
    return proxy_field_rule_of(http_field_id_of(name, strlen(name)), name, strlen(name));
}

static void fields_of_requests(void **state)
{
    static const struct {
        const char *name;
        proxy_field_rule rule;
    } known[] = {{"Host", PROXY_FIELD_HOST},
                 {"content-length", PROXY_FIELD_LENGTH},
                 {"Upgrade", PROXY_FIELD_UPGRADE},
                 {"TE", PROXY_FIELD_TE},
                 {"Transfer-Encoding", PROXY_FIELD_CODING},
                 {"Connection", PROXY_FIELD_STAYS},
                 {"Keep-Alive", PROXY_FIELD_STAYS},
                 {"Trailer", PROXY_FIELD_STAYS},
                 {"proxy-connection", PROXY_FIELD_STAYS},
                 {"Expect", PROXY_FIELD_EXPECT},
                 {"If-None-Match", PROXY_FIELD_CONDITION},
                 {"If-Modified-Since", PROXY_FIELD_CONDITION},
                 {"Proxy-Authorization", PROXY_FIELD_CREDENTIALS},
                 {"Via", PROXY_FIELD_ADDED_TO},
                 {"Max-Forwards", PROXY_FIELD_ADDED_TO},
                 {"X-Forwarded-For", PROXY_FIELD_ADDED_TO},
                 {"x-forwarded-host", PROXY_FIELD_ADDED_TO},
                 {"X-Forwarded-Server", PROXY_FIELD_ADDED_TO},
                 {"X-Forwarded-Proto", PROXY_FIELD_GOES},
                 {"Cookie", PROXY_FIELD_GOES},
                 {"Authorization", PROXY_FIELD_GOES},
                 {"Range", PROXY_FIELD_GOES},
                 {"Vib", PROXY_FIELD_GOES},
                 {"Proxy-Connectiom", PROXY_FIELD_GOES}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (rule_of(known[i].name) != known[i].rule)
            fail_msg("%s: %d", known[i].name, (int)rule_of(known[i].name));
}

static void fields_of_answers(void **state)
{
    static const char *const stay[] = {"Connection", "keep-alive",       "TE",
                                       "Trailer",    "Upgrade",          "Transfer-Encoding",
                                       "trailer",    "Proxy-Connection", NULL};
    static const char *const urls[] = {"Location", "content-location", "URI", "Destination", NULL};
    static const char *const go[] = {
        "Date",     "Server", "Content-Type",     "T2", "Set-Cookif", "Connectioo", "Uri2",
        "Locatiom", "Vary",   "Content-Encoding", NULL};

    for (int i = 0; stay[i]; i++)
        assert_int_equal(proxy_answer_rule_of(stay[i], strlen(stay[i])), PROXY_ANSWER_STAYS);
    for (int i = 0; urls[i]; i++)
        assert_int_equal(proxy_answer_rule_of(urls[i], strlen(urls[i])), PROXY_ANSWER_URL);
    for (int i = 0; go[i]; i++)
        assert_int_equal(proxy_answer_rule_of(go[i], strlen(go[i])), PROXY_ANSWER_GOES);
    assert_int_equal(proxy_answer_rule_of("set-cookie", 10), PROXY_ANSWER_COOKIE);
}

static void places_of_names(void **state)
{
    assert_int_equal(http_name_bit("X-Abc", 5), http_name_bit("x-ABC", 5));
    assert_int_not_equal(http_name_bit("a", 1), http_name_bit("b", 1));
    for (int c = 1; c < 256; c++)
        assert_true(http_name_bit(&(char){(char)c}, 1) < 64);
}

/* A frame and the head that is made of a request without fields of its own are the same bytes. */
static void frame_is_what_a_head_has(const char *text)
{
    apr_pool_t *pool;
    proxy_exchange x = {0};
    proxy_target target = {0};
    proxy_worker worker = {0};
    proxy_frame frame;
    const char *data, *whole;
    apr_size_t len;
    request_rec *r;

    assert_true(test_config_read(text));
    apr_pool_create(&pool, test_process->pool);
    r = test_request(pool);
    r->server = ap_server_conf;
    r->request_config = ap_create_request_config(pool);
    r->per_dir_config = ap_server_conf->lookup_defaults;
    apr_table_unset(r->headers_in, "User-Agent");
    target.authority = "inner:81";
    target.path = "/a";
    target.scheme = PROXY_SCHEME_HTTP;
    target.worker = &worker;
    x.r = r;
    x.target = &target;
    x.body.over = 1;
    proxy_settings_for(r, &x.conf);
    proxy_request_frame(&x, &frame);
    assert_int_equal(apr_bucket_read(proxy_request_head(&x), &data, &len, APR_BLOCK_READ),
                     APR_SUCCESS);
    whole = apr_pstrcat(pool, "GET /a", apr_pstrmemdup(pool, frame.before.at, frame.before.len),
                        apr_pstrmemdup(pool, frame.ours.at, frame.ours.len),
                        frame.adds_for ? "X-Forwarded-For: 10.1.2.3\r\n" : "",
                        apr_pstrmemdup(pool, frame.behind.at, frame.behind.len), NULL);
    assert_string_equal(apr_pstrmemdup(pool, data, len), whole);
}

static void frames(void **state)
{
    frame_is_what_a_head_has("ServerName front.example\n");
    frame_is_what_a_head_has("ServerName front.example\nProxyAddHeaders Off\n");
    frame_is_what_a_head_has("ServerName front.example\nProxyPreserveHost On\n");
    frame_is_what_a_head_has("ServerName front.example\nProxyVia On\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_of_requests),
                                       cmocka_unit_test(fields_of_answers),
                                       cmocka_unit_test(places_of_names), cmocka_unit_test(frames)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
