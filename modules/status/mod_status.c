/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status page: the server's present state, for people, for tools that know Apache's "?auto" and
 * for machines ("?json").
 */
#include "status_private.h"
#include "metrics_private.h"
#include "status_certificates.h"
#include "status_limits.h"
#include "status_networks.h"
#include "status_memory.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "ap_mpm.h"
#include "apr_optional_hooks.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/pages.h"
#include "brigade/response_cache.h"
#include <stdlib.h>

#define STATUS_HANDLER "server-status"
#define STATUS_MAGIC_TYPE "application/x-httpd-status"
#define STATUS_REFRESH_S "10" /* where "?refresh" gives no number */

extern module AP_MODULE_DECLARE_DATA status_module;
APLOG_USE_MODULE(status);

APR_IMPLEMENT_OPTIONAL_HOOK_RUN_ALL(ap, STATUS, int, status_hook, (request_rec * r, int flags),
                                    (r, flags), OK, DECLINED)

void status_run_hooks(request_rec *r, int flags)
{
    ap_run_status_hook(r, flags);
}

/* The value of "name" or "name=value" among the query's parts; NULL: it is not there. */
static const char *status_query(request_rec *r, const char *name)
{
    const char *part = r->args ? r->args : "";
    apr_size_t len = strlen(name);

    while (*part) {
        apr_size_t part_len = strcspn(part, "&;");

        if (part_len >= len && strncmp(part, name, len) == 0) {
            if (part_len == len)
                return "";
            if (part[len] == '=')
                return apr_pstrmemdup(r->pool, part + len + 1, part_len - len - 1);
        }
        part += part_len + (part[part_len] != '\0');
    }
    return NULL;
}

static void status_set_refresh(request_rec *r)
{
    const char *value = status_query(r, "refresh");
    long seconds = value ? atol(value) : 0;

    if (value) {
        apr_table_setn(r->headers_out, "Refresh",
                       seconds > 0 ? apr_ltoa(r->pool, seconds) : STATUS_REFRESH_S);
    }
}

static int status_handler(request_rec *r)
{
    status_snapshot snap;
    const char *memory, *certificates;
    int flags;

    if (!r->handler ||
        (strcmp(r->handler, STATUS_HANDLER) != 0 && strcmp(r->handler, STATUS_MAGIC_TYPE) != 0))
        return DECLINED;
    if (metrics_is_live(r))
        return metrics_live_handle(r);
    if ((memory = status_query(r, "memory")))
        return status_memory_handle(r, memory);
    if ((certificates = status_query(r, "certificates")))
        return status_certificates_handle(r, certificates);
    r->allowed = AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET)
        return DECLINED;
    if (status_snapshot_take(r, &snap) != 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01237) "Server status unavailable in inetd mode");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    /* Requests that event loops answer leave no line of their own: this one is the exception. */
    ap_update_child_status(r->connection->sbh, SERVER_BUSY_WRITE, r);
    status_set_refresh(r);
    flags = snap.extended ? AP_STATUS_EXTENDED : 0;
    if (status_query(r, "json")) {
        ap_set_content_type_ex(r, "application/json", 1);
        status_write_json(r, &snap);
    } else if (status_query(r, "auto")) {
        ap_set_content_type_ex(r, "text/plain; charset=ISO-8859-1", 1);
        status_write_auto(r, &snap, flags | AP_STATUS_SHORT);
    } else if (brg_pages_of(r) != BRG_PAGES_APACHE && !status_query(r, "notable")) {
        ap_set_content_type_ex(r, "text/html; charset=utf-8", 1);
        status_write_page(r, &snap, flags);
    } else {
        ap_set_content_type_ex(r, "text/html; charset=ISO-8859-1", 1);
        if (status_query(r, "notable"))
            flags |= AP_STATUS_NOTABLE;
        status_write_html(r, &snap, flags);
    }
    return OK;
}

/* A page without figures would be of little use: ExtendedStatus is on unless the configuration says
 * otherwise. */
static int status_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    ap_extended_status = 1;
    return OK;
}

static int status_sections(request_rec *r, int flags)
{
    static const status_section *const sections[] = {&status_memory, &status_certificates,
                                                     &status_networks, &status_limits};

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i]->is_there(r))
            (flags & AP_STATUS_SHORT ? sections[i]->write_auto : sections[i]->write_html)(r);
    return OK;
}

static void status_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(status_pre_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_handler(status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, status_sections, NULL, NULL, APR_HOOK_LAST);
    brg_nonblocking_declare(&status_module);
    brg_handlers_are_for(&status_module, STATUS_HANDLER " " STATUS_MAGIC_TYPE);
}

module AP_MODULE_DECLARE_DATA status_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, status_register_hooks, 0,
};
