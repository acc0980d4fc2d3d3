/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_DAV_TYPES_H
#define BRIGADE_DAV_TYPES_H

/**
 * @file brigade/dav_types.h
 * Errors, resources, responses, XML and live properties of WebDAV. Part of mod_dav.h.
 */
#include "apr_hooks.h"
#include "apr_hash.h"
#include "apr_dbm.h"
#include "apr_tables.h"
#include "httpd.h"
#include "util_filter.h"
#include "util_xml.h"
#include <limits.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One member is named as a C++ keyword is. */
#ifdef __cplusplus
#define namespace namespace_
#endif

/** The version that the DAV modules tell. */
#define DAV_VERSION AP_SERVER_BASEREVISION

/** How a document of XML begins, and its type. */
#define DAV_XML_HEADER "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
#define DAV_XML_CONTENT_TYPE "text/xml; charset=\"utf-8\""

/** Bytes of a body that are read at a time. */
#define DAV_READ_BLOCKSIZE 2048

/* A small page: title, heading, text. */
#define DAV_RESPONSE_BODY_1 DOCTYPE_HTML_4_01 "<html>\n<head>\n<title>"
#define DAV_RESPONSE_BODY_2 "</title>\n</head><body>\n<h1>"
#define DAV_RESPONSE_BODY_3 "</h1>\n<p>"
#define DAV_RESPONSE_BODY_4 "</p>\n"
#define DAV_RESPONSE_BODY_5 "</body></html>\n"

/** A method's use of a resource. */
#define DAV_DO_COPY 0
#define DAV_DO_MOVE 1

#ifndef DAV_MAX_SHARED_LOCKS
/** Most shared locks of a resource that are looked at. */
#define DAV_MAX_SHARED_LOCKS (1024)
#endif

/** Messages for debugging. */
#define DAV_DEBUG 1
#define DEBUG_CR "\n"
#define DBG0(f) ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL, (f))
#define DBG1(f, a1) ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL, f, a1)
#define DBG2(f, a1, a2) ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL, f, a1, a2)
#define DBG3(f, a1, a2, a3) ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL, f, a1, a2, a3)

/** Depth: infinity */
#define DAV_INFINITY INT_MAX

/** How functions and data of mod_dav are declared. */
#define DAV_DECLARE(type) AP_DECLARE(type)
#define DAV_DECLARE_NONSTD(type) AP_DECLARE(type)
#define DAV_DECLARE_DATA AP_DECLARE_DATA

/* ---- Errors -------------------------------------------------------------------------------------------- */

typedef struct dav_error {
    int status;   /**< HTTP */
    int error_id; /**< DAV_ERR_*, 0: none */
    const char *desc;
    apr_status_t aprerr;
    const char *namespace; /**< of the precondition's element; NULL: DAV: */
    const char *tagname;
    struct dav_error *prev; /**< its cause */
    const char *childtags;
} dav_error;

DAV_DECLARE(dav_error *)
dav_new_error(apr_pool_t *p, int status, int error_id, apr_status_t aprerr, const char *desc);
DAV_DECLARE(dav_error *)
dav_new_error_tag(apr_pool_t *p, int status, int error_id, apr_status_t aprerr, const char *desc,
                  const char *namespace, const char *tagname);
/** An error that was led to by @a prev. */
DAV_DECLARE(dav_error *)
dav_push_error(apr_pool_t *p, int status, int error_id, const char *desc, dav_error *prev);
/** Put @a src at the end of @a dest. Either may be NULL. */
DAV_DECLARE(dav_error *) dav_join_error(dav_error *dest, dav_error *src);

typedef struct dav_response dav_response;
/** Answer with it. The result is the handler's. */
DAV_DECLARE(int) dav_handle_err(request_rec *r, dav_error *err, dav_response *response);

/* If: header */
#define DAV_ERR_IF_PARSE 100
#define DAV_ERR_IF_MULTIPLE_NOT 101
#define DAV_ERR_IF_UNK_CHAR 102
#define DAV_ERR_IF_ABSENT 103
#define DAV_ERR_IF_TAGGED 104
#define DAV_ERR_IF_UNCLOSED_PAREN 105
/* Properties */
#define DAV_ERR_PROP_BAD_MAJOR 200
#define DAV_ERR_PROP_READONLY 201
#define DAV_ERR_PROP_NO_DATABASE 202
#define DAV_ERR_PROP_NOT_FOUND 203
#define DAV_ERR_PROP_BAD_LOCKDB 204
#define DAV_ERR_PROP_OPENING 205
#define DAV_ERR_PROP_EXEC 206
/* Locks */
#define DAV_ERR_LOCK_OPENDB 400
#define DAV_ERR_LOCK_NO_DB 401
#define DAV_ERR_LOCK_CORRUPT_DB 402
#define DAV_ERR_LOCK_UNK_STATE_TOKEN 403
#define DAV_ERR_LOCK_PARSE_TOKEN 404
#define DAV_ERR_LOCK_SAVE_LOCK 405

/* ---- Resources ----------------------------------------------------------------------------------------- */

typedef struct dav_hooks_propdb dav_hooks_propdb;
typedef struct dav_hooks_locks dav_hooks_locks;
typedef struct dav_hooks_vsn dav_hooks_vsn;
typedef struct dav_hooks_repository dav_hooks_repository;
typedef struct dav_hooks_liveprop dav_hooks_liveprop;
typedef struct dav_hooks_binding dav_hooks_binding;
typedef struct dav_hooks_search dav_hooks_search;
typedef dav_hooks_propdb dav_hooks_db;

typedef enum {
    DAV_RESOURCE_TYPE_UNKNOWN,
    DAV_RESOURCE_TYPE_REGULAR, /**< file or collection, under version control or not */
    DAV_RESOURCE_TYPE_VERSION,
    DAV_RESOURCE_TYPE_HISTORY,
    DAV_RESOURCE_TYPE_WORKING,
    DAV_RESOURCE_TYPE_WORKSPACE,
    DAV_RESOURCE_TYPE_ACTIVITY,
    DAV_RESOURCE_TYPE_PRIVATE /**< the repository's own */
} dav_resource_type;

typedef struct dav_resource_private dav_resource_private;

typedef struct dav_resource {
    dav_resource_type type;
    int exists; /**< 0: a name only, as the next ones flags */
    int collection;
    int versioned;
    int baselined;
    int working;
    const char *uri; /**< path, escaped */
    dav_resource_private *info;
    const dav_hooks_repository *hooks;
    apr_pool_t *pool;
} dav_resource;

typedef struct dav_locktoken dav_locktoken;

DAV_DECLARE(dav_error *)
dav_get_resource(request_rec *r, int label_allowed, int use_checked_in, dav_resource **res_p);
DAV_DECLARE(const char *) dav_get_base_path(request_rec *r);

/* ---- Buffers ------------------------------------------------------------------------------------------- */

/** A string that grows. */
typedef struct {
    apr_size_t alloc_len;
    apr_size_t cur_len;
    char *buf;
} dav_buffer;
/** Bytes that a buffer begins with, and grows by. */
#define DAV_BUFFER_MINSIZE 256
#define DAV_BUFFER_PAD 64

DAV_DECLARE(void) dav_set_bufsize(apr_pool_t *p, dav_buffer *pbuf, apr_size_t size);
DAV_DECLARE(void) dav_buffer_init(apr_pool_t *p, dav_buffer *pbuf, const char *str);
/** Room for so many more. */
DAV_DECLARE(void) dav_check_bufsize(apr_pool_t *p, dav_buffer *pbuf, apr_size_t extra_needed);
DAV_DECLARE(void) dav_buffer_append(apr_pool_t *p, dav_buffer *pbuf, const char *str);
/* Write at the end, but leave the length. */
DAV_DECLARE(void) dav_buffer_place(apr_pool_t *p, dav_buffer *pbuf, const char *str);
DAV_DECLARE(void)
dav_buffer_place_mem(apr_pool_t *p, dav_buffer *pbuf, const void *mem, apr_size_t amt,
                     apr_size_t pad);

/* ---- Responses ----------------------------------------------------------------------------------------- */

typedef struct {
    apr_text *propstats;
    apr_text *xmlns;
} dav_get_props_result;

/** One part of a multi-status response. */
struct dav_response {
    const char *href;
    const char *desc;
    dav_get_props_result propresult; /**< or a status, if empty */
    int status;
    struct dav_response *next;
};

typedef struct {
    request_rec *rnew; /**< a sub-request, or NULL */
    dav_error err;
} dav_lookup_result;
/** Another URI of this server, as in Destination. */
DAV_DECLARE(dav_lookup_result) dav_lookup_uri(const char *uri, request_rec *r, int must_be_absolute);

/** The output wanted of a live property, or its result. */
typedef enum {
    DAV_PROP_INSERT_NOTDEF,
    DAV_PROP_INSERT_NOTSUPP,
    DAV_PROP_INSERT_NAME,
    DAV_PROP_INSERT_VALUE,
    DAV_PROP_INSERT_SUPPORTED
} dav_prop_insert;

/* Forms of a date. */
#define DAV_STYLE_ISO8601 1
#define DAV_STYLE_RFC822 2
#define DAV_TIMEBUF_SIZE 30

/* A multi-status response: in pieces, or as a whole. */
DAV_DECLARE(void)
dav_begin_multistatus(apr_bucket_brigade *bb, request_rec *r, int status,
                      apr_array_header_t *namespaces);
DAV_DECLARE(void)
dav_send_one_response(dav_response *response, apr_bucket_brigade *bb, request_rec *r,
                      apr_pool_t *pool);
DAV_DECLARE(apr_status_t) dav_finish_multistatus(request_rec *r, apr_bucket_brigade *bb);
DAV_DECLARE(void)
dav_send_multistatus(request_rec *r, int status, dav_response *first,
                     apr_array_header_t *namespaces);
DAV_DECLARE(apr_text *) dav_failed_proppatch(apr_pool_t *p, apr_array_header_t *prop_ctx);
DAV_DECLARE(apr_text *) dav_success_proppatch(apr_pool_t *p, apr_array_header_t *prop_ctx);

/** The Depth field; -1 if it is bad. */
DAV_DECLARE(int) dav_get_depth(request_rec *r, int def_depth);

/* ---- XML ----------------------------------------------------------------------------------------------- */

DAV_DECLARE(int) dav_validate_root(const apr_xml_doc *doc, const char *tagname);
DAV_DECLARE(int) dav_validate_root_ns(const apr_xml_doc *doc, int ns, const char *tagname);
/* The first in namespace DAV: or ns; NULL: none. */
DAV_DECLARE(apr_xml_elem *) dav_find_child(const apr_xml_elem *elem, const char *tagname);
DAV_DECLARE(apr_xml_elem *) dav_find_child_ns(const apr_xml_elem *elem, int ns, const char *tagname);
DAV_DECLARE(apr_xml_elem *) dav_find_next_ns(const apr_xml_elem *elem, int ns, const char *tagname);
DAV_DECLARE(apr_xml_attr *) dav_find_attr_ns(const apr_xml_elem *elem, int ns, const char *attrname);
DAV_DECLARE(apr_xml_attr *) dav_find_attr(const apr_xml_elem *elem, const char *attrname);
DAV_DECLARE(const char *)
dav_xml_get_cdata(const apr_xml_elem *elem, apr_pool_t *pool, int strip_white);

/** Namespaces and their prefixes. */
typedef struct {
    apr_pool_t *pool;
    apr_hash_t *uri_prefix;
    apr_hash_t *prefix_uri;
    int count;
} dav_xmlns_info;
DAV_DECLARE(dav_xmlns_info *) dav_xmlns_create(apr_pool_t *pool);
DAV_DECLARE(void) dav_xmlns_add(dav_xmlns_info *xi, const char *prefix, const char *uri);
/** With a prefix that is made up if need be. */
DAV_DECLARE(const char *) dav_xmlns_add_uri(dav_xmlns_info *xi, const char *uri);
DAV_DECLARE(const char *) dav_xmlns_get_uri(dav_xmlns_info *xi, const char *prefix);
DAV_DECLARE(const char *) dav_xmlns_get_prefix(dav_xmlns_info *xi, const char *uri);
DAV_DECLARE(void) dav_xmlns_generate(dav_xmlns_info *xi, apr_text_header *phdr);

/* ---- Providers and hooks ------------------------------------------------------------------------------- */

/** A repository and its companions; all but repos and propdb may be NULL. */
typedef struct {
    const dav_hooks_repository *repos;
    const dav_hooks_propdb *propdb;
    const dav_hooks_locks *locks;
    const dav_hooks_vsn *vsn;
    const dav_hooks_binding *binding;
    const dav_hooks_search *search;
    void *ctx;
} dav_provider;

/** URIs for the DAV header of OPTIONS. */
APR_DECLARE_EXTERNAL_HOOK(dav, DAV, void, gather_propsets, (apr_array_header_t * uris))
/** Number of a live property, 0: not mine. */
APR_DECLARE_EXTERNAL_HOOK(dav, DAV, int, find_liveprop,
                          (const dav_resource *resource, const char *ns_uri, const char *name,
                           const dav_hooks_liveprop **hooks))
APR_DECLARE_EXTERNAL_HOOK(dav, DAV, void, insert_all_liveprops,
                          (request_rec * r, const dav_resource *resource, dav_prop_insert what,
                           apr_text_header *phdr))
APR_DECLARE_EXTERNAL_HOOK(dav, DAV, int, deliver_report,
                          (request_rec * r, const dav_resource *resource, const apr_xml_doc *doc,
                           ap_filter_t *output, dav_error **err))
APR_DECLARE_EXTERNAL_HOOK(dav, DAV, void, gather_reports,
                          (request_rec * r, const dav_resource *resource,
                           apr_array_header_t *reports, dav_error **err))
APR_DECLARE_EXTERNAL_HOOK(dav, DAV, int, method_precondition,
                          (request_rec * r, dav_resource *src, const dav_resource *dst,
                           const apr_xml_doc *doc, dav_error **err))

DAV_DECLARE(const dav_hooks_locks *) dav_get_lock_hooks(request_rec *r);
DAV_DECLARE(const dav_hooks_propdb *) dav_get_propdb_hooks(request_rec *r);
DAV_DECLARE(const dav_hooks_vsn *) dav_get_vsn_hooks(request_rec *r);
DAV_DECLARE(const dav_hooks_binding *) dav_get_binding_hooks(request_rec *r);
DAV_DECLARE(const dav_hooks_search *) dav_get_search_hooks(request_rec *r);
/** The functions that a provider offers, by kind. */
#define DAV_GET_HOOKS_PROPDB(r) dav_get_propdb_hooks(r)
#define DAV_GET_HOOKS_LOCKS(r) dav_get_lock_hooks(r)
#define DAV_GET_HOOKS_VSN(r) dav_get_vsn_hooks(r)
#define DAV_GET_HOOKS_BINDING(r) dav_get_binding_hooks(r)
#define DAV_GET_HOOKS_SEARCH(r) dav_get_search_hooks(r)

DAV_DECLARE(void) dav_register_provider(apr_pool_t *p, const char *name, const dav_provider *hooks);
DAV_DECLARE(const dav_provider *) dav_lookup_provider(const char *name);
DAV_DECLARE(const char *) dav_get_provider_name(request_rec *r);
DAV_DECLARE(const dav_provider *) dav_get_provider(request_rec *r);

/* ---- The If: header ------------------------------------------------------------------------------------ */

typedef enum {
    dav_if_etag,
    dav_if_opaquelock,
    dav_if_unknown
} dav_if_state_type;

typedef struct dav_if_state_list {
    dav_if_state_type type;
    int condition;
#define DAV_IF_COND_NORMAL 0
#define DAV_IF_COND_NOT 1
    const char *etag;
    dav_locktoken *locktoken;
    struct dav_if_state_list *next;
} dav_if_state_list;

typedef struct dav_if_header {
    const char *uri; /**< NULL: the request's */
    apr_size_t uri_len;
    struct dav_if_state_list *state;
    struct dav_if_header *next;
    int dummy_header; /**< made from a Lock-Token field */
} dav_if_header;

typedef struct dav_locktoken_list {
    dav_locktoken *locktoken;
    struct dav_locktoken_list *next;
} dav_locktoken_list;

DAV_DECLARE(dav_error *) dav_get_locktoken_list(request_rec *r, dav_locktoken_list **ltl);

/* ---- Live properties ----------------------------------------------------------------------------------- */

typedef struct dav_liveprop_rollback dav_liveprop_rollback;

struct dav_hooks_liveprop {
    /** Write name or value. Returns the kind of its output. */
    dav_prop_insert (*insert_prop)(const dav_resource *resource, int propid, dav_prop_insert what,
                                   apr_text_header *phdr);
    int (*is_writable)(const dav_resource *resource, int propid);
    const char *const *namespace_uris; /**< then NULL */
    /* A change, in steps: check, do, then keep or take back. operation: DAV_PROP_OP_*. */
    dav_error *(*patch_validate)(const dav_resource *resource, const apr_xml_elem *elem,
                                 int operation, void **context, int *defer_to_dead);
    dav_error *(*patch_exec)(const dav_resource *resource, const apr_xml_elem *elem, int operation,
                             void *context, dav_liveprop_rollback **rollback_ctx);
    void (*patch_commit)(const dav_resource *resource, int operation, void *context,
                         dav_liveprop_rollback *rollback_ctx);
    dav_error *(*patch_rollback)(const dav_resource *resource, int operation, void *context,
                                 dav_liveprop_rollback *rollback_ctx);
    void *ctx;
};

typedef struct {
    int ns; /**< index of its namespace in the group */
    const char *name;
    int propid;
    int is_writable;
} dav_liveprop_spec;

typedef struct {
    const dav_liveprop_spec *specs; /**< then one without a name */
    const char *const *namespace_uris;
    const dav_hooks_liveprop *hooks;
} dav_liveprop_group;

DAV_DECLARE(int)
dav_do_find_liveprop(const char *ns_uri, const char *name, const dav_liveprop_group *group,
                     const dav_hooks_liveprop **hooks);
DAV_DECLARE(long)
dav_get_liveprop_info(int propid, const dav_liveprop_group *group, const dav_liveprop_spec **info);
DAV_DECLARE(void) dav_register_liveprop_group(apr_pool_t *pool, const dav_liveprop_group *group);
DAV_DECLARE(long) dav_get_liveprop_ns_index(const char *uri);
DAV_DECLARE(long) dav_get_liveprop_ns_count(void);
DAV_DECLARE(void) dav_add_all_liveprop_xmlns(apr_pool_t *p, apr_text_header *phdr);

typedef struct {
    const apr_xml_doc *doc;
    const apr_xml_elem *elem;
} dav_liveprop_elem;
/** The element that asks for the property at hand. */
DAV_DECLARE(dav_liveprop_elem *) dav_get_liveprop_element(const dav_resource *resource);

/* The properties that every resource has. */
DAV_DECLARE_NONSTD(int)
dav_core_find_liveprop(const dav_resource *resource, const char *ns_uri, const char *name,
                       const dav_hooks_liveprop **hooks);
DAV_DECLARE_NONSTD(void)
dav_core_insert_all_liveprops(request_rec *r, const dav_resource *resource, dav_prop_insert what,
                              apr_text_header *phdr);
DAV_DECLARE_NONSTD(void) dav_core_register_uris(apr_pool_t *p);

/** Numbers of properties in namespace DAV:. */
enum {
    DAV_PROPID_BEGIN = 20000,
    /* RFC 2518 */
    DAV_PROPID_creationdate,
    DAV_PROPID_displayname,
    DAV_PROPID_getcontentlanguage,
    DAV_PROPID_getcontentlength,
    DAV_PROPID_getcontenttype,
    DAV_PROPID_getetag,
    DAV_PROPID_getlastmodified,
    DAV_PROPID_lockdiscovery,
    DAV_PROPID_resourcetype,
    DAV_PROPID_source,
    DAV_PROPID_supportedlock,
    /* RFC 3253 */
    DAV_PROPID_activity_checkout_set,
    DAV_PROPID_activity_set,
    DAV_PROPID_activity_version_set,
    DAV_PROPID_auto_merge_set,
    DAV_PROPID_auto_version,
    DAV_PROPID_baseline_collection,
    DAV_PROPID_baseline_controlled_collection,
    DAV_PROPID_baseline_controlled_collection_set,
    DAV_PROPID_checked_in,
    DAV_PROPID_checked_out,
    DAV_PROPID_checkin_fork,
    DAV_PROPID_checkout_fork,
    DAV_PROPID_checkout_set,
    DAV_PROPID_comment,
    DAV_PROPID_creator_displayname,
    DAV_PROPID_current_activity_set,
    DAV_PROPID_current_workspace_set,
    DAV_PROPID_default_variant,
    DAV_PROPID_eclipsed_set,
    DAV_PROPID_label_name_set,
    DAV_PROPID_merge_set,
    DAV_PROPID_precursor_set,
    DAV_PROPID_predecessor_set,
    DAV_PROPID_root_version,
    DAV_PROPID_subactivity_set,
    DAV_PROPID_subbaseline_set,
    DAV_PROPID_successor_set,
    DAV_PROPID_supported_method_set,
    DAV_PROPID_supported_live_property_set,
    DAV_PROPID_supported_report_set,
    DAV_PROPID_unreserved,
    DAV_PROPID_variant_set,
    DAV_PROPID_version_controlled_binding_set,
    DAV_PROPID_version_controlled_configuration,
    DAV_PROPID_version_history,
    DAV_PROPID_version_name,
    DAV_PROPID_workspace,
    DAV_PROPID_workspace_checkout_set,
    DAV_PROPID_END
};

/* Where other ranges begin. */
#define DAV_PROPID_CORE 10000
#define DAV_PROPID_FS 10100
#define DAV_PROPID_TEST1 10300
#define DAV_PROPID_TEST2 10400
#define DAV_PROPID_TEST3 10500

#ifdef __cplusplus
#undef namespace
#endif

#ifdef __cplusplus
}
#endif
#endif
