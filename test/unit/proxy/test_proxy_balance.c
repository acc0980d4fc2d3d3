/* SPDX-License-Identifier: Apache-2.0 */
/* Which member gets the next request. The sequences are those of Apache 2.4 with the same configuration. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "proxy_private.h"
#include "test_config.h"
#include "test_request.h"

static apr_pool_t *pool;

/* A server with one balancer of up to five members, a to e, each with these parameters; NULL: it is left out. */
static void site_of(const char *balancer, const char *const members[5])
{
    static int sites;
    char text[4096], *at = text;

    at += sprintf(at, "ServerName site%d\nProxyPass / balancer://b/\n<Proxy balancer://b>\n",
                  ++sites);
    for (int i = 0; i < 5; i++)
        if (members[i])
            at += sprintf(at, "BalancerMember http://%c %s\n", 'a' + i, members[i]);
    sprintf(at, "%s\n</Proxy>\n", balancer);
    assert_true(test_config_read(text));
    apr_pool_create(&pool, test_process->pool);
    assert_int_equal(proxy_share(pool, ap_server_conf), OK);
}

static request_rec *request_of(const char *uri)
{
    request_rec *r = test_request(pool);

    r->server = ap_server_conf;
    r->request_config = ap_create_request_config(pool);
    r->per_dir_config = ap_server_conf->lookup_defaults;
    r->uri = r->unparsed_uri = apr_pstrdup(pool, uri);
    r->args = NULL;
    return r;
}

static proxy_target *target_of(request_rec *r)
{
    proxy_target *t = NULL;

    assert_int_equal(proxy_translate(r), OK);
    assert_int_equal(proxy_fixup(r), OK);
    assert_int_equal(proxy_resolve(r, &t), OK);
    return t;
}

/* The member's letter, or '-': 503. */
static char choose(request_rec *r, int keep)
{
    proxy_target *t = target_of(r);
    char name = '-';

    if (proxy_choose(r, t, 0) != OK)
        return '-';
    name = *t->worker->host;
    proxy_answered(r, t, 200, 0);
    if (!keep)
        proxy_release(r, t, 0, 1000);
    return name;
}

static void sequence_is(const char *wanted)
{
    char got[64] = "";

    for (size_t i = 0; wanted[i]; i++)
        got[i] = choose(request_of("/x"), 0);
    assert_string_equal(got, wanted);
}

static void requests_go_by_share(void **state)
{
    site_of("", (const char *[5]){"loadfactor=1", "loadfactor=2", "loadfactor=3.5"});
    sequence_is("cbcacbcbcacbccbcacbcbcacbc");
    site_of("ProxySet lbmethod=byrequests",
            (const char *[5]){"", "", "loadfactor=10", "loadfactor=1.5", ""});
    sequence_is("ccdccacbccecccdcccaccbcecc");
}

static void busyness_and_traffic_go_by_share(void **state)
{
    site_of("ProxySet lbmethod=bybusyness",
            (const char *[5]){"loadfactor=1", "loadfactor=2", "loadfactor=3"});
    sequence_is("cbacbccbacbccbacbccbacbccb");
    site_of("ProxySet lbmethod=bytraffic", (const char *[5]){"", "", ""});
    sequence_is("abcabcabc");
}

static void the_least_busy_gets_it(void **state)
{
    site_of("ProxySet lbmethod=bybusyness", (const char *[5]){"", "", ""});
    for (int i = 0; i < 2; i++)
        choose(request_of("/x"), 1);
    assert_int_equal(choose(request_of("/x"), 1) + choose(request_of("/x"), 0), 'c' + 'a');
}

static void standby_and_spares_stand_in(void **state)
{
    site_of("", (const char *[5]){"status=+D", "status=+S", "status=+H"});
    sequence_is("cccc");
    site_of("", (const char *[5]){"", "status=+D", "status=+R", "status=+R", ""});
    sequence_is("aecaecaec");
    site_of("", (const char *[5]){"", "", "status=+R"});
    sequence_is("abab");
    site_of("", (const char *[5]){"lbset=1 status=+D", "lbset=1 status=+D", "lbset=2", "lbset=3"});
    sequence_is("ccc");
    site_of("", (const char *[5]){"status=+D", "status=+S", "status=+D"});
    sequence_is("--");
}

static void sessions_stay(void **state)
{
    static const char *const members[5] = {"route=a", "route=b", "route=c redirect=a status=+D"};
    request_rec *r;

    site_of("ProxySet stickysession=S|sid", members);
    for (int i = 0; i < 4; i++) {
        r = request_of("/x");
        apr_table_setn(r->headers_in, "Cookie", "T=1; S=xyz.b");
        assert_int_equal(choose(r, 0), 'b');
        assert_string_equal(apr_table_get(r->subprocess_env, "BALANCER_SESSION_ROUTE"), "b");
        assert_null(apr_table_get(r->subprocess_env, "BALANCER_ROUTE_CHANGED"));
        assert_int_equal(choose(request_of("/x;sid=q.a"), 0), 'a');
    }
    r = request_of("/x");
    apr_table_setn(r->headers_in, "Cookie", "S=xyz.c");
    assert_int_equal(choose(r, 0), 'a');
    assert_string_equal(apr_table_get(r->subprocess_env, "BALANCER_ROUTE_CHANGED"), "1");
}

static void a_session_need_not_move(void **state)
{
    request_rec *r;

    site_of("ProxySet stickysession=S nofailover=On",
            (const char *[5]){"route=a status=+D", "route=b"});
    r = request_of("/x");
    apr_table_setn(r->headers_in, "Cookie", "S=1.a");
    assert_int_equal(choose(r, 0), '-');
    assert_int_equal(choose(request_of("/x"), 0), 'b');
}

static void who_fails_gets_no_more(void **state)
{
    request_rec *r;
    proxy_target *t;

    site_of("", (const char *[5]){"", "", ""});
    r = request_of("/x");
    t = target_of(r);
    assert_int_equal(proxy_choose(r, t, 0), OK);
    assert_string_equal(t->host, "a");
    assert_int_equal(atomic_load(&t->worker->state->busy), 1);
    proxy_failed(r, t, PROXY_FAILED_CONNECT);
    proxy_release(r, t, 0, 0);
    assert_int_equal(atomic_load(&t->worker->state->busy), 0);
    assert_true(proxy_may_retry(r, t, 0));
    assert_int_equal(proxy_choose(r, t, 1), OK);
    assert_string_not_equal(t->host, "a");
    proxy_release(r, t, 0, 0);
    assert_true(proxy_may_retry(r, t, 1));
    assert_false(proxy_may_retry(r, t, 2));
    for (int i = 0; i < 6; i++)
        assert_int_not_equal(choose(request_of("/x"), 0), 'a');
}

static void where_all_failed_all_are_tried(void **state)
{
    site_of("", (const char *[5]){"status=+E", "status=+E"});
    sequence_is("abab");
    site_of("ProxySet forcerecovery=Off", (const char *[5]){"status=+E", "status=+E"});
    for (int i = 0; i < 2; i++)
        atomic_store(&proxy_worker_get(i + 2)->state->error_at, apr_time_now());
    sequence_is("-");
}

static void status_takes_a_member_out(void **state)
{
    request_rec *r;
    proxy_target *t;

    site_of("ProxySet failonstatus=500,503", (const char *[5]){"", "status=+I"});
    for (int i = 0; i < 2; i++) {
        r = request_of("/x");
        t = target_of(r);
        assert_int_equal(proxy_choose(r, t, 0), OK);
        proxy_answered(r, t, 503, 0);
        proxy_release(r, t, 0, 0);
    }
    sequence_is("bbb");
}

static void failing_members_are_ejected(void **state)
{
    request_rec *r;
    proxy_target *t;

    site_of("", (const char *[5]){"eject=2", "eject=2"});
    for (int i = 0; i < 8; i++) {
        r = request_of("/x");
        t = target_of(r);
        assert_int_equal(proxy_choose(r, t, 0), OK);
        proxy_failed(r, t, PROXY_FAILED_BROKEN);
        proxy_release(r, t, 0, 0);
    }
    /* Both fail all the time: half of them stay. */
    assert_int_equal(choose(request_of("/x"), 0), choose(request_of("/x"), 0));
}

static void keys_stay_where_they_are(void **state)
{
    char before[64], uri[16];
    int moved = 0;

    site_of("ProxySet lbmethod=hash", (const char *[5]){"", "", "", ""});
    for (int i = 0; i < 64; i++) {
        sprintf(uri, "/k%d", i);
        before[i] = choose(request_of(uri), 0);
        assert_int_equal(choose(request_of(uri), 0), before[i]);
    }
    for (int i = 0; i < proxy_workers(); i++)
        if (!strcmp(proxy_worker_get(i)->host, "b"))
            atomic_fetch_or(&proxy_worker_get(i)->state->status, PROXY_STATUS_DISABLED);
    for (int i = 0; i < 64; i++) {
        sprintf(uri, "/k%d", i);
        if (before[i] != 'b')
            moved += choose(request_of(uri), 0) != before[i];
        else
            assert_int_not_equal(choose(request_of(uri), 0), 'b');
    }
    assert_int_equal(moved, 0);
}

static void load_is_bounded(void **state)
{
    int most = 0;

    site_of("ProxySet lbmethod=hash", (const char *[5]){"", "", "", ""});
    for (int i = 0; i < 40; i++) /* one key, and none of them ends */
        choose(request_of("/same"), 1);
    for (int i = 0; i < proxy_workers(); i++)
        if (atomic_load(&proxy_worker_get(i)->state->busy) > most)
            most = (int)atomic_load(&proxy_worker_get(i)->state->busy);
    assert_in_range(most, 10, 13);
}

static void two_choices_even_out(void **state)
{
    site_of("ProxySet lbmethod=random2", (const char *[5]){"", "", "", ""});
    for (int i = 0; i < 400; i++)
        choose(request_of("/x"), 1);
    for (int i = 0; i < proxy_workers(); i++)
        if (!proxy_worker_get(i)->generic)
            assert_in_range(atomic_load(&proxy_worker_get(i)->state->busy), 90, 110);
}

static void state_outlives_a_reload(void **state)
{
    static const char text[] =
        "ServerName reload\n<Proxy balancer://b>\nBalancerMember http://a %s\n</Proxy>\n";
    char again[256];
    proxy_state *s;

    sprintf(again, text, "loadfactor=2");
    assert_true(test_config_read(again));
    assert_int_equal(proxy_share(test_process->pool, ap_server_conf), OK);
    s = proxy_worker_get(proxy_workers() - 1)->state;
    atomic_store(&s->elected, 5);
    atomic_store(&s->lbfactor, 700);
    atomic_fetch_or(&s->status, PROXY_STATUS_IN_ERROR | PROXY_STATUS_DRAIN);
    assert_true(test_config_read(again));
    assert_int_equal(proxy_share(test_process->pool, ap_server_conf), OK);
    assert_ptr_equal(proxy_worker_get(proxy_workers() - 1)->state, s);
    assert_int_equal(atomic_load(&s->elected), 5);
    assert_int_equal(atomic_load(&s->lbfactor), 200);
    assert_int_equal(atomic_load(&s->status), PROXY_STATUS_INITIALIZED | PROXY_STATUS_IN_ERROR);
}

/* Names of balancers are told in lower case, however they are written. */
static void names_are_in_lower_case(void **state)
{
    assert_true(
        test_config_read("ServerName names\nProxyPass / balancer://Big.Site/\n"
                         "<Proxy balancer://BIG.site>\nBalancerMember http://a\n</Proxy>\n"));
    apr_pool_create(&pool, test_process->pool);
    assert_int_equal(proxy_share(pool, ap_server_conf), OK);
    assert_string_equal(target_of(request_of("/x"))->balancer->name, "balancer://big.site");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_in_lower_case),
        cmocka_unit_test(requests_go_by_share),
        cmocka_unit_test(busyness_and_traffic_go_by_share),
        cmocka_unit_test(the_least_busy_gets_it),
        cmocka_unit_test(standby_and_spares_stand_in),
        cmocka_unit_test(sessions_stay),
        cmocka_unit_test(a_session_need_not_move),
        cmocka_unit_test(who_fails_gets_no_more),
        cmocka_unit_test(where_all_failed_all_are_tried),
        cmocka_unit_test(status_takes_a_member_out),
        cmocka_unit_test(failing_members_are_ejected),
        cmocka_unit_test(keys_stay_where_they_are),
        cmocka_unit_test(load_is_bounded),
        cmocka_unit_test(two_choices_even_out),
        cmocka_unit_test(state_outlives_a_reload),
    };

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
