/* SPDX-License-Identifier: Apache-2.0 */
/* RequestLimit and RequestLimitKeys. */
#include "limit_private.h"
#include "expr_depends.h"
#include "http_head.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(limit);

#define CONFIG_MOST 1000000000 /* of any number */
#define SECOND UINT64_C(1000000000)
/* nanoseconds of a burst: 73 years; no sum with a clock overflows */
#define CONFIG_AHEAD_MOST (UINT64_C(1) << 61)
#define CONFIG_BODY_LEAST 65536 /* bytes of burst of a bandwidth, if nothing is said */

apr_array_header_t *limit_all;
int limit_keys = 65536;

/* The content of a line, before it is a limit. */
typedef struct config_line {
    cmd_parms *cmd;
    limit *l;
    uint64_t number;   /* of its measure */
    uint64_t per;      /* seconds, of a rate */
    apr_int64_t burst; /* -1: not said */
    apr_int64_t delay;
    int has_by;
} config_line;

static const char *config_error(const config_line *c, const char *word, const char *wants)
{
    return apr_psprintf(c->cmd->pool, "RequestLimit %s: %s: %s", c->l->name, word, wants);
}

/* A number with the text behind it. @return NULL: not a number */
static const char *config_number(const char *s, apr_int64_t least, apr_int64_t *out)
{
    char *end;

    if (!apr_isdigit(*s))
        return NULL;
    *out = strtoll(s, &end, 10);
    return *out >= least && *out <= CONFIG_MOST ? end : NULL;
}

/* ---- measures ---- */

static const char *config_measure(config_line *c, const char *word, limit_measure measure)
{
    if (c->l->measure != LIMIT_NONE)
        return config_error(c, word,
                            "a limit has one of rate=, inflight=, connections=, bandwidth=");
    c->l->measure = measure;
    return NULL;
}

static const char *config_rate(config_line *c, const char *word, const char *value)
{
    static const struct {
        const char *name;
        unsigned seconds;
    } units[] = {{"/s", 1},    {"r/s", 1},    {"/m", 60}, {"r/m", 60},
                 {"/h", 3600}, {"r/h", 3600}, {"", 1}};
    apr_int64_t n = 0;
    const char *unit = config_number(value, 1, &n);

    c->number = (uint64_t)n;
    for (size_t i = 0; unit && !c->per && i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name))
            c->per = units[i].seconds;
    if (!c->per)
        return config_error(c, word, "wants requests of a time: 10/s, 100/m or 1000/h");
    return config_measure(c, word, LIMIT_RATE);
}

static const char *config_count(config_line *c, const char *word, const char *value,
                                limit_measure measure)
{
    apr_int64_t n = 0;
    const char *end = config_number(value, 1, &n);

    if (!end || *end)
        return config_error(c, word, "wants a number from 1 on");
    c->number = (uint64_t)n;
    return config_measure(c, word, measure);
}

/* Bytes, with K, M or G behind them. */
static const char *config_bytes(const char *value, apr_int64_t *out)
{
    static const char units[] = "kmg";
    const char *end = config_number(value, 1, out);
    const char *unit = end && *end ? strchr(units, apr_tolower(*end)) : NULL;

    if (!end || (*end && (!unit || end[1])))
        return NULL;
    if (unit)
        *out <<= 10 * (unit - units + 1);
    return end;
}

static const char *config_bandwidth(config_line *c, const char *word, const char *value)
{
    apr_int64_t n = 0;

    if (!config_bytes(value, &n))
        return config_error(c, word, "wants bytes a second: 65536, 512K or 10M");
    c->number = (uint64_t)n;
    return config_measure(c, word, LIMIT_BANDWIDTH);
}

/* ---- keys ---- */

static const char *config_who(config_line *c, const char *word, limit_who who)
{
    if (c->l->who != LIMIT_ANYONE)
        return config_error(c, word, "a key has one of client, prefix, as and route");
    c->l->who = who;
    return NULL;
}

static const char *config_prefix(config_line *c, const char *word, const char *bits)
{
    static const int most[] = {32, 128};

    c->l->bits[0] = 24;
    c->l->bits[1] = 56;
    for (int i = 0; *bits && i < 2; i++) {
        apr_int64_t n = 0;

        bits = *bits == '/' ? config_number(bits + 1, 1, &n) : NULL;
        if (!bits || n > most[i])
            return config_error(c, word, "wants prefix, or prefix/IPV4/IPV6 with numbers of bits");
        c->l->bits[i] = (uint8_t)n;
    }
    return *bits ? config_error(c, word, "wants prefix/IPV4/IPV6")
                 : config_who(c, word, LIMIT_PREFIX);
}

static const char *config_network(config_line *c, const char *word, const char *variable)
{
    APR_OPTIONAL_FN_TYPE(brg_client_network_variable) *number =
        APR_RETRIEVE_OPTIONAL_FN(brg_client_network_variable);

    c->l->network = number ? number(variable) : -1;
    if (c->l->network < 0)
        return config_error(c, word, "needs a table of networks: ASTable, in a line before");
    return config_who(c, word, LIMIT_NETWORK);
}

static const char *config_what(config_line *c, const char *word, limit_what what)
{
    if (c->l->what != LIMIT_NOTHING)
        return config_error(c, word, "a key has one of user and field:NAME");
    c->l->what = what;
    return NULL;
}

static const char *config_field(config_line *c, const char *word, const char *name)
{
    for (const char *s = name; *s; s++)
        if (!apr_isalnum(*s) && !strchr("-_.", *s))
            name = "";
    if (!*name)
        return config_error(c, word, "wants the name of a request field: field:X-Api-Key");
    c->l->field = name;
    c->l->field_len = strlen(name);
    c->l->field_id = (int)http_field_id_of(name, c->l->field_len);
    return config_what(c, word, LIMIT_FIELD);
}

static const char *config_key(config_line *c, const char *word)
{
    if (!strcmp(word, "client"))
        return config_who(c, word, LIMIT_CLIENT);
    if (!strncmp(word, "prefix", 6) && (!word[6] || word[6] == '/'))
        return config_prefix(c, word, word + 6);
    if (!strcmp(word, "as"))
        return config_network(c, word, "CLIENT_ASN");
    if (!strcmp(word, "route"))
        return config_network(c, word, "CLIENT_PREFIX");
    if (!strcmp(word, "user"))
        return config_what(c, word, LIMIT_USER);
    if (!strncmp(word, "field:", 6))
        return config_field(c, word, word + 6);
    if (!strcmp(word, "host"))
        c->l->by_host = 1;
    else if (!strcmp(word, "path"))
        c->l->by_path = 1;
    else if (strcmp(word, "all"))
        return config_error(c, word,
                            "wants client, prefix, as, route, user, field:NAME, host, path or all");
    return NULL;
}

static const char *config_by(config_line *c, const char *word, const char *value)
{
    char *last, *list = apr_pstrdup(c->cmd->pool, value), *one = apr_strtok(list, ",", &last);
    const char *err = c->has_by || !one ? config_error(c, word, "wants keys, once") : NULL;

    c->has_by = 1;
    for (; !err && one; one = apr_strtok(NULL, ",", &last))
        err = config_key(c, one);
    return err;
}

static const char *config_expr(config_line *c, const char *word, const char *value,
                               ap_expr_info_t **out, unsigned flags)
{
    const char *err = NULL;

    *out = ap_expr_parse_cmd(c->cmd, value, flags, &err, NULL);
    return err ? config_error(c, word, err) : NULL;
}

/* ---- the other words ---- */

static const char *config_excess(config_line *c, const char *word, const char *value)
{
    if (!strcmp(value, "refuse"))
        c->l->excess = LIMIT_REFUSES;
    else if (!strcmp(value, "delay"))
        c->l->excess = LIMIT_DELAYS;
    else if (!strcmp(value, "close"))
        c->l->excess = LIMIT_CLOSES;
    else
        return config_error(c, word, "wants refuse, delay or close");
    return NULL;
}

static const char *config_status(config_line *c, const char *word, const char *value)
{
    apr_int64_t n = 0;
    const char *end = config_number(value, 400, &n);

    if (!end || *end || n > 599)
        return config_error(c, word, "wants a status from 400 to 599");
    c->l->status = (int)n;
    return NULL;
}

static const char *config_burst(config_line *c, const char *word, const char *value)
{
    if (!config_bytes(value, &c->burst) && strcmp(value, "0"))
        return config_error(c, word, "wants a number: requests, or bytes of a bandwidth");
    return NULL;
}

/* As limit_req has it: so many of the burst without a delay, the others when it is their turn. */
static const char *config_delay(config_line *c, const char *word, const char *value)
{
    const char *end = config_number(value, 0, &c->delay);

    if (!end || *end)
        return config_error(c, word, "wants how many requests of the burst are not delayed");
    c->l->excess = LIMIT_DELAYS;
    return NULL;
}

static const char *config_word(config_line *c, const char *word)
{
    const char *value = strchr(word, '=');
    const size_t len = value ? (size_t)(value - word) : strlen(word);

#define CONFIG_IS(name) (value && len == sizeof(name) - 1 && !ap_cstr_casecmpn(word, name, len))
    if (!ap_cstr_casecmp(word, "dry-run")) {
        c->l->is_dry = 1;
        return NULL;
    }
    value = value ? value + 1 : NULL;
    if (CONFIG_IS("rate"))
        return config_rate(c, word, value);
    if (CONFIG_IS("inflight"))
        return config_count(c, word, value, LIMIT_IN_FLIGHT);
    if (CONFIG_IS("connections"))
        return config_count(c, word, value, LIMIT_CONNECTIONS);
    if (CONFIG_IS("bandwidth"))
        return config_bandwidth(c, word, value);
    if (CONFIG_IS("by"))
        return config_by(c, word, value);
    if (CONFIG_IS("key"))
        return config_expr(c, word, value, &c->l->key, AP_EXPR_FLAG_STRING_RESULT);
    if (CONFIG_IS("when"))
        return config_expr(c, word, value, &c->l->when, AP_EXPR_FLAG_DONT_VARY);
    if (CONFIG_IS("burst"))
        return config_burst(c, word, value);
    if (CONFIG_IS("delay"))
        return config_delay(c, word, value);
    if (CONFIG_IS("excess"))
        return config_excess(c, word, value);
    if (CONFIG_IS("status"))
        return config_status(c, word, value);
#undef CONFIG_IS
    return config_error(c, word,
                        "is not known: rate=, inflight=, connections=, bandwidth=, by=, "
                        "key=, when=, burst=, delay=, excess=, status=, dry-run");
}

/* ---- a whole line ---- */

static const char *config_fits(const config_line *c)
{
    const limit *l = c->l;

    if (l->measure == LIMIT_NONE)
        return "wants one of rate=, inflight=, connections=, bandwidth=, or the word off";
    if (l->measure != LIMIT_RATE && l->excess == LIMIT_DELAYS)
        return "only requests of a rate are delayed";
    if (l->excess == LIMIT_DELAYS && l->what == LIMIT_USER)
        return "requests are delayed before their user is known: by=user cannot have excess=delay";
    if (c->burst >= 0 && l->measure != LIMIT_RATE && l->measure != LIMIT_BANDWIDTH)
        return "burst= belongs to rate= and bandwidth=";
    if (l->measure != LIMIT_CONNECTIONS)
        return NULL;
    if (l->path)
        return "connections= is for servers, not for sections";
    if (l->what != LIMIT_NOTHING || l->by_host || l->by_path || l->key || l->when)
        return "connections are counted before a request: by=client, prefix, as, route or all";
    return NULL;
}

static const char *config_rate_terms(const config_line *c)
{
    limit *l = c->l;
    const uint64_t burst = c->burst > 0 ? (uint64_t)c->burst : 0,
                   free = c->delay > 0 ? (uint64_t)c->delay : 0;

    l->each = c->per * SECOND / c->number;
    l->each += !l->each;
    if (burst > CONFIG_AHEAD_MOST / l->each)
        return "burst= is more than the rate allows in 73 years";
    l->burst = burst * l->each;
    l->undelayed = (free < burst ? free : burst) * l->each;
    l->quota = c->number;
    l->window = c->per;
    return NULL;
}

static const char *config_terms(const config_line *c)
{
    limit *l = c->l;

    l->most = c->number;
    if (l->measure == LIMIT_RATE)
        return config_rate_terms(c);
    if (l->measure == LIMIT_BANDWIDTH) {
        const uint64_t rate = c->number,
                       least = rate > CONFIG_BODY_LEAST ? rate : CONFIG_BODY_LEAST;

        l->each = (SECOND << 20) / rate; /* fits: 2^50 */
        l->most = c->burst > 0 ? (uint64_t)c->burst : least;
        l->burst = limit_cost(l, (apr_off_t)l->most);
    }
    return NULL;
}

/* 1 if @a a stands in the way of @a b of an outer place: it has the same name. */
static int config_hides(const limit_conf *conf, const char *name)
{
    for (int i = 0; conf->list && i < conf->list->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(conf->list, i, const limit *)->name, name))
            return 1;
    return 0;
}

static const char *config_add(cmd_parms *cmd, limit_conf *conf, limit *l)
{
    if (config_hides(conf, l->name))
        return apr_psprintf(cmd->pool, "RequestLimit %s: the name is taken here", l->name);
    if (!conf->list)
        conf->list = apr_array_make(cmd->pool, 2, sizeof(limit *));
    APR_ARRAY_PUSH(conf->list, limit *) = l;
    if (l->is_off)
        return NULL;
    if (!limit_all)
        limit_all = apr_array_make(cmd->pool, 4, sizeof(limit *));
    if (limit_all->nelts == LIMIT_ROWS)
        return apr_psprintf(cmd->pool, "RequestLimit: there may be %d of them", LIMIT_ROWS);
    APR_ARRAY_PUSH(limit_all, limit *) = l;
    return NULL;
}

static const char *config_name(cmd_parms *cmd, const char *name)
{
    size_t len = strlen(name);

    for (const char *s = name; *s; s++)
        if (!apr_isalnum(*s) && !strchr("-_.", *s))
            len = 0;
    return len && len < LIMIT_NAME_ROOM
               ? NULL
               : apr_psprintf(
                     cmd->pool,
                     "RequestLimit: %s is no name: letters, digits, '-', '_', '.', at most %d",
                     name, LIMIT_NAME_ROOM - 1);
}

/* What <Location> names, if it stands in no other section. */
static const char *config_location(const cmd_parms *cmd)
{
    const ap_directive_t *section = cmd->directive ? cmd->directive->parent : NULL;

    return section && !strcasecmp(section->directive, "<Location") && cmd->path &&
                   cmd->path[0] == '/' && !ap_is_matchexp(cmd->path)
               ? cmd->path
               : NULL;
}

static const char *config_limit(cmd_parms *cmd, void *dir, const char *args)
{
    limit *l = apr_pcalloc(cmd->pool, sizeof *l);
    config_line c = {.cmd = cmd, .l = l, .burst = -1, .delay = -1};
    limit_conf *conf =
        cmd->path ? dir : ap_get_module_config(cmd->server->module_config, &limit_module);
    const char *err, *word;

    l->name = ap_getword_conf(cmd->pool, &args);
    l->server = cmd->server;
    l->path = cmd->path;
    l->location = config_location(cmd);
    l->status = HTTP_TOO_MANY_REQUESTS;
    err = config_name(cmd, l->name);
    if (!err && !ap_cstr_casecmp(args, "off")) {
        l->is_off = 1;
        return config_add(cmd, conf, l);
    }
    while (!err && *(word = ap_getword_conf(cmd->pool, &args)))
        err = config_word(&c, word);
    if (!err && ((err = config_fits(&c)) != NULL || (err = config_terms(&c)) != NULL))
        err = apr_psprintf(cmd->pool, "RequestLimit %s: %s", l->name, err);
    if (err)
        return err;
    if (!c.has_by && !l->key)
        l->who = LIMIT_CLIENT;
    l->key_of_head = l->key && expr_depends(l->key) && expr_is_of_head(l->key);
    l->when_of_head = l->when && expr_depends(l->when) && expr_is_of_head(l->when);
    return config_add(cmd, conf, l);
}

static const char *config_keys(cmd_parms *cmd, void *dummy, const char *value)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n = 0;
    const char *end = config_number(value, LIMIT_KEYS_LEAST, &n);

    if (err)
        return err;
    if (!end || *end || n > 1 << 26)
        return "RequestLimitKeys wants a number from 1024 to 67108864";
    limit_keys = (int)n;
    return NULL;
}

const command_rec limit_directives[] = {
    AP_INIT_RAW_ARGS("RequestLimit", config_limit, NULL, RSRC_CONF | ACCESS_CONF,
                     "a name, and how many requests, connections or bytes of whom there may be"),
    AP_INIT_TAKE1("RequestLimitKeys", config_keys, NULL, RSRC_CONF,
                  "how many clients, users, ... limits keep in memory at the same time"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

/* ---- configurations ---- */

void *limit_conf_create(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(limit_conf));
}

void *limit_dir_create(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(limit_conf));
}

/* All of the outer place, but those whose names the inner one has again. */
void *limit_conf_merge(apr_pool_t *p, void *basev, void *addv)
{
    const limit_conf *base = basev, *add = addv;
    limit_conf *conf = apr_pcalloc(p, sizeof *conf);

    if (!base->list || !add->list) {
        conf->list = base->list ? base->list : add->list;
        return conf;
    }
    conf->list = apr_array_copy(p, add->list);
    for (int i = 0; i < base->list->nelts; i++) {
        limit *l = APR_ARRAY_IDX(base->list, i, limit *);

        if (!config_hides(add, l->name))
            APR_ARRAY_PUSH(conf->list, limit *) = l;
    }
    BRG_ASSERT(conf->list->nelts >= add->list->nelts);
    return conf;
}
