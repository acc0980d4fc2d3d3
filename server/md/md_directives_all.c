/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that concern all managed domains, and the table of all directives. */
#include "md_directives_private.h"
#include "md_demand.h"
#include "md_dns.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* ---- ports ---- */

static int port_outside(const char *word, const char **rest)
{
    const size_t len = strcspn(word, ":");

    *rest = word[len] ? word + len + 1 : NULL;
    if (len == 4 && !strncasecmp(word, "http", 4))
        return 80;
    if (len == 5 && !strncasecmp(word, "https", 5))
        return 443;
    return len && strspn(word, "0123456789") == len ? atoi(word) : -1;
}

static const char *port_take(const char *word)
{
    const char *rest;
    const int outside = port_outside(word, &rest);
    int inside = 0;

    if (!rest || outside < 0)
        return "no ':' after first port number";
    if (strcmp(rest, "-") != 0) {
        inside = strspn(rest, "0123456789") == strlen(rest) && strlen(rest) < 6 ? atoi(rest) : 0;
        if (inside < 1 || inside > 65535)
            return "invalid number for port map, must be in ]0,65535]";
    }
    if (outside != 80 && outside != 443)
        return "mapped port number must be 80 or 443";
    *(outside == 80 ? &md_all.port_http : &md_all.port_https) = inside;
    return NULL;
}

static const char *set_ports(cmd_parms *cmd, void *dummy, const char *first, const char *second)
{
    const char *error = md_directive_not_inside(cmd);

    if (!error)
        error = port_take(first);
    return !error && second ? port_take(second) : error;
}

/* ---- texts and switches ---- */

static const char *set_store(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);

    if (error)
        return error;
    md_all.store = ap_server_root_relative(cmd->pool, arg);
    return md_all.store ? NULL
                        : apr_pstrcat(cmd->pool, cmd->cmd->name, ": Invalid file path ", arg, NULL);
}

/* cmd->info: which field of md_all */
static const char *set_global_text(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);

    if (!error)
        *(const char **)(void *)((char *)&md_all + (size_t)cmd->info) = arg;
    return error;
}

static const char *set_global_switch(cmd_parms *cmd, void *dummy, const char *arg)
{
    return md_directive_flag(cmd, arg, (int *)(void *)((char *)&md_all + (size_t)cmd->info));
}

static const char *set_base_server(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);

    return error ? error : md_directive_flag(cmd, arg, &md_all.base_server);
}

static const char *set_dns_version(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);

    if (error)
        return error;
    if (strcmp(arg, "1") != 0 && strcmp(arg, "2") != 0)
        return "Only versions `1` and `2` are supported";
    md_all.dns_version = *arg - '0';
    return NULL;
}

static const char *set_match_names(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);

    if (error)
        return error;
    md_all.server_names = !strcasecmp(arg, "servernames");
    return md_all.server_names || !strcasecmp(arg, "all")
               ? NULL
               : "invalid argument, must be a 'all' or 'servernames'";
}

/* ---- numbers and times ---- */

static const char *set_failover(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);
    const int n = atoi(arg);

    if (error)
        return error;
    if (n <= 0)
        return "invalid argument, must be a number > 0";
    md_all.retry_failover = n;
    return NULL;
}

static const char *time_read(cmd_parms *cmd, const char *arg, char unit, apr_interval_time_t *to)
{
    const char *error = md_directive_not_inside(cmd);

    if (!error && md_duration(arg, unit, to))
        error = "unrecognized duration format";
    return error;
}

static const char *set_retry_delay(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = time_read(cmd, arg, 's', &md_all.retry_delay);

    return !error && md_all.retry_delay <= 0 ? "minimum delay must be greater than 0" : error;
}

static const char *set_initial_delay(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = time_read(cmd, arg, 's', &md_all.initial_delay);

    return !error && md_all.initial_delay < 0 ? "initial delay must not be negative" : error;
}

static const char *set_check_interval(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = time_read(cmd, arg, 's', &md_all.check_interval);

    return !error && md_all.check_interval < APR_USEC_PER_SEC
               ? "check interval cannot be less than one second"
               : error;
}

static const char *set_activation_delay(cmd_parms *cmd, void *dummy, const char *arg)
{
    return time_read(cmd, arg, 'd', &md_all.activation_delay);
}

static const char *set_locks(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *error = md_directive_not_inside(cmd);

    if (error)
        return error;
    if (!strcasecmp(arg, "on") || !strcasecmp(arg, "off")) {
        md_all.lock_wait = !strcasecmp(arg, "on") ? 5 * APR_USEC_PER_SEC : 0;
        return NULL;
    }
    return md_duration(arg, 's', &md_all.lock_wait) ? "neither 'on', 'off' or a duration specified"
                                                    : NULL;
}

static const char *set_monitor(cmd_parms *cmd, void *dummy, const char *name, const char *url)
{
    md_all.monitor = name;
    md_all.monitor_url = url;
    return NULL;
}

/* ---- the table ---- */

#define SETTING(field) ((void *)offsetof(md_settings, field))
#define GLOBAL(field) ((void *)offsetof(md_globals, field))
#define ONE(name, set, info, help) AP_INIT_TAKE1(name, set, info, RSRC_CONF, help)

const command_rec md_commands[] = {
    AP_INIT_TAKE_ARGV("MDCertificateAuthority", md_set_authority, NULL, RSRC_CONF,
                      "names or URLs of authorities; the next one is asked where one fails"),
    ONE("MDCertificateAgreement", md_set_text, SETTING(agreement),
        "either 'accepted' or the URL of CA Terms-of-Service agreement you accept"),
    AP_INIT_TAKE_ARGV("MDCAChallenges", md_set_challenges, NULL, RSRC_CONF,
                      "ways to prove that a name is this server's, the best first"),
    ONE("MDCertificateProtocol", md_set_protocol, NULL,
        "Protocol used to obtain/renew certificates"),
    ONE("MDContactEmail", md_set_text, SETTING(contact),
        "Email address used for account registration"),
    ONE("MDDriveMode", md_set_mode, NULL, "deprecated, older name for MDRenewMode"),
    ONE("MDRenewMode", md_set_mode, NULL,
        "Controls how renewal of Managed Domain certificates shall be handled."),
    AP_INIT_RAW_ARGS("MDomain", md_set_domain, NULL, RSRC_CONF,
                     "names that share a certificate, which the server gets"),
    AP_INIT_RAW_ARGS("<MDomainSet", md_set_section, NULL, RSRC_CONF,
                     "names that share a certificate, with settings of their own"),
    AP_INIT_RAW_ARGS("<MDomain", md_set_section, NULL, RSRC_CONF, "the same as <MDomainSet>"),
    AP_INIT_RAW_ARGS("MDMember", md_set_members, NULL, RSRC_CONF,
                     "names of a managed domain, or 'auto' or 'manual'"),
    AP_INIT_RAW_ARGS("MDMembers", md_set_members, NULL, RSRC_CONF,
                     "names of a managed domain, or 'auto' or 'manual'"),
    ONE("MDMustStaple", md_set_switch, SETTING(must_staple),
        "Enable/Disable the Must-Staple flag for new certificates."),
    AP_INIT_TAKE12(
        "MDPortMap", set_ports, NULL, RSRC_CONF,
        "Declare the mapped ports 80 and 443 on the local server. E.g. 80:8000 to indicate "
        "that the server port 8000 is reachable as port 80 from the internet. Use 80:- to "
        "indicate that port 80 is not reachable from the outside."),
    AP_INIT_TAKE_ARGV("MDPrivateKeys", md_set_keys, NULL, RSRC_CONF,
                      "kinds of keys, each with a certificate"),
    ONE("MDHttpProxy", md_set_proxy, NULL,
        "URL of a HTTP(S) proxy to use for outgoing connections"),
    ONE("MDStoreDir", set_store, NULL,
        "the directory for file system storage of managed domain data."),
    ONE("MDRenewWindow", md_set_window, SETTING(renew),
        "Time length for renewal before certificate expires (defaults to days)."),
    AP_INIT_TAKE1("MDRequireHttps", md_set_require, NULL, RSRC_CONF | OR_AUTHCFG,
                  "Redirect non-secure requests to the https: equivalent."),
    AP_INIT_RAW_ARGS("MDNotifyCmd", set_global_text, GLOBAL(notify_command), RSRC_CONF,
                     "a program that is told of new certificates"),
    ONE("MDBaseServer", set_base_server, NULL,
        "Allow managing of base server outside virtual hosts."),
    AP_INIT_RAW_ARGS("MDChallengeDns01", md_set_text, SETTING(dns_command), RSRC_CONF,
                     "a program that sets records of dns-01 up, and takes them back"),
    ONE("MDChallengeDns01Version", set_dns_version, NULL,
        "Set the type of arguments to call `MDChallengeDns01` with"),
    ONE("MDCertificateFile", md_set_static_file, NULL,
        "set the static certificate (chain) file to use for this domain."),
    ONE("MDCertificateKeyFile", md_set_static_file, (void *)1,
        "set the static private key file to use for this domain."),
    ONE("MDServerStatus", set_global_switch, GLOBAL(server_status),
        "On to see Managed Domains in server-status."),
    ONE("MDCertificateStatus", set_global_switch, GLOBAL(certificate_status),
        "On to see Managed Domain expose /.httpd/certificate-status."),
    ONE("MDWarnWindow", md_set_window, SETTING(warn),
        "When less time remains for a certificate, send our/log a warning (defaults to days)"),
    AP_INIT_RAW_ARGS("MDMessageCmd", set_global_text, GLOBAL(message_command), RSRC_CONF,
                     "a program that is told what happens to a managed domain"),
    ONE("MDStapling", md_set_switch, SETTING(stapling),
        "Enable/Disable OCSP Stapling for this/all Managed Domain(s)."),
    ONE("MDStapleOthers", md_set_switch, SETTING(staple_others),
        "Enable/Disable OCSP Stapling for certificates not in Managed Domains."),
    ONE("MDStaplingKeepResponse", md_set_window, SETTING(staple_keep),
        "The amount of time to keep an OCSP response in the store."),
    ONE("MDStaplingRenewWindow", md_set_window, SETTING(staple_renew),
        "Time length for renewal before OCSP responses expire (defaults to days)."),
    AP_INIT_TAKE2("MDCertificateCheck", set_monitor, NULL, RSRC_CONF,
                  "Set name and URL pattern for a certificate monitoring site."),
    ONE("MDActivationDelay", set_activation_delay, NULL,
        "How long to delay activation of new certificates"),
    ONE("MDCACertificateFile", md_set_ca_file, NULL, "Set the CA file to use for connections"),
    ONE("MDHttpProxyCACertificateFile", md_set_proxy_ca, NULL,
        "Set the CA file to use for connections to the HTTP(S) proxy"),
    AP_INIT_TAKE12("MDExternalAccountBinding", md_set_binding, NULL, RSRC_CONF,
                   "Set the external account binding keyid and hmac values to use at CA"),
    ONE("MDRetryDelay", set_retry_delay, NULL,
        "Time length for first retry, doubled on every consecutive error."),
    ONE("MDRetryFailover", set_failover, NULL,
        "The number of errors before a failover to another CA is triggered."),
    ONE("MDStoreLocks", set_locks, NULL, "Configure locking of store for updates."),
    ONE("MDMatchNames", set_match_names, NULL, "Determines how DNS names are matched to vhosts."),
    ONE("MDInitialDelay", set_initial_delay, NULL,
        "How long to delay the first certificate check."),
    ONE("MDCheckInterval", set_check_interval, NULL, "Time between certificate checks."),
    ONE("MDProfile", md_set_text, SETTING(profile),
        "The name of an CA profile to order certificates for."),
    ONE("MDProfileMandatory", md_set_switch, SETTING(profile_mandatory),
        "Determines if a configured CA profile is mandatory."),
    ONE("MDRenewViaARI", md_set_switch, SETTING(ari),
        "Enable/Disable ACME ARI (RFC 9773) to trigger renewals."),
    ONE("MDOnDemand", md_set_demand, NULL,
        "folder, folder=/FORMAT, url=URL or expr=EXPRESSION: names that get a certificate when "
        "a client asks for them"),
    AP_INIT_TAKE_ARGV("MDOnDemandLimits", md_set_demand_limits, NULL, RSRC_CONF,
                      "names=NUMBER rate=NUMBER/s|m|h wait=SECONDS"),
    AP_INIT_TAKE_ARGV("MDDnsResponder", md_set_dns_responder, NULL, RSRC_CONF,
                      "ZONE ADDRESS:PORT ... [ns=NAME]: a DNS server for dns-01"),
    AP_INIT_TAKE12(
        "AutoHTTPS", md_set_auto, NULL, RSRC_CONF,
        "On: the server gets a certificate by itself, and serves over TLS; hsts=SECONDS"),
    {.name = NULL}};
