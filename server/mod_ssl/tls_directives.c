/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_ssl. Missing ones are refused by name, with a hint. */
#include "tls_directives_private.h"
#include "tls_certificate.h"
#include "tls_setup.h"
#include "tls_proxy.h"
#include "tls_request_private.h"
#include "configuration.h"
#include "http_core.h"
#include "http_log.h"
#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_strings.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static tls_server_conf *of_server(const cmd_parms *cmd)
{
    return tls_conf_of(cmd->server);
}

void *tls_setting_of(const cmd_parms *cmd)
{
    return (char *)of_server(cmd) + (intptr_t)cmd->info;
}

const char *tls_not_offered(cmd_parms *cmd, const char *value, const char *why)
{
    const char *what =
        value ? apr_pstrcat(cmd->pool, cmd->cmd->name, " ", value, NULL) : cmd->cmd->name;
    const char *again = conf_builtin_lacks(cmd, &ssl_module, what);

    if (again)
        return again;
    return apr_pstrcat(cmd->pool, what, " is not offered by the built-in ssl module (", why,
                       "); \"BuiltinModule ssl_module Off\" takes the module that LoadModule names",
                       NULL);
}

/* cmd->info says why. */
static const char *set_refused(cmd_parms *cmd, void *dir, const char *args)
{
    return tls_not_offered(cmd, NULL, cmd->info);
}

/* Always off here. */
static const char *set_off_only(cmd_parms *cmd, void *dir, int on)
{
    return on ? tls_not_offered(cmd, "On", cmd->info) : NULL;
}

/* "builtin" means no engine. */
static const char *set_engine_of_openssl(cmd_parms *cmd, void *dir, const char *name)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error || !ap_cstr_casecmp(name, "builtin"))
        return error;
    return tls_not_offered(cmd, name, cmd->info);
}

/* ---- switches and numbers ---- */

static const char *set_engine(cmd_parms *cmd, void *dir, const char *arg)
{
    int on = !ap_cstr_casecmp(arg, "on");

    if (!on && !ap_cstr_casecmp(arg, "optional"))
        return tls_not_offered(cmd, arg,
                               "clients of today do not ask for TLS by Upgrade, RFC 2817");
    if (!on && ap_cstr_casecmp(arg, "off"))
        return "Argument must be On, Off, or Optional";
    of_server(cmd)->enabled = on;
    return on ? tls_request_wake(cmd, 1) : NULL;
}

static const char *set_flag(cmd_parms *cmd, void *dir, int on)
{
    *(int *)tls_setting_of(cmd) = on;
    return NULL;
}

static const char *set_fips(cmd_parms *cmd, void *dir, int on)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    return error ? error : set_off_only(cmd, dir, on);
}

/* mod_md has the responses, the built-in one or Apache's. */
static const char *set_stapling(cmd_parms *cmd, void *dir, int on)
{
    if (on && !ap_find_linked_module("mod_md.c") &&
        tls_staple_is_wanted(ap_conftree, cmd->temp_pool))
        return tls_not_offered(cmd, "On", "responses are those of mod_md, which takes no part");
    of_server(cmd)->stapling = on;
    return NULL;
}

/* For modules that fetch responses; mod_md has directives of its own. */
static const char *set_stapling_detail(cmd_parms *cmd, void *dir, const char *arg)
{
    conf_notice_no_effect(cmd, APLOG_MODULE_INDEX,
                          "OCSP responses are those of mod_md (MDStapling)");
    return NULL;
}

static const char *set_stapling_flag(cmd_parms *cmd, void *dir, int on)
{
    return set_stapling_detail(cmd, dir, NULL);
}

static const char *set_stapling_number(cmd_parms *cmd, void *dir, const char *arg)
{
    int unused;
    const char *error = tls_number(cmd, arg, &unused);

    return error ? error : set_stapling_detail(cmd, dir, arg);
}

static const char *set_stapling_cache(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *end = ap_strchr_c(arg, ':');
    const char *name = end ? apr_pstrmemdup(cmd->temp_pool, arg, (apr_size_t)(end - arg)) : arg;
    apr_size_t unused;

    if (error)
        return error;
    if (strcmp(name, "shmcb") != 0 && !ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, name, "0"))
        return apr_psprintf(cmd->pool, "'%s' stapling cache not supported", name);
    if (!strcmp(name, "shmcb") && (error = tls_cache_size(cmd, arg, &unused)) != NULL)
        return error;
    return set_stapling_detail(cmd, dir, arg);
}

static const char *set_cache_timeout(cmd_parms *cmd, void *dir, const char *arg)
{
    return tls_number(cmd, arg, &of_server(cmd)->session_seconds);
}

static const char *set_sni_policy(cmd_parms *cmd, void *dir, const char *arg)
{
    static const char *const words[] = {"strict", "secure", "authonly", "insecure"};
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error)
        return error;
    for (int i = 0; i < 4; i++)
        if (!ap_cstr_casecmp(arg, words[i])) {
            of_server(cmd)->sni_policy = i;
            return NULL;
        }
    return apr_psprintf(cmd->pool, "Invalid SSLVhostSNIPolicy value '%s'", arg);
}

/* ---- files ---- */

const char *tls_check_file(cmd_parms *cmd, const char **file)
{
    const char *name = ap_server_root_relative(cmd->pool, *file);
    apr_finfo_t info;

    if (!name)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": Invalid file path ", *file, NULL);
    *file = name;
    if (apr_stat(&info, name, APR_FINFO_TYPE | APR_FINFO_SIZE, cmd->temp_pool) == APR_SUCCESS &&
        info.filetype == APR_REG && info.size > 0)
        return NULL;
    return apr_pstrcat(cmd->pool, cmd->cmd->name, ": file '", name, "' does not exist or is empty",
                       NULL);
}

static const char *add_file(cmd_parms *cmd, apr_array_header_t **files, const char *file)
{
    const char *error;

    if (!strncmp(file, "pkcs11:", 7))
        return tls_not_offered(cmd, "with a PKCS#11 URI", "keys are read from files");
    error = tls_check_file(cmd, &file);
    if (error)
        return error;
    if (!*files)
        *files = apr_array_make(cmd->pool, 2, sizeof(const char *));
    APR_ARRAY_PUSH(*files, const char *) = file;
    return NULL;
}

static const char *set_certificate(cmd_parms *cmd, void *dir, const char *file)
{
    return add_file(cmd, &of_server(cmd)->cert_files, file);
}

static const char *set_key(cmd_parms *cmd, void *dir, const char *file)
{
    return add_file(cmd, &of_server(cmd)->key_files, file);
}

const char *tls_check_folder(cmd_parms *cmd, const char **path)
{
    const char *name = ap_server_root_relative(cmd->pool, *path);
    apr_finfo_t info;

    if (!name || apr_stat(&info, name, APR_FINFO_TYPE, cmd->temp_pool) != APR_SUCCESS ||
        info.filetype != APR_DIR)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": directory '", name ? name : *path,
                           "' does not exist", NULL);
    *path = name;
    return NULL;
}

/* Apache takes authorities within directories where OpenSSL is of long ago. */
static const char *not_in_directories(cmd_parms *cmd)
{
    return cmd->path ? "Your SSL library does not have support for per-directory CA" : NULL;
}

static const char *set_file(cmd_parms *cmd, void *dir, const char *file)
{
    const char *error = not_in_directories(cmd);

    if (!error)
        error = tls_check_file(cmd, &file);
    *(const char **)tls_setting_of(cmd) = file;
    return error;
}

static const char *set_folder(cmd_parms *cmd, void *dir, const char *path)
{
    const char *error = not_in_directories(cmd);

    if (!error)
        error = tls_check_folder(cmd, &path);
    *(const char **)tls_setting_of(cmd) = path;
    return error;
}

static const char *set_text(cmd_parms *cmd, void *dir, const char *text)
{
    *(const char **)tls_setting_of(cmd) = text;
    return NULL;
}

/* ---- protocols and ciphers ---- */

static int protocol_bits(const char *word)
{
    static const struct {
        const char *name;
        int bits;
    } known[] = {{"all", TLS_V_ALL},    {"TLSv1", TLS_V1_0},   {"TLSv1.1", TLS_V1_1},
                 {"TLSv1.2", TLS_V1_2}, {"TLSv1.3", TLS_V1_3}, {"SSLv3", 0}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!ap_cstr_casecmp(word, known[i].name))
            return known[i].bits;
    return -1;
}

const char *tls_protocols(cmd_parms *cmd, const char *args, int *protocols)
{
    int wanted = 0;

    while (*args) {
        const char *word = ap_getword_conf(cmd->temp_pool, &args);
        char sign = *word == '+' || *word == '-' ? *word++ : '\0';
        int bits = protocol_bits(word);

        if (!ap_cstr_casecmp(word, "SSLv2")) {
            if (sign == '-')
                continue;
            return "SSLv2 is no longer supported";
        }
        if (bits < 0)
            return apr_pstrcat(cmd->temp_pool, cmd->cmd->name, ": Illegal protocol '", word, "'",
                               NULL);
        if (!bits && sign != '-')
            return "SSLv3 not supported by this version of OpenSSL";
        wanted = sign == '-' ? wanted & ~bits : sign == '+' ? wanted | bits : bits;
    }
    *protocols = wanted; /* 0: told where one is needed */
    return NULL;
}

static const char *set_protocol(cmd_parms *cmd, void *dir, const char *args)
{
    return tls_protocols(cmd, args, &of_server(cmd)->protocols);
}

const char *tls_ciphers(cmd_parms *cmd, const char *first, const char *second, const char **list,
                        const char **suites)
{
    if (!second) {
        second = first;
        first = "SSL";
    }
    if (!strcmp(first, "SSL"))
        *list = apr_pstrcat(cmd->pool, second, ":!aNULL:!eNULL:!EXP", NULL);
    else if (!strcmp(first, "TLSv1.3"))
        *suites = second;
    else
        return apr_pstrcat(cmd->pool, "protocol '", first, "' not supported", NULL);
    return NULL;
}

static const char *set_ciphers(cmd_parms *cmd, void *dir, const char *first, const char *second)
{
    tls_server_conf *sc = of_server(cmd);
    const char *suites = NULL, *error;

    if (!cmd->path)
        return tls_ciphers(cmd, first, second, &sc->ciphers, &sc->ciphers13);
    error = tls_ciphers(cmd, first, second, &((tls_dir_conf *)dir)->ciphers, &suites);
    if (!error && suites)
        error = "TLSv1.3 ciphers cannot be set inside a directory context";
    return error ? error : tls_of_directory(cmd);
}

static const char *set_command(cmd_parms *cmd, void *dir, const char *name, const char *value)
{
    tls_server_conf *sc = of_server(cmd);
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    tls_command *c;
    int type = SSL_CONF_TYPE_UNKNOWN;

    if (conf) {
        SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_SERVER |
                                         SSL_CONF_FLAG_CERTIFICATE);
        type = SSL_CONF_cmd_value_type(conf, name);
        SSL_CONF_CTX_free(conf);
    }
    if (type == SSL_CONF_TYPE_UNKNOWN)
        return apr_psprintf(cmd->pool, "'%s': invalid OpenSSL configuration command", name);
    if (type == SSL_CONF_TYPE_FILE) {
        const char *error = tls_check_file(cmd, &value);

        if (error)
            return error;
    }
    if (type == SSL_CONF_TYPE_DIR) {
        const char *error = tls_check_folder(cmd, &value);

        if (error)
            return error;
    }
    if (!sc->commands)
        sc->commands = apr_array_make(cmd->pool, 2, sizeof(tls_command));
    c = apr_array_push(sc->commands);
    *c = (tls_command){name, value};
    return NULL;
}

#define SERVER(name, kind, fn, help) AP_INIT_##kind(name, fn, NULL, RSRC_CONF, help)
#define ANYWHERE(name, kind, fn, help) AP_INIT_##kind(name, fn, NULL, OR_AUTHCFG | RSRC_CONF, help)
#define OUTGOING(name, kind, fn, which, help) \
    AP_INIT_##kind(name, fn, (void *)(intptr_t)(which), RSRC_CONF | PROXY_CONF, help)
#define SETTING(name, kind, fn, field, where, help) \
    AP_INIT_##kind(name, fn, (void *)offsetof(tls_server_conf, field), where, help)
#define STAPLING(name, kind, fn) SERVER(name, kind, fn, "without effect: see MDStapling")
#define OFF_ONLY(name, fn, why) AP_INIT_FLAG(name, fn, (void *)(uintptr_t)(why), RSRC_CONF, "Off")
#define REFUSED(name, why) \
    AP_INIT_RAW_ARGS(name, set_refused, (void *)(uintptr_t)(why), RSRC_CONF, "not offered: " why)
#define GONE(name, where, help) AP_INIT_RAW_ARGS(name, ap_set_deprecated, NULL, where, help)

const command_rec tls_commands[] = {
    SERVER("SSLEngine", TAKE1, set_engine, "On or Off: TLS on the addresses of this server"),
    SERVER("SSLCertificateFile", TAKE1, set_certificate,
           "PEM file with a certificate, and possibly its chain and key"),
    SERVER("SSLCertificateKeyFile", TAKE1, set_key, "PEM file with the certificate's key"),
    SETTING("SSLCertificateChainFile", TAKE1, set_file, chain_file, RSRC_CONF,
            "PEM file with intermediate certificates"),
    SERVER("SSLProtocol", RAW_ARGS, set_protocol, "all or protocols, each with + or -"),
    ANYWHERE("SSLCipherSuite", TAKE12, set_ciphers, "ciphers, in OpenSSL's syntax"),
    SETTING("SSLHonorCipherOrder", FLAG, set_flag, honor_order, RSRC_CONF,
            "On: the server's order counts"),
    OFF_ONLY("SSLCompression", set_off_only, "compression tells secrets: CRIME"),
    OFF_ONLY("SSLInsecureRenegotiation", set_off_only, "it lets others speak first: CVE-2009-3555"),
    OFF_ONLY("SSLFIPS", set_fips, "OpenSSL 3 has a provider for it, to be named in openssl.cnf"),
    SETTING("SSLSessionTickets", FLAG, set_flag, tickets, RSRC_CONF, "On or Off: session tickets"),
    SETTING("SSLSessionTicketKeyFile", TAKE1, set_file, ticket_file, RSRC_CONF,
            "file of 48 random bytes, the same on servers that take each other's tickets"),
    SERVER("SSLSessionCache", TAKE1, tls_set_session_cache, "none or shmcb:FILE(BYTES)"),
    SERVER("SSLSessionCacheTimeout", TAKE1, set_cache_timeout, "seconds"),
    SERVER("SSLRandomSeed", TAKE23, tls_set_seed, "the system's random numbers are used"),
    SERVER("SSLPassPhraseDialog", TAKE1, tls_set_pass_phrase, "builtin, exec:PROGRAM or |PROGRAM"),
    AP_INIT_TAKE1("SSLCryptoDevice", set_engine_of_openssl,
                  (void *)(uintptr_t) "OpenSSL 3 gives engines up for providers", RSRC_CONF,
                  "builtin"),
    SERVER("SSLOpenSSLConfCmd", TAKE2, set_command, "a command of OpenSSL and its value"),
    SETTING("SSLStrictSNIVHostCheck", FLAG, set_flag, strict_sni, RSRC_CONF,
            "On: clients without a server name are refused"),
    SERVER("SSLVHostSNIPolicy", TAKE1, set_sni_policy, "strict, secure, authonly or insecure"),
    SERVER("SSLUseStapling", FLAG, set_stapling, "On or Off: tell when no OCSP response is sent"),
    SERVER("SSLOCSPEnable", RAW_ARGS, tls_set_ocsp,
           "on, leaf or off: ask about clients' certificates, and no_ocsp_for_cert_ok"),
    SETTING("SSLOCSPDefaultResponder", TAKE1, set_text, ocsp.responder, RSRC_CONF,
            "URL to ask about certificates that name none"),
    SETTING("SSLOCSPOverrideResponder", FLAG, set_flag, ocsp.override, RSRC_CONF,
            "On: it is asked about all certificates"),
    SETTING("SSLOCSPResponderTimeout", TAKE1, tls_set_ocsp_number, ocsp.timeout, RSRC_CONF,
            "seconds for a response"),
    SETTING("SSLOCSPResponseTimeSkew", TAKE1, tls_set_ocsp_number, ocsp.skew, RSRC_CONF,
            "seconds that the responder's clock may differ"),
    SETTING("SSLOCSPResponseMaxAge", TAKE1, tls_set_ocsp_number, ocsp.age, RSRC_CONF,
            "seconds that a response may be old"),
    SETTING("SSLOCSPUseRequestNonce", FLAG, set_flag, ocsp.nonce, RSRC_CONF,
            "Off: responses may be of before the request"),
    SERVER("SSLOCSPProxyURL", TAKE1, tls_set_ocsp_proxy, "URL of a proxy to ask through"),
    SETTING("SSLOCSPNoVerify", FLAG, set_flag, ocsp.unverified, RSRC_CONF,
            "On: who signed a response does not matter"),
    SETTING("SSLOCSPResponderCertificateFile", TAKE1, set_file, ocsp.signers_file, RSRC_CONF,
            "PEM file with certificates that are trusted to sign responses"),
    ANYWHERE("SSLVerifyClient", TAKE1, tls_set_verify,
             "none (off), optional, require (on) or optional_no_ca"),
    ANYWHERE("SSLVerifyDepth", TAKE1, tls_set_depth,
             "certificates between a client's and the root"),
    SETTING("SSLCACertificateFile", TAKE1, set_file, ca_file, OR_AUTHCFG | RSRC_CONF,
            "PEM file with authorities of clients"),
    SETTING("SSLCACertificatePath", TAKE1, set_folder, ca_path, OR_AUTHCFG | RSRC_CONF,
            "folder with them, named by hash"),
    SERVER("SSLCARevocationCheck", RAW_ARGS, tls_set_crl_check, "none, leaf or chain"),
    SETTING("SSLCARevocationFile", TAKE1, set_file, crl_file, RSRC_CONF,
            "PEM file with revocation lists"),
    SETTING("SSLCARevocationPath", TAKE1, set_folder, crl_path, RSRC_CONF,
            "folder with them, named by hash"),
    SETTING("SSLCADNRequestFile", TAKE1, set_file, names_file, RSRC_CONF,
            "PEM file with authorities whose names clients are told"),
    SETTING("SSLCADNRequestPath", TAKE1, set_folder, names_path, RSRC_CONF, "folder with them"),
    AP_INIT_NO_ARGS("SSLRequireSSL", tls_set_require_ssl, NULL, OR_AUTHCFG,
                    "requests without TLS are refused"),
    AP_INIT_RAW_ARGS("SSLRequire", tls_set_requirement, NULL, OR_AUTHCFG,
                     "an expression that requests have to fulfil"),
    AP_INIT_TAKE1("SSLRenegBufferSize", tls_set_buffer, NULL, OR_AUTHCFG,
                  "bytes of a request body that are kept while its client is asked for more"),
    ANYWHERE("SSLUserName", TAKE1, tls_set_user_name, "variable whose value is the user's name"),
    AP_INIT_RAW_ARGS("SSLOptions", tls_set_options, NULL, OR_OPTIONS | RSRC_CONF,
                     "options, each with + or -"),
    OUTGOING("SSLProxyEngine", FLAG, tls_px_flag, TLS_PX_ENGINE, "On: TLS to proxied servers"),
    OUTGOING("SSLProxyProtocol", RAW_ARGS, tls_px_protocols, 0,
             "all or protocols, each with + or -"),
    OUTGOING("SSLProxyCipherSuite", TAKE12, tls_px_ciphers, 0, "ciphers, in OpenSSL's syntax"),
    OUTGOING("SSLProxyVerify", TAKE1, tls_px_verify, 0,
             "none (off), optional, require (on) or optional_no_ca"),
    OUTGOING("SSLProxyVerifyDepth", TAKE1, tls_px_depth, 0, "certificates up to the root"),
    OUTGOING("SSLProxyCACertificateFile", TAKE1, tls_px_file, TLS_PX_CA_FILE,
             "PEM file with authorities of proxied servers"),
    OUTGOING("SSLProxyCACertificatePath", TAKE1, tls_px_folder, TLS_PX_CA_PATH,
             "folder with them, named by hash"),
    OUTGOING("SSLProxyCARevocationCheck", RAW_ARGS, tls_px_crl, 0,
             "none, leaf or chain, and no_crl_for_cert_ok"),
    OUTGOING("SSLProxyCARevocationFile", TAKE1, tls_px_file, TLS_PX_CRL_FILE, "PEM file with CRLs"),
    OUTGOING("SSLProxyCARevocationPath", TAKE1, tls_px_folder, TLS_PX_CRL_PATH,
             "folder with CRLs, named by hash"),
    OUTGOING("SSLProxyCheckPeerName", FLAG, tls_px_flag, TLS_PX_CHECK_NAME,
             "On: the certificate's names have to fit"),
    OUTGOING("SSLProxyCheckPeerCN", FLAG, tls_px_flag, TLS_PX_CHECK_CN,
             "On: the certificate's common name has to fit"),
    OUTGOING("SSLProxyCheckPeerExpire", FLAG, tls_px_flag, TLS_PX_CHECK_EXPIRE,
             "On: the certificate has to be of today"),
    OUTGOING("SSLProxyMachineCertificateFile", TAKE1, tls_px_file, TLS_PX_CERT_FILE,
             "PEM file with certificates to show, each with its key"),
    OUTGOING("SSLProxyMachineCertificatePath", TAKE1, tls_px_folder, TLS_PX_CERT_PATH,
             "folder with such files"),
    OUTGOING("SSLProxyMachineCertificateChainFile", TAKE1, tls_px_file, TLS_PX_CHAIN_FILE,
             "PEM file with their issuers"),
    REFUSED("SSLSRPUnknownUserSeed", "OpenSSL 3 gives SRP up, and TLS 1.3 has none"),
    REFUSED("SSLSRPVerifierFile", "OpenSSL 3 gives SRP up, and TLS 1.3 has none"),
    STAPLING("SSLStaplingCache", TAKE1, set_stapling_cache),
    STAPLING("SSLStaplingErrorCacheTimeout", TAKE1, set_stapling_number),
    STAPLING("SSLStaplingFakeTryLater", FLAG, set_stapling_flag),
    STAPLING("SSLStaplingForceURL", TAKE1, set_stapling_detail),
    STAPLING("SSLStaplingResponderTimeout", TAKE1, set_stapling_number),
    STAPLING("SSLStaplingResponseMaxAge", TAKE1, set_stapling_number),
    STAPLING("SSLStaplingResponseTimeSkew", TAKE1, set_stapling_number),
    STAPLING("SSLStaplingReturnResponderErrors", FLAG, set_stapling_flag),
    STAPLING("SSLStaplingStandardCacheTimeout", TAKE1, set_stapling_number),
    GONE("SSLLog", OR_ALL | RSRC_CONF, "SSLLog directive is no longer supported - use ErrorLog"),
    GONE("SSLLogLevel", OR_ALL | RSRC_CONF,
         "SSLLogLevel directive is no longer supported - use LogLevel"),
    {.name = NULL}};
