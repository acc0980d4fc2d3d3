/* SPDX-License-Identifier: Apache-2.0 */
/* What the variables of mod_setenvif depend on. Most rules ask whether a field matches: which of
 * them do is all that counts of its value, so that an answer serves all browsers of a kind. */
#include "setenvif_private.h"
#include "brigade/response_cache.h"
#include "apr_strings.h"

#include <string.h>

#define SETENVIF_KIND_RULES 30 /* one bit each of a kind */
#define SETENVIF_KIND_ABSENT (1 << SETENVIF_KIND_RULES)
#define SETENVIF_KIND_FAILED (SETENVIF_KIND_ABSENT + 1) /* an expression reached its limit */

static int setenvif_is_of(const setenvif_rule *rule, const char *name)
{
    return rule->source == SETENVIF_NAMED && strcasecmp(rule->name, name) == 0;
}

static int setenvif_kind(const void *data, const char *value, apr_size_t len)
{
    const setenvif_field *field = data;
    int kind = 0, bit = 1;

    if (value == NULL)
        return SETENVIF_KIND_ABSENT;
    for (int i = 0; i < field->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(field->rules, i, setenvif_rule);
        int error = 0;

        if (!setenvif_is_of(rule, field->name))
            continue;
        if (rule->literal)
            error = apr_strmatch(rule->literal, value, len) ? 0 : AP_REG_NOMATCH;
        else
            error = ap_regexec_len(rule->regex, value, len, 0, NULL, 0);
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

void setenvif_list_fields(apr_pool_t *p, setenvif_conf *conf)
{
    if (conf->rules == NULL || conf->varies || conf->fields)
        return;
    conf->fields = apr_pcalloc(p, (apr_size_t)conf->rules->nelts * sizeof(*conf->fields));
    for (int i = 0; i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);

        if (rule->source == SETENVIF_NAMED) {
            setenvif_field *field = setenvif_field_of(conf, rule->name);

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

/* Rules of sections and of .htaccess files may end with the request: their fields count by value.
 */
static void setenvif_by_values(request_rec *r, const setenvif_conf *conf)
{
    for (int i = 0; conf->rules && i < conf->rules->nelts; i++) {
        const setenvif_rule *rule = &APR_ARRAY_IDX(conf->rules, i, setenvif_rule);

        if (rule->source == SETENVIF_NAMED)
            brg_cache_vary(r, apr_pstrdup(r->pool, rule->name), NULL, NULL);
    }
}

int setenvif_depends(request_rec *r)
{
    const setenvif_conf *server = ap_get_module_config(r->server->module_config, &setenvif_module);
    const setenvif_conf *dir = ap_get_module_config(r->per_dir_config, &setenvif_module);

    if (server->varies || dir->varies)
        return BRG_CACHE_VOLATILE;
    for (int i = 0; i < server->fields_n; i++) {
        const setenvif_field *field = &server->fields[i];

        brg_cache_vary(r, field->name, field->by_rule ? setenvif_kind : NULL,
                       field->by_rule ? field : NULL);
    }
    setenvif_by_values(r, dir);
    return BRG_CACHE_STATIC;
}
