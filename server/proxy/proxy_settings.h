/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_SETTINGS_H
#define BRIGADE_PROXY_SETTINGS_H

/**
 * @file proxy_settings.h
 * Settings for everything that is forwarded from a server or a directory,
 * whatever the backend. Read only; as long as the configuration.
 */
#include "httpd.h"
#include "apr_network_io.h"

typedef enum proxy_via { PROXY_VIA_OFF, PROXY_VIA_ON, PROXY_VIA_BLOCK, PROXY_VIA_FULL } proxy_via;

/** ProxyBadHeader */
typedef enum proxy_bad_field {
    PROXY_BAD_ERROR,     /**< 502 */
    PROXY_BAD_IGNORE,    /**< the line is left out */
    PROXY_BAD_START_BODY /**< the body begins there */
} proxy_bad_field;

/** Of a server. */
typedef struct proxy_server_settings {
    proxy_via via;
    proxy_bad_field bad_field;
    long max_forwards;            /**< sent if the client names none; negative: none is sent */
    apr_interval_time_t timeout;  /**< ProxyTimeout, microseconds; 0: not named */
    apr_size_t io_buffer;         /**< bytes */
    apr_size_t receive_buffer;    /**< SO_RCVBUF; 0: the system's */
    const apr_sockaddr_t *source; /**< ProxySourceAddress; NULL */
} proxy_server_settings;

const proxy_server_settings *proxy_settings_of(const server_rec *s);

/** Of a request. */
typedef struct proxy_request_settings {
    unsigned preserve_host : 1; /**< ProxyPreserveHost */
    unsigned status_field : 1;  /**< ProxyStatusField */
    unsigned add_fields : 1;    /**< ProxyAddHeaders: X-Forwarded-For, -Host, -Server */
    unsigned pass_continue : 1; /**< Proxy100Continue: Expect is sent on */
    unsigned
        scgi_redirect : 1; /**< ProxySCGIInternalRedirect: Location of a path is answered here */
    const char *scgi_redirect_field; /**< name of the field; NULL: "Location" */
    const char *scgi_sendfile;       /**< ProxySCGISendfile: name of the field; NULL: off */
    const char *fcgi_redirect_field; /**< ProxyFCGIInternalRedirect: name of the field; NULL: off */
} proxy_request_settings;

/** @param to  [out] */
void proxy_settings_for(const request_rec *r, proxy_request_settings *to);

/**
 * Variables of FastCGI, SCGI and uwsgi in r->subprocess_env, as the modules of Apache set them: those of CGI,
 * SCRIPT_FILENAME by the backend's type, then ProxyFCGISetEnvIf. Call it once, before the request is encoded.
 * @return OK or an HTTP status
 */
struct proxy_target;
int proxy_script_environment(request_rec *r, const struct proxy_target *target);

#endif
