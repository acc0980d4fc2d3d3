/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies of mod_setenvif's variables. Most rules ask whether a field, or the client's
 * address, matches: which of them do is all that counts of its value, so that an answer serves all
 * browsers of a kind. */
#include "setenvif_private.h"
#include "brigade/field_names.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"

#include <string.h>

#define SETENVIF_KIND_RULES 30 /* one bit each of a kind */
#define SETENVIF_KIND_ABSENT (1 << SETENVIF_KIND_RULES)
#define SETENVIF_KIND_FAILED (SETENVIF_KIND_ABSENT + 1) /* an expression reached its limit */

static int setenvif_is_of(const setenvif_rule *rule, const char *name)
{
    return rule->field && strcasecmp(rule->field, name) == 0;
}

/* 0, AP_REG_NOMATCH, or an error. */
static int setenvif_matches(const setenvif_rule *rule, const char *value, apr_size_t len)
{
    if (rule->literal)
        return apr_strmatch(rule->literal, value, len) ? 0 : AP_REG_NOMATCH;
    return ap_regexec_len(rule->regex, value, len, 0, NULL, 0);
}

static int setenvif_kind(const void *data, const char *value, apr_size_t len)
{
    const setenvif_field *field = data;
    int kind = 0, bit = 1;

    if (value == NULL)
        return SETENVIF_KIND_ABSENT;
    for (int i = 0; i < field->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(field->rules, i, setenvif_rule);
        int error;

        if (!setenvif_is_of(rule, field->name))
            continue;
        error = setenvif_matches(rule, value, len);
        if (error && error != AP_REG_NOMATCH)
            return SETENVIF_KIND_FAILED;
        if (!error)
            kind |= bit;
        bit <<= 1;
    }
    return kind;
}

static int setenvif_copies(const setenvif_rule *rule)
{
    for (int i = 0; i < rule->changes->nelts; i++)
        if (APR_ARRAY_IDX(rule->changes, i, setenvif_change).has_refs)
            return 1;
    return 0;
}

static setenvif_field *setenvif_field_of(setenvif_conf *conf, const char *name)
{
    for (int i = 0; i < conf->fields_n; i++)
        if (strcasecmp(conf->fields[i].name, name) == 0)
            return &conf->fields[i];
    conf->fields[conf->fields_n] =
        (setenvif_field){.name = name, .rules = conf->rules, .by_rule = 1};
    return &conf->fields[conf->fields_n++];
}

/* ---- the client's address ---- */

#define SETENVIF_CLIENT_RULES 62 /* one bit each */

apr_ssize_t setenvif_client_text(const setenvif_rule *rule, apr_sockaddr_t *client,
                                 char room[BRG_CLIENT_NETWORK_ROOM])
{
    APR_OPTIONAL_FN_TYPE(brg_client_network_put) *put =
        APR_RETRIEVE_OPTIONAL_FN(brg_client_network_put);
    int ready = 0;
    apr_size_t n;

    if (rule->source == SETENVIF_REMOTE_ADDR)
        return apr_sockaddr_ip_getbuf(room, BRG_CLIENT_NETWORK_ROOM, client) == APR_SUCCESS
                   ? (apr_ssize_t)strlen(room)
                   : -1;
    if (!put)
        return -1;
    n = put(rule->network, client, room, &ready);
    return ready ? (apr_ssize_t)n : -1;
}

apr_int64_t setenvif_clients(const void *data, apr_sockaddr_t *client)
{
    const setenvif_conf *conf = data;
    char text[BRG_CLIENT_NETWORK_ROOM];
    apr_int64_t bits = 0;

    for (int i = 0; i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);
        apr_ssize_t n;
        int error;

        if (rule->bit < 0)
            continue;
        if ((n = setenvif_client_text(rule, client, text)) < 0)
            return -1;
        error = setenvif_matches(rule, text, (apr_size_t)n);
        if (error && error != AP_REG_NOMATCH)
            return -1;
        bits |= (apr_int64_t)!error << rule->bit;
    }
    return bits;
}

/* Rules that copy groups, and those behind the last bit, are decided each time. */
static void setenvif_number_rules(setenvif_conf *conf)
{
    conf->bits = 0;
    for (int i = 0; i < conf->rules->nelts; i++) {
        setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);

        if (!setenvif_is_of_client(rule))
            continue;
        if (setenvif_copies(rule) || conf->bits == SETENVIF_CLIENT_RULES) {
            conf->bits = 0;
            return;
        }
        rule->bit = conf->bits++;
    }
}

/* ---- subjects of rules ---- */

void setenvif_list_fields(apr_pool_t *p, setenvif_conf *conf)
{
    if (conf->rules == NULL || conf->varies || conf->fields)
        return;
    setenvif_number_rules(conf);
    conf->fields = apr_pcalloc(p, (apr_size_t)conf->rules->nelts * sizeof(*conf->fields));
    for (int i = 0; i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);

        if (rule->field) {
            setenvif_field *field = setenvif_field_of(conf, rule->field);

            if (setenvif_copies(rule))
                field->by_rule = 0;
        }
    }
    for (int i = 0; i < conf->fields_n; i++) {
        int n = 0;

        for (int k = 0; k < conf->rules->nelts; k++) {
            n +=
                setenvif_is_of(&APR_ARRAY_IDX(conf->rules, k, setenvif_rule), conf->fields[i].name);
        }
        conf->fields[i].by_rule &= n <= SETENVIF_KIND_RULES;
    }
}

static const char *setenvif_names(apr_pool_t *p, const setenvif_rule *rule)
{
    return apr_pstrcat(p, BRG_CACHE_VARY_NAMES, rule->name, NULL);
}

/* Rules of sections and of .htaccess files may end with the request: their fields count by value.
 */
static void setenvif_by_values(request_rec *r, const setenvif_conf *conf)
{
    for (int i = 0; conf->rules && i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);

        if (rule->field)
            brg_cache_vary(r, apr_pstrdup(r->pool, rule->field), NULL, NULL);
        else if (rule->name_regex)
            brg_cache_vary(r, setenvif_names(r->pool, rule), NULL, NULL);
    }
}

/* 1 if the rules that look at the request line, or at expressions, tell all of it. */
static int setenvif_others_tell(request_rec *r, const setenvif_conf *conf)
{
    for (int i = 0; conf->asks && i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);

        if (rule->source == SETENVIF_REQUEST_METHOD || rule->source == SETENVIF_REQUEST_PROTOCOL)
            brg_cache_vary(r, BRG_CACHE_VARY_LINE, NULL, NULL);
        else if (rule->source == SETENVIF_EXPR &&
                 !brg_cache_depends_on_expression(r, rule->expr, setenvif_copies(rule)))
            return 0;
    }
    return 1;
}

/* 1 if a rule found a field by an expression on names, for r or for what led to it. */
static int setenvif_found_name(const request_rec *r)
{
    for (; r; r = r->prev ? r->prev : r->main)
        if (ap_get_module_config(r->request_config, &setenvif_module))
            return 1;
    return 0;
}

int setenvif_depends(request_rec *r)
{
    const setenvif_conf *server = ap_get_module_config(r->server->module_config, &setenvif_module);
    const setenvif_conf *dir = ap_get_module_config(r->per_dir_config, &setenvif_module);

    if (setenvif_found_name(r))
        return BRG_CACHE_VOLATILE;
    if (server->varies || dir->varies || dir->clients || (server->clients && !server->bits))
        return BRG_CACHE_VOLATILE;
    if (!setenvif_others_tell(r, server) || !setenvif_others_tell(r, dir))
        return BRG_CACHE_VOLATILE;
    for (int i = 0; i < server->fields_n; i++) {
        const setenvif_field *field = &server->fields[i];

        brg_cache_vary(r, field->name, field->by_rule ? setenvif_kind : NULL,
                       field->by_rule ? field : NULL);
    }
    for (int i = 0; server->names && i < server->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(server->rules, i, setenvif_rule);

        if (rule->name_regex && !rule->field)
            brg_cache_vary(r, setenvif_names(r->pool, rule), NULL, NULL);
    }
    setenvif_by_values(r, dir);
    return BRG_CACHE_STATIC;
}

/* ---- paths ---- */

/* @return bits, from @a bit on, for the rules that look at the path; or BRG_CACHE_NAME_COUNTS */
static apr_int64_t setenvif_path(const setenvif_conf *conf, const char *path, int *bit)
{
    apr_int64_t said = 0;

    for (int i = 0; conf->rules && i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);
        int error;

        if (rule->source != SETENVIF_REQUEST_URI)
            continue;
        error = setenvif_matches(rule, path, strlen(path));
        if (*bit > SETENVIF_CLIENT_RULES || (error && error != AP_REG_NOMATCH) ||
            (!error && setenvif_copies(rule)))
            return BRG_CACHE_NAME_COUNTS;
        said |= (apr_int64_t)!error << (*bit)++;
    }
    return said;
}

apr_int64_t setenvif_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                          const char *filename, const char *path_info, int is_file)
{
    int bit = 0;
    const apr_int64_t server =
        setenvif_path(ap_get_module_config(s->module_config, &setenvif_module), path, &bit);
    const apr_int64_t section =
        setenvif_path(ap_get_module_config(dir, &setenvif_module), path, &bit);

    return server < 0 || section < 0 ? BRG_CACHE_NAME_COUNTS : server | section;
}
