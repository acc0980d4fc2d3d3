/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which protocol a connection speaks, which it may change to, and the change by an Upgrade field
 * (RFC 9110 section 7.8).
 */
#include "http_error.h"
#include "connection.h"
#include "core_settings.h"
#include "request_context.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(core);

APR_HOOK_STRUCT(APR_HOOK_LINK(protocol_propose) APR_HOOK_LINK(protocol_switch)
                    APR_HOOK_LINK(protocol_get))

AP_IMPLEMENT_HOOK_RUN_ALL(int, protocol_propose,
                          (conn_rec * c, request_rec *r, server_rec *s,
                           const apr_array_header_t *offers, apr_array_header_t *proposals),
                          (c, r, s, offers, proposals), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, protocol_switch,
                            (conn_rec * c, request_rec *r, server_rec *s, const char *protocol),
                            (c, r, s, protocol), DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(const char *, protocol_get, (const conn_rec *c), (c), NULL)

static server_rec *protocol_server(conn_rec *c, request_rec *r, server_rec *s)
{
    BRG_ASSERT(s || r || (c && c->base_server)); /* mod_md asks for a server alone */
    return s ? s : r ? r->server : c->base_server;
}

/* Place in a list, by preference; -1 if it is not in it. */
static int protocol_index(const apr_array_header_t *list, const char *protocol)
{
    for (int i = 0; list && i < list->nelts; i++)
        if (!strcmp(((const char *const *)list->elts)[i], protocol))
            return i;
    return -1;
}

AP_DECLARE(const char *) ap_get_protocol(conn_rec *c)
{
    const char *protocol = ap_run_protocol_get(c);

    return protocol ? protocol : AP_PROTOCOL_HTTP1;
}

AP_DECLARE(int)
ap_is_allowed_protocol(conn_rec *c, request_rec *r, server_rec *s, const char *protocol)
{
    const core_server_config *conf = core_server_conf_of(protocol_server(c, r, s));

    if (conf->protocols->nelts > 0)
        return protocol_index(conf->protocols, protocol) >= 0;
    return strcmp(AP_PROTOCOL_HTTP1, protocol) == 0;
}

AP_DECLARE(apr_status_t)
ap_get_protocol_upgrades(conn_rec *c, request_rec *r, server_rec *s, int report_all,
                         const apr_array_header_t **pupgrades)
{
    const core_server_config *conf = core_server_conf_of(protocol_server(c, r, s));
    apr_pool_t *pool = r ? r->pool : c->pool;
    apr_array_header_t *upgrades = NULL;
    const char *current = conf->protocols->nelts ? ap_get_protocol(c) : NULL;

    for (int i = 0; i < conf->protocols->nelts; i++) {
        const char *protocol = ((const char *const *)conf->protocols->elts)[i];

        if (strcmp(protocol, current) == 0) {
            if (!report_all)
                break;
            continue;
        }
        if (!upgrades)
            upgrades = apr_array_make(pool, conf->protocols->nelts, sizeof(char *));
        *(const char **)apr_array_push(upgrades) = protocol;
    }
    *pupgrades = upgrades;
    return APR_SUCCESS;
}

/* Is a to be preferred over b? The server's order, or the client's where the server does not
 * insist. */
static int protocol_better(const core_server_config *conf, const apr_array_header_t *choices,
                           const char *a, const char *b)
{
    const apr_array_header_t *order =
        conf->protocols_honor_order == 0 && choices ? choices : conf->protocols;
    const int at = protocol_index(order, a), bt = protocol_index(order, b);

    return at >= 0 && (bt < 0 || at < bt);
}

AP_DECLARE(const char *)
ap_select_protocol(conn_rec *c, request_rec *r, server_rec *s, const apr_array_header_t *choices)
{
    apr_pool_t *pool = r ? r->pool : c->pool;
    const char *current = ap_get_protocol(c), *best = NULL;
    apr_array_header_t *proposals;
    const core_server_config *conf;

    s = protocol_server(c, r, s);
    conf = core_server_conf_of(s);
    if (APLOG_C_IS_LEVEL(c, APLOG_TRACE1)) {
        ap_log_cerror(APLOG_MARK, APLOG_TRACE1, 0, c,
                      "select protocol, now %s, choices=%s for server %s", current,
                      choices ? apr_array_pstrcat(pool, choices, ',') : "(any)",
                      s->server_hostname ? s->server_hostname : "");
    }
    proposals = apr_array_make(pool, (choices ? choices->nelts : 0) + 1, sizeof(char *));
    if (ap_run_protocol_propose(c, r, s, choices, proposals) > OK)
        return NULL;
    /* The protocol that is spoken already needs nobody to propose it. */
    if ((!choices || protocol_index(choices, current) >= 0) &&
        protocol_index(proposals, current) < 0 && (proposals->nelts || choices))
        *(const char **)apr_array_push(proposals) = current;
    for (int i = 0; i < proposals->nelts; i++) {
        const char *proposal = ((const char *const *)proposals->elts)[i];

        if (ap_is_allowed_protocol(c, r, s, proposal) &&
            (!best || protocol_better(conf, choices, proposal, best)))
            best = proposal;
    }
    return best;
}

AP_DECLARE(apr_status_t)
ap_switch_protocol(conn_rec *c, request_rec *r, server_rec *s, const char *protocol)
{
    const char *current = ap_get_protocol(c);
    int rc;

    if (!strcmp(current, protocol)) {
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, c,
                      APLOGNO(02906) "already at it, protocol_switch to %s", protocol);
        return APR_EINVAL;
    }
    rc = ap_run_protocol_switch(c, r, s, protocol);
    switch (rc) {
    case DECLINED:
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c,
                      APLOGNO(02907) "no implementation for protocol_switch to %s", protocol);
        return APR_ENOTIMPL;
    case OK:
    case DONE:
        return APR_SUCCESS;
    default:
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c,
                      APLOGNO(02905) "unexpected return code %d from protocol_switch to %s", rc,
                      protocol);
        return APR_EOF;
    }
}

/* ---- Upgrade ---- */

/* Those that are better than HTTP/1.1, without one that no connection of TCP can change to: Alt-Svc tells of that. */
void http_upgrade_compose(apr_pool_t *p, server_rec *s)
{
    for (; s; s = s->next) {
        const apr_array_header_t *all = core_server_conf_of(s)->protocols;
        const int http1 = protocol_index(all, AP_PROTOCOL_HTTP1);
        apr_array_header_t *before = apr_array_make(p, all->nelts, sizeof(char *));

        for (int i = 0; i < (http1 >= 0 ? http1 : all->nelts); i++)
            if (strcmp(APR_ARRAY_IDX(all, i, const char *), "h3") != 0)
                APR_ARRAY_PUSH(before, const char *) = APR_ARRAY_IDX(all, i, const char *);
        core_conf_writable(s)->upgrade = before->nelts ? apr_array_pstrcat(p, before, ',') : NULL;
    }
}

const char *http_upgrade_of(const request_rec *r)
{
    /* A stream of HTTP/2 cannot be upgraded (RFC 9113 section 8.6). */
    return r->main || r->connection->master ? NULL : core_conf_of(r->server)->upgrade;
}

/* Of a connection in which no module takes part its driver knows. */
static int upgrade_is_of_http1(conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    return bc && !bc->module_driven ? bc->protocol == CONN_HTTP1
                                    : !strcmp(ap_get_protocol(c), AP_PROTOCOL_HTTP1);
}

void http_upgrade_announce(request_rec *r)
{
    const char *upgrade = http_upgrade_of(r);

    BRG_ASSERT(r->headers_out);
    if (!upgrade || !upgrade_is_of_http1(r->connection))
        return;
    request_set_announces(r, 1);
    if (r->connection->keepalives > 0)
        return;
    apr_table_setn(r->headers_out, "Upgrade", upgrade);
    apr_table_setn(r->headers_out, "Connection", "Upgrade");
}

static int upgrade_perform(request_rec *r, const char *protocol)
{
    conn_rec *c = r->connection;

    BRG_ASSERT(!r->main && !r->prev && r->proto_num >= HTTP_VERSION(1, 1));
    r->status = HTTP_SWITCHING_PROTOCOLS;
    r->status_line = ap_get_status_line(r->status);
    apr_table_setn(r->headers_out, "Upgrade", protocol);
    apr_table_setn(r->headers_out, "Connection", "Upgrade");
    ap_send_interim_response(r, 1);
    /* The connection is the other protocol's now, until it is closed. */
    c->keepalive = AP_CONN_CLOSE;
    ap_switch_protocol(c, r, r->server, protocol);
    r->eos_sent = 1;
    r->status = HTTP_SWITCHING_PROTOCOLS;
    return DONE;
}

int http_upgrade_handler(request_rec *r)
{
    conn_rec *c = r->connection;
    const char *offered, *chosen;
    apr_array_header_t *offers = NULL;

    if (core_server_conf_of(r->server)->protocols->nelts == 0 || r->main)
        return DECLINED;
    offered = apr_table_get(r->headers_in, "Upgrade");
    if (offered && *offered && !r->prev && r->proto_num >= HTTP_VERSION(1, 1) &&
        ap_find_token(r->pool, apr_table_get(r->headers_in, "Connection"), "upgrade")) {
        if (ap_parse_token_list_strict(r->pool, offered, &offers, 0))
            return DECLINED; /* a version, say: the connection changes to no protocol that is not understood */
        chosen = offers && offers->nelts ? ap_select_protocol(c, r, NULL, offers) : NULL;
        if (chosen && strcmp(chosen, ap_get_protocol(c)) != 0)
            return upgrade_perform(r, chosen);
    } else {
        http_upgrade_announce(r);
    }
    return DECLINED;
}
