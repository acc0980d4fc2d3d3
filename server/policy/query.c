/* SPDX-License-Identifier: Apache-2.0 */
/* See query.h. Most modules use the query in redirects only, which are no files. mod_rewrite, mod_proxy
 * and what is not known here may use it for anything. */
#include "query.h"
#include <string.h>

static const char *const query_left_by[] = {
    "core.c",           "http_core.c",        "mod_access_compat.c",   "mod_alias.c",
    "mod_asn.c",        "mod_allowmethods.c", "mod_auth_basic.c",      "mod_authn_core.c",
    "mod_authn_file.c", "mod_authz_core.c",   "mod_authz_groupfile.c", "mod_authz_host.c",
    "mod_authz_user.c", "mod_autoindex.c",    "mod_brotli.c",          "mod_deflate.c",
    "mod_dir.c",        "mod_env.c",          "mod_expires.c",         "mod_file.c",
    "mod_filter.c",     "mod_headers.c",      "mod_http2.c",           "mod_include.c",
    "mod_info.c",       "mod_log_config.c",   "mod_logio.c",           "mod_metrics.c",
    "mod_mime.c",       "mod_negotiation.c",  "mod_remoteip.c",        "mod_reqtimeout.c",
    "mod_request.c",    "mod_request_id.c",   "mod_rewrite.c",      "mod_setenvif.c",        "mod_so.c",
    "mod_ssl.c",        "mod_status.c",       "mod_unixd.c",           "mod_version.c",
    "mod_watchdog.c",   "mod_zstd.c",
};

int query_is_left_by(const char *module)
{
    for (size_t i = 0; i < sizeof query_left_by / sizeof *query_left_by; i++)
        if (!strcmp(query_left_by[i], module))
            return 1;
    return 0;
}

int query_is_regular(const char *query, size_t len)
{
    static const char others[] = "-._~!$&'()*+,;=:@/?%";

    for (size_t i = 0; i < len; i++) {
        char c = query[i], letter = (char)(c | 0x20);

        if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') &&
            !memchr(others, c, sizeof others - 1))
            return 0;
    }
    return 1;
}
