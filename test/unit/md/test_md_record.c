/* SPDX-License-Identifier: Apache-2.0 */
/* Records of jobs: written and read again, of other settings, damaged, of a clock that went wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "md_job.h"
#include "md_json.h"
#include "apr_strings.h"
#include "test_pool.h"

#define DAY (86400 * APR_USEC_PER_SEC)

static md_domain domain;
static md_settings set;

static apr_array_header_t *one(const char *text)
{
    apr_array_header_t *all = apr_array_make(test_pool, 2, sizeof(const char *));

    APR_ARRAY_PUSH(all, const char *) = text;
    return all;
}

static int setup(void **state)
{
    test_pool_setup(state);
    set = (md_settings){.authorities = one("https://ca.example/directory"),
                        .challenges = one("http-01")};
    domain = (md_domain){.name = "a.example", .names = one("a.example"), .set = &set};
    return 0;
}

static md_record read_of(const char *text)
{
    md_record record;

    md_record_parse(test_pool, text, &domain, &record);
    return record;
}

/* As it is after an error, with advice. */
static md_record full(void)
{
    const apr_time_t now = apr_time_from_sec(apr_time_sec(apr_time_now()));
    md_record record = read_of(NULL);

    record.last_run = now;
    record.next_try = now + DAY;
    record.errors = 3;
    record.problem = "no \"A\" record\n";
    record.ari_for = "serial";
    record.ari_from = now + DAY;
    record.ari_until = now + 2 * DAY;
    record.ari_again = now + DAY / 2;
    record.ari_url = "https://ca.example/why";
    return record;
}

static void no_file_is_an_empty_record(void **state)
{
    const md_record record = read_of(NULL);

    assert_int_equal(record.errors, 0);
    assert_int_equal(record.last_run, 0);
    assert_int_equal(record.next_try, 0);
    assert_null(record.problem);
    assert_null(record.ari_for);
    assert_int_equal(strlen(record.settings), 32);
}

static void what_is_written_is_read(void **state)
{
    const md_record before = full(), after = read_of(md_record_text(test_pool, &before));

    assert_int_equal(after.last_run, before.last_run);
    assert_int_equal(after.next_try, before.next_try);
    assert_int_equal(after.errors, 3);
    assert_string_equal(after.problem, before.problem);
    assert_string_equal(after.settings, before.settings);
    assert_string_equal(after.ari_for, "serial");
    assert_string_equal(after.ari_url, before.ari_url);
    assert_int_equal(after.ari_from, before.ari_from);
    assert_int_equal(after.ari_until, before.ari_until);
    assert_int_equal(after.ari_again, before.ari_again);
}

static void the_file_is_json(void **state)
{
    const md_record empty = read_of(NULL), record = full();
    const char *text = md_record_text(test_pool, &record);

    assert_non_null(md_json_read(test_pool, text, strlen(text)));
    text = md_record_text(test_pool, &empty);
    assert_non_null(md_json_read(test_pool, text, strlen(text)));
}

/* Errors of other settings say nothing of these; advice is of the certificate that is there. */
static void other_settings_begin_anew(void **state)
{
    const md_record before = full();
    const char *text = md_record_text(test_pool, &before);
    md_record after;

    set.contact = "mailto:admin@a.example"; /* domain.contact counts, not this one */
    assert_int_equal(read_of(text).errors, 3);
    domain.contact = "mailto:admin@a.example";
    after = read_of(text);
    assert_int_equal(after.errors, 0);
    assert_int_equal(after.next_try, 0);
    assert_null(after.problem);
    assert_string_not_equal(after.settings, before.settings);
    assert_string_equal(after.ari_for, "serial");
    assert_int_equal(after.ari_from, before.ari_from);
}

static void each_setting_counts(void **state)
{
    const char **const text[] = {&domain.contact,  &set.agreement, &set.profile, &set.binding_kid,
                                 &set.dns_command, &set.proxy,     &set.ca_file};
    const char *seen = read_of(NULL).settings;

    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        const char *now;

        *text[i] = "x";
        now = read_of(NULL).settings;
        assert_string_not_equal(now, seen);
        seen = now;
    }
    APR_ARRAY_PUSH(domain.names, const char *) = "b.example";
    assert_string_not_equal(read_of(NULL).settings, seen);
    seen = read_of(NULL).settings;
    md_all.port_http++;
    assert_string_not_equal(read_of(NULL).settings, seen);
    md_all.port_http--;
    APR_ARRAY_PUSH(set.challenges, const char *) = "dns-01";
    assert_string_not_equal(read_of(NULL).settings, seen);
    seen = read_of(NULL).settings;
    APR_ARRAY_PUSH(set.authorities, const char *) = "https://other.example/";
    assert_string_not_equal(read_of(NULL).settings, seen);
}

static void damaged_files_are_empty_ones(void **state)
{
    md_record before = full();
    char *text = apr_pstrdup(test_pool, md_record_text(test_pool, &before));

    for (size_t len = strlen(text) - 2; len > 0; len--) { /* without its last brace */
        text[len] = '\0';
        assert_int_equal(read_of(text).errors, 0);
    }
    assert_int_equal(read_of("[1]").errors, 0);
    assert_int_equal(read_of("").errors, 0);
}

static const char *with(const char *member)
{
    return apr_pstrcat(test_pool, "{\"settings\": \"", read_of(NULL).settings, "\", ", member, "}",
                       NULL);
}

static void numbers_have_bounds(void **state)
{
    assert_int_equal(read_of(with("\"errors\": 7")).errors, 7);
    assert_int_equal(read_of(with("\"errors\": 1000001")).errors, 1000000);
    assert_int_equal(read_of(with("\"errors\": -1")).errors, 0);
    assert_int_equal(read_of(with("\"errors\": \"7\"")).errors, 0);
    assert_int_equal(read_of(with("\"last-run\": 1000")).last_run, apr_time_from_sec(1000));
    assert_int_equal(read_of(with("\"last-run\": 9007199254740991")).last_run, 0);
}

/* An attempt is due at the latest in two days, if the clock was ahead when it was written. */
static void a_clock_that_was_set_back(void **state)
{
    md_record record = full();

    record.next_try = record.last_run + 3 * DAY;
    record.ari_again = record.last_run + 3 * DAY;
    record = read_of(md_record_text(test_pool, &record));
    assert_int_equal(record.next_try, 0);
    assert_int_equal(record.ari_again, 0);
    assert_int_equal(record.errors, 3);
}

static void errors_are_counted_and_wait_longer(void **state)
{
    md_record record = read_of(NULL);
    apr_interval_time_t wait = 0;

    md_all.retry_delay = 5 * APR_USEC_PER_SEC;
    for (int i = 1; i <= 4; i++) {
        md_record_error(test_pool, &domain, &record, "refused", 0);
        assert_int_equal(record.errors, i);
        assert_string_equal(record.problem, "refused");
        wait = record.next_try - record.last_run;
        assert_in_range(wait, (5 << (i - 1)) * APR_USEC_PER_SEC,
                        (5 << (i - 1)) * APR_USEC_PER_SEC * 3 / 2);
    }
}

static void the_authority_may_wish_a_later_time(void **state)
{
    const apr_time_t wish = apr_time_now() + DAY;
    md_record record = read_of(NULL);

    md_all.retry_delay = 5 * APR_USEC_PER_SEC;
    md_record_error(test_pool, &domain, &record, "limited", wish);
    assert_int_equal(record.next_try, wish);
    md_record_error(test_pool, &domain, &record, "limited", 1);
    assert_true(record.next_try > record.last_run);
}

#define RECORD(test) cmocka_unit_test_setup_teardown(test, setup, test_pool_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORD(no_file_is_an_empty_record),
        RECORD(what_is_written_is_read),
        RECORD(the_file_is_json),
        RECORD(other_settings_begin_anew),
        RECORD(each_setting_counts),
        RECORD(damaged_files_are_empty_ones),
        RECORD(numbers_have_bounds),
        RECORD(a_clock_that_was_set_back),
        RECORD(errors_are_counted_and_wait_longer),
        RECORD(the_authority_may_wish_a_later_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
