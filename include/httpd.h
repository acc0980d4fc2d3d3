/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTPD_H
#define APACHE_HTTPD_H

/**
 * @file httpd.h
 * The records that everything works on (process, server, connection, request), status codes and methods, and
 * the utility functions of the core.
 * Pools own all memory.
 */
#include "ap_config.h"
#include "ap_mmn.h"
#include "ap_release.h"

#include "apr.h"
#include "apr_version.h"
#include "apr_general.h"
#include "apr_tables.h"
#include "apr_pools.h"
#include "apr_time.h"
#include "apr_network_io.h"
#include "apr_buckets.h"
#include "apr_poll.h"
#include "apr_thread_proc.h"
#include "apr_uri.h"

#include "os.h"
#include "ap_regex.h"

#include <stdlib.h>
#include <string.h>

/* ---- Defaults; an installation may define its own ------------------------------------------------------ */

#ifndef HTTPD_ROOT
/** ServerRoot where neither -d nor the configuration says one. */
#define HTTPD_ROOT "/etc/brigade"
#endif
#ifndef DOCUMENT_LOCATION
/** DocumentRoot where the configuration has none. */
#define DOCUMENT_LOCATION "/var/www/html"
#endif
#ifndef SERVER_CONFIG_FILE
/** The configuration, below ServerRoot, without -f. */
#define SERVER_CONFIG_FILE "httpd.conf"
#endif
#ifndef AP_TYPES_CONFIG_FILE
/** TypesConfig where the configuration has none, below ServerRoot. */
#define AP_TYPES_CONFIG_FILE "conf/mime.types"
#endif
#ifndef DEFAULT_ERRORLOG
/** ErrorLog where the configuration has none, below ServerRoot. */
#define DEFAULT_ERRORLOG "logs/error_log"
#endif
#ifndef DEFAULT_ACCESS_FNAME
/** Apache's name for .htaccess files without AccessFileName. */
#define DEFAULT_ACCESS_FNAME ".htaccess"
#endif
#ifndef DEFAULT_PATH
/** PATH of scripts where the server has none itself. */
#define DEFAULT_PATH "/bin:/usr/bin:/usr/ucb:/usr/bsd:/usr/local/bin"
#endif
#ifndef SUEXEC_BIN
/** Where Apache's suexec would be. */
#define SUEXEC_BIN HTTPD_ROOT "/bin/suexec"
#endif
#ifndef AP_DEFAULT_INDEX
/** DirectoryIndex where the configuration has none. */
#define AP_DEFAULT_INDEX "index.html"
#endif
/** ServerAdmin, and the charset of AddDefaultCharset On. */
#define DEFAULT_ADMIN "[no address given]"
#define DEFAULT_ADD_DEFAULT_CHARSET_NAME "iso-8859-1"

/** Modules that may be loaded beyond those built in. */
#ifndef DYNAMIC_MODULE_LIMIT
#define DYNAMIC_MODULE_LIMIT 256
#endif

/* Seconds, seconds, requests. */
#ifndef DEFAULT_TIMEOUT
#define DEFAULT_TIMEOUT 60
#endif
#ifndef DEFAULT_KEEPALIVE_TIMEOUT
#define DEFAULT_KEEPALIVE_TIMEOUT 5
#endif
#ifndef DEFAULT_KEEPALIVE
#define DEFAULT_KEEPALIVE 100
#endif

/* Limits of a request's head: bytes, bytes, fields, empty lines before it. */
#ifndef DEFAULT_LIMIT_REQUEST_LINE
#define DEFAULT_LIMIT_REQUEST_LINE 8190
#endif
#ifndef DEFAULT_LIMIT_REQUEST_FIELDSIZE
#define DEFAULT_LIMIT_REQUEST_FIELDSIZE 8190
#endif
#ifndef DEFAULT_LIMIT_REQUEST_FIELDS
#define DEFAULT_LIMIT_REQUEST_FIELDS 100
#endif
#ifndef DEFAULT_LIMIT_BLANK_LINES
#define DEFAULT_LIMIT_BLANK_LINES 10
#endif

/* Buffer sizes, bytes; groups of an expression; greatest piece for one sendfile. */
#define HUGE_STRING_LEN 8192
#define MAX_STRING_LEN HUGE_STRING_LEN
#define AP_IOBUFSIZE 8192
#define AP_MAX_REG_MATCH 10
#define AP_MAX_SENDFILE 16777216

/* Other spellings of the declaration macros, and fallbacks without ap_config.h. */
#ifndef AP_CORE_DECLARE
#define AP_CORE_DECLARE AP_DECLARE
#endif
#ifndef AP_CORE_DECLARE_NONSTD
#define AP_CORE_DECLARE_NONSTD AP_DECLARE_NONSTD
#endif

/* ---- Protocol ------------------------------------------------------------------------------------------ */

/** The version of HTTP in responses, and where http and https are found without a port. */
#define AP_SERVER_PROTOCOL "HTTP/1.1"
#define DEFAULT_HTTP_PORT 80
#define DEFAULT_HTTPS_PORT 443
#define ap_is_default_port(port, r) ((port) == ap_default_port(r))
#define ap_default_port(r) ap_run_default_port(r)
#define ap_http_scheme(r) ap_run_http_scheme(r)

/** A version as one number, as in request_rec.proto_num, and back. */
#define HTTP_VERSION(major, minor) (1000 * (major) + (minor))
#define HTTP_VERSION_MAJOR(number) ((number) / 1000)
#define HTTP_VERSION_MINOR(number) ((number) % 1000)

/** Bytes of line ends, and these as strings. */
#define LF 10
#define CR 13
#define CRLF "\015\012"
#define CRLF_ASCII "\015\012"

/* Document type lines. */
#define DOCTYPE_HTML_2_0 "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n"
#define DOCTYPE_HTML_3_2 "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n"
#define DOCTYPE_HTML_4_0S \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0//EN\"\n\"http://www.w3.org/TR/REC-html40/strict.dtd\">\n"
#define DOCTYPE_HTML_4_0T \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0 Transitional//EN\"\n" \
    "\"http://www.w3.org/TR/REC-html40/loose.dtd\">\n"
#define DOCTYPE_HTML_4_0F \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.0 Frameset//EN\"\n" \
    "\"http://www.w3.org/TR/REC-html40/frameset.dtd\">\n"
#define DOCTYPE_HTML_4_01 \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n"
#define DOCTYPE_HTML_5 "<!DOCTYPE html>\n"
#define DOCTYPE_XHTML_1_0S \
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\"\n" \
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd\">\n"
#define DOCTYPE_XHTML_1_0T \
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n" \
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
#define DOCTYPE_XHTML_1_0F \
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Frameset//EN\"\n" \
    "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-frameset.dtd\">"

/* ---- The rest, by subject ------------------------------------------------------------------------------ */

#include "brigade/http_status.h"
#include "brigade/records.h"
#include "brigade/util.h"
#include "brigade/process.h"

#endif
