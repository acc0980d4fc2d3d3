/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AuthType, AuthName and <AuthnProviderAlias>; and their consequences for answers from memory.
 *
 * A request that was let in by modules of this folder and by rules about users alone was let in by
 * its Authorization field, the rules, and the files that were asked. The mark of these is
 * remembered: a stored answer that such a request led to is for everyone whose field has such a
 * mark. The mark goes with the state of the files, and the answer with any change of them; so a
 * user who loses the right has neither.
 */
#include "auth_digest_memory.h"
#include "authn_core_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_expr.h"
#include "apr_base64.h"
#include "apr_sha1.h"
#include "apr_strings.h"
#include "brigade/auth.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(authn_core);

typedef struct authn_core_conf {
    ap_expr_info_t *type, *name;
    int type_set;
    int varies; /* one of them looks at the request */
} authn_core_conf;

static void *authn_core_create(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(authn_core_conf));
}

static void *authn_core_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const authn_core_conf *base = base_conf, *add = add_conf;
    authn_core_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->type = add->type_set ? add->type : base->type;
    conf->type_set = add->type_set || base->type_set;
    conf->name = add->name ? add->name : base->name;
    conf->varies = add->varies | base->varies;
    return conf;
}

/* ---- directives ---- */

static const char *authn_core_expr(cmd_parms *cmd, authn_core_conf *conf, const char *word,
                                   const char *of, ap_expr_info_t **out)
{
    const char *err = NULL;
    ap_expr_info_t *expr = ap_expr_parse_cmd(cmd, word, AP_EXPR_FLAG_STRING_RESULT, &err, NULL);

    if (err)
        return apr_psprintf(cmd->temp_pool, "Cannot parse expression '%s' in %s: %s", word, of,
                            err);
    *out = expr;
    conf->varies |= strchr(word, '%') != NULL || strchr(word, '$') != NULL;
    return NULL;
}

static const char *authn_core_cmd_type(cmd_parms *cmd, void *mconfig, const char *word)
{
    authn_core_conf *conf = mconfig;
    const char *err = authn_core_expr(cmd, conf, word, "AuthType", &conf->type);

    if (!err)
        conf->type_set = 1;
    return err;
}

static const char *authn_core_cmd_name(cmd_parms *cmd, void *mconfig, const char *word)
{
    authn_core_conf *conf = mconfig;

    return authn_core_expr(cmd, conf, word, "AuthName", &conf->name);
}

/* ---- questions of other modules ---- */

static const authn_core_conf *authn_core_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &authn_core_module);
}

static const char *authn_ap_auth_type(request_rec *r)
{
    const authn_core_conf *conf = authn_core_of(r);
    const char *err = NULL, *type;

    if (!conf->type)
        return NULL;
    type = ap_expr_str_exec(r, conf->type, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_SUCCESS, r,
                      APLOGNO(02834) "AuthType expression could not be evaluated: %s", err);
        return NULL;
    }
    return strcasecmp(type, "None") ? type : NULL;
}

static const char *authn_ap_auth_name(request_rec *r)
{
    const authn_core_conf *conf = authn_core_of(r);
    const char *err = NULL, *name;

    if (!conf->name)
        return NULL;
    name = ap_expr_str_exec(r, conf->name, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_SUCCESS, r,
                      APLOGNO(02835) "AuthName expression could not be evaluated: %s", err);
        return NULL;
    }
    return ap_escape_quotes(r->pool, name);
}

/* ---- marks for the cache ---- */

static APR_OPTIONAL_FN_TYPE(brg_authz_user_rules) * authn_core_rules;

static void realm_add(apr_sha1_ctx_t *sha, const void *at, apr_size_t len)
{
    const apr_uint32_t size = (apr_uint32_t)len;

    apr_sha1_update(sha, (const char *)&size, sizeof size);
    apr_sha1_update(sha, at, (unsigned)len);
}

static void realm_add_text(apr_sha1_ctx_t *sha, const char *text)
{
    realm_add(sha, text, strlen(text));
}

/* @return 0: it has no mark */
static int realm_make(request_rec *r, auth_note *note, const char *rules)
{
    const char *name = ap_auth_name(r);
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    const auth_piece piece = {digest, sizeof digest};
    apr_sha1_ctx_t sha;
    auth_mark mark;

    apr_sha1_init(&sha);
    realm_add_text(&sha, note->scheme);
    realm_add_text(&sha, name ? name : "");
    realm_add_text(&sha, note->how);
    realm_add_text(&sha, rules);
    for (int i = 0; i < note->files_n; i++) {
        realm_add_text(&sha, note->file[i].path);
        realm_add(&sha, &note->file[i].state, AUTH_STATE_BYTES);
    }
    apr_sha1_final(digest, &sha);
    if (!auth_mark_make(&mark, 'r', &piece, 1))
        return 0;
    note->realm[0] = mark.word[0];
    note->realm[1] = mark.word[1];
    return 1;
}

static int realm_mark(auth_mark *mark, const apr_uint64_t realm[2], const char *field,
                      apr_size_t len)
{
    const auth_piece piece[] = {{realm, 2 * sizeof *realm}, {field, len}};

    return auth_mark_make(mark, 'h', piece, 2);
}

#define REALM_FIELD_MOST 512 /* the name in it has room in BRG_CACHE_USER_ROOM */

static int realm_learn_field(const auth_note *note, const char *field)
{
    auth_mark mark;

    if (strlen(field) > REALM_FIELD_MOST || !realm_mark(&mark, note->realm, field, strlen(field)))
        return 0;
    if (!auth_memory_knows(&mark))
        auth_memory_learn(&mark, note->until);
    return 1;
}

/* Once all have let the request in. */
static int authn_core_remember(request_rec *r)
{
    auth_note *note = auth_note_of(r);
    const char *field, *rules;

    if (!note || !note->granted || note->open || !note->until || !note->files_n ||
        r->proxyreq == PROXYREQ_PROXY || r->method_number != M_GET ||
        !(field = apr_table_get(r->headers_in, "Authorization")) || authn_core_of(r)->varies ||
        ap_satisfies(r) == SATISFY_ANY || !authn_core_rules || !(rules = authn_core_rules(r)) ||
        !realm_make(r, note, rules))
        return DECLINED;
    note->realm_set = note->proof ? auth_digest_learn(r, note) : realm_learn_field(note, field);
    return DECLINED;
}

/* Of a field that users_knows(). */
static int users_name(const char *value, apr_size_t len, char *out)
{
    char coded[REALM_FIELD_MOST + 1], *end;

    if (len > REALM_FIELD_MOST || len < 6)
        return 0;
    value += 5;
    len -= 5;
    while (len && (*value == ' ' || *value == '\t')) {
        value++;
        len--;
    }
    memcpy(coded, value, len);
    coded[len] = '\0';
    if (apr_base64_decode_len(coded) >= BRG_CACHE_USER_ROOM)
        return 0;
    out[apr_base64_decode(out, coded)] = '\0';
    end = strchr(out, ':');
    if (end)
        explicit_bzero(end, strlen(end));
    return 1;
}

/* 1 if it has to be asked which client this is: somebody guesses at the user's password. */
static int users_are_guessed_at(const char *value, apr_size_t len)
{
    char user[BRG_CACHE_USER_ROOM];

    return !auth_guess_is_quiet() && (!users_name(value, len, user) || auth_guess_concerns(user));
}

static int users_knows(const apr_uint64_t realm[2], const brg_cache_bearer *bearer, char *added)
{
    auth_mark mark;

    return bearer->len <= REALM_FIELD_MOST &&
                   realm_mark(&mark, realm, bearer->value, bearer->len) &&
                   auth_memory_knows(&mark) && !users_are_guessed_at(bearer->value, bearer->len)
               ? 0
               : -1;
}

static const brg_cache_users authn_core_users = {users_knows, users_name, "Basic", NULL};

/* The proof of the server follows from this request alone. */
static int authn_core_proves_once(const request_rec *r, const auth_note *note)
{
    const char *sent = apr_table_get(r->headers_out, "Authentication-Info");

    return !r->main && !r->prev && note->r == r && note->info &&
           (r->status == HTTP_NOT_MODIFIED || (sent && !strcmp(sent, note->info)));
}

static int authn_core_vouches_for(request_rec *r)
{
    const auth_note *note = auth_note_for(r);

    if (!note || !note->realm_set || (note->proof && !authn_core_proves_once(r, note)))
        return 0;
    for (int i = 0; i < note->files_n; i++)
        brg_cache_depends_on(r, note->file[i].path);
    brg_cache_vary_user(r, "Authorization", note->proof ? &auth_digest_users : &authn_core_users,
                        note->realm);
    return 1;
}

static int brg_authn_vouches(request_rec *r)
{
    return authn_core_vouches_for(r);
}

/* A brg_cache_variant_fn. */
static int authn_core_absent(const void *unused, const char *value, apr_size_t len)
{
    return value ? -1 : 0;
}

/* The client sent no credentials, and was asked for them: all such requests get that answer. */
static int authn_core_asked_first(request_rec *r)
{
    if (r->user || !r->ap_auth_type || ap_cstr_casecmp(r->ap_auth_type, "Basic") ||
        apr_table_get(r->headers_in, "Authorization"))
        return 0;
    brg_cache_vary(r, "Authorization", authn_core_absent, NULL);
    return 1;
}

/* A brg_cache_fn. */
static int authn_core_depends(request_rec *r)
{
    for (request_rec *q = r; q; q = q->prev)
        if ((q->user || q->ap_auth_type) && !authn_core_asked_first(q) &&
            !authn_core_vouches_for(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

/* ---- hooks ---- */

static int authn_core_without_module(request_rec *r)
{
    const char *type = ap_auth_type(r);

    if (!type)
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01796) "AuthType %s configured without corresponding module", type);
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int authn_core_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    authn_alias_reset(pconf);
    return OK;
}

static void authn_core_child_init(apr_pool_t *p, server_rec *s)
{
    auth_memory_open(p);
    auth_hashes_open();
}

static void authn_core_find_rules(void)
{
    authn_core_rules = APR_RETRIEVE_OPTIONAL_FN(brg_authz_user_rules);
}

static void authn_core_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(authn_ap_auth_type);
    APR_REGISTER_OPTIONAL_FN(authn_ap_auth_name);
    APR_REGISTER_OPTIONAL_FN(brg_authn_vouches);
    ap_hook_optional_fn_retrieve(authn_core_find_rules, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_config(authn_core_pre_config, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_child_init(authn_core_child_init, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_check_authn(authn_core_without_module, NULL, NULL, APR_HOOK_LAST,
                        AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_fixups(authn_core_remember, NULL, NULL, APR_HOOK_REALLY_FIRST);
    brg_cache_declare(&authn_core_module, authn_core_depends);
    brg_hooks_need_directive(&authn_core_module, "fixups", "AuthType", BRG_HOOKS_BY_SERVER);
    brg_auth_declare(&authn_core_module);
    brg_auth_ask(&authn_core_module, auth_field_waits);
}

static const command_rec authn_core_directives[] = {
    AP_INIT_RAW_ARGS("<AuthnProviderAlias", authn_cmd_alias, NULL, RSRC_CONF,
                     "names a provider together with its directives"),
    AP_INIT_TAKE1("AuthType", authn_core_cmd_type, NULL, OR_AUTHCFG,
                  "how users are asked for: Basic, Digest, Form, None"),
    AP_INIT_TAKE1("AuthName", authn_core_cmd_name, NULL, OR_AUTHCFG,
                  "the realm that the user is told, as in \"Members Only\""),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authn_core_module = {
    STANDARD20_MODULE_STUFF,
    authn_core_create,
    authn_core_merge,
    NULL,
    NULL,
    authn_core_directives,
    authn_core_register_hooks,
    0,
};
