/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_PAGE_H
#define SSI_PAGE_H

/**
 * @file ssi_page.h
 * Server-side includes: from the text of a page to directives (ssi_lex.c) and nodes (ssi_compile.c),
 * which are cached (ssi_page_cache.c).
 *
 * The life of a compiled page:
 *
 *   State     Begins with            Owner                        Legal in it  
 *   -------   --------------------   --------------------------   ------------------------------------
 *   read      ssi_page_read(),       the caller                   data and len are set, nothing else
 *             a miss of
 *             ssi_page_get()
 *   compiled  ssi_compile()          each holder of a reference   nodes and directives are read-only; an
 *                                                                 expression is added to its directive
 *                                                                 when it is first evaluated
 *   cached    the end of a miss      the thread's cache, too      renderings are added and dropped, by
 *                                                                 that thread alone
 *   dropped   the file changed, or   holders of references        sent to the end; never found again
 *             the cache is full
 *   freed     the last release       nobody                       nothing
 *
 * A page is used by the thread that compiled it. Only its reference count may be touched by another: a
 * bucket that points into it may be destroyed on the thread that writes the response.
 */
#include "ssi_config.h"
#include "brigade/assert.h"
#include "apr_buckets.h"
#include "apr_tables.h"
#include "mod_include.h"
#include <sys/stat.h>

/* ---- directives of a page ---- */

/** An element: the code for a directive's name. */
typedef struct ssi_element {
    const char *name; /**< lower case */
    include_handler_fn_t *fn;
    int when_hidden; /**< runs in a branch that is not shown, too: if, elif, else, endif, block, endblock */
    int builtin; /**< writes to ssi_out; an element of another module gets a brigade */
} ssi_element;

/** The element of that (lower-case) name, or NULL. Threads: any, once the configuration is read. */
const ssi_element *ssi_element_find(const char *name);

/** An attribute of a directive: name="value". */
typedef struct ssi_arg {
    const char *name;  /**< lower case */
    const char *value; /**< as written, without quotes and their escapes; NULL: there was no '=' */
    const char *decoded; /**< value with HTML entities replaced; NULL with value */
} ssi_arg;

/** Lexical mistakes. They are logged each time the directive is reached. */
enum { SSI_LEX_NO_NAME = 1, SSI_LEX_NO_ARG_BEFORE_QUOTE, SSI_LEX_NO_ARG_BEFORE_EQ };

struct ssi_expr;
struct ssi_legacy;
typedef struct ssi_lookup ssi_lookup; /* ssi_lookups.c */

/** One directive: `<!--#name arg="value" -->`. Read-only but for expr, legacy and lookup. */
typedef struct ssi_directive {
    const ssi_element *element; /**< NULL: no such element */
    const char *name;           /**< lower case */
    const ssi_arg *args;
    unsigned args_n;
    const unsigned char *mistakes; /**< SSI_LEX_*, ended by 0; NULL: none */
    int unfinished;   /**< the page ends before the end tag: its mistakes are logged, no more */
    apr_size_t off;   /**< of the start tag in the page */
    apr_pool_t *pool; /**< lives as long as the directive */
    struct ssi_expr *expr;     /**< condition of if or elif (ssi_expr.c); NULL: not evaluated yet */
    struct ssi_legacy *legacy; /**< the same in the language of Apache 2.2 (ssi_legacy_expr.c) */
    /** the file that its attribute led to, for the cache's thread alone; or NULL */
    ssi_lookup *lookup;
} ssi_directive;

/** State of the lexer. Starts as {0}. Offsets count from the byte after the start tag. */
typedef struct ssi_lexer {
    int state;
    apr_size_t pos; /**< the text before it is done with */
    apr_size_t name_len;
    int unknown; /**< no such element, and SSIUnknownDirectives pass: text up to the end tag */
    apr_array_header_t *args; /**< of ssi_lex_arg */
    apr_array_header_t *mistakes;
} ssi_lexer;

/**
 * Continue at lexer->pos.
 *
 * @param text  the text of the last call, and more
 * @param p     for the lexer's lists
 * @return 1: the directive is complete, lexer->pos is the offset of the byte after its end tag.
 *         0: more text is needed.
 */
int ssi_lex(ssi_lexer *lexer, const ssi_tags *tags, const char *text, apr_size_t len,
            apr_pool_t *p);
/** Fill in @a d from a complete directive. Strings are copied into @a p. */
void ssi_lex_take(const ssi_lexer *lexer, const char *text, apr_pool_t *p, ssi_directive *d);
/** 1 if the read bytes go out as text if the page ends here. */
int ssi_lex_is_text(const ssi_lexer *lexer, const ssi_tags *tags);
/** As ssi_lex_take(), for a directive that the end of the page cuts off: for its mistakes only. */
void ssi_lex_take_unfinished(const ssi_lexer *lexer, const char *text, apr_pool_t *p,
                             ssi_directive *d);

/* ---- the identity of files ---- */

/** A version of a file. All zero: the file does not exist. No padding: compared as bytes. */
typedef struct ssi_identity {
    apr_dev_t dev;
    apr_ino_t ino;
    apr_off_t size;
    apr_time_t mtime, ctime;
} ssi_identity;

/** Fields of an apr_finfo_t for ssi_identity_of(). */
#define SSI_IDENTITY_FINFO (APR_FINFO_IDENT | APR_FINFO_MTIME | APR_FINFO_CTIME | APR_FINFO_SIZE)

/**
 * Time stamps have the grain of a clock tick: a file that was changed shortly before it was looked
 * at may change again without a new time stamp. A file at rest for so long did not.
 */
#define SSI_IDENTITY_REST_US apr_time_from_sec(2)

static inline ssi_identity ssi_identity_of(const apr_finfo_t *f)
{
    return (ssi_identity){f->device, f->inode, f->size, f->mtime, f->ctime};
}

static inline ssi_identity ssi_identity_of_stat(const struct stat *st)
{
    return (ssi_identity){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .mtime = (apr_time_t)st->st_mtim.tv_sec * APR_USEC_PER_SEC + st->st_mtim.tv_nsec / 1000,
        .ctime = (apr_time_t)st->st_ctim.tv_sec * APR_USEC_PER_SEC + st->st_ctim.tv_nsec / 1000};
}

static inline int ssi_identity_same(const ssi_identity *a, const ssi_identity *b)
{
    return a->ino == b->ino && a->dev == b->dev && a->size == b->size && a->mtime == b->mtime &&
           a->ctime == b->ctime;
}

/** 1 if a change after @a looked, when the identity was taken, would show in another identity. */
static inline int ssi_identity_is_stable(const ssi_identity *id, apr_time_t looked)
{
    return (id->mtime > id->ctime ? id->mtime : id->ctime) + SSI_IDENTITY_REST_US < looked;
}

/* ---- compiled pages ---- */

struct ssi_page_cache;
typedef struct ssi_rendering ssi_rendering; /* ssi_renderings.c */

/** A part of a page: text that is sent as it is, or a directive. */
typedef struct ssi_node {
    apr_size_t off, len;      /**< of the text in page->data; len 0 if there is a directive */
    ssi_directive *directive; /**< NULL: text */
    unsigned next_flow; /**< index of the next node that counts in a branch that is not shown */
} ssi_node;

#define SSI_PAGE_TAG 0x53534950u /* "SSIP" */

/** A file in memory, and its nodes. See the table at the top of this file. */
typedef struct ssi_page {
    uint32_t tag;         /**< SSI_PAGE_TAG while it is alive: buckets refer to it by void * */
    unsigned refs;        /**< atomic */
    const ssi_tags *tags; /**< NULL: not parsed, a file that pages include as it is */
    char *path, *data;    /**< malloc; data has a NUL behind its len bytes */
    apr_size_t len;
    ssi_identity id;
    apr_time_t looked; /**< when the identity was taken */
    apr_pool_t *pool;  /**< of directives; NULL if there are none */
    ssi_node *nodes;   /**< malloc */
    unsigned nodes_n;
    unsigned unfinished : 1;         /**< it ends within a directive */
    unsigned large : 1;              /**< a rendering was sent before it was complete */
    unsigned has_include : 1;        /**< it has an include element, */
    unsigned has_exec : 1;           /**< an exec element, */
    unsigned has_module_element : 1; /**< an element of another module */
    apr_size_t bytes;                /**< charged to the cache */
    ssi_rendering *renderings;       /**< earlier renderings; for the cache's thread alone */
    /** for which requests its directives have look-ups; the same; or NULL */
    struct ssi_lookups *lookups;
    struct ssi_page_cache *cache;   /**< that it is in, or NULL */
    unsigned hash;                  /**< of path and tags; 0 from ssi_page_read() */
    struct ssi_page *next;          /**< in the same bucket of the cache */
    struct ssi_page *newer, *older; /**< by last use */
} ssi_page;

/** Make the nodes of page->data. @a page is not compiled yet. Blocking: no. */
void ssi_compile(ssi_page *page);

/**
 * The current version of r->filename, from this thread's cache or read now.
 *
 * @param r     r->finfo is a look at the file in this request
 * @param tags  NULL: not to be compiled
 * @return a reference, for ssi_page_release(). NULL if the file cannot be read, is larger than pages may
 *         be, changes while it is read, or if a loop would wait for it and the request may continue on a
 *         worker (brigade/files.h).
 * Threads: any; the cache is the thread's. Blocking: on a worker.
 */
ssi_page *ssi_page_get(request_rec *r, const ssi_tags *tags);

/**
 * A file that is sent as it is, if this thread's cache has it. @a hash: ssi_page_hash(); @a finfo: a look at it just now.
 * @return a reference, for ssi_page_release(), or NULL
 */
ssi_page *ssi_page_find(const char *path, unsigned hash, const apr_finfo_t *finfo);
/** The hash of such a file's path. */
unsigned ssi_page_hash(const char *path);
/** A file that no request asked for, not cached. @a p: for the open file. @return a reference, or NULL.
 * Blocking: yes. */
ssi_page *ssi_page_read(const char *path, const ssi_tags *tags, apr_pool_t *p);
/** Take a reference. Threads: any that has one. */
void ssi_page_hold(ssi_page *page);
/** Give a reference back. Threads: any. */
void ssi_page_release(ssi_page *page);
/** @a bytes more (or less) are kept with the page. Only on the thread whose cache it is in. */
void ssi_page_charge(ssi_page *page, apr_ssize_t bytes);

/** The type of buckets that refer to a part of a page and hold a reference. */
extern const apr_bucket_type_t ssi_span_type;
#define SSI_BUCKET_IS_SPAN(e) ((e)->type == &ssi_span_type)
/** Such a bucket; it takes a reference of its own. */
apr_bucket *ssi_span_create(ssi_page *page, apr_size_t off, apr_size_t len,
                            apr_bucket_alloc_t *list);
/** The page of such a bucket. */
static inline ssi_page *ssi_span_page(const apr_bucket *e)
{
    ssi_page *page = e->data;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    return page;
}

#endif
