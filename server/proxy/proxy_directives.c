/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that set a value of a server or of a directory. */
#include "proxy_private.h"
#include "configuration.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_log.h"
#include "proxy_commands_private.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

void *proxy_of_server(const cmd_parms *cmd)
{
    return proxy_conf_of(cmd->server);
}

static proxy_server_conf *conf_of(const cmd_parms *cmd)
{
    return proxy_conf_of(cmd->server);
}

/* A word of a list. @return its place, or -1 */
static int word_of(const char *arg, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcasecmp(arg, words[i]))
            return i;
    return -1;
}

const char *proxy_via_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    static const char *const words[] = {"off", "on", "block", "full", NULL};
    const int n = word_of(arg, words);

    if (n < 0)
        return "ProxyVia must be one of: off | on | full | block";
    conf_of(cmd)->settings.via = (proxy_via)n;
    conf_of(cmd)->via_set = 1;
    return NULL;
}

const char *proxy_bad_header_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    static const char *const words[] = {"IsError", "Ignore", "StartBody", NULL};
    const int n = word_of(arg, words);

    if (n < 0)
        return "ProxyBadHeader must be one of: IsError | Ignore | StartBody";
    conf_of(cmd)->settings.bad_field = (proxy_bad_field)n;
    conf_of(cmd)->bad_set = 1;
    return NULL;
}

/* Seconds; text behind the digits is left out of account, as in Apache: "5ms" are five seconds. */
const char *proxy_timeout_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    const long n = strtol(arg, NULL, 10);

    if (n < 1 || n > INT_MAX)
        return "Proxy Timeout must be at least 1 second.";
    conf_of(cmd)->settings.timeout = apr_time_from_sec(n);
    return NULL;
}

static long buffer_size(const char *arg)
{
    const long n = strtol(arg, NULL, 10);

    return n < 512 && n ? -1 : n;
}

const char *proxy_receive_buffer_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    const long n = buffer_size(arg);

    if (n < 0 || n > INT_MAX)
        return "ProxyReceiveBufferSize must be >= 512 bytes, or 0 for system default.";
    conf_of(cmd)->settings.receive_buffer = (apr_size_t)n;
    conf_of(cmd)->receive_set = 1;
    return NULL;
}

const char *proxy_io_buffer_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    const long n = buffer_size(arg);

    if (n < 0)
        return "ProxyIOBufferSize must be >= 512 bytes, or 0 for system default.";
    conf_of(cmd)->settings.io_buffer = n ? (apr_size_t)n : 8192;
    conf_of(cmd)->io_set = 1;
    return NULL;
}

const char *proxy_max_forwards_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    const long n = strtol(arg, NULL, 10);

    conf_of(cmd)->settings.max_forwards = n < 0 ? -1 : n;
    conf_of(cmd)->forwards_set = 1;
    return NULL;
}

const char *proxy_growth_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    const long n = strtol(arg, NULL, 10);

    if (n < 0 || n > 1000)
        return "BalancerGrowth must be between 0 and 1000";
    conf_of(cmd)->growth = (int)n;
    if (n)
        conf_notice_no_effect(cmd, proxy_module.module_index,
                              "balancers are added in the configuration");
    return NULL;
}

const char *proxy_source_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    apr_sockaddr_t *address;

    if (apr_sockaddr_info_get(&address, arg, APR_UNSPEC, 0, 0, cmd->pool) != APR_SUCCESS)
        return "ProxySourceAddress invalid value";
    conf_of(cmd)->settings.source = address;
    return NULL;
}

const char *proxy_domain_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    if (*arg != '.')
        return "ProxyDomain: domain name must start with a dot.";
    conf_of(cmd)->domain = arg;
    return NULL;
}

/* ---- ProxyBlock, NoProxy ---- */

const char *proxy_block_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    proxy_server_conf *conf = conf_of(cmd);
    proxy_block *b;

    for (int i = 0; i < conf->blocks->nelts; i++)
        if (!strcasecmp(arg, APR_ARRAY_IDX(conf->blocks, i, proxy_block).name))
            return NULL;
    b = apr_array_push(conf->blocks);
    b->name = arg;
    b->addresses = NULL;
    /* Without a dot or a colon it is a part of names. A name that has no address today is still one. */
    if (strpbrk(arg, ".:") &&
        apr_sockaddr_info_get(&b->addresses, arg, APR_UNSPEC, 0, 0, cmd->pool) != APR_SUCCESS)
        b->addresses = NULL;
    return NULL;
}

/* "10.", "10.1", "10.1.2.0/24": the bits of parts that are not named, or zero at the end, are free. */
static int direct_bits(const char *arg, unsigned char quad[4])
{
    int parts = 0, last = 0;

    while (apr_isdigit(*arg) && parts < 4) {
        char *end;
        const long n = strtol(arg, &end, 10);

        if (n > 255)
            return -1;
        quad[parts++] = (unsigned char)n;
        if (n)
            last = parts;
        arg = *end == '.' ? end + 1 : end;
    }
    if (*arg == '/') {
        char *end;
        const long bits = strtol(arg + 1, &end, 10);

        return *end || end == arg + 1 || bits < 0 || bits > 32 ? -1 : (int)bits;
    }
    return *arg || !parts ? -1 : 8 * last;
}

static void direct_subnet(cmd_parms *cmd, proxy_direct *d)
{
    unsigned char quad[4] = {0}, net[4];
    const int bits = direct_bits(d->name, quad);
    const char *text;

    if (bits < 0) {
        if (strchr(d->name, ':'))
            apr_ipsubnet_create(&d->net, d->name, NULL, cmd->pool);
        return;
    }
    for (int i = 0; i < 4; i++) {
        const int left = bits - 8 * i;

        net[i] = left >= 8 ? quad[i] : left <= 0 ? 0 : (unsigned char)(quad[i] & (0xff00 >> left));
    }
    text = apr_psprintf(cmd->pool, "%d.%d.%d.%d", net[0], net[1], net[2], net[3]);
    if (!strchr(d->name, '/') && bits < 32 && bits)
        ap_log_error(APLOG_MARK, APLOG_STARTUP, 0, cmd->server,
                     APLOGNO(00900) "Warning: NetMask not supplied with IP-Addr; guessing: %s/%d",
                     text, bits);
    if (memcmp(net, quad, 4) != 0 && bits) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP, 0, cmd->server,
                     APLOGNO(00901) "Warning: NetMask and IP-Addr disagree in %d.%d.%d.%d/%d",
                     quad[0], quad[1], quad[2], quad[3], bits);
        ap_log_error(APLOG_MARK, APLOG_STARTUP, 0, cmd->server,
                     APLOGNO(00902) "         Set to %s/%d", text, bits);
    }
    apr_ipsubnet_create(&d->net, text, apr_itoa(cmd->pool, bits), cmd->pool);
}

const char *proxy_direct_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    proxy_direct *d = apr_array_push(conf_of(cmd)->directs);

    d->name = arg;
    d->net = NULL;
    direct_subnet(cmd, d);
    return NULL;
}

/* ---- ProxyRemote ---- */

static const char *remote_add(cmd_parms *cmd, const char *which, const char *to,
                              const char *credentials, int match)
{
    const char *bad = match ? "ProxyRemoteMatch: Bad syntax for a remote proxy server"
                            : "ProxyRemote: Bad syntax for a remote proxy server";
    const char *slashes = strstr(to, "://"), *end;
    char *host, *colon;
    proxy_remote_rule rule = {.scheme = which};
    long port = -1;

    if (!slashes || !slashes[3])
        return bad;
    end = slashes + 3 + strcspn(slashes + 3, "/");
    host = apr_pstrmemdup(cmd->pool, slashes + 3, (apr_size_t)(end - slashes - 3));
    colon = strchr(host, ':');
    if (colon) {
        char *stop;

        port = strtol(colon + 1, &stop, 10);
        if (*stop || stop == colon + 1 || port < 0 || port > 65535)
            return apr_pstrcat(cmd->pool, bad, " (bad port number)", NULL);
        *colon = '\0';
    }
    if (match && !(rule.regex = ap_pregcomp(cmd->pool, which, AP_REG_EXTENDED)))
        return "Regular expression for ProxyRemoteMatch could not be compiled.";
    ap_str_tolower(host);
    rule.to.host = host;
    rule.to.scheme = apr_pstrmemdup(cmd->pool, to, (apr_size_t)(slashes - to));
    ap_str_tolower((char *)rule.to.scheme);
    rule.to.port = port > 0
                       ? (apr_port_t)port
                       : proxy_scheme_port(proxy_scheme_of(rule.to.scheme, strlen(rule.to.scheme)));
    rule.to.credentials = credentials ? ap_pbase64encode(cmd->pool, (char *)credentials) : NULL;
    APR_ARRAY_PUSH(conf_of(cmd)->remotes, proxy_remote_rule) = rule;
    return NULL;
}

const char *proxy_remote_cmd(cmd_parms *cmd, void *dconf, const char *which, const char *to,
                             const char *credentials)
{
    return remote_add(cmd, which, to, credentials, 0);
}

const char *proxy_remote_match_cmd(cmd_parms *cmd, void *dconf, const char *which, const char *to,
                                   const char *credentials)
{
    return remote_add(cmd, which, to, credentials, 1);
}

/* ---- ProxyErrorOverride ---- */

/* "on" and "off" may stand anywhere; statuses need an "on" before them, of whichever line. */
const char *proxy_override_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    static const char *const words[] = {"off", "on", NULL};
    proxy_dir_conf *d = dconf;
    const int n = word_of(arg, words);
    int status;

    if (n >= 0) {
        d->override = n;
        return NULL;
    }
    if (d->override == PROXY_UNSET)
        return "ProxyErrorOverride first parameter must be one of: off | on";
    if (!apr_isdigit(*arg))
        return "ProxyErrorOverride: status codes to intercept must be numeric";
    if (d->override != 1)
        return "ProxyErrorOverride: status codes must follow a value of 'on'";
    status = (int)strtol(arg, NULL, 10);
    if (status < 400 || status >= 600)
        return "ProxyErrorOverride: status codes to intercept must be valid HTTP Status Codes "
               ">=400 && <600";
    if (!d->override_statuses)
        d->override_statuses = apr_array_make(cmd->pool, 2, sizeof(int));
    APR_ARRAY_PUSH(d->override_statuses, int) = status;
    return NULL;
}

/* ---- ProxyPassReverse and its forms for cookies ---- */

static void reverse_add(apr_array_header_t *list, const char *fake, const char *real,
                        int interpolate)
{
    proxy_reverse *to = apr_array_push(list);

    to->fake = fake;
    to->real = real;
    to->interpolate = interpolate;
}

const char *proxy_reverse_cmd(cmd_parms *cmd, void *dconf, const char *fake, const char *real,
                              const char *word)
{
    proxy_dir_conf *d = dconf;
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIRECTORY | NOT_IN_FILES);

    if (error)
        return error;
    if (!cmd->path) {
        if (!real || !strcasecmp(real, "interpolate"))
            return "ProxyPassReverse needs a path when not defined in a location";
    } else {
        if (word || (real && strcasecmp(real, "interpolate") != 0))
            return "ProxyPassReverse can not have a path when defined in a location";
        word = real;
        real = fake;
        fake = cmd->path;
    }
    reverse_add(d->reverses, fake, real, word && !strcasecmp(word, "interpolate"));
    return NULL;
}

const char *proxy_cookie_path_cmd(cmd_parms *cmd, void *dconf, const char *real, const char *fake,
                                  const char *word)
{
    reverse_add(((proxy_dir_conf *)dconf)->cookie_paths, fake, real,
                word && !strcasecmp(word, "interpolate"));
    return NULL;
}

const char *proxy_cookie_domain_cmd(cmd_parms *cmd, void *dconf, const char *real, const char *fake,
                                    const char *word)
{
    reverse_add(((proxy_dir_conf *)dconf)->cookie_domains, fake, real,
                word && !strcasecmp(word, "interpolate"));
    return NULL;
}
