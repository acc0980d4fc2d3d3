/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_FILTER_H
#define AP_FILTER_H

/**
 * @file util_filter.h
 * Filters. A registered filter (ap_filter_rec_t) becomes an instance (ap_filter_t) on a chain of a request or
 * connection; brigades are passed down the output chain and pulled up the input chain.
 * Threads: a chain belongs to the thread that runs its request. Registration: configuration time only.
 */
#include "apr.h"
#include "apr_buckets.h"
#include "httpd.h"
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Modes of reading. */
typedef enum {
    AP_MODE_READBYTES,   /**< at most so many bytes */
    AP_MODE_GETLINE,     /**< to the end of a line, or the bytes at hand */
    AP_MODE_EATCRLF,     /**< drop line ends; is there anything after them? */
    AP_MODE_SPECULATIVE, /**< as READBYTES, but the bytes stay */
    AP_MODE_EXHAUSTIVE,  /**< everything to the end */
    AP_MODE_INIT         /**< nothing: begin the connection */
} ap_input_mode_t;

/** An instance on a chain, see below. */
typedef struct ap_filter_t ap_filter_t;

/** Takes a brigade and leaves it empty; keeps nothing of it that was not set aside. */
typedef apr_status_t (*ap_out_filter_func)(ap_filter_t *f, apr_bucket_brigade *b);
/** Appends to an empty brigade. */
typedef apr_status_t (*ap_in_filter_func)(ap_filter_t *f, apr_bucket_brigade *b, ap_input_mode_t mode,
                                          apr_read_type_e block, apr_off_t readbytes);
/** Before the handler runs. OK, or an HTTP status. */
typedef int (*ap_init_filter_func)(ap_filter_t *f);

/** The function of a filter, by direction. */
typedef union ap_filter_func {
    ap_out_filter_func out_func;
    ap_in_filter_func in_func;
} ap_filter_func;

/** Place in the chain: lower ones see output first. */
typedef enum {
    AP_FTYPE_RESOURCE = 10,    /**< changes content */
    AP_FTYPE_CONTENT_SET = 20, /**< content as a whole, such as compression */
    AP_FTYPE_PROTOCOL = 30,    /**< message framing */
    AP_FTYPE_TRANSCODE = 40,   /**< transfer codings */
    AP_FTYPE_CONNECTION = 50,  /**< such as TLS */
    AP_FTYPE_NETWORK = 60      /**< the socket */
} ap_filter_type;

/** A registered filter, see below. */
typedef struct ap_filter_rec_t ap_filter_rec_t;
/** One of the filters that a filter of mod_filter chooses from. */
typedef struct ap_filter_provider_t ap_filter_provider_t;

/** A registered filter. */
struct ap_filter_rec_t {
    const char *name; /**< lower case */
    ap_filter_func filter_func;
    ap_init_filter_func filter_init_func;
    struct ap_filter_rec_t *next;
    ap_filter_provider_t *providers; /**< of mod_filter */
    ap_filter_type ftype;
    int debug;
    unsigned int proto_flags; /**< AP_FILTER_PROTO_* */
};

/** An instance on a chain. */
struct ap_filter_t {
    ap_filter_rec_t *frec;
    void *ctx; /**< the filter's own */
    ap_filter_t *next;
    request_rec *r; /**< NULL on a connection's chain */
    conn_rec *c;
};

/**
 * Ask the filter below for data. APR_SUCCESS; APR_EAGAIN (non-blocking read, nothing there); APR_EOF; errors.
 * Blocks as @a block says, up to the connection's timeout. @a bucket stays the caller's.
 */
AP_DECLARE(apr_status_t)
ap_get_brigade(ap_filter_t *filter, apr_bucket_brigade *bucket, ap_input_mode_t mode,
               apr_read_type_e block, apr_off_t readbytes);
/**
 * Pass a brigade to the next filter. Its buckets are used up or set aside; the caller keeps the ring, and
 * should empty it before using it again. May block. APR_ECONNABORTED: the client is gone, stop producing.
 */
AP_DECLARE(apr_status_t) ap_pass_brigade(ap_filter_t *filter, apr_bucket_brigade *bucket);
/** For handlers: pass to r->output_filters; OK, or the status to return, after logging @a fmt. */
AP_DECLARE(apr_status_t)
ap_pass_brigade_fchk(request_rec *r, apr_bucket_brigade *bucket, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Register by name (any case). The filter is forgotten at a restart. */
AP_DECLARE(ap_filter_rec_t *)
ap_register_input_filter(const char *name, ap_in_filter_func filter_func,
                         ap_init_filter_func filter_init, ap_filter_type ftype);
/** The same for output. */
AP_DECLARE(ap_filter_rec_t *)
ap_register_output_filter(const char *name, ap_out_filter_func filter_func,
                          ap_init_filter_func filter_init, ap_filter_type ftype);
/** The same, with AP_FILTER_PROTO_* flags. */
AP_DECLARE(ap_filter_rec_t *)
ap_register_output_filter_protocol(const char *name, ap_out_filter_func filter_func,
                                   ap_init_filter_func filter_init, ap_filter_type ftype,
                                   unsigned int proto_flags);
/** The registered filter of that name (any case), or NULL. */
AP_DECLARE(ap_filter_rec_t *) ap_get_input_filter_handle(const char *name);
/** The same for output. */
AP_DECLARE(ap_filter_rec_t *) ap_get_output_filter_handle(const char *name);

/* Put an instance on the chain of @a r, or of @a c if that is NULL, by type. NULL if there is no such filter. */
AP_DECLARE(ap_filter_t *)
ap_add_input_filter(const char *name, void *ctx, request_rec *r, conn_rec *c);
/** The same for a filter that is known; it always succeeds where its type fits. */
AP_DECLARE(ap_filter_t *)
ap_add_input_filter_handle(ap_filter_rec_t *f, void *ctx, request_rec *r, conn_rec *c);
/** Put an instance on the output chain, by name. */
AP_DECLARE(ap_filter_t *)
ap_add_output_filter(const char *name, void *ctx, request_rec *r, conn_rec *c);
/** The same for a filter that is known. */
AP_DECLARE(ap_filter_t *)
ap_add_output_filter_handle(ap_filter_rec_t *f, void *ctx, request_rec *r, conn_rec *c);

/* Take an instance off, also from inside its own function. Its ctx is the filter's concern. */
AP_DECLARE(void) ap_remove_input_filter(ap_filter_t *f);
/** The same for output. */
AP_DECLARE(void) ap_remove_output_filter(ap_filter_t *f);
/* Take off the first with that name from @a next on. APR_NOTFOUND. */
AP_DECLARE(apr_status_t) ap_remove_input_filter_byhandle(ap_filter_t *next, const char *handle);
/** The same for output. */
AP_DECLARE(apr_status_t) ap_remove_output_filter_byhandle(ap_filter_t *next, const char *handle);

/** Set aside all of *b, for as long as @a p lives, onto *save_to (made if NULL). */
AP_DECLARE(apr_status_t)
ap_save_brigade(ap_filter_t *f, apr_bucket_brigade **save_to, apr_bucket_brigade **b, apr_pool_t *p);

/* ---- Writing through a brigade ------------------------------------------------------------------------- */

/** An apr_brigade_flush; @a ctx is the ap_filter_t to pass to. */
AP_DECLARE_NONSTD(apr_status_t) ap_filter_flush(apr_bucket_brigade *bb, void *ctx);
/** Append a flush bucket and pass. Blocks until all is written. */
AP_DECLARE(apr_status_t) ap_fflush(ap_filter_t *f, apr_bucket_brigade *bb);
/** Append to @a bb, and pass it to @a f when it is full. */
#define ap_fwrite(f, bb, data, nbyte) apr_brigade_write(bb, ap_filter_flush, f, data, nbyte)
#define ap_fputs(f, bb, str) apr_brigade_write(bb, ap_filter_flush, f, str, strlen(str))
#define ap_fputc(f, bb, c) apr_brigade_putc(bb, ap_filter_flush, f, c)
/** Strings, then NULL. */
AP_DECLARE_NONSTD(apr_status_t)
ap_fputstrs(ap_filter_t *f, apr_bucket_brigade *bb, ...) AP_FN_ATTR_SENTINEL;
/** Formatted text. */
AP_DECLARE_NONSTD(apr_status_t)
ap_fprintf(ap_filter_t *f, apr_bucket_brigade *bb, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Effects of a filter on the protocol
 * ------------------------------------------------------------ */

/** Set the flags below for all instances of the filter. */
AP_DECLARE(void) ap_filter_protocol(ap_filter_t *f, unsigned int proto_flags);
#define AP_FILTER_PROTO_CHANGE 0x1        /**< changes content */
#define AP_FILTER_PROTO_CHANGE_LENGTH 0x2 /**< and its length */
#define AP_FILTER_PROTO_NO_BYTERANGE 0x4  /**< ranges make no sense */
#define AP_FILTER_PROTO_NO_PROXY 0x8      /**< not on proxied content */
#define AP_FILTER_PROTO_NO_CACHE 0x10     /**< the result must not be cached */
#define AP_FILTER_PROTO_TRANSFORM 0x20    /**< a transformation in the sense of no-transform */

#ifdef __cplusplus
}
#endif
#endif
