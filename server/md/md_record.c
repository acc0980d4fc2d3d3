/* SPDX-License-Identifier: Apache-2.0 */
/* Records of jobs. */
#include "md_job.h"
#include "md_json.h"
#include "apr_strings.h"
#include "brigade/process.h"
#include "brigade/assert.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_ERRORS_MOST 1000000

static const char *record_file(apr_pool_t *p, const md_store *store, const md_domain *domain)
{
    return apr_pstrcat(p, store->folder, "/jobs/", domain->name, ".json", NULL);
}

/* Other names, authorities, challenges and the like may go well where those before did not. */
static const char *record_settings(apr_pool_t *p, const md_domain *domain)
{
    const md_settings *set = domain->set;
    const char *text = apr_pstrcat(
        p, apr_array_pstrcat(p, domain->names, ' '), "\n",
        apr_array_pstrcat(p, set->authorities, ' '), "\n",
        apr_array_pstrcat(p, set->challenges, ' '), "\n", domain->contact ? domain->contact : "",
        "\n", set->agreement ? set->agreement : "", "\n", set->profile ? set->profile : "", "\n",
        set->binding_kid ? set->binding_kid : "", "\n", set->dns_command ? set->dns_command : "",
        "\n", set->proxy ? set->proxy : "", "\n", set->ca_file ? set->ca_file : "", NULL);
    unsigned char digest[EVP_MAX_MD_SIZE];
    char *hex = apr_palloc(p, 2 * EVP_MAX_MD_SIZE + 1);
    unsigned n = 0;

    text = apr_psprintf(p, "%s\n%d %d", text, md_all.port_http, md_all.port_https);
    if (!EVP_Digest(text, strlen(text), digest, &n, EVP_sha256(), NULL))
        return "";
    ap_bin2hex(digest, 16, hex);
    return hex;
}

static apr_time_t record_time(const md_json *json, const char *name)
{
    const apr_int64_t seconds = md_json_number(json, name, 0);

    return seconds > APR_INT64_MAX / APR_USEC_PER_SEC ? 0 : apr_time_from_sec(seconds);
}

void md_record_parse(apr_pool_t *p, const char *text, const md_domain *domain, md_record *record)
{
    const char *settings;
    const md_json *json = text ? md_json_read(p, text, strlen(text)) : NULL;
    const apr_int64_t errors = md_json_number(json, "errors", 0);
    const apr_time_t most = apr_time_now() + 2 * 86400 * APR_USEC_PER_SEC;

    BRG_ASSERT(domain->set);
    *record = (md_record){.settings = record_settings(p, domain)};
    record->ari_for = md_json_text(json, "ari-for");
    record->ari_from = record_time(json, "ari-from");
    record->ari_until = record_time(json, "ari-until");
    record->ari_again = record_time(json, "ari-again");
    record->ari_url = md_json_text(json, "ari-url");
    if (record->ari_again > most) /* the clock was set back */
        record->ari_again = 0;
    settings = md_json_text(json, "settings");
    if (!settings || strcmp(settings, record->settings) != 0)
        return;
    record->last_run = record_time(json, "last-run");
    record->next_try = record_time(json, "next-try");
    record->errors = errors > RECORD_ERRORS_MOST ? RECORD_ERRORS_MOST : (int)errors;
    record->problem = md_json_text(json, "problem");
    if (record->next_try > most)
        record->next_try = 0;
}

void md_record_read(apr_pool_t *p, const md_store *store, const md_domain *domain,
                    md_record *record)
{
    md_record_parse(p, md_file_read(p, record_file(p, store, domain)), domain, record);
}

static const char *record_number(apr_pool_t *p, const char *name, apr_time_t at)
{
    return apr_psprintf(p, "  \"%s\": %" APR_TIME_T_FMT ",\n", name, apr_time_sec(at));
}

static const char *record_text(apr_pool_t *p, const char *name, const char *text)
{
    return text ? apr_pstrcat(p, "  \"", name, "\": ", md_json_quote(p, text), ",\n", NULL) : "";
}

const char *md_record_text(apr_pool_t *p, const md_record *r)
{
    return apr_pstrcat(
        p, "{\n", record_number(p, "last-run", r->last_run),
        record_number(p, "next-try", r->next_try), record_text(p, "problem", r->problem),
        record_text(p, "settings", r->settings), record_text(p, "ari-for", r->ari_for),
        record_number(p, "ari-from", r->ari_from), record_number(p, "ari-until", r->ari_until),
        record_number(p, "ari-again", r->ari_again), record_text(p, "ari-url", r->ari_url),
        "  \"errors\": ", apr_itoa(p, r->errors), "\n}\n", NULL);
}

void md_record_write(apr_pool_t *p, const md_store *store, const md_domain *domain,
                     const md_record *record)
{
    md_file_write(p, record_file(p, store, domain), md_record_text(p, record));
}

void md_record_error(apr_pool_t *p, const md_domain *domain, md_record *record, const char *problem,
                     apr_time_t retry_at)
{
    const apr_time_t now = apr_time_now();
    unsigned char chance;

    BRG_ASSERT(problem != NULL);
    ap_random_insecure_bytes(&chance, 1);
    record->errors++;
    record->problem = problem;
    record->last_run = now;
    record->next_try = now + md_retry_after(md_all.retry_delay, record->errors, chance / 255.0);
    if (retry_at > record->next_try)
        record->next_try = retry_at;
}
