/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _MOD_DAV_H_
#define _MOD_DAV_H_

/**
 * @file mod_dav.h
 * WebDAV: a DAV module's offers to repositories, property stores, lock stores and version systems,
 * and the tables of functions that those fill in. A dav_error * result of NULL means success.
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
#include "brigade/dav_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Store of dead properties -------------------------------------------------------------------------- */

typedef struct dav_db dav_db;
typedef struct dav_namespace_map dav_namespace_map;
typedef struct dav_deadprop_rollback dav_deadprop_rollback;

typedef struct {
    const char *ns; /**< "": none; NULL with name NULL: the end */
    const char *name;
} dav_prop_name;

struct dav_hooks_propdb {
    /** *pdb NULL: there are no properties. */
    dav_error *(*open)(apr_pool_t *p, const dav_resource *resource, int ro, dav_db **pdb);
    void (*close)(dav_db *db);
    dav_error *(*define_namespaces)(dav_db *db, dav_xmlns_info *xi);
    dav_error *(*output_value)(dav_db *db, const dav_prop_name *name, dav_xmlns_info *xi,
                               apr_text_header *phdr, int *found);
    dav_error *(*map_namespaces)(dav_db *db, const apr_array_header_t *namespaces,
                                 dav_namespace_map **mapping);
    dav_error *(*store)(dav_db *db, const dav_prop_name *name, const apr_xml_elem *elem,
                        dav_namespace_map *mapping);
    dav_error *(*remove)(dav_db *db, const dav_prop_name *name);
    int (*exists)(dav_db *db, const dav_prop_name *name);
    dav_error *(*first_name)(dav_db *db, dav_prop_name *pname);
    dav_error *(*next_name)(dav_db *db, dav_prop_name *pname);
    dav_error *(*get_rollback)(dav_db *db, const dav_prop_name *name,
                               dav_deadprop_rollback **prollback);
    dav_error *(*apply_rollback)(dav_db *db, dav_deadprop_rollback *rollback);
    void *ctx;
};

/* ---- Locks --------------------------------------------------------------------------------------------- */

/** A lock that does not end by itself. */
#define DAV_TIMEOUT_INFINITE 0
/** The Timeout field as a time. */
DAV_DECLARE(time_t) dav_get_timeout(request_rec *r);

typedef struct dav_lockdb_private dav_lockdb_private;
typedef struct dav_lock_private dav_lock_private;

typedef struct {
    const dav_hooks_locks *hooks;
    int ro;
    dav_lockdb_private *info;
} dav_lockdb;

typedef enum {
    DAV_LOCKSCOPE_UNKNOWN,
    DAV_LOCKSCOPE_EXCLUSIVE,
    DAV_LOCKSCOPE_SHARED
} dav_lock_scope;

typedef enum {
    DAV_LOCKTYPE_UNKNOWN,
    DAV_LOCKTYPE_WRITE
} dav_lock_type;

typedef enum {
    DAV_LOCKREC_DIRECT,
    DAV_LOCKREC_INDIRECT,        /**< by a lock on a parent */
    DAV_LOCKREC_INDIRECT_PARTIAL /**< the same, not all of it filled in */
} dav_lock_rectype;

typedef struct dav_lock {
    dav_lock_rectype rectype;
    int is_locknull; /**< on a name without a resource */
    dav_lock_scope scope;
    dav_lock_type type;
    int depth;
    time_t timeout;
    const dav_locktoken *locktoken;
    const char *owner;
    const char *auth_user;
    dav_lock_private *info;
    struct dav_lock *next;
} dav_lock;

DAV_DECLARE(const char *)
dav_lock_get_activelock(request_rec *r, dav_lock *locks, dav_buffer *pbuf);
DAV_DECLARE(dav_error *) dav_open_lockdb(request_rec *r, int ro, dav_lockdb **lockdb);
DAV_DECLARE(void) dav_close_lockdb(dav_lockdb *lockdb);
DAV_DECLARE(dav_error *)
dav_lock_parse_lockinfo(request_rec *r, const dav_resource *resource, dav_lockdb *lockdb,
                        const apr_xml_doc *doc, dav_lock **lock_request);
DAV_DECLARE(int)
dav_unlock(request_rec *r, const dav_resource *resource, const dav_locktoken *locktoken);
DAV_DECLARE(dav_error *)
dav_add_lock(request_rec *r, const dav_resource *resource, dav_lockdb *lockdb, dav_lock *request,
             dav_response **response);
/** A resource came to be: locks of its parent hold for it too. */
DAV_DECLARE(dav_error *)
dav_notify_created(request_rec *r, dav_lockdb *lockdb, const dav_resource *resource,
                   int resource_state, int depth);
DAV_DECLARE(dav_error *)
dav_lock_query(dav_lockdb *lockdb, const dav_resource *resource, dav_lock **locks);
/** May the request change the resource, by its If: field and the locks? */
DAV_DECLARE(dav_error *)
dav_validate_request(request_rec *r, dav_resource *resource, int depth, dav_locktoken *locktoken,
                     dav_response **response, int flags, dav_lockdb *lockdb);
/** Flags of dav_validate_request(). */
#define DAV_VALIDATE_RESOURCE 0x0010
#define DAV_VALIDATE_PARENT 0x0020
#define DAV_VALIDATE_ADD_LD 0x0040
#define DAV_VALIDATE_USE_424 0x0080
#define DAV_VALIDATE_IS_PARENT 0x0100
#define DAV_VALIDATE_NO_MODIFY 0x0200

/** DAV_RESOURCE_* */
DAV_DECLARE(int) dav_get_resource_state(request_rec *r, const dav_resource *resource);
/** Results of dav_get_resource_state(). */
#define DAV_RESOURCE_LOCK_NULL 10
#define DAV_RESOURCE_NULL 11
#define DAV_RESOURCE_EXISTS 12
#define DAV_RESOURCE_ERROR 13

/** Store of locks. */
struct dav_hooks_locks {
    const char *(*get_supportedlock)(const dav_resource *resource);
    dav_error *(*parse_locktoken)(apr_pool_t *p, const char *char_token,
                                  dav_locktoken **locktoken_p);
    const char *(*format_locktoken)(apr_pool_t *p, const dav_locktoken *locktoken);
    int (*compare_locktoken)(const dav_locktoken *lt1, const dav_locktoken *lt2);
    dav_error *(*open_lockdb)(request_rec *r, int ro, int force, dav_lockdb **lockdb);
    void (*close_lockdb)(dav_lockdb *lockdb);
    dav_error *(*remove_locknull_state)(dav_lockdb *lockdb, const dav_resource *resource);
    dav_error *(*create_lock)(dav_lockdb *lockdb, const dav_resource *resource, dav_lock **lock);
    dav_error *(*get_locks)(dav_lockdb *lockdb, const dav_resource *resource, int calltype,
                            dav_lock **locks);
#define DAV_GETLOCKS_RESOLVED 0 /**< indirect ones as the direct ones they lead to */
#define DAV_GETLOCKS_PARTIAL 1
#define DAV_GETLOCKS_COMPLETE 2
    dav_error *(*find_lock)(dav_lockdb *lockdb, const dav_resource *resource,
                            const dav_locktoken *locktoken, int partial_ok, dav_lock **lock);
    dav_error *(*has_locks)(dav_lockdb *lockdb, const dav_resource *resource, int *locks_present);
    dav_error *(*append_locks)(dav_lockdb *lockdb, const dav_resource *resource, int make_indirect,
                               const dav_lock *lock);
    dav_error *(*remove_lock)(dav_lockdb *lockdb, const dav_resource *resource,
                              const dav_locktoken *locktoken); /**< token NULL: all */
    dav_error *(*refresh_locks)(dav_lockdb *lockdb, const dav_resource *resource,
                                const dav_locktoken_list *ltl, time_t new_time, dav_lock **locks);
    dav_error *(*lookup_resource)(dav_lockdb *lockdb, const dav_locktoken *locktoken,
                                  const dav_resource *start_resource, const dav_resource **resource);
    void *ctx;
};

/* ---- All properties of a resource ---------------------------------------------------------------------- */

typedef struct dav_propdb dav_propdb;

/** Flags of a property database. */
#define DAV_PROPDB_NONE 0
#define DAV_PROPDB_RO 1
#define DAV_PROPDB_DISABLE_LOCKDISCOVERY 2
DAV_DECLARE(dav_error *)
dav_open_propdb(request_rec *r, dav_lockdb *lockdb, const dav_resource *resource, int flags,
                apr_array_header_t *ns_xlate, dav_propdb **propdb);
/** The same with a pool of one's own. */
DAV_DECLARE(dav_error *)
dav_popen_propdb(apr_pool_t *p, request_rec *r, dav_lockdb *lockdb, const dav_resource *resource,
                 int flags, apr_array_header_t *ns_xlate, dav_propdb **propdb);
DAV_DECLARE(void) dav_close_propdb(dav_propdb *db);
/* The properties that a document asks for; all. */
DAV_DECLARE(dav_get_props_result) dav_get_props(dav_propdb *db, apr_xml_doc *doc);
DAV_DECLARE(dav_get_props_result) dav_get_allprops(dav_propdb *db, dav_prop_insert what);
DAV_DECLARE(void)
dav_get_liveprop_supported(dav_propdb *propdb, const char *ns_uri, const char *propname,
                           apr_text_header *body);

/** A change of a property, under way. */
typedef struct dav_prop_ctx {
    dav_propdb *propdb;
    apr_xml_elem *prop;
    int operation;
#define DAV_PROP_OP_SET 1
#define DAV_PROP_OP_DELETE 2
    int is_liveprop;
    void *liveprop_ctx;
    struct dav_rollback_item *rollback;
    dav_error *err;
    request_rec *r;
} dav_prop_ctx;
/** 1 if an operation on a property failed. */
#define DAV_PROP_CTX_HAS_ERR(dpc) ((dpc).err && (dpc).err->status >= HTTP_MULTIPLE_CHOICES)

/* Its steps; the result is ctx->err. */
DAV_DECLARE_NONSTD(void) dav_prop_validate(dav_prop_ctx *ctx);
DAV_DECLARE_NONSTD(void) dav_prop_exec(dav_prop_ctx *ctx);
DAV_DECLARE_NONSTD(void) dav_prop_commit(dav_prop_ctx *ctx);
DAV_DECLARE_NONSTD(void) dav_prop_rollback(dav_prop_ctx *ctx);

/* ---- Walking a tree of resources ----------------------------------------------------------------------- */

enum {
    DAV_CALLTYPE_MEMBER = 1,
    DAV_CALLTYPE_COLLECTION,
    DAV_CALLTYPE_LOCKNULL
};

/** The callback's argument. */
typedef struct {
    void *walk_ctx;
    apr_pool_t *pool;
    const dav_resource *resource;
    dav_response *response;
} dav_walk_resource;

typedef struct {
    int walk_type;
#define DAV_WALKTYPE_AUTH 0x0001     /**< only resources that the client may see */
#define DAV_WALKTYPE_NORMAL 0x0002   /**< resources */
#define DAV_WALKTYPE_LOCKNULL 0x0004 /**< locked names */
#define DAV_WALKTYPE_TOLERANT 0x0008
    dav_error *(*func)(dav_walk_resource *wres, int calltype);
    void *walk_ctx;
    apr_pool_t *pool;
    const dav_resource *root;
    dav_lockdb *lockdb;
} dav_walk_params;

/** The DAV module's own walk_ctx. */
typedef struct dav_walker_ctx {
    dav_walk_params w;
    apr_bucket_brigade *bb;
    apr_pool_t *scratchpool;
    request_rec *r;
    /* PROPFIND */
    apr_xml_doc *doc;
    int propfind_type;
#define DAV_PROPFIND_IS_ALLPROP 1
#define DAV_PROPFIND_IS_PROPNAME 2
#define DAV_PROPFIND_IS_PROP 3
    apr_text *propstat_404;
    /* validation */
    const dav_if_header *if_header;
    const dav_locktoken *locktoken;
    /* LOCK, UNLOCK */
    const dav_lock *lock;
    int skip_root;
    int flags;
    dav_buffer work_buf;
} dav_walker_ctx;

DAV_DECLARE(void)
dav_add_response(dav_walk_resource *wres, int status, dav_get_props_result *propstats);

/* ---- Repositories -------------------------------------------------------------------------------------- */

typedef struct dav_stream dav_stream;
typedef enum {
    DAV_MODE_WRITE_TRUNC,
    DAV_MODE_WRITE_SEEKABLE
} dav_stream_mode;

struct dav_hooks_repository {
    int handle_get; /**< GET is not left to the server */
    dav_error *(*get_resource)(request_rec *r, const char *root_dir, const char *label,
                               int use_checked_in, dav_resource **resource);
    dav_error *(*get_parent_resource)(const dav_resource *resource, dav_resource **parent_resource);
    int (*is_same_resource)(const dav_resource *res1, const dav_resource *res2);
    int (*is_parent_resource)(const dav_resource *res1, const dav_resource *res2);

    dav_error *(*open_stream)(const dav_resource *resource, dav_stream_mode mode,
                              dav_stream **stream);
    dav_error *(*close_stream)(dav_stream *stream, int commit);
    dav_error *(*write_stream)(dav_stream *stream, const void *buf, apr_size_t bufsize);
    dav_error *(*seek_stream)(dav_stream *stream, apr_off_t abs_position);

    dav_error *(*set_headers)(request_rec *r, const dav_resource *resource);
    dav_error *(*deliver)(const dav_resource *resource, ap_filter_t *output);

    dav_error *(*create_collection)(dav_resource *resource);
    dav_error *(*copy_resource)(const dav_resource *src, dav_resource *dst, int depth,
                                dav_response **response);
    dav_error *(*move_resource)(dav_resource *src, dav_resource *dst, dav_response **response);
    dav_error *(*remove_resource)(dav_resource *resource, dav_response **response);

    dav_error *(*walk)(const dav_walk_params *params, int depth, dav_response **response);
    const char *(*getetag)(const dav_resource *resource);
    void *ctx;
    request_rec *(*get_request_rec)(const dav_resource *resource);
    const char *(*get_pathname)(const dav_resource *resource);
};

DAV_DECLARE(void)
dav_add_vary_header(request_rec *in_req, request_rec *out_req, const dav_resource *resource);

/* ---- Versions ------------------------------------------------------------------------------------------ */

typedef enum {
    DAV_AUTO_VERSION_NEVER,
    DAV_AUTO_VERSION_ALWAYS,
    DAV_AUTO_VERSION_LOCKED /**< while it is locked */
} dav_auto_version;

/** The result of an automatic check-out, for the check-in. */
typedef struct {
    int resource_versioned;
    int resource_checkedout;
    int parent_checkedout;
    dav_resource *parent_resource;
} dav_auto_version_info;
DAV_DECLARE(dav_error *)
dav_auto_checkout(request_rec *r, dav_resource *resource, int parent_only,
                  dav_auto_version_info *av_info);
DAV_DECLARE(dav_error *)
dav_auto_checkin(request_rec *r, dav_resource *resource, int undo, int unlock,
                 dav_auto_version_info *av_info);

typedef struct {
    const char *nmspace;
    const char *name;
} dav_report_elem;

struct dav_hooks_vsn {
    void (*get_vsn_options)(apr_pool_t *p, apr_text_header *phdr);
    dav_error *(*get_option)(const dav_resource *resource, const apr_xml_elem *elem,
                             apr_text_header *option);
    int (*versionable)(const dav_resource *resource);
    dav_auto_version (*auto_versionable)(const dav_resource *resource);
    dav_error *(*vsn_control)(dav_resource *resource, const char *target);
    dav_error *(*checkout)(dav_resource *resource, int auto_checkout, int is_unreserved,
                           int is_fork_ok, int create_activity, apr_array_header_t *activities,
                           dav_resource **working_resource);
    dav_error *(*uncheckout)(dav_resource *resource);
    dav_error *(*checkin)(dav_resource *resource, int keep_checked_out,
                          dav_resource **version_resource);
    dav_error *(*avail_reports)(const dav_resource *resource, const dav_report_elem **reports);
    int (*report_label_header_allowed)(const apr_xml_doc *doc);
    dav_error *(*deliver_report)(request_rec *r, const dav_resource *resource,
                                 const apr_xml_doc *doc, ap_filter_t *output);
    /* The following may be NULL. */
    dav_error *(*update)(const dav_resource *resource, const dav_resource *version,
                         const char *label, int depth, dav_response **response);
    dav_error *(*add_label)(const dav_resource *resource, const char *label, int replace);
    dav_error *(*remove_label)(const dav_resource *resource, const char *label);
    int (*can_be_workspace)(const dav_resource *resource);
    dav_error *(*make_workspace)(dav_resource *resource, apr_xml_doc *doc);
    int (*can_be_activity)(const dav_resource *resource);
    dav_error *(*make_activity)(dav_resource *resource);
    dav_error *(*merge)(dav_resource *target, dav_resource *source, int no_auto_merge,
                        int no_checkout, apr_xml_elem *prop_elem, ap_filter_t *output);
    void *ctx;
};

/* ---- Bindings, search, options ------------------------------------------------------------------------- */

struct dav_hooks_binding {
    int (*is_bindable)(const dav_resource *resource);
    dav_error *(*bind_resource)(const dav_resource *resource, dav_resource *binding);
    void *ctx;
};

struct dav_hooks_search {
    dav_error *(*set_option_head)(request_rec *r);
    dav_error *(*search_resource)(request_rec *r, dav_response **response);
    void *ctx;
};

/** Kept with an element: its property and the provider of that. */
typedef struct {
    int propid;
    const dav_hooks_liveprop *provider;
} dav_elem_private;

/** Group of the providers that add to OPTIONS. */
#define DAV_OPTIONS_EXTENSION_GROUP "dav_options"
/** Adds to the DAV and Allow fields. */
typedef struct dav_options_provider {
    dav_error *(*dav_header)(request_rec *r, const dav_resource *resource, apr_text_header *phdr);
    dav_error *(*dav_method)(request_rec *r, const dav_resource *resource, apr_text_header *phdr);
    void *ctx;
} dav_options_provider;
DAV_DECLARE(const dav_options_provider *) dav_get_options_providers(const char *name);
DAV_DECLARE(void)
dav_options_provider_register(apr_pool_t *p, const char *name, const dav_options_provider *provider);

/** Group of the providers that name types of resources. */
#define DAV_RESOURCE_TYPE_GROUP "dav_resource_type"
/** Names types of one's own. */
typedef struct dav_resource_type_provider {
    int (*get_resource_type)(const dav_resource *resource, const char **name, const char **uri);
} dav_resource_type_provider;
DAV_DECLARE(void)
dav_resource_type_provider_register(apr_pool_t *p, const char *name,
                                    const dav_resource_type_provider *provider);
DAV_DECLARE(const dav_resource_type_provider *) dav_get_resource_type_providers(const char *name);

#ifdef __cplusplus
}
#endif
#endif
