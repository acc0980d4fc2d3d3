/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_REQUEST_H
#define APACHE_HTTP_REQUEST_H

/**
 * @file http_request.h
 * The phases of a request, sub-requests and internal redirects.
 * Phase hooks return OK, DECLINED, DONE or an HTTP status.
 */
#include "apr_optional.h"
#include "util_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Running a request --------------------------------------------------------------------------------- */

/** All phases from the URI to fixups. OK, DONE or a status. */
AP_DECLARE(int) ap_process_request_internal(request_rec *r);
/** Phases, handler, response and log; blocks until the response is written. */
AP_DECLARE(void) ap_process_request(request_rec *r);
/** The same, but output that the socket does not take is left for the caller to write. */
AP_DECLARE(void) ap_process_async_request(request_rec *r);
/** The end of it, for a handler that returned SUSPENDED. */
AP_DECLARE(void) ap_process_request_after_handler(request_rec *r);
/** Answer with an error: @a type is an HTTP status, or a handler's result. */
AP_DECLARE(void) ap_die(int type, request_rec *r);
/** Is another request there already? APR_SUCCESS if so, APR_EAGAIN if not; skips empty lines. */
AP_DECLARE(apr_status_t)
ap_check_pipeline(conn_rec *c, apr_bucket_brigade *bb, unsigned int max_blank_lines);

/* Find the configuration for URI, directory, file name and conditions. OK or a status. */
AP_DECLARE(int) ap_location_walk(request_rec *r);
/** <Directory> sections and .htaccess files for r->filename. */
AP_DECLARE(int) ap_directory_walk(request_rec *r);
/** <Files> sections for the last part of r->filename. */
AP_DECLARE(int) ap_file_walk(request_rec *r);
/** <If> sections whose condition holds. */
AP_DECLARE(int) ap_if_walk(request_rec *r);

/* ---- Sub-requests -------------------------------------------------------------------------------------- */

/** The query of ap_sub_req_lookup_dirent(): none, or that of the request above. */
#define AP_SUBREQ_NO_ARGS 0
#define AP_SUBREQ_MERGE_ARGS 1

/* Look something up without serving it: see status and finfo of the result, which is never NULL. Destroy it,
 * or it lives as long as @a r. @a next_filter: where its output would go, NULL for a mere lookup. */
AP_DECLARE(request_rec *)
ap_sub_req_lookup_uri(const char *new_uri, const request_rec *r, ap_filter_t *next_filter);
/** By a file name, absolute or relative to the folder of r->filename. */
AP_DECLARE(request_rec *)
ap_sub_req_lookup_file(const char *new_file, const request_rec *r, ap_filter_t *next_filter);
/** By an entry of the folder of r->filename; @a subtype: AP_SUBREQ_*. */
AP_DECLARE(request_rec *)
ap_sub_req_lookup_dirent(const apr_finfo_t *finfo, const request_rec *r, int subtype,
                         ap_filter_t *next_filter);
/** By URI, with another method than GET. */
AP_DECLARE(request_rec *)
ap_sub_req_method_uri(const char *method, const char *new_uri, const request_rec *r,
                      ap_filter_t *next_filter);
/** Run its handler. OK or a status. */
AP_DECLARE(int) ap_run_sub_req(request_rec *r);
/** End a sub-request and free its memory. */
AP_DECLARE(void) ap_destroy_sub_req(request_rec *r);
/** Ends a sub-request's chain: drops EOS. */
AP_CORE_DECLARE_NONSTD(apr_status_t)
ap_sub_req_output_filter(ap_filter_t *f, apr_bucket_brigade *bb);

/* ---- Internal redirects -------------------------------------------------------------------------------- */

/** Serve another URI as the response of @a r; return OK from the handler afterwards. */
AP_DECLARE(void) ap_internal_redirect(const char *new_uri, request_rec *r);
/** The same, keeping r->content_type if there is a handler. */
AP_DECLARE(void) ap_internal_redirect_handler(const char *new_uri, request_rec *r);
/** Turn @a r into its sub-request, which is used up. */
AP_DECLARE(void) ap_internal_fast_redirect(request_rec *sub_req, request_rec *r);

/* ---- Questions and settings ---------------------------------------------------------------------------- */

/** Neither a sub-request nor a redirect. */
AP_DECLARE(int) ap_is_initial_req(request_rec *r);
/** Make r->mtime at least so late. */
AP_DECLARE(void) ap_update_mtime(request_rec *r, apr_time_t dependency_mtime);
/** @a reset of ap_allow_methods(): keep the methods that are allowed already, or forget them. */
#define MERGE_ALLOW 0
#define REPLACE_ALLOW 1
/** Allow methods by name, then NULL. @a reset: forget the others. */
AP_DECLARE(void) ap_allow_methods(request_rec *r, int reset, ...) AP_FN_ATTR_SENTINEL;
/** The same by number, then -1. */
AP_DECLARE(void) ap_allow_standard_methods(request_rec *r, int reset, ...);

/* ---- Authentication and authorization ------------------------------------------------------------------ */

/** Does a Require line apply? Old; ap_some_authn_required() asks whether a user must be known. */
AP_DECLARE(int) ap_some_auth_required(request_rec *r);
/** 1 if a user must be known for this request, as its access hooks say, which are run. */
AP_DECLARE(int) ap_some_authn_required(request_rec *r);

/* Must an internal request be checked again whenever its URI differs, or only if its configuration does? */
#define AP_AUTH_INTERNAL_PER_URI 0
#define AP_AUTH_INTERNAL_PER_CONF 1
#define AP_AUTH_INTERNAL_MASK 0x000F
/** Before the configuration is read: no phase asks for more than AP_AUTH_INTERNAL_PER_CONF. */
AP_DECLARE(void) ap_clear_auth_internal(void);
/** After it is read: find the needs of internal requests. */
AP_DECLARE(void) ap_setup_auth_internal(apr_pool_t *ptemp);
/** ap_register_provider() for groups authn and authz, with one of the above. */
AP_DECLARE(apr_status_t)
ap_register_auth_provider(apr_pool_t *pool, const char *provider_group, const char *provider_name,
                          const char *provider_version, const void *provider, int type);
/** Names of the providers of authentication, for lists of loaded providers. */
APR_DECLARE_OPTIONAL_FN(apr_array_header_t *, authn_ap_list_provider_names, (apr_pool_t *ptemp));
/** The same for authorization. */
APR_DECLARE_OPTIONAL_FN(apr_array_header_t *, authz_ap_list_provider_names, (apr_pool_t *ptemp));

/* ---- Phases, in their order ---------------------------------------------------------------------------- */

/** A request was allocated. Run all. */
AP_DECLARE_HOOK(int, create_request, (request_rec *r))
/** Before the URI is decoded. First, as all where nothing is said. */
AP_DECLARE_HOOK(int, pre_translate_name, (request_rec *r))
/** URI to r->filename. */
AP_DECLARE_HOOK(int, translate_name, (request_rec *r))
/** r->filename to per-directory configuration and r->finfo. */
AP_DECLARE_HOOK(int, map_to_storage, (request_rec *r))
/** The configuration is merged. Run all. */
AP_DECLARE_HOOK(int, post_perdir_config, (request_rec *r))
/** By other things than the user. Run all. */
AP_DECLARE_HOOK(int, access_checker, (request_rec *r))
/** The same; OK says that no user is needed. */
AP_DECLARE_HOOK(int, access_checker_ex, (request_rec *r))
/** Ask for a user though nothing requires one? */
AP_DECLARE_HOOK(int, force_authn, (request_rec *r))
/** Identify the user. */
AP_DECLARE_HOOK(int, check_user_id, (request_rec *r))
/** May they? */
AP_DECLARE_HOOK(int, auth_checker, (request_rec *r))
/** Type, language, encoding, handler. */
AP_DECLARE_HOOK(int, type_checker, (request_rec *r))
/** Last changes before the handler. Run all. */
AP_DECLARE_HOOK(int, fixups, (request_rec *r))
/** Put filters on the chains. Run all. */
AP_DECLARE_HOOK(void, insert_filter, (request_rec *r))
/** In place of stat, for each part of a path. AP_DECLINED: ask the next. */
AP_DECLARE_HOOK(apr_status_t, dirwalk_stat, (apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted))

/* Register for the access phases and declare the needs of internal requests (AP_AUTH_INTERNAL_*).
 */
AP_DECLARE(void)
ap_hook_check_access(ap_HOOK_access_checker_t *pf, const char *const *aszPre,
                     const char *const *aszSucc, int nOrder, int type);
AP_DECLARE(void)
ap_hook_check_access_ex(ap_HOOK_access_checker_ex_t *pf, const char *const *aszPre,
                        const char *const *aszSucc, int nOrder, int type);
AP_DECLARE(void)
ap_hook_check_authn(ap_HOOK_check_user_id_t *pf, const char *const *aszPre,
                    const char *const *aszSucc, int nOrder, int type);
AP_DECLARE(void)
ap_hook_check_authz(ap_HOOK_auth_checker_t *pf, const char *const *aszPre, const char *const *aszSucc,
                    int nOrder, int type);

/* ---- End-of-request buckets ---------------------------------------------------------------------------- */

/** Destroying one logs the request and destroys its pool. */
AP_DECLARE_DATA extern const apr_bucket_type_t ap_bucket_type_eor;
/** 1 if @a e ends a request. */
#define AP_BUCKET_IS_EOR(e) ((e)->type == &ap_bucket_type_eor)
/** Make @a b the end of @a r. */
AP_DECLARE(apr_bucket *) ap_bucket_eor_make(apr_bucket *b, request_rec *r);
/** A new bucket that ends @a r, from @a list. */
AP_DECLARE(apr_bucket *) ap_bucket_eor_create(apr_bucket_alloc_t *list, request_rec *r);

#ifdef __cplusplus
}
#endif
#endif
