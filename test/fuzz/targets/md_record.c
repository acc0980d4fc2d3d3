/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of jobs, from a file that a crash may have cut. The input is put behind the settings that hold, so that all of it
 * counts; what was read is written, and read again as it was.
 * Covers: server/md/md_record.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "md_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static int is_same(const char *a, const char *b)
{
    return !a == !b && (!a || !strcmp(a, b));
}

static void check_record(apr_pool_t *p, const char *text, const md_domain *domain)
{
    const apr_time_t most = apr_time_now() + apr_time_from_sec(3 * 86400);
    md_record record, again;

    md_record_parse(p, text, domain, &record);
    check(record.errors >= 0 && record.last_run >= 0 && record.ari_from >= 0 &&
          record.ari_until >= 0);
    check(record.next_try >= 0 && record.next_try < most);
    check(record.ari_again >= 0 && record.ari_again < most);
    md_record_parse(p, md_record_text(p, &record), domain, &again);
    check(again.errors == record.errors && again.last_run == record.last_run);
    check(again.next_try == record.next_try && again.ari_again == record.ari_again);
    check(again.ari_from == record.ari_from && again.ari_until == record.ari_until);
    check(is_same(again.problem, record.problem) && is_same(again.settings, record.settings));
    check(is_same(again.ari_for, record.ari_for) && is_same(again.ari_url, record.ari_url));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    md_domain domain = {.name = "a.example"};
    md_record none;
    apr_pool_t *p;
    const char *text;

    if (!begun++)
        apr_initialize();
    apr_pool_create(&p, NULL);
    domain.names = apr_array_make(p, 1, sizeof(char *));
    domain.set = md_settings_new(p);
    domain.set->authorities = domain.set->challenges = domain.names;
    text = apr_pstrmemdup(p, (const char *)data, size);
    check_record(p, text, &domain);
    md_record_parse(p, NULL, &domain, &none);
    check(!none.errors && !none.problem && !none.ari_for && none.settings);
    check_record(p, apr_pstrcat(p, "{\"settings\": \"", none.settings, "\", ", text, NULL),
                 &domain);
    apr_pool_destroy(p);
    return 0;
}
