/* SPDX-License-Identifier: Apache-2.0 */
/* Managed domains as they are configured: names, lengths of time, keys, the responder of DNS. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "md_demand.h"
#include "apr_strings.h"

static void check_good(const char *line)
{
    if (!test_config_read(line))
        fail_msg("%s: %s", line, test_messages);
}

static void check_bad(const char *line, const char *why)
{
    if (test_config_read(line) || !strstr(test_messages, why))
        fail_msg("%s should be refused with \"%s\": %s", line, why, test_messages);
}

static const md_domain *domain_at(int i)
{
    return APR_ARRAY_IDX(md_domains, i, const md_domain *);
}

static const char *names_of(const md_domain *domain)
{
    return apr_array_pstrcat(test_process->pconf, domain->names, ' ');
}

static void test_domains(void **state)
{
    check_good("MDomain A.example www.a.example manual a.example\n"
               "<MDomainSet b.example *.b.example>\nMDMember c.example auto\n</MDomainSet>\n");
    assert_int_equal(md_domains->nelts, 2);
    assert_string_equal(domain_at(0)->name, "a.example");
    assert_string_equal(names_of(domain_at(0)), "a.example www.a.example");
    assert_int_equal(domain_at(0)->set->transitive, 0);
    assert_string_equal(names_of(domain_at(1)), "b.example *.b.example c.example");
    assert_int_equal(domain_at(1)->set->transitive, 1);
    check_bad("MDomain manual", "needs at least one domain name");
    check_bad("MDomain a.example b.example\nMDomain c.example b.example",
              "two Managed Domains have an overlap in domain 'b.example'");
}

/* A name becomes the name of a folder, and part of a request. */
static void test_names(void **state)
{
    static const char *const good[] = {"a",         "a.example",  "*.a.example", "a_b-c.example",
                                       "192.0.2.1", "2001:db8::1"},
                             *const bad[] = {".a.example", "a..example",    "*.",   "*..a", "a/b",
                                             "a*.example", "*.2001:db8::1", "../a", "a:80"};
    char line[300] = "MDomain ";

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_good(apr_pstrcat(test_process->pool, "MDomain ", good[i], NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_bad(apr_pstrcat(test_process->pool, "MDomain ", bad[i], NULL), "is no host name");
    memset(line + 8, 'a', 252);
    check_good(line);
    line[8 + 252] = 'a';
    check_bad(line, "is no host name");
}

static void test_windows(void **state)
{
    check_good("MDRenewWindow 33%\nMDWarnWindow 10d\nMDomain a.example");
    assert_int_equal(domain_at(0)->set->renew->percent, 33);
    assert_int_equal(domain_at(0)->set->warn->percent, 0);
    assert_true(domain_at(0)->set->warn->length == apr_time_from_sec(10 * 86400));
    check_good("MDStaplingKeepResponse 700%\nMDomain a.example");
    assert_int_equal(domain_at(0)->set->staple_keep->percent, 700);
    check_bad("MDRenewWindow 100%", "MDRenewWindow a length of 100% or more is not allowed.");
    check_bad("MDRenewWindow -1%", "MDRenewWindow percent must be less than 100");
    check_bad("MDRenewWindow soon", "MDRenewWindow has unrecognized format");
    check_bad("MDStaplingRenewWindow 100%",
              "MDStaplingRenewWindow with a length of 100% or more is not allowed.");
    check_bad("MDStaplingRenewWindow soon", "MDStaplingRenewWindow has unrecognized format");
}

static void test_keys(void **state)
{
    const apr_array_header_t *keys;

    check_good("MDPrivateKeys Default\nMDomain a.example");
    keys = domain_at(0)->set->keys;
    assert_int_equal(keys->nelts, 1);
    assert_int_equal(APR_ARRAY_IDX(keys, 0, md_key_spec).bits, 2048);
    check_good("MDPrivateKeys P-256 RSA 3072\nMDomain a.example");
    keys = domain_at(0)->set->keys;
    assert_int_equal(keys->nelts, 2);
    assert_string_equal(APR_ARRAY_IDX(keys, 0, md_key_spec).curve, "p-256");
    assert_int_equal(APR_ARRAY_IDX(keys, 1, md_key_spec).bits, 3072);
    check_bad("MDPrivateKeys Default RSA", "'Default' allows no other parameter");
    check_bad("MDPrivateKeys RSA rsa4096", "two keys of type 'RSA' are not possible");
    check_bad("MDPrivateKeys P-256 p-256", "two keys of type 'p-256' are not possible");
    check_bad("MDPrivateKeys RSA 2047", "must be 2048 or higher");
    check_good("MDPrivateKeys RSA 2048");
    check_bad("MDPrivateKeys", "needs to specify the private key type");
}

static void test_responder(void **state)
{
    static const char *const good[] = {"acme.example 127.0.0.1:5300", "Acme.Example. [::1]:5300",
                                       "a_b-9.example 127.0.0.1 ns=ns.example",
                                       "a 127.0.0.1:1 127.0.0.1:2 127.0.0.1:3 127.0.0.1:4 "
                                       "127.0.0.1:5 127.0.0.1:6 127.0.0.1:7 127.0.0.1:8"},
                             *const zones[] = {".", ".a", "a..b", "a/b", "a*", "\"\""};
    char line[320] = "MDDnsResponder ";

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_good(apr_pstrcat(test_process->pool, "MDDnsResponder ", good[i], NULL));
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
        check_bad(apr_pstrcat(test_process->pool, "MDDnsResponder ", zones[i], " 127.0.0.1", NULL),
                  "is no name of a zone");
    check_bad("MDDnsResponder a ns=b..c 127.0.0.1", "is no name of a zone");
    check_bad("MDDnsResponder a", "takes a zone and addresses");
    check_bad("MDDnsResponder a ns=b.example", "takes a zone and addresses");
    check_bad("MDDnsResponder a 127.0.0.1:x", "is no ADDRESS:PORT");
    check_bad(apr_pstrcat(test_process->pool, "MDDnsResponder ", good[3], " 127.0.0.1:9", NULL),
              "takes at most 8 addresses");
    /* Labels of 63 bytes, names of 200. */
    for (int i = 0; i < 201; i++)
        line[15 + i] = i % 64 == 63 ? '.' : 'a';
    strcpy(line + 15 + 200, " 127.0.0.1");
    check_good(line);
    strcpy(line + 15 + 200, "a 127.0.0.1");
    check_bad(line, "is no name of a zone");
    strcpy(line + 15 + 127, ".b 127.0.0.1");
    check_good(line);
    line[15 + 63] = 'a';
    check_bad(line, "is no name of a zone");
}

static void test_demand(void **state)
{
    check_good("MDOnDemandLimits names=7 rate=12/m wait=60");
    assert_int_equal(md_demand_limit.names, 7);
    assert_int_equal(md_demand_limit.rate, 12);
    assert_int_equal(md_demand_limit.rate_seconds, 60);
    assert_true(md_demand_limit.wait == apr_time_from_sec(60));
    check_good("MDOnDemandLimits Rate=1/H names=100000 wait=0");
    assert_int_equal(md_demand_limit.rate_seconds, 3600);
    check_bad("MDOnDemandLimits", "takes names=NUMBER");
    check_bad("MDOnDemandLimits name=7", "takes names=NUMBER");
    check_bad("MDOnDemandLimits names=", "names= and wait= take numbers");
    check_bad("MDOnDemandLimits names=7x", "names= and wait= take numbers");
    check_bad("MDOnDemandLimits wait=-1", "names= and wait= take numbers");
    check_bad("MDOnDemandLimits wait=61", "at most 60 seconds");
    check_bad("MDOnDemandLimits names=0", "takes 1 to 100000");
    check_bad("MDOnDemandLimits names=100001", "takes 1 to 100000");
    check_bad("MDOnDemandLimits rate=5", "a number and /s, /m or /h");
    check_bad("MDOnDemandLimits rate=0/s", "a number and /s, /m or /h");
    check_bad("MDOnDemand folders", "MDOnDemand takes folder");
    check_bad("MDOnDemand folder=relative", "MDOnDemand takes folder");
    check_bad("MDOnDemand url", "MDOnDemand takes folder");
    check_bad("MDOnDemand url=ftp://a.example/", "is no URL of http or https");
    check_bad("MDOnDemand expr", "MDOnDemand takes folder");
    check_good("MDOnDemand Off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_domains),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_windows),   cmocka_unit_test(test_keys),
        cmocka_unit_test(test_responder), cmocka_unit_test(test_demand)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
