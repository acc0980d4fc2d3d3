/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP Digest (RFC 7616): the client proves that it knows the password, for one target and a nonce of the server's. */
#include "auth_digest_private.h"
#include "auth_digest_sums.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_provider.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "util_md5.h"
#include "brigade/auth.h"
#include "brigade/files.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <stdlib.h>

APLOG_USE_MODULE(auth_digest);

/* A nonce that ends so soon is replaced with the next answer. */
#define DIGEST_NEXT_US apr_time_from_sec(30)

static const auth_digest_conf *digest_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &auth_digest_module);
}

/* The client's own request: all that follow from it have its field. */
static request_rec *digest_first(request_rec *r)
{
    while (r->main || r->prev)
        r = r->main ? r->main : r->prev;
    return r;
}

static digest_request *digest_request_of(request_rec *r)
{
    request_rec *first = digest_first(r);
    digest_request *d = ap_get_module_config(first->request_config, &auth_digest_module);

    if (!d) {
        d = apr_pcalloc(first->pool, sizeof *d);
        ap_set_module_config(first->request_config, &auth_digest_module, d);
    }
    return d;
}

static int digest_counts(const auth_digest_conf *conf)
{
    return conf->check_nc || conf->lifetime == 0;
}

/* ---- asking ---- */

static const char *digest_opaque(request_rec *r, unsigned long client)
{
    return apr_psprintf(r->pool, "%lx", client);
}

static const char *digest_next_nonce(request_rec *r, unsigned long client, const char *opaque)
{
    const apr_uint64_t number = digest_conf_of(r)->lifetime == 0 ? digest_number_next() : 0;

    if (number && client)
        digest_client_give(client, number);
    return digest_nonce_make(r->pool, r, r->request_time, number, opaque);
}

/* A client that sends none gets a number, where requests are counted; one whose number is not known any more gets another one. */
static const char *digest_client_for(request_rec *r, digest_request *d, int *stale)
{
    const auth_digest_conf *conf = digest_conf_of(r);

    if (!d->field.opaque) {
        if (!digest_counts(conf) || !(d->made = digest_client_make()))
            return NULL;
    } else if (!digest_client_is_known(d->field.client)) {
        if (!(d->made = digest_client_make()))
            return NULL;
        *stale = 1;
    } else {
        d->made = d->field.client;
        return d->field.opaque;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, APLOGNO(01768) "allocated new client %lu",
                  d->made);
    return digest_opaque(r, d->made);
}

static int digest_refuse(request_rec *r, digest_request *d, int stale)
{
    const auth_digest_conf *conf = digest_conf_of(r);
    const char *opaque = digest_client_for(r, d, &stale);
    const char *nonce = digest_next_nonce(r, opaque ? d->made : 0, opaque);

    apr_table_mergen(
        r->err_headers_out,
        r->proxyreq == PROXYREQ_PROXY ? "Proxy-Authenticate" : "WWW-Authenticate",
        apr_psprintf(r->pool,
                     "Digest realm=\"%s\", nonce=\"%s\", algorithm=MD5%s%s%s%s%s, qop=\"auth\"",
                     ap_auth_name(r), nonce, opaque ? ", opaque=\"" : "", opaque ? opaque : "",
                     opaque ? "\"" : "", !r->proxyreq && conf->domain ? conf->domain : "",
                     stale ? ", stale=true" : ""));
    return HTTP_UNAUTHORIZED;
}

static int digest_note_failure(request_rec *r, const char *type)
{
    if (ap_cstr_casecmp(type, "Digest"))
        return DECLINED;
    digest_refuse(r, digest_request_of(r), 0);
    return OK;
}

/* ---- the user's hash ---- */

static authn_status digest_ask_provider(request_rec *r, const authn_provider *provider,
                                        const char *name, digest_request *d)
{
    const int asked = auth_note_of(r)->asked_n;
    char *hash = NULL;
    authn_status status;

    if (!ap_lookup_provider(AUTH_OWN_GROUP, name, "0") && auth_leaves_loop(r))
        return AUTH_GENERAL_ERROR;
    apr_table_setn(r->notes, AUTHN_PROVIDER_NAME_NOTE, name);
    status = provider->get_realm_hash(r, d->field.username, ap_auth_name(r), &hash);
    apr_table_unset(r->notes, AUTHN_PROVIDER_NAME_NOTE);
    if (auth_note_of(r)->asked_n == asked)
        auth_note_open(auth_note_of(r));
    if (status == AUTH_USER_FOUND)
        d->hash = hash;
    return status;
}

static authn_status digest_find_hash(request_rec *r, digest_request *d)
{
    const authn_provider_list *list = digest_conf_of(r)->providers;
    const authn_provider *provider;
    authn_status status;

    for (; list; list = list->next) {
        status = digest_ask_provider(r, list->provider, list->provider_name, d);
        if (status != AUTH_USER_NOT_FOUND || !list->next)
            return status;
    }
    provider =
        ap_lookup_provider(AUTHN_PROVIDER_GROUP, AUTHN_DEFAULT_PROVIDER, AUTHN_PROVIDER_VERSION);
    if (!provider || !provider->get_realm_hash) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01770) "No Authn provider configured");
        return AUTH_GENERAL_ERROR;
    }
    return digest_ask_provider(r, provider, AUTHN_DEFAULT_PROVIDER, d);
}

/* @return OK; or the status to answer */
static int digest_know_user(request_rec *r, digest_request *d)
{
    const digest_field *f = &d->field;

    switch (digest_find_hash(r, d)) {
    case AUTH_USER_FOUND:
        return OK;
    case AUTH_USER_NOT_FOUND:
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01790) "user `%s' in realm `%s' not found: %s", f->username,
                      ap_auth_name(r), r->uri);
        return digest_refuse(r, d, 0);
    case AUTH_DENIED:
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01791) "user `%s' in realm `%s' denied by provider: %s", f->username,
                      ap_auth_name(r), r->uri);
        return digest_refuse(r, d, 0);
    default:
        return brg_auth_waits(r) ? BRG_WOULD_WAIT : HTTP_INTERNAL_SERVER_ERROR;
    }
}

/* ---- the parts of the field ---- */

static int digest_parts_check(request_rec *r, digest_request *d)
{
    const digest_field *f = &d->field;
    const char *realm = ap_auth_name(r);
    int status = digest_uri_check(r, f);

    if (status != OK)
        return status;
    if (f->opaque && !f->client) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01787) "received invalid opaque - got `%s'", f->opaque);
        return digest_refuse(r, d, 0);
    }
    if (strcmp(f->realm, realm) != 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01788) "realm mismatch - got `%s' but expected `%s'", f->realm,
                      realm);
        return digest_refuse(r, d, 0);
    }
    if (f->algorithm && strcasecmp(f->algorithm, "MD5") != 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01789) "unknown algorithm `%s' received: %s", f->algorithm, r->uri);
        return digest_refuse(r, d, 0);
    }
    return OK;
}

/* Or, for rspauth, that of the server: it has no method. */
static const char *digest_response(request_rec *r, const digest_request *d, const char *method)
{
    char *out = apr_palloc(r->pool, 33);

    digest_response_put(out, &d->field, d->hash, method, strlen(method));
    return out;
}

static int digest_mismatch(request_rec *r, digest_request *d)
{
    if (auth_leaves_loop(r) && brg_auth_waits(r))
        return BRG_WOULD_WAIT; /* a worker counts it */
    auth_guess_was_wrong(r->useragent_ip, d->field.username);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01794) "user %s: password mismatch: %s",
                  d->field.username, r->uri);
    return digest_refuse(r, d, 0);
}

/* It may have been right: a client that guessed too often is not told, and its answer is that to a wrong one. */
static int digest_unchecked(request_rec *r, digest_request *d)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "user %s: too many wrong passwords from this client: this one was not checked",
                  d->field.username);
    return digest_refuse(r, d, 0);
}

/* A mark of the user's credentials: another password makes another one. */
static int digest_user_mark(request_rec *r, const digest_request *d, auth_mark *mark)
{
    const char *realm = ap_auth_name(r), *user = d->field.username;
    const auth_piece piece[] = {
        {d->hash, strlen(d->hash)}, {user, strlen(user)}, {realm, strlen(realm)}};

    return auth_mark_make(mark, 'P', piece, 3);
}

static int digest_compare(request_rec *r, digest_request *d)
{
    const digest_field *f = &d->field;
    int right, marked;
    auth_mark mark;

    if (!f->qop || ap_cstr_casecmp(f->qop, "auth")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(10560) "invalid or missing qop value '%s', RFC 2069 is no longer "
                                     "supported: %s",
                      f->qop ? f->qop : "(null)", r->uri);
        return digest_refuse(r, d, 0);
    }
    right = digest_equal(digest_response(r, d, r->method), f->response);
    marked = digest_user_mark(r, d, &mark);
    if (auth_client_is_refused(r, f->username, right && marked ? &mark : NULL))
        return digest_unchecked(r, d);
    return right ? OK : digest_mismatch(r, d);
}

/* ---- counts and nonces ---- */

static int digest_nc_check(request_rec *r, digest_request *d)
{
    const auth_digest_conf *conf = digest_conf_of(r);
    const digest_field *f = &d->field;
    unsigned long nc, last;
    char *end;
    int counts;

    if (!digest_counts(conf))
        return OK;
    nc = strtoul(f->nc, &end, 16);
    if (*end && !apr_isspace(*end)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01773) "invalid nc %s received - not a number", f->nc);
        return digest_refuse(r, d, 0);
    }
    if (!f->opaque || !conf->check_nc)
        return OK; /* the nonce tells */
    counts = digest_client_counts(f->client, nc, &last);
    if (counts > 0)
        return OK;
    if (counts < 0)
        return OK; /* its nonce may be another server's: that is looked at next */
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, r,
        APLOGNO(01774) "Warning, possible replay attack: nonce-count check failed: %lu is "
                       "not above %lu for nonce %s",
        nc, last, f->nonce);
    return digest_refuse(r, d, 0);
}

static int digest_nonce_age(request_rec *r, digest_request *d)
{
    const auth_digest_conf *conf = digest_conf_of(r);
    const digest_field *f = &d->field;
    const apr_interval_time_t age = r->request_time - d->nonce_time;

    if (conf->lifetime > 0 && age < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01777) "invalid nonce %s received - user attempted time travel",
                      f->nonce);
        return digest_refuse(r, d, 1);
    }
    if (conf->lifetime > 0 && age > conf->lifetime) {
        ap_log_rerror(
            APLOG_MARK, APLOG_INFO, 0, r,
            APLOGNO(01778) "user %s: nonce expired (%.2f seconds old - max lifetime %.2f) "
                           "- sending new nonce",
            r->user, (double)age / APR_USEC_PER_SEC, (double)conf->lifetime / APR_USEC_PER_SEC);
        return digest_refuse(r, d, 1);
    }
    if (conf->lifetime == 0 &&
        digest_client_has_nonce(f->client, (apr_uint64_t)d->nonce_time) == 0) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(01779) "user %s: one-time-nonce %s already used - sending new nonce",
                      r->user, f->nonce);
        return digest_refuse(r, d, 1);
    }
    return OK;
}

static int digest_nonce_check(request_rec *r, digest_request *d)
{
    const auth_digest_conf *conf = digest_conf_of(r);
    const digest_field *f = &d->field;
    const char *hash;

    if (!digest_nonce_is_ours(r, f, &d->nonce_time, &hash)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01776) "invalid nonce %s received - hash is not %s", f->nonce, hash);
        return digest_refuse(r, d, 1);
    }
    if (digest_counts(conf) && !digest_client_is_known(f->client)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(10618) "client %lu is no longer known - sending new nonce",
                      f->client);
        return digest_refuse(r, d, 1);
    }
    return digest_nonce_age(r, d);
}

/* ---- hooks ---- */

static int digest_field_take(request_rec *r, digest_request *d)
{
    const char *text = apr_table_get(
        r->headers_in, r->proxyreq == PROXYREQ_PROXY ? "Proxy-Authorization" : "Authorization");

    switch (digest_field_read(digest_first(r)->pool, text, &d->field)) {
    case DIGEST_WHOLE:
        return OK;
    case DIGEST_OTHER:
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01781) "client used wrong authentication scheme `%s': %s",
                      d->field.scheme, r->uri);
        break;
    case DIGEST_PARTIAL:
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01782) "missing user, realm, nonce, uri, digest, cnonce, or "
                                     "nonce_count in authorization header: %s",
                      r->uri);
        break;
    case DIGEST_ABSENT:
        break;
    }
    return digest_refuse(r, d, 0);
}

static int digest_check(request_rec *r, digest_request *d)
{
    int status = digest_parts_check(r, d);

    if (status == OK && (status = digest_know_user(r, d)) == OK &&
        (status = digest_compare(r, d)) == OK && (status = digest_nc_check(r, d)) == OK)
        status = digest_nonce_check(r, d);
    return status;
}

/* Where requests are counted, or nonces are for one each, all are processed in full. */
static void digest_note(request_rec *r, const digest_request *d)
{
    const auth_digest_conf *conf = digest_conf_of(r);
    auth_note *note = auth_note_of(r);
    auth_mark mark;

    auth_note_asked(r, note, apr_psprintf(r->pool, "%" APR_TIME_T_FMT, conf->lifetime));
    if (digest_counts(conf) || d->field.opaque)
        auth_note_open(note);
    note->proof = d->hash;
    note->lifetime = conf->lifetime;
    auth_note_grant(note);
    if (digest_user_mark(r, d, &mark))
        auth_client_was_let_in(r, &mark);
}

static int digest_authenticate(request_rec *r)
{
    const char *type = ap_auth_type(r);
    digest_request *d;
    int status;

    if (!type || ap_cstr_casecmp(type, "Digest"))
        return DECLINED;
    if (!ap_auth_name(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01780) "need AuthName: %s", r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    d = digest_request_of(r);
    d->needed = 1;
    if ((status = digest_field_take(r, d)) != OK)
        return status;
    r->user = (char *)(uintptr_t)d->field.username;
    r->ap_auth_type = (char *)"Digest";
    brg_cache_depends_on_name(r);
    auth_note_begin(r, "Digest");
    status = digest_check(r, d);
    if (status == BRG_WOULD_WAIT) {
        r->user = r->ap_auth_type = NULL;
        d->needed = 0;
    } else if (status == OK) {
        digest_note(r, d);
    }
    return status;
}

/* Of the next nonce, where there is one. */
static const char *digest_info_next(request_rec *r, const digest_request *d)
{
    const auth_digest_conf *conf = digest_conf_of(r);

    if (conf->lifetime > 0 ? r->request_time - d->nonce_time <= conf->lifetime - DIGEST_NEXT_US
                           : conf->lifetime < 0 || !d->field.client)
        return "";
    return apr_pstrcat(r->pool, ", nextnonce=\"",
                       digest_next_nonce(r, d->field.client, d->field.opaque), "\"", NULL);
}

/* The server proves that it knows the hash, too (RFC 7616 section 3.5). */
static int digest_info(request_rec *r)
{
    const digest_request *d =
        ap_get_module_config(digest_first(r)->request_config, &auth_digest_module);
    const digest_field *f = d ? &d->field : NULL;
    const char *value;

    if (!d || !d->needed || !d->hash)
        return OK;
    value = apr_pstrcat(r->pool, "rspauth=\"", digest_response(r, d, ""), "\"",
                        digest_info_next(r, d), ", cnonce=\"", ap_escape_quotes(r->pool, f->cnonce),
                        "\", nc=", f->nc, ", qop=", f->qop, NULL);
    if (auth_note_of(r))
        auth_note_of(r)->info = value;
    apr_table_mergen(
        r->headers_out,
        r->proxyreq == PROXYREQ_PROXY ? "Proxy-Authentication-Info" : "Authentication-Info", value);
    return OK;
}

static int digest_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    auth_digest_shmem = 1000;
    return OK;
}

static int digest_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_status_t rv;

    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        return OK;
    if ((rv = digest_nonce_open()) != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s, APLOGNO(01758) "error generating secret");
        return !OK;
    }
    rv = digest_clients_open(pconf, auth_digest_shmem);
    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     APLOGNO(01760) "%s - all nonce-count checking and one-time nonces disabled",
                     "failed to initialize shm");
    return OK;
}

static void digest_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(digest_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(digest_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_authn(digest_authenticate, NULL, NULL, APR_HOOK_MIDDLE,
                        AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_fixups(digest_info, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_note_auth_failure(digest_note_failure, NULL, NULL, APR_HOOK_MIDDLE);
    /* Each answer has a proof of its own; mod_authn_core says so of requests with users. */
    brg_cache_declare(&auth_digest_module, NULL);
    brg_hooks_need_directive(&auth_digest_module, "fixups", "AuthType", BRG_HOOKS_BY_SERVER);
    brg_auth_declare(&auth_digest_module);
}

module AP_MODULE_DECLARE_DATA auth_digest_module = {
    STANDARD20_MODULE_STUFF,
    auth_digest_create,
    auth_digest_merge,
    NULL,
    NULL,
    auth_digest_directives,
    digest_register_hooks,
    0,
};
