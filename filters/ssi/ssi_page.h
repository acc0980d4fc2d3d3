/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_PAGE_H
#define SSI_PAGE_H

/**
 * @file ssi_page.h
 * Server-side includes: a page as text becomes directives (ssi_lex.c) and nodes (ssi_compile.c),
 * which are kept (ssi_page_cache.c).
 *
 * A compiled page belongs to the thread that compiled it, but for its reference count: a bucket may
 * be destroyed by another.
 */
#include "ssi_config.h"
#include "apr_buckets.h"
#include "apr_tables.h"
#include "mod_include.h"
#include <sys/stat.h>

/* ---- directives of a page ---- */

typedef struct ssi_element {
    const char *name;
    include_handler_fn_t *fn;
    int when_hidden; /* if, elif, else, endif, block, endblock: also in a branch that is skipped */
    int own;         /* uses ssi_out; others are given a brigade */
} ssi_element;

/** The element of that (lower-case) name, or NULL. */
const ssi_element *ssi_element_find(const char *name);
void ssi_element_register(const char *name, include_handler_fn_t *fn);
void ssi_elements_init(apr_pool_t *p);

typedef struct ssi_arg {
    const char *name;
    const char *value;   /* as written, quotes and their escapes removed; NULL: there was no '=' */
    const char *decoded; /* HTML entities replaced */
} ssi_arg;

/* Lexical mistakes, logged whenever the directive is met. */
enum { SSI_LEX_NO_NAME = 1, SSI_LEX_NO_ARG_BEFORE_QUOTE, SSI_LEX_NO_ARG_BEFORE_EQ };

struct ssi_expr;
struct ssi_legacy;

typedef struct ssi_directive {
    const ssi_element *element; /* NULL: unknown */
    const char *name;
    const ssi_arg *args;
    unsigned args_n;
    const unsigned char *mistakes; /* SSI_LEX_*, 0-terminated; NULL: none */
    int unfinished;                /* no end tag: mistakes are logged, and that is all */
    apr_size_t off;                /* of the start tag in the document */
    apr_pool_t *pool;              /* what is kept with the directive lives there */
    struct ssi_expr *expr;         /* its condition, once it was asked for */
    struct ssi_legacy *legacy;
} ssi_directive;

/** State of the lexer; begins as {0}. Offsets count from the byte after the start tag. */
typedef struct ssi_lexer {
    int state;
    apr_size_t pos, mark;
    apr_size_t name_len;
    int foreign;              /* not one of ours, and tags->pass_unknown: text up to the end tag */
    apr_array_header_t *args; /* of ssi_lex_arg */
    apr_array_header_t *mistakes;
} ssi_lexer;

/**
 * Go on at lexer->pos. @return 1 if the directive is complete, lexer->pos is then the offset of the
 * byte after its end tag; 0 if more of the text is needed, which must begin with what was there.
 */
int ssi_lex(ssi_lexer *lexer, const ssi_tags *tags, const char *text, apr_size_t len,
            apr_pool_t *p);
/** Fill in @a d from a complete directive. Strings are copied into @a p. */
void ssi_lex_take(const ssi_lexer *lexer, const char *text, apr_pool_t *p, ssi_directive *d);
/** The document ends within it, but as text it goes out. */
int ssi_lex_is_text(const ssi_lexer *lexer, const ssi_tags *tags);
/** The same for one that the document's end cuts off; for its mistakes only. */
void ssi_lex_take_unfinished(const ssi_lexer *lexer, const char *text, apr_size_t len,
                             apr_pool_t *p, ssi_directive *d);

/* ---- compiled pages ---- */

typedef struct ssi_identity {
    apr_dev_t dev;
    apr_ino_t ino;
    apr_off_t size;
    apr_time_t mtime, ctime;
} ssi_identity;

static inline void ssi_identity_of(ssi_identity *id, const struct stat *st)
{
    id->dev = st->st_dev;
    id->ino = st->st_ino;
    id->size = st->st_size;
    id->mtime = (apr_time_t)st->st_mtim.tv_sec * APR_USEC_PER_SEC + st->st_mtim.tv_nsec / 1000;
    id->ctime = (apr_time_t)st->st_ctim.tv_sec * APR_USEC_PER_SEC + st->st_ctim.tv_nsec / 1000;
}

typedef struct ssi_variant ssi_variant;

typedef struct ssi_node {
    apr_size_t off, len;      /* a literal span; len 0 if there is a directive */
    ssi_directive *directive; /* NULL: literal */
    unsigned next_flow;       /* index of the next node that counts in a skipped branch */
} ssi_node;

typedef struct ssi_page {
    unsigned refs;        /* atomic */
    const ssi_tags *tags; /* NULL: not parsed, a file that pages include */
    char *path, *data;
    apr_size_t len;
    ssi_identity id;
    apr_time_t looked; /* when the identity was taken */
    apr_pool_t *pool;  /* of directives; NULL if there is none */
    ssi_node *nodes;
    unsigned nodes_n;
    unsigned unfinished : 1; /* ends within a directive */
    unsigned large : 1;      /* it was passed on before it was complete */
    unsigned has_exec : 1, has_foreign : 1,
        has_include : 1;   /* foreign: elements of other modules */
    apr_size_t bytes;      /* charged to the cache */
    ssi_variant *variants; /* only the thread whose cache it is in looks at them */
    /* of the cache that it is in */
    unsigned in_cache : 1;
    unsigned hash;
    struct ssi_page *next, *newer, *older;
} ssi_page;

/** Nodes for page->data. Blocking: no. */
void ssi_compile(ssi_page *page);

/**
 * The current version of r->filename, from this thread's cache or read now; r->finfo is a look at it in
 * this request.
 * @return NULL if it cannot be read, is larger than pages may be, changes under us, or would have to be
 *         waited for where the request may still go on on a worker (brigade/files.h). The caller holds
 *         a reference until ssi_page_release().
 * Threads: any; the cache is the thread's. Blocking: on a worker.
 */
ssi_page *ssi_page_get(request_rec *r, const ssi_tags *tags);

/** A file that no request asked for, read now and kept by the caller alone. @a p: for the open file.
 * Blocking: yes. */
ssi_page *ssi_page_read(const char *path, const ssi_tags *tags, apr_pool_t *p);
void ssi_page_hold(ssi_page *page);
void ssi_page_release(ssi_page *page);
/** More is kept with the page, or less. Only on the thread whose cache it is in. */
void ssi_page_charge(ssi_page *page, apr_ssize_t bytes);

/** A bucket that refers to part of a page and holds it. */
extern const apr_bucket_type_t ssi_span_type;
#define SSI_BUCKET_IS_SPAN(e) ((e)->type == &ssi_span_type)
apr_bucket *ssi_span_create(ssi_page *page, apr_size_t off, apr_size_t len,
                            apr_bucket_alloc_t *list);
static inline ssi_page *ssi_span_page(const apr_bucket *e)
{
    return e->data;
}

#endif
