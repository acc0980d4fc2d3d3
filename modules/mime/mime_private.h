/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MIME_PRIVATE_H
#define BRIGADE_MIME_PRIVATE_H

/**
 * @file mime_private.h
 * Shared by the files of mod_mime. Configuration is made when it is read and
 * only read afterwards, by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_hash.h"
#include "apr_tables.h"

extern module AP_MODULE_DECLARE_DATA mime_module;

/** The fields that an extension may set. */
typedef enum mime_field {
    MIME_TYPE, /**< "" = none, whatever TypesConfig says */
    MIME_ENCODING,
    MIME_LANGUAGE,
    MIME_CHARSET,
    MIME_HANDLER,
    MIME_INPUT_FILTERS,  /**< names, each ended by NUL, an empty one at the end */
    MIME_OUTPUT_FILTERS, /**< as MIME_INPUT_FILTERS */
    MIME_FIELDS
} mime_field;

/** Values by mime_field; NULL = none. */
typedef struct mime_extension {
    const char *value[MIME_FIELDS];
    const ap_directive_t *line[MIME_FIELDS]; /**< origin of each, for brigade/explain.h */
} mime_extension;

/** MultiviewsMatch: which extensions content negotiation may assume. */
enum {
    MIME_MATCH_ANY = 1,
    MIME_MATCH_NEGOTIATED = 2,
    MIME_MATCH_HANDLERS = 4,
    MIME_MATCH_FILTERS = 8,
    MIME_MATCH_UNSET = 16
};

typedef struct mime_removal {
    const char *extension;
    mime_field field;
} mime_removal;

typedef struct mime_conf {
    /** extension in lower case, without dot -> mime_extension; NULL = none */
    apr_hash_t *extensions;
    apr_array_header_t *removals; /**< mime_removal: undone mappings of broader contexts */
    const char *default_language;
    int multimatch;    /**< MIME_MATCH_* */
    int use_path_info; /**< 1, 0, or MIME_PATH_INFO_UNSET */
} mime_conf;

enum { MIME_PATH_INFO_UNSET = 2 };

void *mime_create_conf(apr_pool_t *p, char *dir);
void *mime_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf);

/** The directives. */
extern const command_rec mime_commands[];

/**
 * The value for Content-Type: @a type in canonical form ("a/b; c=d"), its charset replaced by or
 * completed with @a charset unless that is NULL. A type that cannot be parsed is logged and
 * returned as it is.
 */
const char *mime_content_type(request_rec *r, const char *type, const char *charset);

#endif
