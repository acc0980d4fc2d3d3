/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of managed domains. */
#include "md_directives_private.h"
#include "md_head.h"
#include "md_json.h"
#include "configuration.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(md);

#define MD_SECTION "<MDomainSet"
#define MD_KEY_BITS 2048
#define MD_KEY_BITS_MOST 16384
#define MD_FILE_MOST 65536

static md_domain *directive_domain; /* whose section is read; NULL: none */

static md_settings *directive_settings(const cmd_parms *cmd)
{
    return directive_domain ? directive_domain->own : md_conf_of(cmd->server)->set;
}

/* ---- places ---- */

const char *md_directive_not_inside(cmd_parms *cmd)
{
    return directive_domain ? apr_pstrcat(cmd->pool, cmd->cmd->name, " is not allowed inside an '",
                                          MD_SECTION, "' context", NULL)
                            : NULL;
}

/* What is said of a setting that is Apache's alone. */
static const char *md_directive_not_offered(const cmd_parms *cmd, const char *why)
{
    const char *again = conf_builtin_lacks(cmd, &md_module, cmd->cmd->name);

    if (again)
        return again;
    return apr_pstrcat(cmd->pool, cmd->cmd->name, " is not offered by the built-in mod_md: ", why,
                       "; \"BuiltinModule md_module Off\" and LoadModule give this to Apache's",
                       NULL);
}

const char *md_directive_flag(cmd_parms *cmd, const char *arg, int *to)
{
    if (!strcasecmp(arg, "on") || !strcasecmp(arg, "off")) {
        *to = !strcasecmp(arg, "on");
        return NULL;
    }
    return apr_pstrcat(cmd->pool, "unknown '", arg,
                       "', supported parameter values are 'on' and 'off'", NULL);
}

/* ---- managed domains ---- */

static int directive_is_mode(md_domain *domain, const char *word)
{
    const int is_auto = !strcasecmp(word, "auto");

    if (!is_auto && strcasecmp(word, "manual") != 0)
        return 0;
    domain->own->transitive = is_auto;
    return 1;
}

static void directive_add_name(cmd_parms *cmd, md_domain *domain, const char *word)
{
    const char *name = md_name_canonical(cmd->pool, word);

    BRG_ASSERT(domain->names != NULL);
    if (!ap_array_str_contains(domain->names, name))
        APR_ARRAY_PUSH(domain->names, const char *) = name;
}

static md_domain *directive_new_domain(cmd_parms *cmd)
{
    md_domain *domain = apr_pcalloc(cmd->pool, sizeof *domain);

    domain->names = apr_array_make(cmd->pool, 4, sizeof(const char *));
    domain->own = md_settings_new(cmd->pool);
    domain->server = cmd->server;
    domain->file = cmd->directive->filename;
    domain->line = cmd->directive->line_num;
    return domain;
}

static const char *directive_keep(md_domain *domain)
{
    BRG_ASSERT(!domain->name && domain->own);
    if (!domain->names->nelts)
        return "needs at least one domain name";
    domain->name = APR_ARRAY_IDX(domain->names, 0, const char *);
    domain->index = md_domains->nelts;
    APR_ARRAY_PUSH(md_domains, md_domain *) = domain;
    return NULL;
}

md_domain *md_directive_new_domain(cmd_parms *cmd, const char *name)
{
    md_domain *domain = directive_new_domain(cmd);

    directive_add_name(cmd, domain, name);
    directive_keep(domain);
    return domain;
}

static const char *directive_words(cmd_parms *cmd, md_domain *domain, const char *args)
{
    while (*args) {
        const char *word = ap_getword_conf(cmd->pool, &args);

        if (*word && !directive_is_mode(domain, word))
            directive_add_name(cmd, domain, word);
    }
    return NULL;
}

const char *md_set_domain(cmd_parms *cmd, void *dummy, const char *args)
{
    const char *error = md_directive_not_inside(cmd);
    md_domain *domain;

    if (!error)
        error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    if (error)
        return error;
    domain = directive_new_domain(cmd);
    directive_words(cmd, domain, args);
    return directive_keep(domain);
}

const char *md_set_section(cmd_parms *cmd, void *dummy, const char *args)
{
    const char *end = ap_strrchr_c(args, '>'), *error = md_directive_not_inside(cmd);
    md_domain *domain;

    if (!error)
        error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    if (error)
        return error;
    if (!end)
        return "<MDomainSet> directive missing closing '>'";
    domain = directive_new_domain(cmd);
    directive_words(cmd, domain, apr_pstrmemdup(cmd->pool, args, (apr_size_t)(end - args)));
    if (!domain->names->nelts)
        return "<MDomainSet > section must specify a unique domain name";
    directive_keep(domain);
    directive_domain = domain;
    error = ap_walk_config(cmd->directive->first_child, cmd, cmd->context);
    directive_domain = NULL;
    return error;
}

const char *md_set_members(cmd_parms *cmd, void *dummy, const char *args)
{
    int transitive;

    if (directive_domain)
        return directive_words(cmd, directive_domain, args);
    transitive = !strcasecmp(args, "auto");
    if (!transitive && strcasecmp(args, "manual") != 0)
        return "unknown value, use \"auto|manual\"";
    md_conf_of(cmd->server)->set->transitive = transitive;
    return NULL;
}

/* ---- texts ---- */

const char *md_set_authority(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    apr_array_header_t *all = apr_array_make(cmd->pool, 2, sizeof(const char *));
    const char *url, *why;

    for (int i = 0; i < argc; i++) {
        if (!(url = md_authority(cmd->pool, argv[i], &why)))
            return why;
        APR_ARRAY_PUSH(all, const char *) = url;
    }
    if (all->nelts)
        directive_settings(cmd)->authorities = all;
    return NULL;
}

/* cmd->info: which setting */
const char *md_set_text(cmd_parms *cmd, void *dummy, const char *arg)
{
    *(const char **)(void *)((char *)directive_settings(cmd) + (size_t)cmd->info) = arg;
    return NULL;
}

const char *md_set_protocol(cmd_parms *cmd, void *dummy, const char *arg)
{
    return strcasecmp(arg, "ACME") != 0
               ? md_directive_not_offered(cmd, "ACME is the only protocol there is")
               : NULL;
}

const char *md_set_challenges(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    apr_array_header_t *all = apr_array_make(cmd->pool, 3, sizeof(const char *));

    for (int i = 0; i < argc; i++)
        APR_ARRAY_PUSH(all, const char *) = argv[i];
    directive_settings(cmd)->challenges = all;
    return NULL;
}

const char *md_set_proxy(cmd_parms *cmd, void *dummy, const char *arg)
{
    md_settings *set = directive_settings(cmd);
    md_url url;

    if (!strchr(arg, ':'))
        return "missing uri scheme";
    if (md_url_read(cmd->pool, arg, &url))
        return "uri scheme must be http or https";
    if (url.is_tls)
        return md_directive_not_offered(cmd, "a proxy is asked over http");
    set->proxy = arg;
    set->proxy_set = 1;
    return NULL;
}

const char *md_set_proxy_ca(cmd_parms *cmd, void *dummy, const char *arg)
{
    return strcasecmp(arg, "none") != 0
               ? md_directive_not_offered(cmd, "a proxy is asked over http")
               : NULL;
}

const char *md_set_ca_file(cmd_parms *cmd, void *dummy, const char *arg)
{
    md_settings *set = directive_settings(cmd);

    set->ca_file_set = 1;
    set->ca_file = strcasecmp(arg, "none") != 0 ? ap_server_root_relative(cmd->pool, arg) : NULL;
    return NULL;
}

static const char *binding_of_file(cmd_parms *cmd, md_settings *set, const char *arg)
{
    const char *file = ap_server_root_relative(cmd->pool, arg), *kid, *hmac;
    char *text = apr_palloc(cmd->pool, MD_FILE_MOST);
    apr_size_t len = MD_FILE_MOST;
    const md_json *json;
    apr_file_t *f;

    if (!file || apr_file_open(&f, file, APR_FOPEN_READ, 0, cmd->pool) != APR_SUCCESS)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": file not found: ", file ? file : arg,
                           NULL);
    if (apr_file_read(f, text, &len) != APR_SUCCESS)
        len = 0;
    apr_file_close(f);
    if (!(json = md_json_read(cmd->pool, text, len)))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": error reading JSON file ", file, NULL);
    kid = md_json_text(json, "kid");
    hmac = md_json_text(json, "hmac");
    if (!kid || !hmac)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": JSON does not contain '",
                           kid ? "hmac" : "kid", "' element in file ", file, NULL);
    set->binding_kid = kid;
    set->binding_hmac = hmac;
    return NULL;
}

const char *md_set_binding(cmd_parms *cmd, void *dummy, const char *kid, const char *hmac)
{
    md_settings *set = directive_settings(cmd);

    set->binding_set = 1;
    set->binding_kid = set->binding_hmac = NULL;
    if (!hmac)
        return strcasecmp(kid, "none") != 0 ? binding_of_file(cmd, set, kid) : NULL;
    set->binding_kid = kid;
    set->binding_hmac = hmac;
    return NULL;
}

const char *md_set_static_file(cmd_parms *cmd, void *dummy, const char *arg)
{
    const int is_key = cmd->info != NULL;
    apr_array_header_t **files;
    const char *file;

    if (!directive_domain)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " is only valid inside a '", MD_SECTION,
                           "' context, not here", NULL);
    files = is_key ? &directive_domain->static_keys : &directive_domain->static_certs;
    if (!*files)
        *files = apr_array_make(cmd->pool, 2, sizeof(const char *));
    if (!(file = ap_server_root_relative(cmd->pool, arg)))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, ": Invalid file path ", arg, NULL);
    APR_ARRAY_PUSH(*files, const char *) = file;
    return NULL;
}

/* ---- words and switches ---- */

const char *md_set_mode(cmd_parms *cmd, void *dummy, const char *arg)
{
    static const char *const words[] = {"manual", "auto", "always"};

    for (int i = 0; i < 3; i++)
        if (!strcasecmp(arg, words[i])) {
            directive_settings(cmd)->mode = i;
            return NULL;
        }
    return apr_pstrcat(cmd->pool, "unknown MDDriveMode ", arg, NULL);
}

/* cmd->info: which setting */
const char *md_set_switch(cmd_parms *cmd, void *dummy, const char *arg)
{
    return md_directive_flag(cmd, arg,
                             (int *)(void *)((char *)directive_settings(cmd) + (size_t)cmd->info));
}

const char *md_set_require(cmd_parms *cmd, void *dummy, const char *arg)
{
    static const char *const words[] = {"off", "temporary", "permanent"};
    const char *error =
        directive_domain ? NULL : ap_check_cmd_context(cmd, NOT_IN_DIR_LOC_FILE | NOT_IN_HTACCESS);

    if (error)
        return error;
    for (int i = 0; i < 3; i++)
        if (!strcasecmp(arg, words[i])) {
            directive_settings(cmd)->require_https = i;
            return NULL;
        }
    return apr_pstrcat(cmd->pool, "unknown '", arg,
                       "', supported parameter values are 'temporary' and 'permanent'", NULL);
}

/* cmd->info: which setting */
const char *md_set_window(cmd_parms *cmd, void *dummy, const char *arg)
{
    const int is_staple = !strncmp(cmd->cmd->name, "MDStapling", 10);
    const int is_keep = (size_t)cmd->info == offsetof(md_settings, staple_keep);
    md_window window, **to;
    const char *error = md_window_read(arg, &window);

    if (is_keep && error && *error == 'a') { /* of the usual time, not of a life */
        window.percent = atoi(arg) < 10000 ? atoi(arg) : 10000;
        error = NULL;
    }
    if (error)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, *error == 'a' && is_staple ? " with " : " ",
                           error, NULL);
    to = (md_window **)(void *)((char *)directive_settings(cmd) + (size_t)cmd->info);
    *to = apr_pmemdup(cmd->pool, &window, sizeof window);
    return NULL;
}

/* ---- keys ---- */

static int keys_have(const apr_array_header_t *keys, const char *curve)
{
    BRG_ASSERT(keys != NULL);
    for (int i = 0; i < keys->nelts; i++) {
        const md_key_spec *spec = &APR_ARRAY_IDX(keys, i, md_key_spec);

        if (curve ? spec->curve && !strcmp(spec->curve, curve) : spec->bits > 0)
            return 1;
    }
    return 0;
}

static const char *key_bits(const char *word, int *bits)
{
    const apr_int64_t n = apr_atoi64(word);

    if (n < MD_KEY_BITS)
        return "must be 2048 or higher in order to be considered safe.";
    if (n > MD_KEY_BITS_MOST)
        return "is too large for an RSA key length.";
    *bits = (int)n;
    return NULL;
}

/* One word, and the number of bits behind RSA. */
static const char *key_add(cmd_parms *cmd, apr_array_header_t *keys, char *const argv[], int argc,
                           int *i)
{
    md_key_spec spec = {0};
    const char *word = argv[*i], *error = NULL;

    BRG_ASSERT(*i >= 0 && *i < argc);
    if (!strncasecmp(word, "rsa", 3) && (!word[3] || apr_isdigit(word[3]))) {
        spec.bits = MD_KEY_BITS;
        if (keys_have(keys, NULL))
            return "two keys of type 'RSA' are not possible.";
        if (word[3])
            error = key_bits(word + 3, &spec.bits);
        else if (*i + 1 < argc && apr_isdigit(*argv[*i + 1]))
            error = key_bits(argv[++*i], &spec.bits);
    } else {
        char *curve = apr_pstrdup(cmd->pool, word);

        ap_str_tolower(curve);
        if (keys_have(keys, curve))
            return apr_pstrcat(cmd->pool, "two keys of type '", word, "' are not possible.", NULL);
        if (!md_key_curve_is_known(curve))
            return md_directive_not_offered(
                cmd, apr_pstrcat(cmd->pool, "OpenSSL has no curve \"", word, "\"", NULL));
        spec.curve = curve;
    }
    if (!error)
        APR_ARRAY_PUSH(keys, md_key_spec) = spec;
    return error;
}

const char *md_set_keys(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    apr_array_header_t *keys = apr_array_make(cmd->pool, 2, sizeof(md_key_spec));
    const char *error = NULL;

    if (argc <= 0)
        return "needs to specify the private key type";
    if (!strcasecmp(argv[0], "default")) {
        if (argc > 1)
            return "'Default' allows no other parameter";
        APR_ARRAY_PUSH(keys, md_key_spec) = (md_key_spec){.bits = MD_KEY_BITS};
    } else {
        for (int i = 0; i < argc && !error; i++)
            error = key_add(cmd, keys, argv, argc, &i);
    }
    directive_settings(cmd)->keys = keys;
    return error;
}
