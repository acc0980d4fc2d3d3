/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to an authority: nonces, signatures, problems. */
#include "md_acme.h"
#include "md_acme_private.h"
#include "md_jose.h"
#include "apr_date.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

#define ACME_NONCES 5 /* attempts with another nonce */
#define ACME_ERROR "urn:ietf:params:acme:error:"
#define ACME_TEXT_MOST 1000

int md_acme_fail(md_acme *acme, const char *problem)
{
    BRG_ASSERT(acme->p && problem);
    if (!acme->problem)
        acme->problem = problem;
    return -1;
}

void md_acme_forget(md_acme *acme)
{
    BRG_ASSERT(acme != NULL);
    acme->problem = NULL;
    acme->problem_type = "";
    acme->status = 0;
    acme->retry_at = 0;
}

/* Words of an authority: they go to logs. */
static const char *acme_words(apr_pool_t *p, const char *text)
{
    char *copy = apr_pstrmemdup(p, text, strnlen(text, ACME_TEXT_MOST));

    for (char *at = copy; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' ';
    return copy;
}

const char *md_acme_problem_of(apr_pool_t *p, const md_json *problem)
{
    const char *detail = md_json_text(problem, "detail"), *type = md_json_text(problem, "type");
    const md_json *sub = md_json_items(md_json_get(problem, "subproblems"));
    const char *text;

    if (!detail && !type)
        return NULL;
    text = apr_pstrcat(p, detail ? detail : "", type ? " (" : "", type ? type : "", type ? ")" : "",
                       NULL);
    for (int i = 0; sub && i < 5; sub = sub->next, i++) {
        const char *more = md_json_text(sub, "detail"),
                   *name = md_json_text(md_json_get(sub, "identifier"), "value");

        if (more)
            text = apr_pstrcat(p, text, "; ", name ? name : "", name ? ": " : "", more, NULL);
    }
    return acme_words(p, text);
}

static int acme_problem(md_acme *acme, const char *url, const md_answer *answer)
{
    const md_json *body = md_json_read(acme->p, answer->body, answer->len);
    const char *text = md_acme_problem_of(acme->p, body), *type = md_json_text(body, "type");
    const size_t prefix = strlen(ACME_ERROR);

    BRG_ASSERT(answer->status >= 100 && answer->body);
    acme->status = answer->status;
    acme->retry_at = md_answer_retry(answer, apr_time_now());
    acme->problem_type = type && !strncmp(type, ACME_ERROR, prefix) ? type + prefix : "";
    if (answer->status / 100 == 3)
        text = "it redirects, which is not followed";
    return md_acme_fail(acme, apr_psprintf(acme->p, "%s answers %d%s%s", url, answer->status,
                                           text ? ": " : "", text ? text : ""));
}

static void acme_note_nonce(md_acme *acme, const md_answer *answer)
{
    const char *nonce = apr_table_get(answer->fields, "Replay-Nonce");
    apr_size_t len;

    BRG_ASSERT(answer->fields != NULL);
    acme->nonce =
        nonce && *nonce && strlen(nonce) <= 512 && md_base64url_decode(acme->p, nonce, &len) ? nonce
                                                                                             : NULL;
}

static const md_answer *acme_get(md_acme *acme, const char *method, const char *url)
{
    const char *error;
    const md_answer *answer = md_http_ask(&acme->http, acme->p, method, url, NULL, NULL, &error);

    BRG_ASSERT(method && url);
    if (!answer) {
        md_acme_fail(acme, error);
        return NULL;
    }
    if (answer->status == 200 || (!strcmp(method, "HEAD") && answer->status == 204))
        return answer;
    acme_problem(acme, url, answer);
    return NULL;
}

/* @param answer  NULL: it failed, which was told */
static const md_json *acme_object(md_acme *acme, const char *url, const md_answer *answer)
{
    const md_json *body = answer ? md_json_read(acme->p, answer->body, answer->len) : NULL;

    if (!answer || (body && body->kind == MD_JSON_OBJECT))
        return body;
    md_acme_fail(acme, apr_pstrcat(acme->p, url, ": the answer is not JSON", NULL));
    return NULL;
}

/* A JSON object that is there for all. */
static const md_json *md_acme_get(md_acme *acme, const char *url, const md_answer **answer)
{
    return acme_object(acme, url, *answer = acme_get(acme, "GET", url));
}

static int acme_want_nonce(md_acme *acme)
{
    const char *url = md_json_text(acme->index, "newNonce");
    const md_answer *answer;

    BRG_ASSERT(acme->index != NULL);
    if (acme->nonce)
        return 0;
    if (!(answer = acme_get(acme, "HEAD", url)))
        return -1;
    acme_note_nonce(acme, answer);
    return acme->nonce ? 0
                       : md_acme_fail(acme, apr_pstrcat(acme->p, url, ": there is no nonce", NULL));
}

/* One attempt. @return NULL: acme->problem */
static const md_answer *acme_post_once(md_acme *acme, const char *url, const char *payload)
{
    const char *body, *error;
    const md_answer *answer;

    BRG_ASSERT(acme->key && payload);
    if (acme_want_nonce(acme))
        return NULL;
    body = md_jws(acme->p, acme->key, acme->account, acme->nonce, url, payload);
    acme->nonce = NULL; /* it counts once */
    if (!body) {
        md_acme_fail(acme, "the account's key cannot sign");
        return NULL;
    }
    answer = md_http_ask(&acme->http, acme->p, "POST", url, "application/jose+json", body, &error);
    if (!answer) {
        md_acme_fail(acme, error);
        return NULL;
    }
    acme_note_nonce(acme, answer);
    if (answer->status / 100 == 2)
        return answer;
    acme_problem(acme, url, answer);
    return NULL;
}

const md_answer *md_acme_post(md_acme *acme, const char *url, const char *payload)
{
    const md_answer *answer = NULL;

    BRG_ASSERT(acme->index && url);
    for (int i = 0; i < ACME_NONCES && !answer; i++) {
        if (i) {
            if (strcmp(acme->problem_type, "badNonce") != 0)
                break;
            md_acme_forget(acme);
        }
        answer = acme_post_once(acme, url, payload);
    }
    return answer;
}

const md_json *md_acme_post_json(md_acme *acme, const char *url, const char *payload,
                                 const md_answer **answer)
{
    return acme_object(acme, url, *answer = md_acme_post(acme, url, payload));
}

/* ---- the directory ---- */

int md_acme_open(md_acme *acme)
{
    static const char *const wanted[] = {"newNonce", "newAccount", "newOrder"};
    const md_answer *answer;
    md_url url;

    BRG_ASSERT(acme->directory != NULL);
    md_acme_forget(acme);
    if (!(acme->index = md_acme_get(acme, acme->directory, &answer)))
        return -1;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *text = md_json_text(acme->index, wanted[i]);

        if (!text || md_url_read(acme->p, text, &url))
            return md_acme_fail(acme,
                                apr_pstrcat(acme->p, acme->directory, ": it has no ", wanted[i],
                                            ", so it is no directory of ACME (RFC 8555)", NULL));
    }
    return 0;
}

int md_acme_has_profile(const md_acme *acme, const char *profile)
{
    BRG_ASSERT(profile != NULL);
    return md_json_get(md_json_get(md_json_get(acme->index, "meta"), "profiles"), profile) != NULL;
}

/* ---- renewal information ---- */

/* RFC 3339, in UTC or with an offset. 0: not such a time */
static apr_time_t acme_time(const char *text)
{
    int year, month, day, hour, minute, n = 0, off_h, off_m;
    apr_time_exp_t exp = {0};
    apr_time_t at;
    double second;
    char sign;

    if (!text || strlen(text) > 64 ||
        sscanf(text, "%4d-%2d-%2d%*1[Tt]%2d:%2d:%lf%n", &year, &month, &day, &hour, &minute,
               &second, &n) != 6 ||
        second < 0 || second >= 61)
        return 0;
    exp.tm_year = year - 1900;
    exp.tm_mon = month - 1;
    exp.tm_mday = day;
    exp.tm_hour = hour;
    exp.tm_min = minute;
    exp.tm_sec = (int)second;
    if (month < 1 || month > 12 || day < 1 || day > 31 || year < 1970 ||
        apr_time_exp_get(&at, &exp) != APR_SUCCESS)
        return 0;
    if (!strcasecmp(text + n, "Z"))
        return at;
    if (sscanf(text + n, "%c%2d:%2d", &sign, &off_h, &off_m) != 3)
        return 0;
    return at + (sign == '-' ? 1 : -1) * apr_time_from_sec(off_h * 3600 + off_m * 60);
}

int md_acme_renewal_info(md_acme *acme, const char *ari, apr_time_t *from, apr_time_t *until,
                         apr_time_t *again, const char **url)
{
    const char *base = md_json_text(acme->index, "renewalInfo");
    const md_json *body, *window;
    const md_answer *answer;

    BRG_ASSERT(acme->index && ari);
    *from = *until = *again = 0;
    *url = NULL;
    if (!base)
        return 0;
    body = md_acme_get(acme, apr_pstrcat(acme->p, base, "/", ari, NULL), &answer);
    if (!body)
        return -1;
    window = md_json_get(body, "suggestedWindow");
    *from = acme_time(md_json_text(window, "start"));
    *until = acme_time(md_json_text(window, "end"));
    *again = md_answer_retry(answer, apr_time_now());
    *url = md_json_text(body, "explanationURL");
    if (*url)
        *url = acme_words(acme->p, *url);
    if (!*from || *until <= *from) {
        *from = *until = 0;
        return md_acme_fail(acme, "the authority advises a time of renewal that is none");
    }
    return 0;
}
