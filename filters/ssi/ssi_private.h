/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_PRIVATE_H
#define SSI_PRIVATE_H

/**
 * @file ssi_private.h
 * Server-side includes: output, pages that run, and the elements. ssi_config.h
 * has the configuration, ssi_page.h compiled pages, ssi_include_private.h the running of parts,
 * ssi_depends_private.h dependencies of a page.
 *
 * How a page is served:
 *
 *     request for a page                            any other source of text/html (a CGI script, a proxy)
 *       |                                             |
 *     ssi_handler: a loop or a worker?                |
 *       |   from the page cache, or read and          |
 *       |   compiled:                                 |
 *       |     ssi_page_cache > ssi_compile            |
 *       |       > ssi_lex, ssi_scan                   |
 *       |   an earlier rendering still holds?         |
 *       |     ssi_renderings: 304, or an ETag         |
 *       v                                             v
 *     ssi_filter, the INCLUDES filter ----------------+
 *       |   a whole compiled page:  ssi_render runs its nodes
 *       |   anything else:          ssi_lex on the bytes as they come, ssi_run for each directive
 *       v
 *     elements: ssi_elements, ssi_elements_file, ssi_flow, ssi_include, ssi_exec
 *       |   use variables (ssi_vars), encodings (ssi_encode), conditions (ssi_expr, ssi_legacy_*),
 *      |   and name the page's dependencies (ssi_depends)
 *       v
 *     ssi_output: gathers up to SSI_OUT_GATHER bytes
 *       |   the page ends:  ssi_validators: Content-Length, Last-Modified, ETag, 304, response cache
 *       v
 *     the next filter
 *
 *   File                           Does
 *   ----------------------------   -----------------------------------------------------------------------
 *   mod_include.c                  the module: hooks, table of elements, functions for other modules
 *   ssi_config.c                   directives of the configuration
 *   ssi_handler.c                  serves files from the page cache; chooses between loop and worker
 *   ssi_filter.c                   the INCLUDES filter
 *   ssi_context.c                  state of a page and of the request that it belongs to; its headers
 *   ssi_scan.c, ssi_scan_vector.*  search for the start tag
 *   ssi_lex.c                      one directive: name, attributes, values
 *   ssi_compile.c                  a file in memory into text spans and directives
 *   ssi_page_cache.c               compiled pages of a thread; the bucket that points into one
 *   ssi_render.c                   runs the nodes of a page, calls elements
 *   ssi_output.c                   output that was not passed on yet
 *   ssi_elements.c                 comment, config, echo, set, printenv
 *   ssi_elements_file.c            fsize, flastmod
 *   ssi_flow.c                     if, elif, else, endif; block, endblock
 *   ssi_include.c, ssi_timeout.c   include, and the time that it has
 *   ssi_lookups.c                  files that directives led to, kept with the compiled page
 *   ssi_beside.c                   includes that another worker runs meanwhile
 *   ssi_exec.c                     exec
 *   ssi_vars.c                     variables and their replacement in values
 *   ssi_env.c                      the environment, which is made when it is needed
 *   ssi_encode.c                   encoding= and decoding=, HTML entities
 *   ssi_expr.c                     conditions in the expression language of Apache 2.4
 *   ssi_legacy_parse.c,            conditions in that of Apache 2.2
 *   ssi_legacy_expr.c
 *   ssi_depends.c                  dependencies of the output
 *   ssi_validators.c               Last-Modified, ETag, length; offers to the response cache
 *   ssi_renderings.c               validators of earlier renderings, kept with the compiled page
 *   ssi_esi.c, ssi_esi_scan.c      Edge Side Includes: a filter of its own
 *   ssi_check.c                    brigade --check-ssi
 *
 * All state of a page belongs to the thread that runs its request, except the counter top->beside_n
 * and the fields of ssi_beside.c that its lock guards.
 */
#include "ssi_names.h"
#include "ssi_page.h"
#include "httpd.h"
#include "http_log.h"
#include "util_filter.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include "apr_buckets.h"
#include "apr_tables.h"
#include "mod_include.h"

/* ---- output (ssi_output.c) ---- */

/** Bytes that are gathered before they are passed on. A page that stays below gets a Content-Length and
 * may be stored in the response cache. */
#define SSI_OUT_GATHER (64 * 1024)
/** The same where validators cover all parts (SSILastModified or SSIETag parts). */
#define SSI_OUT_GATHER_PARTS (1024 * 1024)
#define SSI_OUT_BLOCK 8000 /**< size of the blocks into which short pieces are copied */
#define SSI_OUT_COPY 512   /**< shorter pieces are copied: cheaper than a bucket and an iovec */

struct ssi_top;
typedef struct ssi_top ssi_top;

/** Output that goes to memory instead of to the client: of a block, or of include set= or stub=. */
typedef struct ssi_memory {
    struct ssi_memory *outer; /**< where output goes when this one ends; NULL: to the client */
    char *data;               /**< in the pool of the page's request */
    apr_size_t len, room;
    int overflow;    /**< it was more than most: the rest is missing */
    apr_size_t most; /**< 0: no limit */
} ssi_memory;

/** Output of one page. */
typedef struct ssi_out {
    ap_filter_t *f;         /**< the INCLUDES instance */
    apr_bucket_brigade *bb; /**< gathered, in order; then comes buf */
    char *buf;              /**< a block of SSI_OUT_BLOCK bytes, or NULL */
    apr_size_t used;        /**< bytes of buf */
    apr_size_t held;        /**< bytes in bb and buf */
    apr_size_t gather;      /**< with more than that in bb and buf they are passed on */
    ssi_memory *memory;     /**< not NULL: everything goes there */
    int passed;             /**< something was passed on */
    apr_status_t status;    /**< of passing; the first error stays */
} ssi_out;

/** @a f: the INCLUDES instance that writes here. */
void ssi_out_init(ssi_out *out, ap_filter_t *f);
/** Copies @a data. */
void ssi_out_bytes(ssi_out *out, const char *data, apr_size_t len);
/** Copies a string. */
void ssi_out_text(ssi_out *out, const char *text);
/** A part of a page, by reference if it is long. */
void ssi_out_span(ssi_out *out, ssi_page *page, apr_size_t off, apr_size_t len);
/** Takes the bucket over. Its data outlives the request's pool, or its type can set it aside. */
void ssi_out_bucket(ssi_out *out, apr_bucket *e);
/** The block becomes a bucket of out->bb. */
void ssi_out_end_block(ssi_out *out);
/** Pass everything on. Blocking: until all includes in it are there. */
apr_status_t ssi_out_pass(ssi_out *out);
/** Pass on the output before the first include that is not there yet. */
apr_status_t ssi_out_pass_ready(ssi_out *out);
/** The same, and have it sent: the page is about to wait. */
apr_status_t ssi_out_flush(ssi_out *out);
/** SSIMaxBytes: @a len more bytes of output, of page @a r. @return 0: that is too much; the first time there is a message */
int ssi_charge(ssi_top *top, const ssi_dir_conf *conf, const request_rec *r, apr_size_t len);
/** Output goes to @a memory, up to @a most bytes (0: no limit), until ssi_out_restore(). */
void ssi_out_divert(ssi_out *out, ssi_memory *memory, apr_size_t most);
/** Ends the last ssi_out_divert(). @return its output, NUL-terminated, in @a p */
char *ssi_out_restore(ssi_out *out, ssi_memory *memory, apr_pool_t *p);

/**
 * Make room for @a more bytes behind the first @a len of @a data (NULL: none yet), in @a p.
 * @param room  [in,out] bytes that @a data has
 * @return @a data, or a copy of it that is at least twice as large
 */
char *ssi_grow(apr_pool_t *p, char *data, apr_size_t len, apr_size_t more, apr_size_t *room);

/* ---- pages that run ---- */

#define SSI_DEPENDS_VOLATILE 1 /**< output depends on something that cannot be watched */
#define SSI_DEPENDS_FIELDS 2   /**< on request fields: may have an ETag, is not stored */
#define SSI_DEPENDS_MODULES 4 /**< modules decided about a part of it: validators, but not stored */
#define SSI_DEPENDS_UNDATED 8 /**< a part has no date: no Last-Modified */
#define SSI_DEPENDS_STORED 16 /**< a part is a stored object: validators are not kept */

/** Properties of pages that are offered to be stored. */
#define SSI_DEPENDS_KEPT (SSI_DEPENDS_UNDATED | SSI_DEPENDS_STORED)
/** Of pages whose validators cannot be kept. */
#define SSI_DEPENDS_UNKEPT (SSI_DEPENDS_VOLATILE | SSI_DEPENDS_MODULES | SSI_DEPENDS_STORED)

/** A file that a page was made from. */
typedef struct ssi_part {
    const char *path;
    ssi_identity id; /**< all zero: it does not exist */
} ssi_part;

/** The kind of a read value: a variable, a request field, or a variable that the page itself had
 * set. */
enum { SSI_READ_VARIABLE, SSI_READ_FIELD, SSI_READ_PAGE };

/** A value that a page read. */
typedef struct ssi_read {
    const char *name, *value; /**< as it was before the page ran; NULL: not set */
    int kind;                 /**< SSI_READ_* */
} ssi_read;

/** Validators of one rendering. */
typedef struct ssi_validators {
    const char *etag, *vary; /**< vary: NULL: none */
    apr_time_t newest;       /**< for Last-Modified; 0: no date */
    int large;               /**< it was sent before it was complete */
} ssi_validators;

/** A digest of output, the same however the bytes are cut. Starts as {0}. */
typedef struct ssi_digest {
    apr_uint64_t a, b, len;
    unsigned char rest[8]; /**< the last len % 8 bytes */
} ssi_digest;

#define SSI_TOP_TAG 0x53534954u /* "SSIT" */

/** The outermost request of a page and of everything that it includes. In r->pool. */
struct ssi_top {
    uint32_t tag;
    request_rec *r;
    int depends;               /**< SSI_DEPENDS_* */
    apr_array_header_t *paths; /**< files that output was made from, and names that did not exist */
    ssi_names paths_seen;      /**< the same as a set, with paths that look-ups passed */
    int cache_paths_n;         /**< how many paths of brg_cache_dependencies() were considered */
    apr_array_header_t *vary;  /**< names of request fields, or NULL */
    /* for ssi_renderings.c */
    /** validators are kept with it; its handler holds it. NULL: nothing is kept */
    ssi_page *kept_page;
    apr_array_header_t *parts_kept; /**< of ssi_part, or NULL */
    apr_array_header_t *reads;      /**< of ssi_read, or NULL */
    ssi_names reads_seen;           /**< the names of these, and of the page's own */
    ssi_digest digest;              /**< of the output */
    const char *announced_tag; /**< the ETag that was sent before the page was complete, or NULL */
    apr_time_t newest;         /**< modification time of the newest part */
    unsigned includes;         /**< that were run */
    int besides;               /**< of these: by other workers */
    int beside_n;              /**< of these: not over yet. Atomic: other workers count down */
    apr_off_t bytes;           /**< of output */
    int env_ready;             /**< the environment has its variables; until then, for ssi_env.c: */
    /** as it was before the page changed it; NULL: it did not, or cannot run again */
    apr_table_t *env_before;
    apr_array_header_t *env_sets; /**< of ssi_env_set: the variables in order; or NULL */
    include_ctx_t *env_dates_of;  /**< the page gave a time format; or NULL */
    const char *env_dates[3];     /**< values that were asked for, or NULL */
    int stopped; /**< no more output: SSIMaxBytes was reached, or the page runs again on a worker */
    int waits;   /**< some part had to be waited for, or was sent before the page was complete */
    int may_rerun; /**< it runs on an event loop, and nothing was sent yet */
    int rerun;     /**< it is to be run again on a worker, from the beginning */
};

/** In r->request_config, of a page's request and of each request that a page includes. */
typedef struct ssi_link {
    ssi_top *top;
    request_rec *parent; /**< whose page includes this one; NULL: it is top->r itself */
    int depth;           /**< 0 for top->r */
    apr_time_t deadline; /**< of the include, by brg_monotonic_now(); 0: none */
    int late;            /**< the deadline is over */
    int beside;          /**< another worker runs the request: top and parent are not its own */
    int besides; /**< another worker runs, or ran, a part of it: the request lives as long as top->r */
    server_rec *server; /**< ssi_timeout_server(), whose timeout ends with the include; or NULL */
    int is_as_file;     /**< its output is the content of its file, from the page cache */
} ssi_link;

#define SSI_MATCHES AP_MAX_REG_MATCH

/** The last match of a regular expression, for $0 to $9. */
typedef struct ssi_match {
    const char *source;  /**< subject of the match */
    const char *pattern; /**< for a message; NULL after a condition in the language of 2.4 */
    apr_size_t groups;
    ap_regmatch_t at[SSI_MATCHES]; /**< offsets in source */
    int any;                       /**< an expression with a pattern ran */
    int matched;                   /**< and it matched */
} ssi_match;

/** A block element, which include stub= shows. */
typedef struct ssi_block {
    const char *name, *text;
    struct ssi_block *next;
} ssi_block;

#define SSI_STATE_TAG 0x53534953u /* "SSIS" */

/** State of one page: target of include_ctx_t.intern. In the pool of the page's request. */
struct ssi_internal_ctx {
    uint32_t tag;
    include_ctx_t *ctx; /**< the public part, which elements of other modules see */
    const ssi_dir_conf *conf;
    const ssi_tags *tags;
    ssi_top *top;
    ssi_link *link; /**< of the page's own request */
    ap_filter_t *f; /**< the INCLUDES instance */
    ssi_out out;
    ap_filter_t capture;    /**< the filter that sub-requests send to */
    ssi_link *capture_link; /**< of the sub-request that is running, or NULL */
    const char *undefined_echo;
    const ssi_directive *directive; /**< that is running, or NULL */
    unsigned arg_next; /**< the next of its attributes for ap_ssi_get_tag_and_value() */
    ssi_match match;
    ssi_page *page; /**< that is being rendered; NULL if input is streamed */
    int lookups;    /**< look-ups of its directives may be used, and kept */
    ssi_block *blocks;
    ssi_memory block_memory; /**< output of the block that is open */
    const char *block_name;  /**< of the block that is open, or NULL */
    int begun;               /**< input is streamed, and some of it came */
    int dpool_used;          /**< ctx->dpool is to be cleared after the directive */
    /* streamed input */
    ssi_scan_state scan;
    int in_directive;
    char *text; /**< of the directive, from the byte after its start tag */
    apr_size_t text_len, text_room;
    apr_size_t seen; /**< bytes of the document before text */
    ssi_lexer lexer;
};

typedef struct ssi_internal_ctx ssi_state;

/** The state behind a filter's void *. */
static inline include_ctx_t *ssi_ctx_of(const ap_filter_t *f)
{
    include_ctx_t *ctx = f->ctx;

    BRG_ASSERT_TAG(ctx->intern, SSI_STATE_TAG);
    return ctx;
}

/** 0 in a branch that is not shown. */
static inline int ssi_printing(const include_ctx_t *ctx)
{
    return ctx->flags & SSI_FLAG_PRINTING;
}

/** A pool that is cleared after the directive. */
static inline apr_pool_t *ssi_dpool(include_ctx_t *ctx)
{
    ctx->intern->dpool_used = 1;
    return ctx->dpool;
}

/** Write the page's error message (SSIErrorMsg, config errmsg=). */
__attribute__((cold)) void ssi_error(include_ctx_t *ctx);

/* ---- ssi_context.c ---- */

/** The state of the page that @a f is about to parse; becomes f->ctx. */
include_ctx_t *ssi_context_create(ap_filter_t *f);
/** The link of @a r; made if missing, for a page that no other includes. */
ssi_link *ssi_link_of(request_rec *r);
/** The filter's init function: before the handler runs. */
int ssi_filter_init(ap_filter_t *f);
/** Headers that a parsed page may have, before its first byte. */
void ssi_headers_prepare(request_rec *r, const ssi_dir_conf *conf);

/* ---- ssi_env.c ---- */

/** CGI variables and those of SSI are in the environment of the page from now on. */
void ssi_env_ready(include_ctx_t *ctx);
/** The same for a request whose page has no state yet. */
void ssi_env_make(request_rec *r, ssi_top *top);
/** QUERY_STRING and QUERY_STRING_UNESCAPED of @a r, if it has a query. */
void ssi_env_add_query(request_rec *r, ssi_top *top);
/** The variable's value without the environment. @return 0: it takes ssi_env_ready() */
int ssi_env_early(include_ctx_t *ctx, const char *name, const char **value);
/** The page sets a variable, which the environment may get later. Both strings live as long as top->r.
 * @return 0: it takes ssi_env_ready() */
int ssi_env_set_early(include_ctx_t *ctx, const char *name, const char *value);
/** The time format changed: dates are formatted when they are asked for. @return as above */
int ssi_env_dates_early(include_ctx_t *ctx);

/* ---- ssi_render.c ---- */

/** Run all nodes of @a page, and end it. */
void ssi_render(include_ctx_t *ctx, ssi_page *page);
/** Run one directive. */
void ssi_run(include_ctx_t *ctx, const ssi_directive *d);
/** The page ends; @a unfinished: within a directive. Logs missing ends. */
void ssi_finish(include_ctx_t *ctx, int unfinished);

/* ---- ssi_filter.c ---- */

extern ap_filter_rec_t *ssi_includes_handle, *ssi_capture_handle, *ssi_beside_handle;
void ssi_filters_register(void);

/* ---- ssi_handler.c ---- */

/** handler hook, last: files from the page cache. */
int ssi_handler(request_rec *r);
/** handler hook, first: nothing more is run of a page that runs again on a worker. */
int ssi_handler_stop(request_rec *r);
/** 1 if the output of @a sub is that of a file, parsed or as it is. */
int ssi_is_plain_sub(const request_rec *sub);
/** insert_filter hook: does this page need a thread that may wait? */
void ssi_choose_thread(request_rec *r);
/** A hint for the next request of @a page: it had to wait for something (1), or not. Threads: any. */
void ssi_thread_hint(const ssi_page *page, int waits);
/** The next step may have to wait. @return 1: the page runs again on a worker, do nothing more */
int ssi_about_to_wait(include_ctx_t *ctx);

/* ---- ssi_vars.c ---- */

/** The value of a variable, or the text of group $0 to $9. NULL if not set. */
const char *ssi_var_get(include_ctx_t *ctx, const char *name);
/** Set a variable of the outermost request. Both strings are copied. */
void ssi_var_set(include_ctx_t *ctx, const char *name, const char *value);
/** Replace variables. @a leave_name: an unset one stays as written. @return in ssi_dpool(), or @a
 * in */
const char *ssi_expand(include_ctx_t *ctx, const char *in, int leave_name);
/** The same into @a out, at most @a len bytes with the NUL; @a out NULL: in ctx->dpool. */
char *ssi_expand_into(include_ctx_t *ctx, const char *in, char *out, apr_size_t len,
                      int leave_name);
/** Put the variables of SSI into r->subprocess_env; some are computed when they are asked for. */
void ssi_vars_add(request_rec *r);
/** Compute all of them: something reads the environment itself. */
void ssi_vars_resolve(include_ctx_t *ctx);
/** The time format changed: dates are formatted again. */
void ssi_vars_dates(include_ctx_t *ctx);
/** The variables that are dates, as many as ssi_top.env_dates. */
extern const char *const ssi_date_names[3];
/** The value of one of them, in the pool of the outermost request. */
const char *ssi_date(include_ctx_t *ctx, const char *name);
/** The value of a variable that was not computed yet; compared by address. */
extern const char ssi_lazy[];

/* ---- ssi_encode.c ---- */

/** Apply a list of decodings, or of encodings. NULL if @a chain names an unknown one, which is then in
 * *bad. @a chain NULL: none. */
const char *ssi_decode(apr_pool_t *p, const char *chain, const char *value, const char **bad);
const char *ssi_encode(apr_pool_t *p, const char *chain, const char *value, const char **bad);
/** HTML entities of Latin-1 replaced. @return in @a p, or @a text */
const char *ssi_decode_entities(apr_pool_t *p, const char *text);

/* ---- ssi_expr.c, ssi_legacy_expr.c ---- */

/** Evaluate a condition; it is parsed once per directive. @return 1, 0, or -1 after a message */
int ssi_expr_true(include_ctx_t *ctx, const ssi_directive *d, const char *text);
int ssi_legacy_true(include_ctx_t *ctx, const ssi_directive *d, const char *text);

/* ---- elements ---- */

include_handler_fn_t ssi_do_comment, ssi_do_config, ssi_do_echo, ssi_do_set, ssi_do_printenv,
    ssi_do_fsize, ssi_do_flastmod, ssi_do_include, ssi_do_exec, ssi_do_if, ssi_do_elif, ssi_do_else,
    ssi_do_endif, ssi_do_block, ssi_do_endblock;

/** An element's function for one attribute. @return 0 after a message: the element ends with an
 * error */
typedef int ssi_attribute_fn(include_ctx_t *ctx, void *state, const ssi_arg *arg);

/**
 * Call @a fn for the attributes of the running directive, up to the first without a value. If it fails, or
 * if there are fewer than @a least attributes, the page shows its error message. (ssi_elements.c)
 *
 * @param ah  APLOGNO() of the message about missing attributes
 */
void ssi_attributes(include_ctx_t *ctx, const char *ah, unsigned least, ssi_attribute_fn *fn,
                    void *state);

/** The text of a block, or NULL. (ssi_flow.c) */
const char *ssi_block_text(include_ctx_t *ctx, const char *name);

/* ---- ssi_check.c ---- */

/** Print the mistakes of these files, one a line. @return how many there are. Blocking: yes. */
int ssi_check_files(apr_pool_t *p, int n, const char *const *files);

#endif
