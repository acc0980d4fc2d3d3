/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual hosts: addresses, names, Host values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "httpd.h"
#include "http_core.h"
#include "http_vhost.h"
#include "vhosts.h"
#include "apr_strings.h"

/* ---- Host values ---- */

/* As Apache 2.4.71 answers them: 1 = accepted. */
static const struct host_case {
    const char *value;
    int strict, unsafe;
    const char *name; /* NULL = the value itself */
    unsigned port;
} host_cases[] = {
    {"lo.example", 1, 1, NULL, 0},
    {"lo2.example.", 1, 1, "lo2.example", 0},
    {"lo2.example..", 0, 0, NULL, 0},
    {".", 0, 1, "", 0},
    {"..", 0, 0, NULL, 0},
    {"a.example:99", 1, 1, "a.example", 99},
    {"a.example.:99", 1, 1, "a.example", 99},
    {"a.example:", 0, 1, NULL, 0},
    {"a.example:x", 0, 1, NULL, 0},
    {"a.example:99999", 0, 0, NULL, 0},
    {"a.example:65536", 0, 0, NULL, 0},
    {"a.example:65535", 1, 1, "a.example", 65535},
    {"a.example:0", 0, 0, NULL, 0},
    {"a.example:99999999999999999999999", 0, 0, NULL, 0},
    {"a.example:080", 1, 1, "a.example", 80},
    {"a:1:2", 0, 1, "a:1", 2},
    {"a_b", 1, 1, NULL, 0},
    {"_1", 1, 1, NULL, 0},
    {"-a", 1, 1, NULL, 0},
    {"a-.b", 1, 1, NULL, 0},
    {"1a", 1, 1, NULL, 0},
    {"a.b1", 1, 1, NULL, 0},
    {"1.2.3.a", 1, 1, NULL, 0},
    {"a b", 0, 1, NULL, 0},
    {"a/b", 0, 0, NULL, 0},
    {"a\\b", 0, 0, NULL, 0},
    {"a..b", 0, 0, NULL, 0},
    {"a%41", 0, 1, NULL, 0},
    {"a,b", 0, 1, NULL, 0},
    {"a@b", 0, 1, NULL, 0},
    {"\xe9", 0, 1, NULL, 0},
    {"a.1", 0, 1, NULL, 0},
    {"a.1b", 0, 1, NULL, 0},
    {"a._", 0, 1, NULL, 0},
    {"1.-2", 0, 1, NULL, 0},
    {"0x7f.1", 0, 1, NULL, 0},
    {"127.0.0.1", 1, 1, NULL, 0},
    {"127.0.0.1.", 1, 1, "127.0.0.1", 0},
    {"0.0.0.0", 1, 1, NULL, 0},
    {"1.2.3.256", 1, 1, NULL, 0},
    {"01.2.3.4", 0, 1, NULL, 0},
    {"1.2.3.04", 0, 1, NULL, 0},
    {"1.2.3", 0, 1, NULL, 0},
    {"1.2.3.4.5", 0, 1, NULL, 0},
    {"123", 0, 1, NULL, 0},
    {"[::1]", 1, 1, "::1", 0},
    {"[::1]:80", 1, 1, "::1", 80},
    {"[::1]80", 0, 0, NULL, 0},
    {"[::1]:", 0, 0, NULL, 0},
    {"[::1", 0, 0, NULL, 0},
    {"[::g]", 0, 0, NULL, 0},
    {"[v1.x]", 0, 0, NULL, 0},
    {"[fe80::1%25eth0]", 0, 0, NULL, 0},
    {"[]", 0, 0, NULL, 0},
    {"::1", 0, 1, ":", 1},
};

static void host_values(void **state)
{
    for (size_t i = 0; i < sizeof host_cases / sizeof *host_cases; i++) {
        const struct host_case *t = &host_cases[i];
        const char *name = t->name ? t->name : t->value;
        char exact[64]; /* without a NUL behind it */
        size_t len = strlen(t->value);
        vhost_host host;

        memset(exact, '9', sizeof exact);
        memcpy(exact, t->value, len);
        if (vhost_host_parse(exact, len, 1, &host) != t->strict ||
            vhost_host_parse(exact, len, 0, &host) != t->unsafe)
            fail_msg("Host: %s", t->value);
        if (t->unsafe &&
            (host.port != t->port || host.len != strlen(name) || memcmp(host.name, name, host.len)))
            fail_msg("Host: %s gives %.*s port %u", t->value, (int)host.len, host.name, host.port);
    }
}

/* ---- tables ---- */

static apr_pool_t *pool;
static server_rec *main_server, **last_server;

static server_rec *server(const char *addrs, const char *name, const char *aliases)
{
    server_rec *s = apr_pcalloc(pool, sizeof *s);
    core_server_config *conf = apr_pcalloc(pool, sizeof *conf);

    s->module_config = apr_pcalloc(pool, sizeof(void *) * 4);
    ap_set_core_module_config(s->module_config, conf);
    s->server_hostname = (char *)name;
    s->names = apr_array_make(pool, 2, sizeof(char *));
    s->wild_names = apr_array_make(pool, 2, sizeof(char *));
    while (*aliases) {
        char *alias = ap_getword_conf(pool, &aliases);

        *(char **)apr_array_push(strchr(alias, '*') ? s->wild_names : s->names) = alias;
    }
    if (addrs)
        assert_null(ap_parse_vhost_addrs(pool, addrs, s));
    *last_server = s;
    last_server = &s->next;
    return s;
}

static int setup(void **state)
{
    apr_pool_create(&pool, NULL);
    last_server = &main_server;
    server(NULL, "main.example", "");
    return 0;
}

static int teardown(void **state)
{
    apr_pool_destroy(pool);
    return 0;
}

static const char *answers(const char *addr, apr_port_t port, const char *host)
{
    apr_sockaddr_t *local;
    server_rec *base, *s = NULL;
    vhost_host parsed;
    const void *chain;

    assert_int_equal(apr_sockaddr_info_get(&local, addr, APR_UNSPEC, port, 0, pool), APR_SUCCESS);
    chain = vhost_chain_of(local, &base);
    if (!vhost_host_parse(host, strlen(host), 1, &parsed))
        return "refused";
    if (chain)
        s = vhost_chain_find(chain, parsed.name, parsed.len);
    return s ? s->server_hostname : base->server_hostname;
}

static void addresses_go_from_special_to_general(void **state)
{
    server("*:80", "star80.example", "");
    server("10.0.0.1:80", "exact.example", "");
    server("10.0.0.1:*", "anyport.example", "");
    server("_default_:*", "default.example", "");
    server("[2001:db8::1]:80", "six.example", "");
    server("10.0.0.2:81 10.0.0.3:81", "two.example", "");
    vhost_tables_build(pool, main_server);

    assert_string_equal(answers("10.0.0.1", 80, "unknown"), "exact.example");
    assert_string_equal(answers("10.0.0.1", 81, "unknown"), "anyport.example");
    assert_string_equal(answers("10.0.0.9", 80, "unknown"), "star80.example");
    assert_string_equal(answers("10.0.0.9", 81, "unknown"), "default.example");
    assert_string_equal(answers("2001:db8::1", 80, "unknown"), "six.example");
    assert_string_equal(answers("::ffff:10.0.0.1", 80, "unknown"), "exact.example");
    assert_string_equal(answers("10.0.0.3", 81, "unknown"), "two.example");
    assert_string_equal(answers("10.0.0.3", 80, "unknown"), "star80.example");
    /* Names of another chain do not count. */
    assert_string_equal(answers("10.0.0.1", 80, "anyport.example"), "exact.example");
    assert_int_equal(vhost_wants_local_address(), 1);
}

static void without_a_match_the_main_server_answers(void **state)
{
    server("10.0.0.1:80", "exact.example", "");
    vhost_tables_build(pool, main_server);
    assert_string_equal(answers("10.0.0.2", 80, "exact.example"), "main.example");
}

static void names_follow_the_configuration(void **state)
{
    server("*:80", "first.example", "Alias1 *.wild.example");
    server("*:80", "second.example", "b*.example x.wild.example");
    server("*:80", "buy.example", "*");
    server("*:81", "other.example", "");
    vhost_tables_build(pool, main_server);

    assert_int_equal(vhost_wants_local_address(), 0);
    assert_string_equal(answers("10.0.0.1", 80, "FIRST.example:80"), "first.example");
    assert_string_equal(answers("10.0.0.1", 80, "second.example."), "second.example");
    assert_string_equal(answers("10.0.0.1", 80, "alias1"), "first.example");
    assert_string_equal(answers("10.0.0.1", 80, "x.wild.example"), "first.example");
    assert_string_equal(answers("10.0.0.1", 80, "BUY.example"), "second.example");
    assert_string_equal(answers("10.0.0.1", 80, "anything"), "buy.example");
    assert_string_equal(answers("10.0.0.1", 81, "first.example"), "other.example");
    assert_string_equal(answers("10.0.0.1", 80, "a..b"), "refused");
}

static void text_of_the_section_is_a_name_of_last_resort(void **state)
{
    apr_sockaddr_t *address;

    if (apr_sockaddr_info_get(&address, "localhost", APR_INET, 80, 0, pool) != APR_SUCCESS)
        skip(); /* a minimal system without /etc/hosts */
    server("127.0.0.1:80", "zero.example", "");
    server("localhost:80", "text.example", "");
    server("127.0.0.1:80", "named.example", "other localhost2");
    vhost_tables_build(pool, main_server);
    assert_string_equal(answers("127.0.0.1", 80, "localhost"), "text.example");
    assert_string_equal(answers("127.0.0.1", 80, "localhost2"), "named.example");
}

static void bad_addresses(void **state)
{
    server_rec s = {0};

    assert_string_equal(ap_parse_vhost_addrs(pool, ":80", &s), "The address or port is invalid");
    assert_string_equal(ap_parse_vhost_addrs(pool, "80", &s), "Missing address for VirtualHost");
    assert_string_equal(ap_parse_vhost_addrs(pool, "1.2.3.4:99999", &s),
                        "The address or port is invalid");
    assert_null(s.addrs);
    assert_null(ap_parse_vhost_addrs(pool, "1.2.3.4:81 5.6.7.8", &s));
    assert_int_equal(s.port, 81);
    assert_int_equal(s.addrs->next->host_port, 0);
}

#define VHOST_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_values),
        VHOST_TEST(addresses_go_from_special_to_general),
        VHOST_TEST(without_a_match_the_main_server_answers),
        VHOST_TEST(names_follow_the_configuration),
        VHOST_TEST(text_of_the_section_is_a_name_of_last_resort),
        VHOST_TEST(bad_addresses),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
