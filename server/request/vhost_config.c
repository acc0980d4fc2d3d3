/* SPDX-License-Identifier: Apache-2.0 */
/* <VirtualHost> in the configuration: addresses, ports, and names of servers without ServerName. */
#include "vhosts.h"
#include "http_config.h"
#include "http_log.h"
#include "http_vhost.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <netdb.h>

APLOG_USE_MODULE(core);

AP_DECLARE(void) ap_init_vhost_config(apr_pool_t *p)
{
}

/* ---- <VirtualHost addresses> ---- */

static int vhost_is_any(const char *host)
{
    return !strcmp(host, "*") || !strcasecmp(host, "_default_") || !strcmp(host, "255.255.255.255");
}

/* One address; a name may stand for several. *link is moved behind the added ones. */
static const char *vhost_parse_addr(apr_pool_t *p, const char *word, server_addr_rec ***link,
                                    apr_port_t default_port)
{
    apr_size_t len = strlen(word);
    int wild_port = len > 2 && !strcmp(word + len - 2, ":*");
    char *host, *scope;
    apr_port_t port;
    apr_sockaddr_t *sa;
    apr_status_t rv;

    BRG_ASSERT(**link == NULL);
    rv = apr_parse_addr_port(&host, &scope, &port,
                             wild_port ? apr_pstrmemdup(p, word, len - 2) : word, p);
    if (rv != APR_SUCCESS)
        return "The address or port is invalid";
    if (!host)
        return "Missing address for VirtualHost";
    if (!port && !wild_port)
        port = default_port;
    if (scope)
        host = apr_pstrcat(p, host, "%", scope, NULL);
    rv = apr_sockaddr_info_get(&sa, vhost_is_any(host) ? NULL : host, APR_UNSPEC, port, 0, p);
    if (rv != APR_SUCCESS && vhost_is_any(host))
        return "Could not determine a wildcard address ('0.0.0.0') -- check resolver configuration";
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, NULL,
                     APLOGNO(00547) "Could not resolve host name %s -- ignoring!", host);
        return NULL;
    }
    for (; sa; sa = sa->next) {
        server_addr_rec *sar = apr_pcalloc(p, sizeof *sar);

        sar->virthost = host;
        sar->host_addr = sa;
        sar->host_port = port;
        **link = sar;
        *link = &sar->next;
        if (apr_sockaddr_is_wildcard(sa))
            break; /* the other family's form of it means the same */
    }
    return NULL;
}

const char *ap_parse_vhost_addrs(apr_pool_t *p, const char *hostname, server_rec *s)
{
    server_addr_rec **link = &s->addrs;

    *link = NULL;
    while (*hostname) {
        const char *err = vhost_parse_addr(p, ap_getword_conf(p, &hostname), &link, s->port);

        if (err) {
            s->addrs = NULL;
            return err;
        }
    }
    if (s->addrs && s->addrs->host_port)
        s->port = s->addrs->host_port; /* goes before the main server's */
    return NULL;
}

/* Said of the first line of a configuration alone. */
AP_DECLARE_NONSTD(const char *)
ap_set_name_virtual_host(cmd_parms *cmd, void *dummy, const char *arg)
{
    static const char key[] = "NameVirtualHost was met";
    void *met = NULL;

    apr_pool_userdata_get(&met, key, cmd->pool);
    if (met)
        return NULL;
    apr_pool_userdata_setn(key, key, NULL, cmd->pool);
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, NULL,
                 APLOGNO(00548) "NameVirtualHost has no effect and will be removed in the next "
                                "release %s:%d",
                 cmd->directive->filename, cmd->directive->line_num);
    return NULL;
}

/* ---- after the configuration was read ---- */

static void vhost_find_name(apr_pool_t *p, server_rec *s, const server_rec *main_server)
{
    char *name;
    apr_status_t rv;

    if (!s->addrs || apr_sockaddr_is_wildcard(s->addrs->host_addr)) {
        s->server_hostname = main_server->server_hostname;
        return;
    }
    rv = apr_getnameinfo(&name, s->addrs->host_addr, NI_NAMEREQD /* APR hands it on */);
    if (rv == APR_SUCCESS) {
        s->server_hostname = apr_pstrdup(p, name);
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, rv, main_server,
                 APLOGNO(00549) "Failed to resolve server name for %pI (check DNS) -- or specify "
                                "an explicit ServerName",
                 s->addrs->host_addr);
    s->server_hostname = apr_pstrdup(p, "bogus_host_without_reverse_dns");
}

AP_DECLARE(void) ap_fini_vhost_config(apr_pool_t *p, server_rec *main_server)
{
    if (!main_server->server_hostname)
        main_server->server_hostname = ap_get_local_host(p);
    for (server_rec *s = main_server->next; s; s = s->next)
        if (!s->server_hostname)
            vhost_find_name(p, s, main_server);
    vhost_tables_build(p, main_server);
    if (ap_exists_config_define("DUMP_VHOSTS")) {
        apr_file_t *out;

        if (apr_file_open_stdout(&out, p) == APR_SUCCESS)
            vhost_dump(out);
    }
}
