/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_PRIVATE_H
#define SSI_PRIVATE_H

/**
 * @file ssi_private.h
 * Server-side includes: what the files ssi_*.c and mod_include.c share.
 *
 *   mod_include.c     hooks, optional functions
 *   ssi_config.c      directives
 *   ssi_handler.c     serves files to pages and to the INCLUDES filter out of the page cache
 *   ssi_filter.c      the INCLUDES filter: compiled pages, and streamed input of any origin
 *   ssi_context.c     state of a page and of the request that it belongs to; its headers
 *   ssi_lex.c         one directive: name, attributes, values
 *   ssi_compile.c     a file in memory into literal spans and directives
 *   ssi_page_cache.c  compiled pages per thread; the bucket that points into one
 *   ssi_render.c      runs the nodes of a page
 *   ssi_output.c      what a page has produced and not yet passed on
 *   ssi_vars.c ssi_encode.c ssi_expr.c ssi_legacy_expr.c ssi_legacy_parse.c
 *   ssi_elements*.c ssi_include.c ssi_exec.c ssi_flow.c   the elements
 *   ssi_validators.c  what the page depends on, Last-Modified and ETag, answers to remember
 *   ssi_variants.c    validators of earlier renderings, kept with the compiled page
 *   ssi_check.c       brigade --check-ssi
 *
 * All of a page's state belongs to the thread that runs its request.
 *
 * ssi_config.h has the configuration, ssi_page.h pages as they are compiled; this file has output,
 * pages at work, and the elements.
 */
#include "ssi_page.h"
#include "httpd.h"
#include "http_log.h"
#include "util_filter.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "brigade/memory.h"
#include "apr_buckets.h"
#include "apr_hash.h"
#include "apr_tables.h"
#include "mod_include.h"

/* ---- output ---- */

/* Up to this much is gathered before it is passed on; a page that stays below gets a
 * Content-Length and may be remembered. */
#define SSI_OUT_GATHER (64 * 1024)
#define SSI_OUT_GATHER_PARTS (1024 * 1024) /* where validators are to cover the whole */
#define SSI_OUT_BLOCK 8000
#define SSI_OUT_COPY 512 /* shorter pieces are copied: cheaper than a bucket and an iovec */

typedef struct ssi_memory { /* output that is kept back: of a block, or for include set= */
    struct ssi_memory *outer;
    char *data;
    apr_size_t len, room;
    int overflow;
    apr_size_t most;
} ssi_memory;

typedef struct ssi_out {
    ap_filter_t *f;         /* the INCLUDES instance */
    apr_bucket_brigade *bb; /* gathered, in order; then buf */
    char *buf;
    apr_size_t used;
    apr_size_t held;     /* bytes in bb and buf */
    apr_size_t gather;   /* how many of them may wait */
    ssi_memory *memory;  /* if set, everything goes there */
    int passed;          /* something went on */
    apr_status_t status; /* of passing; the first error stays */
} ssi_out;

void ssi_out_init(ssi_out *out, ap_filter_t *f);
void ssi_out_bytes(ssi_out *out, const char *data, apr_size_t len);
void ssi_out_text(ssi_out *out, const char *text);
/** A span of a page, by reference if it is long. */
void ssi_out_span(ssi_out *out, ssi_page *page, apr_size_t off, apr_size_t len);
/** Takes the bucket, whose data must outlive the request's pool or be set aside by its type. */
void ssi_out_bucket(ssi_out *out, apr_bucket *e);
/** Buffered bytes become a bucket of out->bb. */
void ssi_out_settle(ssi_out *out);
/** Pass all on. */
apr_status_t ssi_out_pass(ssi_out *out);
/** Pass all on and have it sent: what comes next has to be waited for. */
apr_status_t ssi_out_flush(ssi_out *out);
/** Output goes to memory, up to @a most bytes, until ssi_out_restore(). */
void ssi_out_divert(ssi_out *out, ssi_memory *memory, apr_size_t most);
/** The text, NUL-terminated, in @a p. */
char *ssi_out_restore(ssi_out *out, ssi_memory *memory, apr_pool_t *p);

/* ---- pages at work ---- */

#define SSI_TRACK_VOLATILE 1 /* output depends on something that nobody can watch */
#define SSI_TRACK_HEADERS 2  /* on request headers: may have an ETag, but is not remembered */
#define SSI_TRACK_ASKED 4 /* modules decided about a part of it: validators, but not remembered */

/* A file that a page was made of. All zero: it is not there. */
typedef struct ssi_part {
    const char *path;
    ssi_identity id;
} ssi_part;

enum { SSI_READ_VARIABLE, SSI_READ_FIELD, SSI_READ_OWN }; /* OWN: the page itself made it */

typedef struct ssi_read {
    const char *name, *value; /* as it was before the page; NULL: not set */
    int kind;
} ssi_read;

typedef struct ssi_validators {
    const char *etag, *vary;
    apr_time_t newest; /* 0: no Last-Modified */
    int large;         /* it was passed on before it was complete */
} ssi_validators;

typedef struct ssi_digest {
    apr_uint64_t a, b, len;
    unsigned char rest[8];
} ssi_digest;

/** The outermost request of a page and of all that it includes. */
typedef struct ssi_top {
    request_rec *r;
    int track;                 /* SSI_TRACK_* */
    apr_array_header_t *paths; /* files that output was made of, or that were not there */
    apr_hash_t *paths_seen;
    int depends_n; /* of the paths that brg_cache_dependencies() tells, those that were seen to */
    apr_array_header_t *vary;
    /* for ssi_variants.c */
    ssi_page *document; /* held by its handler; NULL: nothing is kept of this rendering */
    apr_array_header_t *parts_kept; /* of ssi_part */
    apr_array_header_t *reads;      /* of ssi_read */
    apr_hash_t *reads_seen;
    ssi_digest digest;         /* of what was passed on */
    const char *announced_tag; /* sent before the page was made */
    apr_time_t newest;         /* modification time of the newest part */
    unsigned includes;
    apr_off_t bytes;
    int env_ready;
    int over;            /* nothing more is made of it: the limit of bytes was met, or it moves */
    int waits;           /* some part of it had to wait, or was sent before the whole was there */
    int may_move, moves; /* it runs on an event loop; it is to be made anew by a worker */
} ssi_top;

/** In r->request_config of a page's request and of each request that a page includes. */
typedef struct ssi_link {
    ssi_top *top;
    request_rec *parent; /* whose page includes this; NULL: top->r itself */
    int depth;
    apr_time_t deadline; /* of the include, by ssi_clock(); 0: none */
    int late;
    server_rec *server; /* ssi_timeout_server(), whose timeout ends with the include; or NULL */
} ssi_link;

#define SSI_MATCHES AP_MAX_REG_MATCH

typedef struct ssi_match {
    const char *source;
    const char *pattern; /* NULL after ap_expr */
    apr_size_t groups;
    ap_regmatch_t at[SSI_MATCHES];
    int any;     /* an expression with a regex ran */
    int matched; /* and it matched */
} ssi_match;

typedef struct ssi_block {
    const char *name, *text;
    struct ssi_block *next;
} ssi_block;

struct ssi_internal_ctx {
    include_ctx_t *ctx;
    const ssi_dir_conf *conf;
    const ssi_tags *tags;
    ssi_top *top;
    ssi_link *link;
    ap_filter_t *f;
    ssi_out out;
    ap_filter_t capture;    /* where sub-requests send */
    ssi_link *capture_link; /* of the one that is running */
    const char *undefined_echo;
    const ssi_directive *directive;
    unsigned arg_next;
    ssi_match match;
    ssi_page *page; /* being rendered; NULL if streamed */
    ssi_block *blocks;
    ssi_memory block_memory;
    const char *block_name;
    int begun, dpool_used;
    /* streamed input */
    ssi_scan_state scan;
    int in_directive;
    char *text; /* of the directive, from the byte after its start tag */
    apr_size_t text_len, text_room;
    apr_size_t seen; /* bytes of the document before the text */
    ssi_lexer lexer;
};

typedef struct ssi_internal_ctx ssi_state;

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

/** The error string of the page. */
void ssi_error(include_ctx_t *ctx);

/* ssi_context.c */
include_ctx_t *ssi_context_create(ap_filter_t *f);
/** The link of r, made for a page that is nobody's include. */
ssi_link *ssi_link_of(request_rec *r);
/** CGI and include variables in the environment of the page. */
void ssi_env_ready(include_ctx_t *ctx);
void ssi_env_make(request_rec *r, ssi_top *top);
int ssi_filter_init(ap_filter_t *f);
/** Headers that a parsed page may have, before the first byte. */
void ssi_headers_prepare(request_rec *r, const ssi_dir_conf *conf);

/* ssi_render.c */
void ssi_render(include_ctx_t *ctx, ssi_page *page);
void ssi_run(include_ctx_t *ctx, const ssi_directive *d);
void ssi_finish(include_ctx_t *ctx, int unfinished);

/* ssi_filter.c */
extern ap_filter_rec_t *ssi_includes_handle, *ssi_capture_handle;
void ssi_filters_register(void);

/* ssi_handler.c */
int ssi_handler(request_rec *r);
int ssi_handler_stop(request_rec *r);
/** Its output is that of a file, parsed or as it is. */
int ssi_is_plain_sub(const request_rec *sub);
/** Before the handler runs: does this page need a thread that may wait? */
void ssi_choose_thread(request_rec *r);
/** The page at that path was rendered, and had to wait somewhere, or not. Threads: any. */
void ssi_learn(const char *path, int waits);
/** What comes next may wait. @return 1: the page moves to a worker, do nothing more */
int ssi_waits(include_ctx_t *ctx);

/* ssi_vars.c */
/** Value in the environment, lazy ones computed, groups of the last match; NULL if there is none.
 */
const char *ssi_var_get(include_ctx_t *ctx, const char *name);
void ssi_var_set(include_ctx_t *ctx, const char *name, const char *value);
/** Replace variables. Result in ssi_dpool(), or @a in itself. */
const char *ssi_expand(include_ctx_t *ctx, const char *in, int leave_name);
char *ssi_expand_into(include_ctx_t *ctx, const char *in, char *out, apr_size_t len,
                      int leave_name);
void ssi_vars_add(request_rec *r);
void ssi_vars_resolve(include_ctx_t *ctx);
/** The time format changed: dates are written afresh. */
void ssi_vars_dates(include_ctx_t *ctx);
extern const char ssi_lazy[];

/* ssi_encode.c */
/** NULL if @a chain names something unknown, which is then in *bad. */
const char *ssi_decode(apr_pool_t *p, const char *chain, const char *value, const char **bad);
const char *ssi_encode(apr_pool_t *p, const char *chain, const char *value, const char **bad);
const char *ssi_decode_entities(apr_pool_t *p, const char *text);

/* ssi_expr.c, ssi_legacy_parse.c, ssi_legacy_expr.c: 1, 0, or -1 after logging */
int ssi_expr_true(include_ctx_t *ctx, const ssi_directive *d, const char *text);
int ssi_legacy_true(include_ctx_t *ctx, const ssi_directive *d, const char *text);

/* elements */
include_handler_fn_t ssi_do_comment, ssi_do_config, ssi_do_echo, ssi_do_set, ssi_do_printenv,
    ssi_do_fsize, ssi_do_flastmod, ssi_do_include, ssi_do_exec, ssi_do_if, ssi_do_elif, ssi_do_else,
    ssi_do_endif, ssi_do_block, ssi_do_endblock;
const char *ssi_block_text(include_ctx_t *ctx, const char *name);

/* ssi_include.c */
apr_status_t ssi_capture(ap_filter_t *f, apr_bucket_brigade *bb);

/** A copy of sub->server whose timeout may be changed until sub->pool ends. Valid for ever. (ssi_timeout.c)
 * Threads: any. */
server_rec *ssi_timeout_server(request_rec *sub);

/** QUERY_STRING and QUERY_STRING_UNESCAPED of @a r, if it has a query. */
void ssi_env_add_query(request_rec *r, ssi_top *top);

/** A sub-request's link. From now on it has until @a deadline (0: any time), and what it waits for
 * with the server's timeout ends then. */
ssi_link *ssi_sub_begin(include_ctx_t *ctx, request_rec *sub, apr_time_t deadline);
/** It ended with @a status: because its time was over? */
int ssi_sub_is_late(request_rec *sub, int status);
/** The page depends on how a look-up came out. */
void ssi_track_lookup(include_ctx_t *ctx, request_rec *sub);

/** A look-up asked for @a path, absolute, and took nothing from it: it is missing, or a directory. */
void ssi_variant_asked(ssi_top *top, const char *path);

/* ssi_validators.c */
void ssi_track(include_ctx_t *ctx, int what);
void ssi_track_top(ssi_top *top, int what);
/** @a finfo NULL: it is not there */
void ssi_track_path(ssi_top *top, const char *path, const apr_finfo_t *finfo);
/** Of a request field, by its name in requests */
void ssi_track_field(ssi_top *top, const char *name);
void ssi_track_name(include_ctx_t *ctx, const char *name);
/** The page is complete and nothing of it was passed on: length, validators, answer to remember.
 *  @return OK, or HTTP_NOT_MODIFIED: the body is not to be sent */
int ssi_complete(include_ctx_t *ctx);

/** Validators of a page whose rendering is known in advance. @return as ap_meets_conditions() */
int ssi_validators_meet(request_rec *r, const ssi_validators *known);
void ssi_validators_set(request_rec *r, const ssi_dir_conf *conf, const ssi_validators *found);
/** What goes out before the page is complete counts for its ETag. */
void ssi_digest_brigade(ssi_top *top, apr_bucket_brigade *bb);

/* ssi_variants.c */
void ssi_variant_part(ssi_top *top, const char *path, const apr_finfo_t *finfo);
void ssi_variant_htaccess(ssi_top *top, const request_rec *r, const struct htaccess_result *until);
void ssi_variant_read(ssi_top *top, const char *name, const char *value, int kind);
void ssi_variant_keep(include_ctx_t *ctx, const ssi_validators *found);
/** Of an earlier rendering that would come out the same now; valid until the page's next. */
const ssi_validators *ssi_variant_find(request_rec *r, ssi_top *top, ssi_page *page);
void ssi_variants_free(ssi_variant *variants);

/* ssi_check.c */
int ssi_check_files(apr_pool_t *p, int n, const char *const *files);

#endif
