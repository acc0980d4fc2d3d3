/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a request, from its URI to the handler: post_read_request, quick_handler,
 * ap_process_request_internal, insert_filter.
 *
 * The handler and the end are apart (request_finish.c) because a request may change threads in
 * between: phases that cannot block run on the event loop, and then it is known whether the handler
 * may run there as well.
 */
#include "auth_private.h"
#include "conn.h"
#include "handler_private.h"
#include "hook_lists.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "core_settings.h"
#include "memory_sections.h"
#include "placement.h"
#include "regex_limits.h"
#include "request_parts.h"
#include "request_wait.h"
#include "scoreboard.h"
#include "walk_private.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "brigade/auth.h"

APLOG_USE_MODULE(core);

/* Nobody took a phase that somebody has to take: a module is missing in the configuration. */
static int request_undecided(request_rec *r, int status, const char *phase)
{
    if (status == DECLINED) {
        ap_log_rerror(APLOG_MARK, APLOG_CRIT, 0, r,
                      APLOGNO(00025) "configuration error:  couldn't %s: %s", phase, r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return status;
}

static int request_sections(request_rec *r)
{
    int status = ap_location_walk(r);

    return status == OK ? ap_if_walk(r) : status;
}

static void request_take_loglevel(request_rec *r)
{
    const core_dir_config *d = ap_get_core_module_config(r->per_dir_config);
    const struct ap_logconf *log = core_log_config(r->pool, r->server, d);

    if (log)
        r->log = log;
}

/* Resolve dot segments, merge slashes, decode unreserved characters. */
static int request_normalize(request_rec *r, unsigned flags)
{
    const core_server_config *sconf = ap_get_core_module_config(r->server->module_config);

    flags |= AP_NORMALIZE_NOT_ABOVE_ROOT;
    if (r->main && r->filename)
        flags |= AP_NORMALIZE_ALLOW_RELATIVE;
    if (sconf->merge_slashes != AP_CORE_CONFIG_OFF)
        flags |= AP_NORMALIZE_MERGE_SLASHES;
    if (ap_normalize_path(r->parsed_uri.path, flags))
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(10244) "invalid URI path (%s)",
                  r->unparsed_uri);
    return HTTP_BAD_REQUEST;
}

/* Decode percent encoding; AllowEncodedSlashes decides about %2f. */
static int request_decode(request_rec *r)
{
    const core_dir_config *d = ap_get_core_module_config(r->per_dir_config);
    char *path = r->parsed_uri.path;
    unsigned flags = AP_UNESCAPE_URL_KEEP_UNRESERVED;
    int status;

    if (!strchr(path, '%'))
        return OK;
    if (!d->allow_encoded_slashes)
        flags |= AP_UNESCAPE_URL_FORBID_SLASHES;
    else if (!d->decode_encoded_slashes)
        flags |= AP_UNESCAPE_URL_KEEP_SLASHES;
    status = ap_unescape_url_ex(path, flags);
    if (status != OK) {
        if (status == HTTP_NOT_FOUND && !d->allow_encoded_slashes) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                          APLOGNO(00026) "found %%2f (encoded '/') in URI path (%s), returning 404",
                          r->unparsed_uri);
        }
        return status;
    }
    /* Decoded slashes may have made new segments. */
    return d->allow_encoded_slashes && d->decode_encoded_slashes ? request_normalize(r, 0) : OK;
}

/* Hooks that want the URI before it is decoded. @return DONE: it is not to be decoded */
static int request_pre_translate(request_rec *r)
{
    ap_conf_vector_t *conf = r->per_dir_config;
    int status, n;

    (void)hook_links_for(r, HOOK_pre_translate_name, ap_hook_get_pre_translate_name(), &n);
    if (!n)
        return OK;
    if ((status = request_sections(r)) != OK)
        return status;
    status = ap_run_pre_translate_name(r);
    r->per_dir_config = conf; /* the sections may differ once it is decoded */
    return ap_is_HTTP_ERROR(status) || status == DONE ? status : OK;
}

/* ---- phases that continue on a worker ---- */

/* Where they continue: request_files.stage. */
enum { REQUEST_AT_AUTH, REQUEST_AT_STORAGE, REQUEST_AT_ACCESS };

static int request_stop(request_rec *r, int stage)
{
    request_files *files = request_files_of(r);

    BRG_ASSERT(files != NULL);
    BRG_ASSERT(conn_on_loop());
    BRG_ASSERT(stage == REQUEST_AT_AUTH || stage == REQUEST_AT_STORAGE);
    files->stage = stage;
    return REQUEST_AUTH_PENDING;
}

/* From r->parsed_uri to r->filename. */
static int request_translate(request_rec *r)
{
    /* A lookup of a file has a name already, and a URI at best. */
    int by_file = r->main && r->filename;
    int status = OK;

    if (r->parsed_uri.path && (status = request_normalize(r, AP_NORMALIZE_DECODE_UNRESERVED)) != OK)
        return status;
    if (!by_file) {
        status = request_pre_translate(r);
        if (status != OK && status != DONE)
            return status;
    }
    if (status != DONE && r->parsed_uri.path && (status = request_decode(r)) != OK)
        return status;
    if (by_file)
        return OK;
    if ((status = request_sections(r)) != OK)
        return status;
    request_take_loglevel(r);
    return request_undecided(r, ap_run_translate_name(r), "translate");
}

/* From r->filename to the configuration in force. */
static int request_locate(request_rec *r)
{
    int status;

    r->per_dir_config = r->server->lookup_defaults;
    if ((status = ap_run_map_to_storage(r)) == WALK_WOULD_WAIT)
        return request_stop(r, REQUEST_AT_STORAGE);
    if (status != OK)
        return status; /* never DECLINED: the core is the last of the hooks, and takes all */
    /* Again: sections for the URI outweigh those for the file. */
    if ((status = request_sections(r)) != OK)
        return status;
    memory_request_use_section(r);
    request_take_loglevel(r);
    status = ap_run_post_perdir_config(r);
    if (status == BRG_WOULD_WAIT)
        return request_stop(r, REQUEST_AT_STORAGE); /* these phases once more, on a worker */
    if (status != OK)
        return status;
    return r->main ? OK : ap_run_header_parser(r);
}

/* ---- access ---- */

/* The request whose access control counts for this one, too; NULL: it needs its own. */
static const request_rec *request_permitted_by(const request_rec *r)
{
    const request_rec *from = r->prev ? r->prev : r->main;

    if (!from || from->per_dir_config != r->per_dir_config)
        return NULL;
    return auth_internal_is_per_conf() || (from->uri && r->uri && !strcmp(from->uri, r->uri))
               ? from
               : NULL;
}

/* Authentication and authorization. */
static int request_authenticate(request_rec *r)
{
    int status = ap_run_check_user_id(r);

    if (status == BRG_WOULD_WAIT || (status = request_undecided(r, status, "check user")) != OK)
        return status;
    if (!r->user) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00027) "No authentication done but request not allowed without "
                                     "authentication for %s. Authentication not configured?",
                      r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    status = ap_run_auth_checker(r);
    return status == BRG_WOULD_WAIT ? status : request_undecided(r, status, "check authorization");
}

/* On a loop only if all participants know when they would wait. */
static int request_authenticate_here(request_rec *r, int may_stop)
{
    int status;

    if (!may_stop || !conn_on_loop())
        return request_authenticate(r);
    if (!policy_auth_runs_inline())
        return request_stop(r, REQUEST_AT_AUTH);
    request_allow_defer(r, 1);
    status = request_authenticate(r);
    request_allow_defer(r, 0);
    return status == BRG_WOULD_WAIT ? request_stop(r, REQUEST_AT_AUTH) : status;
}

BRG_DECLARE(int) brg_auth_may_defer(const request_rec *r)
{
    return conn_on_loop() && (request_may_leave_thread(r) || request_lookup_may_fail(r));
}

/* Access control by address (access_checker) and by user; Satisfy says whether one is enough or both must
 * allow. */
static int request_access(request_rec *r, int may_stop)
{
    const request_rec *from = request_permitted_by(r);
    int any, status;

    if (from) {
        BRG_ASSERT(from->per_dir_config == r->per_dir_config);
        r->user = from->user;
        r->ap_auth_type = from->ap_auth_type;
        return OK;
    }
    any = ap_satisfies(r) == SATISFY_ANY;
    status = request_undecided(r, ap_run_access_checker(r), "check access");
    if (status == SUSPENDED)
        return status;
    if (any ? status == OK : status != OK)
        return status;
    status = ap_run_access_checker_ex(r);
    if (status == DECLINED || (!any && status == OK && ap_run_force_authn(r) == OK))
        return request_authenticate_here(r, may_stop);
    return status;
}

/* Hooks of access control of a request from the network may wait on its loop (brigade/wait.h):
 * SUSPENDED. All of them are called once more afterwards. @param from  REQUEST_AT_ACCESS: all of
 * it; REQUEST_AT_AUTH: the rest that request_stop() left */
static int request_access_waits(request_rec *r, int may_stop, int from)
{
    int status;

    request_set_wait_place(r, r->main || r->prev ? REQUEST_WAITS_NOWHERE : REQUEST_WAITS_IN_ACCESS);
    status = from == REQUEST_AT_ACCESS ? request_access(r, may_stop) : request_authenticate(r);
    if (status == SUSPENDED && request_waits(r->connection))
        request_files_of(r)->stage = from;
    else
        request_set_wait_place(r, REQUEST_WAITS_IN_HANDLER);
    return status;
}

/* The phases after access control. */
static int request_type_and_fix(request_rec *r)
{
    int status = request_undecided(r, ap_run_type_checker(r), "find types");

    return status == OK ? ap_run_fixups(r) : status;
}

/* All phases after translate_name. @a may_stop: a worker may continue them. */
static int request_serve_file(request_rec *r, int may_stop)
{
    int status;

    request_allow_defer(r, may_stop);
    status = request_locate(r);
    request_allow_defer(r, 0);
    if (status != OK)
        return status;
    /* A module that may wait came with an .htaccess file of this request: unknown when the request
     * began. */
    if (conn_on_loop() && !phases_may_run_inline() && (may_stop || request_lookup_may_fail(r)))
        return request_stop(r, REQUEST_AT_STORAGE);
    status = request_access_waits(r, may_stop, REQUEST_AT_ACCESS);
    return status == OK ? request_type_and_fix(r) : status;
}

static int request_phases_run(request_rec *r, int may_stop)
{
    int status = request_translate(r);

    return status == OK ? request_serve_file(r, may_stop) : status;
}

/* A match that reached RegexMatchLimit is neither true nor false. Modules treat it as no match,
 * which may allow a request that a rule forbids: such a request fails. @param failures
 * regex_failures() before the phases */
static int request_check_regex(request_rec *r, unsigned failures, int status)
{
    if (regex_failures() == failures || ap_is_HTTP_ERROR(status) || status == SUSPENDED)
        return status;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "%s: the match of a regular expression was given up, so the request is refused",
                  r->uri);
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int request_internal(request_rec *r, int may_stop)
{
    unsigned failures = regex_failures();

    return request_check_regex(r, failures, request_phases_run(r, may_stop));
}

AP_DECLARE(int) ap_process_request_internal(request_rec *r)
{
    return request_internal(r, 0);
}

/* ---- all phases ---- */

/* The phases before the handler gave a status. SUSPENDED does not count: such a request waits, and
 * goes on later. */
static int request_refused(request_rec *r, int status)
{
    if (ap_is_HTTP_VALID_RESPONSE(status) && !r->prev)
        request_mark_refused(r);
    return status;
}

int request_phases_redirected(request_rec *r, int quick)
{
    int status = quick ? ap_run_quick_handler(r, 0) : DECLINED;

    if (status != DECLINED)
        return status == OK ? DONE : status;
    status = request_internal(r, 1);
    if (status != OK)
        return request_refused(r, status);
    request_allow_defer(r, 1); /* hooks may find here that the handler needs a worker */
    status = handler_prepare(r);
    request_allow_defer(r, 0);
    return status;
}

/* All but post_read_request, which ap_read_request() runs. */
static int request_phases_read(request_rec *r)
{
    return request_phases_redirected(r, 1);
}

int request_phases(request_rec *r)
{
    int status;

    BRG_ASSERT(!r->main && !r->prev);
    if (r->status != HTTP_OK) { /* refused while it was read */
        status = r->status;
        r->status = HTTP_OK;
        return status;
    }
    if ((status = ap_post_read_request(r)) != OK)
        return status;
    return request_phases_read(r);
}

int request_phases_resume(request_rec *r)
{
    const request_files *files = request_files_of(r);
    unsigned failures = regex_failures();
    int status;

    BRG_ASSERT(files != NULL);
    BRG_ASSERT(!conn_on_loop());
    if (files->stage == REQUEST_AT_STORAGE)
        status = request_serve_file(r, 0);
    else if ((status = request_access_waits(r, 0, files->stage)) == OK)
        status = request_type_and_fix(r);
    status = request_check_regex(r, failures, status);
    return status == OK ? handler_prepare(r) : status;
}

/* For connections that modules drive. */
void ap_process_async_request(request_rec *r)
{
    ap_update_child_status(r->connection->sbh, SERVER_BUSY_WRITE, r);
    request_finish(r, request_phases_read(r));
}
