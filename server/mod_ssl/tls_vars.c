/* SPDX-License-Identifier: Apache-2.0 */
/* SSL_* variables: for expressions, logs, header formats, programs and other modules. */
#include "tls_certificate.h"
#include "tls_connection.h"
#include "tls_request_private.h"
#include "httpd.h"
#include "http_ssl.h"
#include "mod_log_config.h"
#include "mod_ssl.h"
#include "ap_expr.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/opensslv.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(ssl);

/* ---- the client ---- */

static const char *vars_verify(apr_pool_t *p, const tls_conn *t)
{
    const X509 *x = SSL_get0_peer_certificate(tls_ssl_of(t));
    long result = SSL_get_verify_result(tls_ssl_of(t));

    if (!x)
        return "NONE";
    if (result == X509_V_OK)
        return "SUCCESS";
    if (tls_is_generous(t))
        return "GENEROUS";
    return apr_psprintf(p, "FAILED:%s", X509_verify_cert_error_string(result));
}

static const char *vars_client_chain(apr_pool_t *p, const tls_conn *t, const char *nth)
{
    const STACK_OF(X509) *chain = SSL_get_peer_cert_chain(tls_ssl_of(t));
    int n = atoi(nth) + 1; /* the client's own comes first */

    return chain && apr_isdigit(*nth) && n < sk_X509_num(chain)
               ? tls_vars_pem(p, sk_X509_value(chain, n))
               : NULL;
}

static const char *vars_client(apr_pool_t *p, const tls_conn *t, const char *what, int legacy)
{
    X509 *x = SSL_get0_peer_certificate(tls_ssl_of(t));

    if (!strcasecmp(what, "VERIFY"))
        return vars_verify(p, t);
    if (!strncasecmp(what, "CERT_CHAIN_", 11))
        return vars_client_chain(p, t, what + 11);
    return x ? tls_vars_certificate(p, x, what, legacy) : NULL;
}

/* ---- the connection ---- */

static const char *vars_hex(apr_pool_t *p, const unsigned char *data, unsigned len)
{
    char *text = apr_palloc(p, 2 * len + 1);

    for (unsigned i = 0; i < len; i++)
        apr_snprintf(text + 2 * i, 3, "%02X", data[i]);
    text[2 * len] = '\0';
    return text;
}

static const char *vars_session(apr_pool_t *p, const tls_conn *t)
{
    unsigned len = 0;
    const unsigned char *id = tls_session_id(t, &len);

    return !id ? NULL : len ? vars_hex(p, id, len) : "";
}

static const char *vars_cipher(apr_pool_t *p, const tls_conn *t, const char *what)
{
    const SSL_CIPHER *cipher = SSL_get_current_cipher(tls_ssl_of(t));
    int all = 0, used = cipher ? SSL_CIPHER_get_bits(cipher, &all) : 0;

    if (!*what)
        return SSL_get_cipher_name(tls_ssl_of(t));
    if (!strcasecmp(what, "_EXPORT"))
        return used < 56 ? "true" : "false";
    if (!strcasecmp(what, "_USEKEYSIZE"))
        return apr_itoa(p, used);
    return !strcasecmp(what, "_ALGKEYSIZE") ? apr_itoa(p, all) : NULL;
}

static const char *vars_of_connection(apr_pool_t *p, const tls_conn *t, const char *name,
                                      int legacy)
{
    if (!strcasecmp(name, "PROTOCOL"))
        return SSL_get_version(tls_ssl_of(t));
    if (!strncasecmp(name, "CIPHER", 6))
        return vars_cipher(p, t, name + 6);
    if (!strcasecmp(name, "SESSION_ID"))
        return vars_session(p, t);
    if (!strcasecmp(name, "SESSION_RESUMED"))
        return SSL_session_reused(tls_ssl_of(t)) ? "Resumed" : "Initial";
    if (!strcasecmp(name, "SECURE_RENEG"))
        return SSL_get_secure_renegotiation_support(tls_ssl_of(t)) ? "true" : "false";
    if (!strcasecmp(name, "COMPRESS_METHOD"))
        return "NULL";
    if (!strcasecmp(name, "TLS_SNI"))
        return SSL_get_servername(tls_ssl_of(t), TLSEXT_NAMETYPE_host_name);
    if (!strncasecmp(name, "CLIENT_", 7))
        return vars_client(p, t, name + 7, legacy);
    if (!strncasecmp(name, "SERVER_", 7)) {
        X509 *x = SSL_get_certificate(tls_ssl_of(t));

        return x ? tls_vars_certificate(p, x, name + 7, legacy) : NULL;
    }
    return NULL;
}

static const char *vars_version(apr_pool_t *p, const char *name)
{
    if (!strcmp(name, "VERSION_INTERFACE"))
        return "mod_ssl/" AP_SERVER_BASEREVISION;
    if (!strcmp(name, "VERSION_LIBRARY_INTERFACE"))
        return "OpenSSL/" OPENSSL_VERSION_STR;
    if (!strcmp(name, "VERSION_LIBRARY"))
        return apr_pstrcat(p, "OpenSSL/", OpenSSL_version(OPENSSL_VERSION_STRING), NULL);
    return NULL;
}

static int vars_legacy(const request_rec *r)
{
    const tls_dir_conf *dc = r ? ap_get_module_config(r->per_dir_config, &ssl_module) : NULL;

    return dc && dc->options & TLS_OPT_LEGACY_DN;
}

static const char *vars_get(apr_pool_t *p, conn_rec *c, const request_rec *r, const char *name)
{
    const tls_conn *t = tls_of(c);
    const char *value;

    if (!strcasecmp(name, "HTTPS"))
        return t ? "on" : "off";
    if (strncasecmp(name, "SSL_", 4))
        return NULL;
    value = t ? vars_of_connection(p, t, name + 4, vars_legacy(r)) : NULL;
    if (t)
        ERR_clear_error();
    return value ? apr_pstrdup(p, value) : vars_version(p, name + 4);
}

/* An outcome that such a variable has a part in is this connection's (tls_request.c). */
static void vars_note(request_rec *r)
{
    for (; r; r = r->main ? r->main : r->prev)
        ap_set_module_config(r->request_config, &ssl_module, (void *)1);
}

/* The same with each connection that has TLS. Apache's mod_deflate asks for the compression of each one. */
static int vars_is_of_all(const char *name)
{
    return !strcasecmp(name, "HTTPS") || !strcasecmp(name, "SSL_COMPRESS_METHOD");
}

static const char *vars_lookup(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r,
                               const char *name)
{
    if (!c && r)
        c = r->connection;
    if (!c)
        return strncasecmp(name, "SSL_", 4) ? NULL : vars_version(p, name + 4);
    if (strncasecmp(name, "SSL_", 4) && strcasecmp(name, "HTTPS")) {
        if (r)
            vars_note(r);
        return r ? tls_vars_of_request(p, r, name) : NULL;
    }
    if (r && tls_of(c) && !vars_is_of_all(name))
        vars_note(r);
    return vars_get(p, c, r, name);
}

/* ---- +StdEnvVars, +ExportCertData ---- */

static const char *const exported[] = {
    "SSL_VERSION_INTERFACE", "SSL_VERSION_LIBRARY",   "SSL_PROTOCOL",
    "SSL_SECURE_RENEG",      "SSL_COMPRESS_METHOD",   "SSL_CIPHER",
    "SSL_CIPHER_EXPORT",     "SSL_CIPHER_USEKEYSIZE", "SSL_CIPHER_ALGKEYSIZE",
    "SSL_CLIENT_VERIFY",     "SSL_CLIENT_M_VERSION",  "SSL_CLIENT_M_SERIAL",
    "SSL_CLIENT_V_START",    "SSL_CLIENT_V_END",      "SSL_CLIENT_V_REMAIN",
    "SSL_CLIENT_S_DN",       "SSL_CLIENT_I_DN",       "SSL_CLIENT_A_KEY",
    "SSL_CLIENT_A_SIG",      "SSL_SERVER_M_VERSION",  "SSL_SERVER_M_SERIAL",
    "SSL_SERVER_V_START",    "SSL_SERVER_V_END",      "SSL_SERVER_S_DN",
    "SSL_SERVER_I_DN",       "SSL_SERVER_A_KEY",      "SSL_SERVER_A_SIG",
    "SSL_SESSION_ID",        "SSL_SESSION_RESUMED",   "SSL_CLIENT_CERT_RFC4523_CEA"};

static void export_one(request_rec *r, apr_table_t *env, const char *name)
{
    const char *value = vars_get(r->pool, r->connection, r, name);

    if (value)
        apr_table_setn(env, name, value);
}

/* NAME_0, NAME_1, ... as long as there are. */
static void export_numbered(request_rec *r, apr_table_t *env, const char *prefix, const char *what)
{
    for (int n = 0; n < 100; n++) {
        char *name = apr_psprintf(r->pool, "%s%s%d", prefix, what, n);

        export_one(r, env, name);
        if (!apr_table_get(env, name))
            return;
    }
}

static void export_names(request_rec *r, apr_table_t *env, const char *prefix, const char *other)
{
    static const char *const names[] = {"S_DN_", "I_DN_"};
    const char *part;

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; (part = tls_vars_dn_name(i)) != NULL; i++) {
            char *name;

            if (!strcmp(part, "SP"))
                continue;
            name = apr_pstrcat(r->pool, prefix, names[k], part, NULL);
            export_one(r, env, name);
            for (int n = 1; apr_table_get(env, name) && n < 20; n++) {
                name = apr_psprintf(r->pool, "%s%s%s_%d", prefix, names[k], part, n);
                export_one(r, env, name);
            }
        }
    export_numbered(r, env, prefix, "SAN_Email_");
    export_numbered(r, env, prefix, "SAN_DNS_");
    export_numbered(r, env, prefix, other);
}

static void export_certificates(request_rec *r, apr_table_t *env)
{
    export_one(r, env, "SSL_SERVER_CERT");
    export_one(r, env, "SSL_CLIENT_CERT");
    export_numbered(r, env, "SSL_CLIENT_", "CERT_CHAIN_");
}

void tls_vars_export(request_rec *r, apr_table_t *env, unsigned options)
{
    const tls_conn *t = tls_of(r->connection);

    if (options & TLS_OPT_STD_ENV) {
        for (size_t i = 0; i < sizeof exported / sizeof *exported; i++)
            export_one(r, env, exported[i]);
        if (SSL_get0_peer_certificate(tls_ssl_of(t)))
            export_names(r, env, "SSL_CLIENT_", "SAN_OTHER_msUPN_");
        if (SSL_get_certificate(tls_ssl_of(t)))
            export_names(r, env, "SSL_SERVER_", "SAN_OTHER_dnsSRV_");
    }
    if (options & TLS_OPT_EXPORT_CERTS)
        export_certificates(r, env);
}

/* ---- %{NAME}x, %{name}c ---- */

static const char *vars_log_x(request_rec *r, char *name)
{
    const char *value = ap_ssl_var_lookup(r->pool, r->server, r->connection, r, name);

    return value && *value ? ap_escape_logitem(r->pool, value) : NULL;
}

/* The words of the time before there were variables. */
static const char *vars_log_c(request_rec *r, char *name)
{
    static const char *const words[][2] = {
        {"version", "SSL_PROTOCOL"},     {"cipher", "SSL_CIPHER"}, {"subjectdn", "SSL_CLIENT_S_DN"},
        {"issuerdn", "SSL_CLIENT_I_DN"}, {"errcode", NULL},        {"errstr", "SSL_CLIENT_VERIFY"}};

    if (!tls_of(r->connection))
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i][0]))
            return words[i][1] ? vars_log_x(r, (char *)(uintptr_t)words[i][1]) : "-";
    return NULL;
}

void tls_vars_log_items(apr_pool_t *p)
{
    APR_OPTIONAL_FN_TYPE(ap_register_log_handler) *add =
        APR_RETRIEVE_OPTIONAL_FN(ap_register_log_handler);

    if (!add)
        return;
    add(p, (char *)(uintptr_t) "c", vars_log_c, 0);
    add(p, (char *)(uintptr_t) "x", vars_log_x, 0);
}

/* ---- optional functions of mod_ssl.h ---- */

/* An extension that OpenSSL does not know: its text, where it is one; else its bytes. */
static void ssl_ext_print_unknown(BIO *bio, const ASN1_OCTET_STRING *data)
{
    const unsigned char *at = ASN1_STRING_get0_data(data);
    ASN1_STRING *text = d2i_DISPLAYTEXT(NULL, &at, ASN1_STRING_length(data));

    if (text)
        ASN1_STRING_print_ex(bio, text, ASN1_STRFLGS_UTF8_CONVERT);
    else
        ASN1_STRING_print(bio, data);
    ASN1_STRING_free(text);
}

/* Values of an extension, by its number. */
static apr_array_header_t *ssl_ext_list(apr_pool_t *p, conn_rec *c, int peer, const char *extension)
{
    const tls_conn *t = tls_of(c);
    X509 *x = !t     ? NULL
              : peer ? SSL_get0_peer_certificate(tls_ssl_of(t))
                     : SSL_get_certificate(tls_ssl_of(t));
    ASN1_OBJECT *wanted = extension && x ? OBJ_txt2obj(extension, 1) : NULL;
    apr_array_header_t *values = NULL;

    for (int i = 0; wanted && i < X509_get_ext_count(x); i++) {
        X509_EXTENSION *e = X509_get_ext(x, i);
        BIO *bio;

        if (OBJ_cmp(X509_EXTENSION_get_object(e), wanted) || !(bio = BIO_new(BIO_s_mem())))
            continue;
        if (!X509V3_EXT_print(bio, e, 0, 0))
            ssl_ext_print_unknown(bio, X509_EXTENSION_get_data(e));
        if (!values)
            values = apr_array_make(p, 1, sizeof(char *));
        APR_ARRAY_PUSH(values, char *) = tls_vars_of_bio(p, bio);
    }
    ASN1_OBJECT_free(wanted);
    ERR_clear_error();
    return values;
}

/* ---- expressions: %{SSL_NAME}, %{SSL:SSL_NAME}, PeerExtList(oid) ---- */

static const char *expr_value(ap_expr_eval_ctx_t *ctx, const char *name)
{
    const char *value = ap_ssl_var_lookup(ctx->p, ctx->s, ctx->c, ctx->r, name);

    return value ? value : "";
}

static const char *expr_variable(ap_expr_eval_ctx_t *ctx, const void *name)
{
    return expr_value(ctx, name);
}

static const char *expr_function(ap_expr_eval_ctx_t *ctx, const void *unused, const char *name)
{
    return expr_value(ctx, name);
}

static apr_array_header_t *expr_extensions(ap_expr_eval_ctx_t *ctx, const void *unused,
                                           const char *oid)
{
    if (ctx->r)
        vars_note(ctx->r);
    return ctx->c ? ssl_ext_list(ctx->p, ctx->c, 1, oid) : NULL;
}

static int expr_lookup(ap_expr_lookup_parms *asked)
{
    switch (asked->type) {
    case AP_EXPR_FUNC_VAR:
        if (strncasecmp(asked->name, "SSL_", 4))
            return DECLINED;
        *asked->func = expr_variable;
        *asked->data = apr_pstrdup(asked->pool, asked->name);
        ap_str_toupper((char *)(uintptr_t)*asked->data);
        return OK;
    case AP_EXPR_FUNC_STRING:
        if (strcasecmp(asked->name, "SSL"))
            return DECLINED;
        *asked->func = expr_function;
        break;
    case AP_EXPR_FUNC_LIST:
        if (strcasecmp(asked->name, "PeerExtList"))
            return DECLINED;
        *asked->func = expr_extensions;
        break;
    default:
        return DECLINED;
    }
    *asked->data = NULL;
    return OK;
}

void tls_vars_hooks(void)
{
    ap_hook_expr_lookup(expr_lookup, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_ssl_var_lookup(vars_lookup, NULL, NULL, APR_HOOK_MIDDLE);
    APR_REGISTER_OPTIONAL_FN(ssl_ext_list);
}
