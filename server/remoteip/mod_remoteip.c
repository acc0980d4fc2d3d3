/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in remoteip module: directives and hooks. It has the directives of Apache's mod_remoteip.
 *
 * A connection whose proxy told of its client by the PROXY protocol has that client's address for all its requests; their
 * request field is not looked at. The connection's own peer (%{c}a) stays the proxy.
 */
#include "remoteip_private.h"
#include "connection.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include <string.h>

APLOG_USE_MODULE(remoteip);

/* The client of a connection that a proxy told of, in its conn_config. */
typedef struct remoteip_client {
    apr_sockaddr_t *address;
    char *ip;
} remoteip_client;

/* Of the configuration that is read, or in force. */
static apr_array_header_t *remoteip_exceptions;

/* ---- hooks ---- */

static int remoteip_pre_connection(conn_rec *c, void *csd)
{
    brg_conn *bc = c->master ? NULL : connection_of(c);
    remoteip_client *client;

    if (c->master)
        ap_set_module_config(c->conn_config, &remoteip_module,
                             ap_get_module_config(c->master->conn_config, &remoteip_module));
    if (!bc || !bc->peer)
        return DECLINED;
    client = apr_palloc(c->pool, sizeof *client);
    client->address = bc->peer->family ? conn_sockaddr(c->pool, bc->peer->family, bc->peer->address,
                                                       bc->peer->port)
                                       : c->client_addr;
    client->ip = bc->peer->family ? apr_pstrdup(c->pool, bc->peer->ip) : c->client_ip;
    ap_set_module_config(c->conn_config, &remoteip_module, client);
    return OK;
}

static int remoteip_post_read(request_rec *r)
{
    const remoteip_conf *conf = remoteip_conf_of(r->server);
    const remoteip_client *client =
        ap_get_module_config(r->connection->conn_config, &remoteip_module);

    if (client) {
        BRG_ASSERT(client->address && client->ip);
        r->useragent_addr = client->address;
        r->useragent_ip = client->ip;
        return OK;
    }
    if (!conf->field)
        return DECLINED;
    remoteip_forwarded(r, conf);
    return OK;
}

/* An answer from memory is logged without a request_rec, unless its client may be another one than the connection's. */
static int remoteip_is_plain(const brg_transaction *a)
{
    const char *field = remoteip_conf_of(a->server)->field;
    unsigned from = 0;

    return !field || !brg_transaction_request_field(a, field, strlen(field), &from).at;
}

/* ---- which addresses expect the header ---- */

static int remoteip_share_address(const server_rec *s, const server_rec *other)
{
    for (const server_addr_rec *a = s->addrs; a; a = a->next)
        for (const server_addr_rec *b = other->addrs; b; b = b->next)
            if (a->host_port == b->host_port && apr_sockaddr_equal(a->host_addr, b->host_addr))
                return 1;
    return 0;
}

/* The header comes before a name is known: the setting of one host of an address holds for all of
 * them. */
static void remoteip_settle(server_rec *s, server_rec *all)
{
    const remoteip_conf *of = remoteip_conf_of(s);

    BRG_ASSERT(s->is_virtual && of->own >= 0);
    for (server_rec *o = all; o; o = o->next) {
        remoteip_conf *other = ap_get_module_config(o->module_config, &remoteip_module);

        if (o == s || !o->is_virtual || other->own == of->own || !remoteip_share_address(s, o))
            continue;
        if (other->own >= 0)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "RemoteIPProxyProtocol: virtual hosts of one address disagree (%s:%u, "
                         "%s:%u); it is on for all",
                         s->defn_name, s->defn_line_number, o->defn_name, o->defn_line_number);
        other->expects = other->own == 1 ? 1 : of->own;
    }
}

static apr_status_t remoteip_forget(void *unused)
{
    proxy_expect(0, NULL);
    remoteip_exceptions = NULL;
    return APR_SUCCESS;
}

static int remoteip_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                                server_rec *main_server)
{
    int on = 0, fields = 0;

    for (int own = 0; own <= 1; own++)
        for (server_rec *s = main_server; s; s = s->next)
            if (s->is_virtual && remoteip_conf_of(s)->own == own)
                remoteip_settle(s, main_server);
    for (server_rec *s = main_server; s; s = s->next) {
        on |= remoteip_conf_of(s)->expects == 1;
        fields |= remoteip_conf_of(s)->field != NULL;
    }
    apr_pool_cleanup_register(pconf, NULL, remoteip_forget, apr_pool_cleanup_null);
    proxy_expect(on, remoteip_exceptions);
    if (on || fields)
        brg_transaction_observe(&remoteip_module, remoteip_is_plain);
    return OK;
}

/* ---- configuration ---- */

static void *remoteip_create(apr_pool_t *p, server_rec *s)
{
    remoteip_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->own = conf->expects = -1;
    return conf;
}

static void *remoteip_merge(apr_pool_t *p, void *basev, void *addv)
{
    const remoteip_conf *base = basev, *add = addv;
    remoteip_conf *conf = apr_pmemdup(p, add, sizeof *add);

    conf->field = add->field ? add->field : base->field;
    conf->proxies_field = add->proxies_field ? add->proxies_field : base->proxies_field;
    conf->proxies = add->proxies ? add->proxies : base->proxies;
    conf->expects = add->expects >= 0 ? add->expects : base->expects;
    return conf;
}

static remoteip_conf *remoteip_conf_for(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &remoteip_module);
}

static void remoteip_push(apr_array_header_t **list, apr_pool_t *p, apr_ipsubnet_t *net,
                          int internal)
{
    if (!*list)
        *list = apr_array_make(p, 4, sizeof(remoteip_proxy));
    BRG_ASSERT((*list)->elt_size == (int)sizeof(remoteip_proxy) && net);
    APR_ARRAY_PUSH(*list, remoteip_proxy) = (remoteip_proxy){net, internal};
}

/* The addresses that a name has now. */
static const char *remoteip_add_name(cmd_parms *cmd, apr_array_header_t **list, const char *name,
                                     int internal)
{
    apr_sockaddr_t *address;
    apr_ipsubnet_t *net;
    char *ip;
    apr_status_t rv = apr_sockaddr_info_get(&address, name, APR_UNSPEC, 0, 0, cmd->temp_pool);

    for (; rv == APR_SUCCESS && address; address = address->next)
        if ((rv = apr_sockaddr_ip_get(&ip, address)) == APR_SUCCESS &&
            (rv = apr_ipsubnet_create(&net, ip, NULL, cmd->pool)) == APR_SUCCESS)
            remoteip_push(list, cmd->pool, net, internal);
    return rv == APR_SUCCESS
               ? NULL
               : apr_psprintf(cmd->pool,
                              "%s: %s is no address, no network and no name that is known: %pm",
                              cmd->cmd->name, name, &rv);
}

static const char *remoteip_add(cmd_parms *cmd, apr_array_header_t **list, const char *word,
                                int internal)
{
    char *address = apr_pstrdup(cmd->temp_pool, word), *mask = strchr(address, '/');
    apr_ipsubnet_t *net;

    if (!mask && word[strspn(word, "0123456789abcdefABCDEF.:")])
        return remoteip_add_name(cmd, list, word, internal);
    if (mask)
        *mask++ = '\0';
    if (apr_ipsubnet_create(&net, address, mask, cmd->pool) != APR_SUCCESS)
        return apr_psprintf(cmd->pool,
                            "%s: %s is no address, and no network such as 10.0.0.0/8 or fd00::/8",
                            cmd->cmd->name, word);
    remoteip_push(list, cmd->pool, net, internal);
    return NULL;
}

static const char remoteip_is_internal;

static const char *remoteip_cmd_proxy(cmd_parms *cmd, void *dummy, const char *word)
{
    return remoteip_add(cmd, &remoteip_conf_for(cmd)->proxies, word,
                        cmd->info == &remoteip_is_internal);
}

static const char *remoteip_cmd_list(cmd_parms *cmd, void *dummy, const char *name)
{
    const char *path = ap_server_root_relative(cmd->temp_pool, name), *err = NULL, *at;
    char line[MAX_STRING_LEN], *word;
    ap_configfile_t *file;
    apr_status_t rv = path ? ap_pcfg_openfile(&file, cmd->temp_pool, path) : APR_EBADPATH;

    if (rv != APR_SUCCESS)
        return apr_psprintf(cmd->pool, "%s: cannot open %s: %pm", cmd->cmd->name, name, &rv);
    while (!err && ap_cfg_getline(line, sizeof line, file) == APR_SUCCESS)
        for (at = line; !err && *(word = ap_getword_conf(cmd->temp_pool, &at)) && *word != '#';)
            err = remoteip_add(cmd, &remoteip_conf_for(cmd)->proxies, word,
                               cmd->info == &remoteip_is_internal);
    if (err)
        err = apr_psprintf(cmd->pool, "%s (line %u of %s)", err, file->line_number, path);
    ap_cfg_closefile(file);
    return err;
}

static const char *remoteip_cmd_field(cmd_parms *cmd, void *dummy, const char *name)
{
    remoteip_conf_for(cmd)->field = name;
    brg_cache_changes_field(&remoteip_module, cmd->pool, name);
    return NULL;
}

static const char *remoteip_cmd_proxies_field(cmd_parms *cmd, void *dummy, const char *name)
{
    remoteip_conf_for(cmd)->proxies_field = name;
    brg_cache_changes_field(&remoteip_module, cmd->pool, name);
    return NULL;
}

static const char *remoteip_cmd_expect(cmd_parms *cmd, void *dummy, int flag)
{
    remoteip_conf *conf = remoteip_conf_for(cmd);

    conf->own = conf->expects = flag;
    return NULL;
}

static const char *remoteip_cmd_except(cmd_parms *cmd, void *dummy, const char *word)
{
    return remoteip_add(cmd, &remoteip_exceptions, word, 0);
}

static const command_rec remoteip_directives[] = {
    AP_INIT_TAKE1("RemoteIPHeader", remoteip_cmd_field, NULL, RSRC_CONF,
                  "the request field that has the client's address, such as X-Forwarded-For"),
    AP_INIT_TAKE1("RemoteIPProxiesHeader", remoteip_cmd_proxies_field, NULL, RSRC_CONF,
                  "a request field to record the trusted proxies in, such as X-Forwarded-By"),
    AP_INIT_ITERATE("RemoteIPTrustedProxy", remoteip_cmd_proxy, NULL, RSRC_CONF,
                    "proxies outside whose field is believed: addresses, networks, names"),
    AP_INIT_ITERATE("RemoteIPInternalProxy", remoteip_cmd_proxy,
                    (void *)(uintptr_t)&remoteip_is_internal, RSRC_CONF,
                    "proxies inside, which may name private addresses: addresses, networks, names"),
    AP_INIT_TAKE1("RemoteIPTrustedProxyList", remoteip_cmd_list, NULL, RSRC_CONF,
                  "a file that lists proxies outside"),
    AP_INIT_TAKE1("RemoteIPInternalProxyList", remoteip_cmd_list,
                  (void *)(uintptr_t)&remoteip_is_internal, RSRC_CONF,
                  "a file that lists proxies inside"),
    AP_INIT_FLAG("RemoteIPProxyProtocol", remoteip_cmd_expect, NULL, RSRC_CONF,
                 "whether connections begin with a header of the PROXY protocol, version 1 or 2"),
    AP_INIT_ITERATE("RemoteIPProxyProtocolExceptions", remoteip_cmd_except, NULL, RSRC_CONF,
                    "clients whose connections begin without one: addresses, networks, names"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

static void remoteip_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_connection(remoteip_pre_connection, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(remoteip_post_read, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_post_config(remoteip_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&remoteip_module, NULL);
    brg_hooks_need_directive(&remoteip_module, "post_read_request", NULL, BRG_HOOKS_EVERYWHERE);
}

module AP_MODULE_DECLARE_DATA remoteip_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, remoteip_create, remoteip_merge, remoteip_directives,
    remoteip_register_hooks, 0,
};
