/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MODFILTER_PRIVATE_H
#define BRIGADE_MODFILTER_PRIVATE_H

/**
 * @file filter_private.h
 * Shared by the files of mod_filter.
 *
 * A smart filter is an ap_filter_rec_t of this module's own (never registered by name) whose
 * function is the harness; its providers are registered filters with a condition each. At most one
 * provider runs per request. All is made when the configuration is read and only read afterwards,
 * by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "util_filter.h"
#include "apr_hash.h"

extern module AP_MODULE_DECLARE_DATA filter_module;

/** A provider of a smart filter; util_filter.h leaves the type to this module. */
struct ap_filter_provider_t {
    ap_filter_provider_t *next; /**< declared before this one, and tried after it */
    ap_filter_rec_t *frec;
    ap_expr_info_t *expr; /**< condition; NULL: by type */
    const char **types;   /**< content types, NULL-terminated */
    int has_flags;        /**< FilterProtocol was given for it: ... */
    unsigned int flags;   /**< ... AP_FILTER_PROTO_* instead of frec->proto_flags */
};

typedef struct modfilter_link {
    const char *name;
    struct modfilter_link *next;
} modfilter_link;

typedef struct modfilter_conf {
    apr_hash_t *filters;   /**< name -> ap_filter_rec_t */
    modfilter_link *chain; /**< in order of insertion */
    int resets;            /**< chain replaces the broader context's instead of continuing it */
} modfilter_conf;

/** Function and initialisation of every smart filter. */
apr_status_t modfilter_harness(ap_filter_t *f, apr_bucket_brigade *bb);
int modfilter_init(ap_filter_t *f);

/** brigade/content_coding.h */
const ap_filter_rec_t *brg_filter_chosen(const ap_filter_t *f,
                                         int (*wanted)(const ap_filter_rec_t *frec));

/** brigade/content_coding.h */
const char *brg_filter_types(const ap_filter_t *f, apr_pool_t *p, const ap_filter_rec_t **frec);

/** insert_filter hook: put the chain of r's configuration in. */
void modfilter_insert(request_rec *r);

/** The directives. */
extern const command_rec modfilter_commands[];

#endif
