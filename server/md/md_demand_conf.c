/* SPDX-License-Identifier: Apache-2.0 */
/* MDOnDemand, MDOnDemandLimits, and which servers have names on demand. */
#include "md_demand.h"
#include "md_directives_private.h"
#include "md_head.h"
#include "tls_conf.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/vhost_alias.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(md);

#define DEMAND_NAMES_MOST 100000
#define DEMAND_RATE_MOST 1000000
#define DEMAND_WAIT_MOST 60

md_demand_limits md_demand_limit;
apr_array_header_t *md_demands;

void md_demand_reset(apr_pool_t *p)
{
    md_demand_limit = (md_demand_limits){
        .names = 1000, .rate = 60, .rate_seconds = 3600, .wait = apr_time_from_sec(10)};
    md_demands = apr_array_make(p, 2, sizeof(md_demand *));
}

int md_demand_name_is_sane(const char *name)
{
    const size_t len = strlen(name);

    return len > 2 && len < MD_DEMAND_NAME && strchr(name, '.') && name[len - 1] != '.' &&
           *name != '.' && *name != '-' && !strstr(name, "..") && !md_name_is_address(name) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-._") == len;
}

/* ---- directives ---- */

static const char *demand_expr(cmd_parms *cmd, md_demand *demand)
{
    const char *error = NULL;

    demand->kind = MD_ASK_EXPR;
    demand->expr = ap_expr_parse_cmd(cmd, demand->text, AP_EXPR_FLAG_DONT_VARY, &error, NULL);
    return error ? apr_psprintf(cmd->pool, "MDOnDemand: cannot parse the expression \"%s\": %s",
                                demand->text, error)
                 : NULL;
}

static const char *demand_url(cmd_parms *cmd, md_demand *demand)
{
    md_url url;

    demand->kind = MD_ASK_URL;
    return md_url_read(cmd->pool, demand->text, &url) || strchr(demand->text, '#')
               ? apr_psprintf(cmd->pool, "MDOnDemand: \"%s\" is no URL of http or https",
                              demand->text)
               : NULL;
}

static const char *demand_read(cmd_parms *cmd, md_demand *demand, const char *word)
{
    const char *value = ap_strchr_c(word, '=');
    const size_t len = value ? (size_t)(value - word) : strlen(word);

    demand->text = value ? value + 1 : NULL;
    if (len == 6 && !strncasecmp(word, "folder", 6) && (!value || *demand->text == '/'))
        return NULL;
    if (value && len == 3 && !strncasecmp(word, "url", 3))
        return demand_url(cmd, demand);
    if (value && len == 4 && !strncasecmp(word, "expr", 4))
        return demand_expr(cmd, demand);
    return "MDOnDemand takes folder, folder=/FORMAT, url=URL or \"expr=EXPRESSION\", or Off";
}

const char *md_set_demand(cmd_parms *cmd, void *dummy, const char *word)
{
    const char *error = md_directive_not_inside(cmd);
    md_demand *demand;

    if (!error)
        error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    if (error)
        return error;
    if (!strcasecmp(word, "off")) {
        md_conf_of(cmd->server)->demand = NULL;
        return NULL;
    }
    demand = apr_pcalloc(cmd->pool, sizeof *demand);
    demand->server = cmd->server;
    demand->file = cmd->directive->filename;
    demand->line = cmd->directive->line_num;
    error = demand_read(cmd, demand, word);
    if (!error)
        md_conf_of(cmd->server)->demand = demand;
    return error;
}

/* "60/h" as of RequestLimit. */
static const char *limits_rate(const char *text)
{
    char *end;
    const long n = strtol(text, &end, 10);
    const int seconds = !strcasecmp(end, "/s")   ? 1
                        : !strcasecmp(end, "/m") ? 60
                        : !strcasecmp(end, "/h") ? 3600
                                                 : 0;

    if (end == text || n < 1 || n > DEMAND_RATE_MOST || !seconds)
        return "MDOnDemandLimits: rate= takes a number and /s, /m or /h";
    md_demand_limit.rate = (int)n;
    md_demand_limit.rate_seconds = seconds;
    return NULL;
}

static const char *limits_word(const char *word)
{
    char *end;
    long n;

    if (!strncasecmp(word, "rate=", 5))
        return limits_rate(word + 5);
    if (strncasecmp(word, "names=", 6) != 0 && strncasecmp(word, "wait=", 5) != 0)
        return "MDOnDemandLimits takes names=NUMBER, rate=NUMBER/s|m|h and wait=SECONDS";
    n = strtol(strchr(word, '=') + 1, &end, 10);
    if (*end || end == strchr(word, '=') + 1 || n < 0)
        return "MDOnDemandLimits: names= and wait= take numbers";
    if (*word == 'w' || *word == 'W') {
        if (n > DEMAND_WAIT_MOST)
            return "MDOnDemandLimits: wait= takes at most 60 seconds";
        md_demand_limit.wait = apr_time_from_sec(n);
        return NULL;
    }
    if (n < 1 || n > DEMAND_NAMES_MOST)
        return "MDOnDemandLimits: names= takes 1 to 100000";
    md_demand_limit.names = (int)n;
    return NULL;
}

const char *md_set_demand_limits(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!error && !argc)
        return "MDOnDemandLimits takes names=NUMBER, rate=NUMBER/s|m|h and wait=SECONDS";
    for (int i = 0; i < argc && !error; i++)
        error = limits_word(argv[i]);
    return error;
}

/* ---- servers ---- */

int md_demand_has_pattern(const server_rec *s, const char *name)
{
    return md_conf_of(s)->demand && strpbrk(name, "*?") != NULL;
}

/* Settings of the server's; P-256 keys, which are made and used in no time. */
static md_domain *demand_like(md_demand *demand, apr_pool_t *p)
{
    md_domain *like = apr_pcalloc(p, sizeof *like);
    char *name = apr_pstrdup(p, demand->server->server_hostname);

    ap_str_tolower(name);
    like->name = md_demand_name_is_sane(name) ? name : "default.names.on.demand";
    like->names = apr_array_make(p, 1, sizeof(const char *));
    APR_ARRAY_PUSH(like->names, const char *) = like->name;
    like->own = md_settings_new(p);
    like->own->keys = apr_array_make(p, 1, sizeof(md_key_spec));
    APR_ARRAY_PUSH(like->own->keys, md_key_spec) = (md_key_spec){.curve = "secp256r1"};
    like->own->must_staple = 0;
    like->server = demand->server;
    like->file = demand->file;
    like->line = demand->line;
    like->index = -1;
    like->servers_n = 1;
    like->tls_ports = ap_is_allowed_protocol(NULL, NULL, demand->server, "acme-tls/1");
    md_settings_finish(p, like);
    like->set->mode = MD_AUTO;
    return like;
}

static int demand_has_tls(const server_rec *s)
{
    return ssl_module.module_index >= 0 && tls_conf_of(s)->enabled == 1;
}

/* The server in the clear that AutoHTTPS copied. */
static int demand_is_copied(const md_demand *demand, const server_rec *main_server)
{
    for (const server_rec *s = main_server; s; s = s->next) {
        const md_demand *other = md_conf_of(s)->demand;

        if (other && other->server == s && demand_has_tls(s) && other->line == demand->line &&
            !strcmp(other->file, demand->file))
            return 1;
    }
    return 0;
}

static const char *demand_lacks(const md_demand *demand, apr_pool_t *p)
{
    APR_OPTIONAL_FN_TYPE(brg_vhost_alias_folder) *folder =
        APR_RETRIEVE_OPTIONAL_FN(brg_vhost_alias_folder);

    if (!demand_has_tls(demand->server))
        return "a server with SSLEngine on, by the ssl module that is built in";
    if (demand->kind == MD_ASK_FOLDER && !folder)
        return "mod_vhost_alias";
    if (demand->kind == MD_ASK_FOLDER &&
        !folder(demand->server, demand->text, "www.example.com", 443, p))
        return demand->text ? "a format as VirtualDocumentRoot takes"
                            : "VirtualDocumentRoot in the same server, or folder=/FORMAT";
    return NULL;
}

static int demand_add(md_demand *demand, apr_pool_t *p)
{
    const char *lacks = demand_lacks(demand, p);

    if (lacks) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, demand->server, "%s(line %d): MDOnDemand needs %s",
                     demand->file, demand->line, lacks);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    demand->like = demand_like(demand, p);
    demand->number = (unsigned)md_demands->nelts;
    APR_ARRAY_PUSH(md_demands, md_demand *) = demand;
    return OK;
}

int md_demand_assign(apr_pool_t *p, server_rec *main_server)
{
    int status = OK;

    BRG_ASSERT(md_demands && !md_demands->nelts);
    for (server_rec *s = main_server; s && status == OK; s = s->next) {
        md_demand *demand = md_conf_of(s)->demand;

        if (!demand || demand->server != s)
            continue;
        if (demand_has_tls(s) || !demand_is_copied(demand, main_server))
            status = demand_add(demand, p);
    }
    return status;
}
