/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HEAD_EDITS_H
#define BRIGADE_HEAD_EDITS_H

/**
 * @file brigade/head_edits.h
 * What mod_headers does to the fields of responses, where it follows from the request: then another request of the same
 * kind gets the same without a request_rec.
 */
#include "httpd.h"
#include "ap_regex.h"
#include "apr_optional.h"
#include "apr_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As the actions of Header. */
typedef enum brg_head_action {
    BRG_HEAD_ADD,
    BRG_HEAD_SET,
    BRG_HEAD_APPEND,
    BRG_HEAD_MERGE,
    BRG_HEAD_SETIFEMPTY,
    BRG_HEAD_UNSET,
    BRG_HEAD_EDIT,
    BRG_HEAD_EDIT_ALL
} brg_head_action;

/** Strings and patterns live as long as the request's pool, or the configuration. */
typedef struct brg_head_edit {
    brg_head_action action;
    int always; /**< of err_headers_out; else of headers_out */
    const char *name;
    const char *value;       /**< of EDIT: the replacement */
    const ap_regex_t *regex; /**< of EDIT */
    /** value is that of @a r alone: brg_head_value() tells each response's. Lives as long as the configuration. NULL: value holds */
    const void *each;
} brg_head_edit;

/**
 * The edits that the filter FIXUP_HEADERS_OUT does to the response to @a r, in their order.
 * @return an array of brg_head_edit in r's pool; NULL: they cannot be told before the response is there
 * Threads: the request's. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(apr_array_header_t *, brg_head_edits, (request_rec * r));

/**
 * The value of a field once an EDIT was done to it.
 * @return @a value itself, or in @a p; NULL: the replacement is too long
 * Threads: any that has @a p. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(const char *, brg_head_edited,
                        (apr_pool_t * p, const brg_head_edit *edit, const char *value));

/** The value of an edit with @a each, in @a p. @param began  r->request_time of the response's request. Threads: any that has @a p.
 * Blocking: no. */
APR_DECLARE_OPTIONAL_FN(const char *, brg_head_value,
                        (apr_pool_t * p, apr_time_t began, const brg_head_edit *edit));

/** 1 if @a value is an element of the comma-separated @a list, as MERGE looks for it. Threads: any. Blocking: no. */
APR_DECLARE_OPTIONAL_FN(int, brg_head_lists, (const char *list, const char *value));

#ifdef __cplusplus
}
#endif

#endif
