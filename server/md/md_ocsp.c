/* SPDX-License-Identifier: Apache-2.0 */
/* OCSP requests and responses, by OpenSSL. */
#include "md_ocsp.h"
#include "md_head.h"
#include "md_jose.h"
#include "md_json.h"
#include "apr_date.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <string.h>
#include <time.h>

#define OCSP_SKEW (300 * APR_USEC_PER_SEC)         /* of clocks */
#define OCSP_NO_END (12 * 3600 * APR_USEC_PER_SEC) /* for a response without nextUpdate */

/* ---- certificates ---- */

static apr_status_t cert_end(void *data)
{
    X509_free(data);
    return APR_SUCCESS;
}

static X509 *cert_next(apr_pool_t *p, BIO *bio)
{
    X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    if (x)
        apr_pool_cleanup_register(p, x, cert_end, apr_pool_cleanup_null);
    return x;
}

static const char *cert_url(apr_pool_t *p, X509 *x)
{
    STACK_OF(OPENSSL_STRING) *all = X509_get1_ocsp(x);
    const char *url = NULL;
    md_url parts;

    for (int i = 0; i < sk_OPENSSL_STRING_num(all) && !url; i++) {
        const char *one = sk_OPENSSL_STRING_value(all, i);

        if (!md_url_read(p, one, &parts))
            url = apr_pstrdup(p, one);
    }
    X509_email_free(all);
    return url;
}

int md_ocsp_cert_read(apr_pool_t *p, const char *pem, md_ocsp_cert *cert)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *next;
    unsigned n = 0;

    *cert = (md_ocsp_cert){.x = bio ? cert_next(p, bio) : NULL};
    while (cert->x && !cert->issuer && (next = cert_next(p, bio)) != NULL)
        if (X509_check_issued(next, cert->x) == X509_V_OK)
            cert->issuer = next;
    BIO_free(bio);
    if (cert->x)
        cert->url = cert_url(p, cert->x);
    ERR_clear_error();
    return cert->x && X509_digest(cert->x, EVP_sha1(), cert->id, &n) && n == MD_OCSP_ID ? 0 : -1;
}

const char *md_ocsp_id_text(apr_pool_t *p, const unsigned char *id)
{
    static const char digits[] = "0123456789abcdef";
    char *text = apr_palloc(p, 2 * MD_OCSP_ID + 1);

    for (int i = 0; i < MD_OCSP_ID; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    text[2 * MD_OCSP_ID] = '\0';
    return text;
}

/* ---- requests ---- */

const unsigned char *md_ocsp_request(apr_pool_t *p, const md_ocsp_cert *cert, apr_size_t *len)
{
    OCSP_REQUEST *request = OCSP_REQUEST_new();
    OCSP_CERTID *id;
    unsigned char *der = NULL, *copy = NULL;
    int n = 0;

    BRG_ASSERT(cert->x && cert->issuer);
    id = OCSP_cert_to_id(NULL, cert->x, cert->issuer);
    if (request && id && OCSP_request_add0_id(request, id)) {
        id = NULL; /* it is the request's */
        n = i2d_OCSP_REQUEST(request, &der);
    }
    if (n > 0)
        copy = apr_pmemdup(p, der, (apr_size_t)n);
    *len = n > 0 ? (apr_size_t)n : 0;
    OPENSSL_free(der);
    OCSP_CERTID_free(id);
    OCSP_REQUEST_free(request);
    ERR_clear_error();
    return copy;
}

/* ---- responses ---- */

/* The issuer is trusted, whoever signed its certificate. */
static int response_is_signed(OCSP_BASICRESP *basic, const md_ocsp_cert *cert)
{
    X509_STORE *store = X509_STORE_new();
    STACK_OF(X509) *more = sk_X509_new_null();
    int signed_ = 0;

    if (store && more && X509_STORE_add_cert(store, cert->issuer) &&
        X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) && sk_X509_push(more, cert->issuer))
        signed_ = OCSP_basic_verify(basic, more, store, 0) > 0;
    sk_X509_free(more);
    X509_STORE_free(store);
    return signed_;
}

static apr_time_t response_time(const ASN1_GENERALIZEDTIME *at)
{
    struct tm tm;

    return at && ASN1_TIME_to_tm(at, &tm) ? apr_time_from_sec(timegm(&tm)) : 0;
}

static const char *response_dates(const ASN1_GENERALIZEDTIME *from,
                                  const ASN1_GENERALIZEDTIME *until, apr_time_t now,
                                  md_ocsp_answer *answer)
{
    answer->from = response_time(from);
    answer->until = until ? response_time(until) : answer->from + OCSP_NO_END;
    if (!answer->from || answer->until <= answer->from)
        return "the response has no dates";
    if (answer->from > now + OCSP_SKEW)
        return "the response is of a time to come";
    return answer->until <= now ? "the response is expired" : NULL;
}

static const char *response_status(OCSP_BASICRESP *basic, const md_ocsp_cert *cert, apr_time_t now,
                                   md_ocsp_answer *answer)
{
    OCSP_CERTID *id = OCSP_cert_to_id(NULL, cert->x, cert->issuer);
    ASN1_GENERALIZEDTIME *at = NULL, *from = NULL, *until = NULL;
    int status = -1, reason, found;

    found = id && OCSP_resp_find_status(basic, id, &status, &reason, &at, &from, &until);
    OCSP_CERTID_free(id);
    if (!found)
        return "the response is for another certificate";
    if (status != V_OCSP_CERTSTATUS_GOOD && status != V_OCSP_CERTSTATUS_REVOKED)
        return "the responder does not know the certificate";
    answer->revoked = status == V_OCSP_CERTSTATUS_REVOKED;
    return response_dates(from, until, now, answer);
}

static const char *response_check(OCSP_RESPONSE *response, const md_ocsp_cert *cert, apr_time_t now,
                                  md_ocsp_answer *answer)
{
    const int status = OCSP_response_status(response);
    OCSP_BASICRESP *basic;
    const char *problem;

    BRG_ASSERT(cert->x && cert->issuer);
    if (status != OCSP_RESPONSE_STATUS_SUCCESSFUL)
        return OCSP_response_status_str(status);
    if (!(basic = OCSP_response_get1_basic(response)))
        return "the response is none of OCSP";
    problem = response_is_signed(basic, cert) ? response_status(basic, cert, now, answer)
                                              : "the response is not signed by the issuer";
    OCSP_BASICRESP_free(basic);
    return problem;
}

const char *md_ocsp_read(apr_pool_t *p, const md_ocsp_cert *cert, const unsigned char *der,
                         apr_size_t len, apr_time_t now, md_ocsp_answer *answer)
{
    const unsigned char *at = der;
    OCSP_RESPONSE *response;
    const char *problem;

    *answer = (md_ocsp_answer){0};
    if (!len || len > MD_OCSP_MOST)
        return len ? "the response is too long" : "the response is empty";
    response = d2i_OCSP_RESPONSE(NULL, &at, (long)len);
    if (!response || at != der + len)
        problem = "the response is none of OCSP";
    else
        problem = response_check(response, cert, now, answer);
    OCSP_RESPONSE_free(response);
    ERR_clear_error();
    if (!problem) {
        answer->der = apr_pmemdup(p, der, len);
        answer->len = len;
    }
    return problem;
}

/* ---- the store ---- */

static const char *json_date(apr_pool_t *p, apr_time_t at)
{
    char *text = apr_palloc(p, APR_RFC822_DATE_LEN);

    apr_rfc822_date(text, at);
    return text;
}

const char *md_ocsp_json(apr_pool_t *p, const md_ocsp_answer *answer)
{
    BRG_ASSERT(answer->der && answer->len);
    return apr_pstrcat(p, "{\n  \"response\": \"", md_base64url(p, answer->der, answer->len),
                       "\",\n  \"status\": \"", answer->revoked ? "revoked" : "good",
                       "\",\n  \"valid\": {\n    \"from\": \"", json_date(p, answer->from),
                       "\",\n    \"until\": \"", json_date(p, answer->until), "\"\n  }\n}\n", NULL);
}

int md_ocsp_of_json(apr_pool_t *p, const md_ocsp_cert *cert, const char *text, apr_time_t now,
                    md_ocsp_answer *answer)
{
    const char *coded = md_json_text(md_json_read(p, text, strlen(text)), "response");
    const unsigned char *der;
    apr_size_t len = 0;

    der = coded ? md_base64url_decode(p, coded, &len) : NULL;
    return der && !md_ocsp_read(p, cert, der, len, now, answer) ? 0 : -1;
}
