/* SPDX-License-Identifier: Apache-2.0 */
/* SetHandler "proxy:fcgi://...": a loop remembers what it means, and a file becomes what the full way makes of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "http_config.h"
#include "loop.h"
#include "proxy_private.h"
#include "thread_self.h"
#include "test_config.h"
#include "test_request.h"

static apr_pool_t *pool;
static brg_loop loop;

static int set_up(void **state)
{
    (void)state;
    assert_true(test_config_read("ServerName front.example\n"));
    apr_pool_create(&pool, test_process->pool);
    assert_int_equal(proxy_share(pool, ap_server_conf), OK);
    loop = (brg_loop){.pool = pool};
    thread_self_set(&loop, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (loop.guests) {
        struct loop_guest *guest = loop.guests;

        loop.guests = guest->next;
        guest->end(guest);
    }
    thread_self_end();
    apr_pool_destroy(pool);
    return 0;
}

static request_rec *request_of(const char *handler, const char *file)
{
    request_rec *r = test_request(pool);

    r->server = ap_server_conf;
    r->request_config = ap_create_request_config(pool);
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->unparsed_uri = r->uri = apr_pstrdup(pool, "/x.php");
    r->handler = handler;
    r->filename = apr_pstrdup(pool, file);
    r->proxyreq = PROXYREQ_REVERSE;
    return r;
}

static void as_on_the_full_way(void **state)
{
    static const struct {
        const char *handler, *socket, *host;
        int port;
    } cases[] = {{"proxy:fcgi://127.0.0.1:9001", NULL, "127.0.0.1", 9001},
                 {"proxy:FCGI://One.example", NULL, "one.example", 8000},
                 {"proxy:fcgi://[::1]:9000", NULL, "::1", 9000},
                 {"proxy:fcgi://one/", NULL, "one", 8000},
                 {"proxy:fcgi://one/base", NULL, "one", 8000},
                 {"proxy:unix:/run/php.sock|fcgi://localhost", "/run/php.sock", "localhost", 8000}};
    static const char *const files[] = {"/srv/x.php", "/srv/a b/\xc3\xa9;.php", "/"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            request_rec *r = request_of(cases[i].handler, files[k]);
            request_rec *full = request_of("", apr_pstrcat(pool, cases[i].handler, files[k], NULL));
            upstream_origin *origin = NULL;

            print_message("%s %s\n", cases[i].handler, files[k]);
            apr_table_setn(full->notes, "proxy-sethandler", "1");
            assert_int_equal(proxy_fixup(full), OK);
            assert_true(proxy_by_handler(r, &origin));
            if (!cases[i].socket)
                assert_string_equal(r->filename, full->filename);
            assert_non_null(origin);
            assert_string_equal(proxy_place_resolved(r)->host, cases[i].host);
            assert_int_equal(proxy_place_resolved(r)->port, cases[i].port);
            if (cases[i].socket)
                assert_string_equal(apr_table_get(r->notes, PROXY_SOCKET_NOTE), cases[i].socket);
            else
                assert_null(apr_table_get(r->notes, PROXY_SOCKET_NOTE));
        }
}

static void others_take_the_full_way(void **state)
{
    static const char *const cases[][2] = {
        {"proxy:http://one/", "/x"},        {"proxy:fcgi://", "/x"},
        {"proxy:fcgi://one:port", "/x"},    {"proxy:fcgi://one/a\tq", "/x"},
        {"proxy:unix:/s|http://one", "/x"}, {"proxy:fcgi://one", "x"},
        {"proxy:fcgi://one", "/x\ny"},      {"proxy:fcgi://one", "/x?y"},
        {"proxy:fcgi://one/a?b", "/x"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = request_of(cases[i][0], cases[i][1]);
        upstream_origin *origin = NULL;

        print_message("%s %s\n", cases[i][0], cases[i][1]);
        assert_false(proxy_by_handler(r, &origin));
        assert_string_equal(r->filename, cases[i][1]);
        assert_true(!origin && apr_is_empty_table(r->notes));
    }
}

static upstream_origin *origin_of(const char *handler)
{
    upstream_origin *origin = NULL;

    return proxy_by_handler(request_of(handler, "/x"), &origin) ? origin : NULL;
}

static void what_is_known_stays(void **state)
{
    upstream_origin *first = origin_of("proxy:fcgi://one");
    server_rec *main = ap_server_conf, other = *main;

    (void)state;
    assert_non_null(first);
    assert_ptr_equal(origin_of("proxy:fcgi://one"), first);
    ap_server_conf = &other; /* it may have other time limits */
    assert_ptr_not_equal(origin_of("proxy:fcgi://one"), first);
    ap_server_conf = main;
    for (int i = 0; i < 30; i++)
        assert_non_null(origin_of(apr_psprintf(pool, "proxy:fcgi://one:%d", i + 1)));
    assert_null(origin_of("proxy:fcgi://one:99")); /* there is no place for it */
    assert_ptr_equal(origin_of("proxy:fcgi://one"), first);
}

static void off_the_loops(void **state)
{
    (void)state;
    thread_self_end();
    assert_null(origin_of("proxy:fcgi://one"));
    thread_self_set(&loop, 0);
    assert_non_null(origin_of("proxy:fcgi://one"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(as_on_the_full_way), T(others_take_the_full_way),
                                       T(what_is_known_stays), T(off_the_loops)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
