/* SPDX-License-Identifier: Apache-2.0 */
/* Which virtual hosts one handshake reaches (SSLVHostSNIPolicy), and whose sessions may be resumed. Each
 * server's settings are put into a text; servers whose texts are equal are alike. */
#include "tls_context_private.h"
#include "tls_renegotiate.h"
#include "tls_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_escape.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/evp.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static int compat_policy; /* TLS_SNI_* of the configuration */

/* ---- compared texts ---- */

static const char *compat_text(const char *text)
{
    return text ? text : "";
}

static const char *compat_files(apr_pool_t *p, const apr_array_header_t *files)
{
    return files ? apr_array_pstrcat(p, files, '\n') : "";
}

static const char *compat_commands(apr_pool_t *p, const apr_array_header_t *commands)
{
    const char *text = "";

    for (int i = 0; commands && i < commands->nelts; i++) {
        const tls_command *c = &APR_ARRAY_IDX(commands, i, tls_command);

        text = apr_pstrcat(p, text, c->name, " ", c->value, "\n", NULL);
    }
    return text;
}

/* Settings that decide about a certificate; not timeouts and ways. */
static const char *compat_ocsp(const tls_ocsp_conf *ocsp, apr_pool_t *p)
{
    if (ocsp->check <= TLS_OCSP_OFF)
        return "";
    return apr_psprintf(p, "%d %d %d %d %d %d %s\n%s", ocsp->check, ocsp->may_lack,
                        ocsp->override == 1, ocsp->unverified == 1, ocsp->skew, ocsp->age,
                        compat_text(ocsp->responder), compat_text(ocsp->signers_file));
}

/* The settings by the directives that they are of. */
enum { COMPAT_AUTH = 9, COMPAT_SESSION = 12, COMPAT_ALL = 14 };

static const char *compat_part(const tls_server_conf *sc, int part, apr_pool_t *p,
                               const char **name)
{
    static const char *const names[COMPAT_ALL] = {"SSLVerifyClient",
                                                  "SSLVerifyDepth",
                                                  "SSLCACertificateFile or Path",
                                                  "SSLCARevocationCheck",
                                                  "SSLCARevocationFile",
                                                  "SSLCARevocationPath",
                                                  "SSLCADNRequestFile or Path",
                                                  "SSLOpenSSLConfCmd",
                                                  "SSLOCSP*",
                                                  "SSLProtocol",
                                                  "SSLCipherSuite",
                                                  "SSLCipherSuite TLSv1.3",
                                                  "SSLCertificateFile",
                                                  "SSLCertificateKeyFile"};

    BRG_ASSERT(part >= 0 && part < COMPAT_ALL);
    *name = names[part];
    switch (part) {
    case 0:
        return apr_itoa(p, sc->verify == TLS_UNSET ? TLS_VERIFY_NONE : sc->verify);
    case 1:
        return apr_itoa(p, sc->depth);
    case 2:
        return apr_pstrcat(p, compat_text(sc->ca_file), "\n", compat_text(sc->ca_path), NULL);
    case 3:
        return apr_psprintf(p, "%d %d", sc->crl_check == TLS_UNSET ? TLS_CRL_NONE : sc->crl_check,
                            sc->crl_may_lack);
    case 4:
        return compat_text(sc->crl_file);
    case 5:
        return compat_text(sc->crl_path);
    case 6:
        return apr_pstrcat(p, compat_text(sc->names_file), "\n", compat_text(sc->names_path), NULL);
    case 7:
        return compat_commands(p, sc->commands);
    case 8:
        return compat_ocsp(&sc->ocsp, p);
    case 9:
        return apr_itoa(p, sc->protocols == TLS_UNSET ? TLS_V_ALL : sc->protocols);
    case 10:
        return compat_text(sc->ciphers);
    case 11:
        return compat_text(sc->ciphers13);
    case 12:
        return compat_files(p, sc->cert_files);
    default:
        return compat_files(p, sc->key_files);
    }
}

static const char *compat_parts(const tls_server_conf *sc, int most, apr_pool_t *p)
{
    const char *text[COMPAT_ALL * 2], *name;
    struct iovec pieces[COMPAT_ALL * 2];

    BRG_ASSERT(most <= COMPAT_ALL);
    for (int i = 0; i < most; i++) {
        text[2 * i] = compat_part(sc, i, p, &name);
        text[2 * i + 1] = "\n\n";
    }
    for (int i = 0; i < 2 * most; i++)
        pieces[i] = (struct iovec){(void *)(uintptr_t)text[i], strlen(text[i])};
    return apr_pstrcatv(p, pieces, 2 * (apr_size_t)most, NULL);
}

static const char *compat_of(const tls_server_conf *sc, const server_rec *s, apr_pool_t *p)
{
    switch (compat_policy) {
    case TLS_SNI_STRICT:
        return apr_psprintf(p, "%pp", (const void *)s);
    case TLS_SNI_INSECURE:
        return "";
    case TLS_SNI_AUTHONLY:
        return compat_parts(sc, COMPAT_AUTH, p);
    default:
        return compat_parts(sc, COMPAT_ALL, p);
    }
}

/* ---- numbers ---- */

/* The number of the text in @a seen: equal texts have equal numbers. */
static int compat_number(apr_hash_t *seen, apr_pool_t *p, const char *text)
{
    int *n = apr_hash_get(seen, text, APR_HASH_KEY_STRING);

    if (!n) {
        n = apr_palloc(p, sizeof *n);
        *n = (int)apr_hash_count(seen);
        apr_hash_set(seen, text, APR_HASH_KEY_STRING, n);
    }
    return *n;
}

int tls_compat_begin(server_rec *main_server, apr_pool_t *ptemp)
{
    apr_hash_t *compats = apr_hash_make(ptemp), *reaches = apr_hash_make(ptemp);
    int differs = 0;

    compat_policy = tls_conf_of(main_server)->sni_policy;
    if (compat_policy == TLS_UNSET)
        compat_policy = TLS_SNI_SECURE;
    for (server_rec *s = main_server; s; s = s->next) {
        tls_server_conf *sc = tls_conf_of(s);
        const char *text = compat_of(sc, s, ptemp);

        if (sc->server != s && s != main_server && sc == tls_conf_of(main_server))
            continue; /* it says nothing of TLS: the main server's */
        sc->compat = compat_number(compats, ptemp, text);
        text = apr_pstrcat(ptemp, text, "\n", compat_parts(sc, COMPAT_AUTH, ptemp), NULL);
        sc->reach = compat_number(reaches, ptemp, text);
        if (compat_policy == TLS_SNI_INSECURE && sc->verify > TLS_VERIFY_NONE)
            tls_renegotiate_expect();
        differs |= sc->reach != 0 || sc->strict_sni == 1;
    }
    return differs;
}

void tls_compat_session_id(tls_server_conf *sc, apr_pool_t *p)
{
    /* Not by names of certificates' files: other machines may take the same tickets. */
    const char *text = compat_parts(sc, COMPAT_SESSION, p);
    const unsigned char *trust = tls_trust_known_by(sc);
    unsigned len = sizeof sc->sid;

    /* Among servers with client certificates, a session stays with the server that made it. */
    if (sc->verify > TLS_VERIFY_NONE)
        text = apr_pstrcat(p, text, "\n", compat_text(sc->server->server_hostname), NULL);
    if (trust)
        text = apr_pstrcat(p, text, "\n", apr_pescape_hex(p, trust, TLS_TRUST_DIGEST, 0), NULL);
    EVP_Digest(text, strlen(text), sc->sid, &len, EVP_sha256(), NULL);
    BRG_ASSERT(len == sizeof sc->sid);
}

/* ---- why not ---- */

const char *tls_compat_policy(void)
{
    static const char *const names[] = {"strict", "secure", "authonly", "insecure"};

    BRG_ASSERT(compat_policy >= 0 && compat_policy < 4);
    return names[compat_policy];
}

const char *tls_compat_difference(const server_rec *a, const server_rec *b, apr_pool_t *p)
{
    int most = compat_policy == TLS_SNI_AUTHONLY ? COMPAT_AUTH
               : compat_policy == TLS_SNI_SECURE ? COMPAT_ALL
                                                 : 0;
    const char *name;

    for (int i = 0; i < most; i++)
        if (strcmp(compat_part(tls_conf_of(a), i, p, &name),
                   compat_part(tls_conf_of(b), i, p, &name)))
            return name;
    return "virtual hosts";
}
