/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of all rooms of TLS: settings of the whole server, servers with TLS, words for the log. */
#include "tls_conf.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>

APLOG_USE_MODULE(ssl);

tls_global tls_settings;

static tls_server_conf **conf_servers;
static int conf_servers_n;

void tls_servers_set(tls_server_conf **servers, int n)
{
    BRG_ASSERT(n == 0 || servers != NULL);
    conf_servers = servers;
    conf_servers_n = n;
}

const tls_server_conf *tls_server_at(int index)
{
    BRG_ASSERT(index >= 0);
    return index < conf_servers_n ? conf_servers[index] : NULL;
}

/* ---- the log ---- */

void tls_log_errors(const server_rec *s, int level)
{
    const char *data, *file;
    unsigned long e;
    int line, flags;
    char text[256];

    while ((e = ERR_get_error_all(&file, &line, NULL, &data, &flags)) != 0) {
        ERR_error_string_n(e, text, sizeof text);
        ap_log_error(APLOG_MARK, level, 0, s, "SSL Library Error: %s%s%s%s", text,
                     data && *data ? " (" : "", data && *data ? data : "",
                     data && *data ? ")" : "");
    }
}

const char *tls_place(char buf[TLS_PLACE_BYTES], const server_rec *s)
{
    const char *name = s->server_hostname ? s->server_hostname : "*";

    if (s->defn_name)
        apr_snprintf(buf, TLS_PLACE_BYTES, "%s, line %u of %s", name, s->defn_line_number,
                     s->defn_name);
    else
        apr_cpystrn(buf, name, TLS_PLACE_BYTES);
    return buf;
}
