/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONTENT_CODING_H
#define BRIGADE_CONTENT_CODING_H

/**
 * @file brigade/content_coding.h
 * Content codings, and which of them a client asks for (RFC 9110, 12.5.3).
 */
#include "httpd.h"
#include "util_filter.h"
#include "apr_optional.h"
#include "brigade/coder.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Codings in an order, without repetition: two bits each from the lowest on; 0 = no more. */
typedef int brg_codings;

/** Bits and mask of one coding in a list. */
#define BRG_CODING_BITS 2
#define BRG_CODING_MASK 3

/** The token of a coding in Content-Encoding: "br", "zstd", "gzip". Static. Threads: any. */
BRG_DECLARE(const char *) brg_coding_name(enum brg_coding coding);

/** The coding of that name, without regard to case; BRG_CODING_NONE. Threads: any. */
BRG_DECLARE(enum brg_coding) brg_coding_named(const char *name);

/** @a list with @a coding behind it, unless it has it. Threads: any. */
BRG_DECLARE(brg_codings) brg_codings_append(brg_codings list, enum brg_coding coding);

/**
 * Which of some codings a client prefers: the one of the greatest weight, of those of equal weight the
 * first of the list. A name outweighs "*"; x-gzip means gzip; a malformed weight is a refusal. None, if
 * identity is named with a greater weight than all of them.
 *
 * @param codings  a brg_codings that counts, cast to a pointer
 * @param value    of Accept-Encoding, @a len bytes; NULL: the request has none
 * @return         an enum brg_coding. It is a brg_cache_variant_fn (brigade/response_cache.h).
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(int) brg_coding_accepted(const void *codings, const char *value, apr_size_t len);

/**
 * As brg_coding_accepted(), all codings that the client takes at least as gladly as identity, the
 * preferred first: the others count where a response cannot have the first one. A
 * brg_cache_variant_fn.
 *
 * @return a brg_codings
 */
BRG_DECLARE(int) brg_codings_accepted(const void *codings, const char *value, apr_size_t len);

/**
 * mod_filter: the filter that @a f, its stand-in on a chain, will run, as the response is now; NULL
 * if none, or if f is no filter of mod_filter. Conditions of its providers are looked at, which
 * shows in Vary and in the log: so not for a filter that has nothing to do with the question.
 *
 * @param wanted  NULL, or 1 for a filter that the answer matters for; where no provider is one, it is NULL
 * Threads: the request's. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(const ap_filter_rec_t *, brg_filter_chosen,
                        (const ap_filter_t *f, int (*wanted)(const ap_filter_rec_t *frec)));

/**
 * mod_filter: the content types for which @a f, its stand-in on a chain, runs the one filter @a frec, each with a NUL behind it, the
 * last "", in @a p. NULL: it is no filter of mod_filter, or goes by more than the type of a response to this request.
 *
 * @param frec  [out] whose types those are
 * Threads: the request's. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(const char *, brg_filter_types,
                        (const ap_filter_t *f, apr_pool_t *p, const ap_filter_rec_t **frec));

/** What becomes of the entity tag of a response that is compressed. */
typedef enum brg_coding_tag {
    BRG_CODING_TAG_SUFFIX, /**< it gets one */
    BRG_CODING_TAG_KEEP,
    BRG_CODING_TAG_REMOVE
} brg_coding_tag;

/** When a filter that compresses passes output on before a flush or the end: then the length of all is not told. */
typedef enum brg_coding_passes {
    BRG_CODING_PASSES_MUCH, /**< 64 KiB of pieces */
    BRG_CODING_PASSES_FULL, /**< a full piece, at the next input */
    BRG_CODING_PASSES_ANY   /**< whatever comes out */
} brg_coding_passes;

/** What a filter that compresses goes by in a request, but for the response. */
typedef struct brg_coding_step {
    enum brg_coding coding;  /**< BRG_CODING_NONE: it leaves all responses to such requests alone */
    apr_size_t least;        /**< shorter bodies are left alone */
    const char *types;       /**< brg_filter_types(): those of status 200; NULL: whatever they are */
    unsigned char only_html; /**< text/html alone */
    unsigned char forced;    /**< whatever the client takes */
    unsigned char with_user; /**< responses that depend on credentials, too */
    unsigned char has_user;  /**< the request has one */
    unsigned char
        is_told; /**< the fields below tell what it makes of a response: nothing but a coder is needed */
    unsigned char tag;        /**< a brg_coding_tag */
    unsigned char tag_least;  /**< bytes of a tag that gets the suffix */
    unsigned char passes;     /**< a brg_coding_passes */
    const char *suffix;       /**< static */
    apr_size_t piece;         /**< bytes that are put out at once */
    brg_coder_settings coder; /**< but for the length */
} brg_coding_step;

/** A response, as far as those filters look at it. Strings, or NULL. */
typedef struct brg_coding_asked {
    int status;
    const char *type;           /**< as it was sent */
    const char *coding;         /**< Content-Encoding */
    const char *control, *vary; /**< Cache-Control, Vary: the first of each */
    apr_off_t least;            /**< the body has so many bytes at least */
    int is_all;                 /**< it has no more, and the filters will see all of it at once */
    int knows_request;          /**< those that follow are set */
    const char *accept;         /**< Accept-Encoding */
    const char *authorization;
} brg_coding_asked;

typedef enum brg_coding_fate {
    BRG_CODING_LEAVES,     /**< it goes on as it is */
    BRG_CODING_NAMES,      /**< the same, with Accept-Encoding in its Vary */
    BRG_CODING_ASKS,       /**< the request has to be known */
    BRG_CODING_COMPRESSES, /**< as a step tells that is_told */
    BRG_CODING_UNKNOWN     /**< nobody but the filters can tell */
} brg_coding_fate;

/** Filters that compress: what @a f goes by. @return 0: it is none, or goes by more. Threads: the request's. Blocking: no. */
APR_DECLARE_OPTIONAL_FN(int, brg_coding_step_of, (const ap_filter_t *f, brg_coding_step *step));

/** What @a n filters, in their order, do to a response. @param by  [out] number of the filter that compresses. Threads: any. Blocking: no. */
APR_DECLARE_OPTIONAL_FN(brg_coding_fate, brg_coding_fate_of,
                        (const brg_coding_step *step, int n, const brg_coding_asked *asked,
                         int *by));

/**
 * Filters that compress: the entity tag with which the response to @a r will be sent, @a etag being
 * its present one, for comparisons. NULL: it will have none. Threads: the request's. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(const char *, brg_coded_tag, (request_rec * r, const char *etag));

/**
 * The same for a 304: entity tag and Vary of @a r become those of the response that it stands for.
 * Threads: the request's. Blocking: no.
 */
APR_DECLARE_OPTIONAL_FN(void, brg_coded_not_modified, (request_rec * r));

#ifdef __cplusplus
}
#endif
#endif
