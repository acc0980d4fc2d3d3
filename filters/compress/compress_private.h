/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTERS_COMPRESS_PRIVATE_H
#define BRIGADE_FILTERS_COMPRESS_PRIVATE_H

/**
 * @file compress_private.h
 * Filters that compress: one filter (compress_filter.c) with a compressor for each coding (brigade/coder.h).
 *
 * | File | Purpose |
 * |---|---|
 * | mod_deflate.c, mod_brotli.c, mod_zstd.c | directives and hooks of a module |
 * | compress_decide.c | whether a response is compressed, and its head then |
 * | compress_told.c | the same by a head alone |
 * | compress_filter.c | buckets through a compressor |
 * | compress_config.c | directives that all three have |
 * | inflate.c, inflate_output.c, inflate_input.c | gzip to plain: the stream, INFLATE, the input filter DEFLATE |
 */
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include "apr_buckets.h"

/** Values of DeflateAlterETag and its like. */
typedef enum compress_etag {
    COMPRESS_ETAG_UNSET,
    COMPRESS_ETAG_SUFFIX,
    COMPRESS_ETAG_KEEP,
    COMPRESS_ETAG_REMOVE
} compress_etag;

#define COMPRESS_UNSET (-1)
#define COMPRESS_BUFFER 8096 /**< Apache's default of DeflateBufferSize */

/** Places in compress_conf.args; those from COMPRESS_ARG_OWN on have a meaning of each compressor's own. */
enum { COMPRESS_ARG_BUFFER, COMPRESS_ARG_OWN, COMPRESS_ARGS = COMPRESS_ARG_OWN + 5 };

/** Settings of a server that all three modules have. */
typedef struct compress_conf {
    compress_etag etag;
    const char *note_input, *note_output, *note_ratio;
    int args[COMPRESS_ARGS]; /**< the compressor's own, or COMPRESS_UNSET */
} compress_conf;

/** Settings of a directory. */
typedef struct compress_dir_conf {
    int private; /**< responses that depend on credentials are compressed; or COMPRESS_UNSET */
    /** DeflateInflateLimitRequestBody; 0: none. These of mod_deflate alone; or COMPRESS_UNSET */
    apr_off_t inflate_limit;
    int inflate_ratio, inflate_burst;
} compress_dir_conf;

/** The origin of a response, as far as the level depends on it. */
typedef struct compress_source {
    int file; /**< all of a file that the cache may keep: it is worth more work */
    apr_off_t
        length; /**< of the body, or -1; unless it is all of a file, as was announced: it may be wrong */
} compress_source;

typedef struct compress_coder {
    enum brg_coding coding;
    const char *filter;    /**< name of the filter */
    const char *suffix;    /**< of entity tags */
    const char *off;       /**< variable that forbids it */
    const char *only_html; /**< variable that allows text/html alone, or NULL */
    const char *force;     /**< variable that says that the client takes it, or NULL */
    module *module;        /**< whose configuration is a compress_conf and a compress_dir_conf */
    int frame; /**< bytes of the format around the compressed data, which notes do not count */
    apr_size_t least;         /**< shorter bodies are left alone */
    const char *private_name; /**< directive that allows responses with credentials */
    apr_size_t loop_most;     /**< a loop compresses files up to this size itself */
    void (*settings)(const compress_conf *conf, const compress_source *source,
                     brg_coder_settings *settings);
} compress_coder;

/* ---- compress_config.c ---- */

void *compress_create_conf(apr_pool_t *p, server_rec *s);
void *compress_merge_conf(apr_pool_t *p, void *base, void *over);
void *compress_create_dir_conf(apr_pool_t *p, char *dir);
void *compress_merge_dir_conf(apr_pool_t *p, void *base, void *over);

/** Setters; cmd->info is the compress_coder's address, or the compress_number. */
const char *compress_set_etag(cmd_parms *cmd, void *dir, const char *arg);
const char *compress_set_note(cmd_parms *cmd, void *dir, const char *first, const char *second);
const char *compress_set_private(cmd_parms *cmd, void *dir, int on);

/** A directive that takes a number. */
typedef struct compress_number {
    module *module;
    int arg, from, to; /**< place in args; least and greatest */
} compress_number;
const char *compress_set_number(cmd_parms *cmd, void *dir, const char *arg);

/** An argument of the compressor, or @a standard where it is not set. */
int compress_arg(const compress_conf *conf, int arg, int standard);

/* ---- compress_decide.c ---- */

/** To be called by each module's register_hooks. */
void compress_register(apr_pool_t *p, const compress_coder *coder, ap_out_filter_func fn);

/**
 * 1 if the response, of which @a bb is the first part, is to be compressed by @a coder. r's Vary says if it
 * depends on the client. Threads: the request's. Blocking: no.
 */
int compress_decide(ap_filter_t *f, apr_bucket_brigade *bb, const compress_coder *coder,
                    compress_source *source);

/** NULL: a filter that does not compress. Threads: any. */
const compress_coder *compress_coder_of(const ap_filter_rec_t *frec);

/** 1 if @a value, or NULL, names a coding that changes the body. */
int compress_is_coded(const char *value);

/** Why a response with these Cache-Control and Vary, or NULL, is for one client alone; NULL: it is not. */
const char *compress_is_for_one(const char *control, const char *vary);

/** Register what is told of filters (compress_told.c). */
void compress_told_register(void);

/** @a tag with @a suffix before its last quote. */
const char *compress_tag_with(apr_pool_t *p, const char *tag, const char *suffix);

/** r's head as that of the compressed response. */
void compress_head(request_rec *r, const compress_coder *coder);

/** Settings of r's server. */
const compress_conf *compress_conf_of(const request_rec *r, const compress_coder *coder);

/* ---- compress_filter.c ---- */

/** An output filter function, but for the coder. */
apr_status_t compress_run(ap_filter_t *f, apr_bucket_brigade *bb, const compress_coder *coder);

/* ---- tokens of Content-Encoding ---- */

#endif
