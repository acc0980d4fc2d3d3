/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_NEG_PRIVATE_H
#define BRIGADE_NEG_PRIVATE_H

/**
 * @file neg_private.h
 * Content negotiation: variants of a resource, a client's preferences, and the
 * choice. All in the request's pool.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"

#define NEG_TYPE_MAP "type-map"
#define NEG_TYPE_MAP_MEDIA "application/x-type-map"
#define NEG_MAP_MOST (4 << 20) /**< bytes of a type map */

enum { NEG_FORCE_UNSET = -1, NEG_FORCE_NONE = 0, NEG_FORCE_PREFER = 1, NEG_FORCE_FALLBACK = 2 };

typedef struct neg_conf {
    int force;                     /**< set of NEG_FORCE_* */
    apr_array_header_t *languages; /**< const char *: LanguagePriority; NULL: not set */
} neg_conf;

/** An element of an Accept-* field, or a media type of a type map. */
typedef struct neg_range {
    const char *name; /**< in small letters */
    float q, level;
    const char *charset; /**< of a media type; NULL */
    int has_q;
} neg_range;

typedef struct neg_variant {
    const char *file; /**< relative to the folder of the resource; NULL: the map's own */
    const char *type, *charset, *encoding, *description; /**< NULL: not known */
    apr_array_header_t *languages;                       /**< const char *; NULL: none */
    float level, source_q;
    apr_off_t length; /**< -1: not known */
    int has_body;     /**< it is in the map */
    apr_off_t body;
    request_rec *sub; /**< of MultiViews; NULL */

    float type_q, charset_q, encoding_q, language_q;
    int stars;          /**< how exactly its type was named: 0 not at all, to 3 */
    int language_index; /**< in LanguagePriority; -1 */
} neg_variant;

typedef struct negotiation {
    request_rec *r;
    const neg_conf *conf;
    const char *folder;           /**< of the resource */
    apr_array_header_t *variants; /**< of neg_variant */
    /** of neg_range; NULL: no such field */
    apr_array_header_t *types, *charsets, *encodings, *languages;
    int type_has_q;    /**< some type of Accept has a q */
    int some_language; /**< a variant has one */
    int transparent;   /**< RFC 2295: all variants are neighbours of the resource */
    int has_negotiate; /**< the client sent Negotiate */
    int knows_lists;   /**< it takes a list of variants */
    int may_choose;    /**< this server may choose for it */
    int by_product;    /**< by the algorithm of RFC 2296 */
} negotiation;

/** Read the client's fields. */
void neg_read_client(negotiation *n);

/** The elements of a field. */
apr_array_header_t *neg_ranges(apr_pool_t *p, const char *field);

/** One element, up to a comma; *at moves behind it. */
neg_range neg_range_at(apr_pool_t *p, const char **at);

/** Language tags of a field, in small letters. */
apr_array_header_t *neg_languages(apr_pool_t *p, const char *field);

/**
 * Read a type map.
 * @param text  of @a len bytes; changed
 * @return OK, or the status of an error, logged
 */
int neg_read_map(negotiation *n, char *text, apr_size_t len);

/** Read the variants of MultiViews from the folder of r->filename. OK, DECLINED or the status of an error. */
int neg_read_folder(negotiation *n);

/** The variant for the client; NULL: none is acceptable. */
neg_variant *neg_choose(negotiation *n);

/** 0 if RFC 2296 has the client choose: it did not say enough about this variant. */
int neg_is_sure(const negotiation *n, const neg_variant *v);

/** Look the length of a map's variant up, where the map does not say it. */
void neg_find_length(const negotiation *n, neg_variant *v);

/** Vary, Alternates and kin, before a choice (@a chosen NULL), or for the chosen one. */
void neg_set_fields(negotiation *n, const neg_variant *chosen, int status);

extern module negotiation_module;

#endif
