/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_CONF_H
#define BRIGADE_MD_CONF_H

/**
 * @file md_conf.h
 * The configuration of managed domains.
 *
 * md_conf.c        settings and how they merge; words and lengths of time
 * md_directives.c  the directives
 * md_servers.c     which server has which managed domain
 */
#include "httpd.h"
#include "http_config.h"
#include "md_key.h"
#include "md_steps.h"

extern module AP_MODULE_DECLARE_DATA md_module;

#define MD_UNSET (-1)

/** MDRequireHttps. */
enum { MD_HTTPS_OFF, MD_HTTPS_TEMPORARY, MD_HTTPS_PERMANENT };

/** Of a server, or of a managed domain; an unset value is NULL or MD_UNSET. Texts are in the
 * configuration's pool. */
typedef struct md_settings {
    apr_array_header_t *authorities; /**< const char *: URLs */
    apr_array_header_t *challenges;  /**< const char * */
    apr_array_header_t *keys;        /**< md_key_spec */
    const char *contact, *agreement, *profile, *binding_kid, *binding_hmac, *proxy, *ca_file,
        *dns_command;
    int binding_set, proxy_set, ca_file_set;
    int mode, must_staple, require_https, transitive, profile_mandatory, ari;
    int stapling, staple_others;
    md_window *renew, *warn, *staple_renew, *staple_keep;
} md_settings;

/** Of all servers. */
typedef struct md_globals {
    const char *store;         /**< MDStoreDir, absolute */
    int port_http, port_https; /**< local ports; 0: not reached from outside */
    const char *message_command, *notify_command;
    int base_server, server_names; /**< MDBaseServer, MDMatchNames servernames */
    int certificate_status, server_status;
    apr_interval_time_t retry_delay, initial_delay, check_interval;
    apr_interval_time_t activation_delay; /**< MDActivationDelay */
    const char *monitor, *monitor_url;    /**< MDCertificateCheck; NULL: none */
    apr_interval_time_t lock_wait;        /**< MDStoreLocks; 0: no lock */
    int retry_failover, dns_version;
} md_globals;

/** A managed domain. */
typedef struct md_domain {
    const char *name;          /**< the first of its names; of its folders in the store */
    apr_array_header_t *names; /**< const char *, in lower case */
    md_settings *own, *set;    /**< its own settings; merged, with defaults */
    server_rec *server;        /**< in which it was defined */
    /** MDCertificateFile, MDCertificateKeyFile; may be NULL */
    apr_array_header_t *static_certs, *static_keys;
    const char *file; /**< where it was defined */
    int line;
    int index;     /**< of md_shared.h */
    int servers_n; /**< that have it */
    int tls_ports; /**< a server with it is reached over TLS */
    long hsts;     /**< seconds; 0: as Apache's mod_md */
    int waits;     /**< of AutoHTTPS: nobody is sent to https before there is a certificate */
    const char *contact;
} md_domain;

typedef struct md_server_conf {
    md_settings *set;
    md_domain *domain; /**< that the server has; NULL: none */
    int stored;        /**< its certificates are those of the store */
    /** its names on demand (md_demand.h); NULL: none, or another server's */
    struct md_demand *demand;
} md_server_conf;

extern md_globals md_all; /**< settings of all */
/** md_domain *: in the order of the configuration; NULL: none was read */
extern apr_array_header_t *md_domains;

md_settings *md_settings_new(apr_pool_t *p);
/** @a add counts where it says something. */
md_settings *md_settings_merge(apr_pool_t *p, const md_settings *base, const md_settings *add);
/** A managed domain's settings, with the defaults. */
void md_settings_finish(apr_pool_t *p, md_domain *domain);
void md_globals_reset(apr_pool_t *p);

static inline md_server_conf *md_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &md_module);
}

/** "5", "30d", "12h", "10mi", "5s", "5ms"; more letters behind a unit do not count, and more than a
 * hundred years is a hundred years. @param unit  where none is given: 'd' or 's'. @return 0, or -1
 */
int md_duration(const char *text, char unit, apr_interval_time_t *length);

/** A length of time, or "33%". @return NULL; its error */
const char *md_window_read(const char *text, md_window *window);

/** A name of an authority, or its URL. @return NULL: unknown, *why says so */
const char *md_authority(apr_pool_t *p, const char *text, const char **why);

extern const command_rec md_commands[];

/** Find out which servers have which managed domains. @return OK, or 500: logged. Threads: main. */
int md_servers_assign(apr_pool_t *p, server_rec *main_server);

/** A managed domain that has this host name; NULL: none. */
md_domain *md_domain_of_name(const char *name);

#endif
