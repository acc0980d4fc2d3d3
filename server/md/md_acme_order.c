/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts, orders, authorizations and certificates of an authority. */
#include "md_acme_private.h"
#include "md_jose.h"
#include "md_key.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

#define ACME_AUTHZS 200 /* of an order */

/* ---- accounts ---- */

static const char *account_terms(md_acme *acme, const md_account *account, int *bad)
{
    const char *terms = md_json_text(md_json_get(acme->index, "meta"), "termsOfService");
    const char *agreed = account->agreement;

    BRG_ASSERT(account->contacts && bad);
    *bad = 0;
    if (!terms || (agreed && (!strcasecmp(agreed, "accepted") || !strcmp(agreed, terms))))
        return terms ? ",\"termsOfServiceAgreed\":true" : "";
    *bad = 1;
    md_acme_fail(acme, apr_pstrcat(acme->p, "the authority asks to agree to its terms of service <",
                                   terms,
                                   ">: read them, and if you agree, configure "
                                   "\"MDCertificateAgreement accepted\"",
                                   NULL));
    return NULL;
}

static const char *account_binding(md_acme *acme, const md_account *account, int *bad)
{
    const char *url = md_json_text(acme->index, "newAccount"), *binding;

    BRG_ASSERT(!account->binding_kid == !account->binding_hmac);
    *bad = 0;
    if (!account->binding_kid) {
        *bad = md_json_is_true(md_json_get(acme->index, "meta"), "externalAccountRequired");
        if (*bad)
            md_acme_fail(acme, "the authority asks for an external account, which "
                               "MDExternalAccountBinding names");
        return "";
    }
    binding = md_jws_binding(acme->p, account->binding_kid, account->binding_hmac, acme->key, url);
    if (!binding) {
        *bad = 1;
        md_acme_fail(acme, "the HMAC value of MDExternalAccountBinding is no base64url");
        return "";
    }
    return apr_pstrcat(acme->p, ",\"externalAccountBinding\":", binding, NULL);
}

static int account_take(md_acme *acme, const md_answer *answer)
{
    const char *location = apr_table_get(answer->fields, "Location");
    md_url url;

    BRG_ASSERT(!acme->account);
    if (!location || md_url_read(acme->p, location, &url))
        return md_acme_fail(acme, "the authority does not say where the account is");
    acme->account = location;
    return 0;
}

/* Is there one for the key? */
static int account_find(md_acme *acme)
{
    const md_answer *answer = md_acme_post(acme, md_json_text(acme->index, "newAccount"),
                                           "{\"onlyReturnExisting\":true}");

    if (answer)
        return account_take(acme, answer);
    if (!strcmp(acme->problem_type, "accountDoesNotExist"))
        md_acme_forget(acme);
    return -1;
}

int md_acme_account(md_acme *acme, const md_account *account)
{
    const md_answer *answer;
    const char *terms, *binding;
    int bad, bad_binding;

    BRG_ASSERT(acme->index && acme->key);
    acme->account = NULL;
    if (!account_find(acme))
        return 0;
    if (acme->problem)
        return -1;
    terms = account_terms(acme, account, &bad);
    if (bad)
        return -1;
    binding = account_binding(acme, account, &bad_binding);
    if (bad_binding)
        return -1;
    answer =
        md_acme_post(acme, md_json_text(acme->index, "newAccount"),
                     apr_pstrcat(acme->p, "{\"contact\":", md_json_list(acme->p, account->contacts),
                                 terms, binding, "}", NULL));
    return answer ? account_take(acme, answer) : -1;
}

/* ---- orders ---- */

static int order_take(md_acme *acme, md_order *order, const md_json *body)
{
    const md_json *error = md_json_get(body, "error");
    const md_status before = order->status;

    BRG_ASSERT(body->kind == MD_JSON_OBJECT);
    order->status = md_status_of(md_json_text(body, "status"));
    order->finalize = md_json_text(body, "finalize");
    order->certificate = md_json_text(body, "certificate");
    order->problem = error ? md_acme_problem_of(acme->p, error) : NULL;
    if (order->status != before)
        order->looks = 0;
    return order->finalize ? 0 : md_acme_fail(acme, "the authority's order is incomplete");
}

static int order_authzs(md_acme *acme, md_order *order, const md_json *body)
{
    const md_json *item = md_json_items(md_json_get(body, "authorizations"));

    BRG_ASSERT(!order->authzs);
    order->authzs = apr_array_make(acme->p, 4, sizeof(md_authz));
    for (; item; item = item->next) {
        md_authz *authz = apr_array_push(order->authzs);

        *authz = (md_authz){.url = item->text, .status = MD_PENDING, .slot = -1};
        if (item->kind != MD_JSON_TEXT || order->authzs->nelts > ACME_AUTHZS)
            return md_acme_fail(acme, "the authority's authorizations are not URLs, or too many");
    }
    return 0;
}

static const char *order_identifiers(apr_pool_t *p, const apr_array_header_t *names)
{
    const char *list = "";

    BRG_ASSERT(names->nelts > 0);
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        list = apr_pstrcat(p, list, i ? "," : "", "{\"type\":\"",
                           md_name_is_address(name) ? "ip" : "dns",
                           "\",\"value\":", md_json_quote(p, name), "}", NULL);
    }
    return apr_pstrcat(p, "[", list, "]", NULL);
}

int md_acme_order(md_acme *acme, const apr_array_header_t *names, const char *profile,
                  const char *replaces, md_order *order)
{
    const char *payload =
        apr_pstrcat(acme->p, "{\"identifiers\":", order_identifiers(acme->p, names), NULL);
    const md_answer *answer;
    const md_json *body;

    BRG_ASSERT(acme->account && names->nelts > 0);
    if (profile)
        payload =
            apr_pstrcat(acme->p, payload, ",\"profile\":", md_json_quote(acme->p, profile), NULL);
    if (replaces && md_json_text(acme->index, "renewalInfo"))
        payload =
            apr_pstrcat(acme->p, payload, ",\"replaces\":", md_json_quote(acme->p, replaces), NULL);
    body = md_acme_post_json(acme, md_json_text(acme->index, "newOrder"),
                             apr_pstrcat(acme->p, payload, "}", NULL), &answer);
    if (!body || order_take(acme, order, body) || order_authzs(acme, order, body))
        return -1;
    order->url = apr_table_get(answer->fields, "Location");
    return order->url ? 0 : md_acme_fail(acme, "the authority does not say where the order is");
}

static apr_interval_time_t order_retry(const md_answer *answer)
{
    const apr_time_t now = apr_time_now(), at = md_answer_retry(answer, now);

    return at ? at - now : 0;
}

int md_acme_poll(md_acme *acme, md_order *order, apr_interval_time_t *retry)
{
    const md_answer *answer;
    const md_json *body = md_acme_post_json(acme, order->url, "", &answer);

    BRG_ASSERT(acme->account && order->url);
    order->looks++;
    *retry = answer ? order_retry(answer) : 0;
    return body ? order_take(acme, order, body) : -1;
}

/* ---- authorizations ---- */

static const char *authz_choose(md_acme *acme, md_authz *authz, const md_json *challenges,
                                const apr_array_header_t *wanted)
{
    apr_array_header_t *offered = apr_array_make(acme->p, 4, sizeof(const char *));

    BRG_ASSERT(authz->name && !authz->type);
    for (const md_json *c = challenges; c; c = c->next)
        if (md_json_text(c, "type"))
            APR_ARRAY_PUSH(offered, const char *) = md_json_text(c, "type");
    authz->type = md_challenge_choose(wanted, offered);
    if (!authz->type)
        md_acme_fail(
            acme, apr_psprintf(acme->p,
                               "None of offered challenge types for domain %s are supported. The "
                               "server offered '%s' and available are: '%s'.",
                               authz->name, apr_array_pstrcat(acme->p, offered, ' '),
                               apr_array_pstrcat(acme->p, wanted, ' ')));
    return authz->type;
}

/* A host name, which is to stand in a record and in logs. */
static int issuer_is_sane(const char *name)
{
    const size_t len = strlen(name);

    return len > 0 && len < 254 &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == '\0';
}

/* draft-ietf-acme-dns-persist: the authority has names, any of which may stand in the record. */
static int authz_take_issuer(md_authz *authz, const md_json *c)
{
    const md_json *first = md_json_items(md_json_get(c, "issuer-domain-names"));

    authz->issuer = first && first->kind == MD_JSON_TEXT ? first->text : NULL;
    return authz->issuer && issuer_is_sane(authz->issuer);
}

static int authz_take_challenge(md_acme *acme, md_authz *authz, const md_json *c)
{
    const char *to = md_json_text(c, "url");
    int sound;
    md_url url;

    BRG_ASSERT(authz->type != NULL);
    authz->token = md_json_text(c, "token");
    if (!strcmp(authz->type, MD_DNS_PERSIST))
        sound = authz_take_issuer(authz, c);
    else
        sound = authz->token && md_token_is_sane(authz->token);
    if (!sound || !to || md_url_read(acme->p, to, &url))
        return md_acme_fail(acme, "the authority's challenge is none");
    authz->challenge_url = to;
    return 0;
}

static void authz_take_problem(md_acme *acme, md_authz *authz, const md_json *challenges)
{
    for (const md_json *c = challenges; c; c = c->next) {
        const md_json *error = md_json_get(c, "error");

        if (error)
            authz->problem = md_acme_problem_of(acme->p, error);
    }
}

int md_acme_look(md_acme *acme, md_authz *authz, const apr_array_header_t *wanted,
                 apr_interval_time_t *retry)
{
    const md_answer *answer;
    const md_json *body = md_acme_post_json(acme, authz->url, "", &answer), *challenges;

    BRG_ASSERT(acme->account && authz->url);
    *retry = answer ? order_retry(answer) : 0;
    if (!body)
        return -1;
    challenges = md_json_items(md_json_get(body, "challenges"));
    authz->name = md_json_text(md_json_get(body, "identifier"), "value");
    authz->status = md_status_of(md_json_text(body, "status"));
    if (!authz->name)
        return md_acme_fail(acme, "the authority's authorization is for nobody");
    if (authz->status != MD_PENDING) {
        authz_take_problem(acme, authz, challenges);
        return 0;
    }
    if (!authz->type && !authz_choose(acme, authz, challenges, wanted))
        return -1;
    for (const md_json *c = challenges; c; c = c->next)
        if (md_json_text(c, "type") && !strcmp(md_json_text(c, "type"), authz->type))
            return authz_take_challenge(acme, authz, c);
    return md_acme_fail(acme, "the authority took a challenge back");
}

int md_acme_answer(md_acme *acme, md_authz *authz)
{
    BRG_ASSERT(authz->challenge_url && !authz->answered);
    authz->answered = 1;
    return md_acme_post(acme, authz->challenge_url, "{}") ? 0 : -1;
}

/* ---- certificates ---- */

int md_acme_finalize(md_acme *acme, md_order *order, const char *csr)
{
    const md_answer *answer;
    const md_json *body = md_acme_post_json(
        acme, order->finalize, apr_pstrcat(acme->p, "{\"csr\":\"", csr, "\"}", NULL), &answer);

    BRG_ASSERT(!order->finalized && order->finalize);
    order->finalized = 1;
    return body ? order_take(acme, order, body) : -1;
}

const char *md_acme_download(md_acme *acme, const md_order *order)
{
    const md_answer *answer = md_acme_post(acme, order->certificate, "");

    BRG_ASSERT(order->certificate != NULL);
    if (!answer)
        return NULL;
    if (memchr(answer->body, 0, answer->len) ||
        !strstr(answer->body, "-----BEGIN CERTIFICATE-----") ||
        strstr(answer->body, "PRIVATE KEY")) {
        md_acme_fail(acme, "what the authority sends is no certificate");
        return NULL;
    }
    return answer->body;
}
