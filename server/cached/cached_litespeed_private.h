/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_LITESPEED_PRIVATE_H
#define BRIGADE_CACHED_CACHED_LITESPEED_PRIVATE_H

/**
 * @file cached_litespeed_private.h
 * LiteSpeedCache: the fields by which plugins of PHP applications fill and purge a page cache.
 *
 * Requests are looked up behind their phases, so that access control, .htaccess and rules come first. A URL may have answers of four
 * kinds; each has a key of its own, behind a blank after the URL's:
 *
 *   private   one for each session and vary value: "URL LS P..."
 *   shared    private, but for all sessions of a vary value: "URL LS S..."
 *   no-vary   for all: "URL LS N"
 *   public    one for each vary value: "URL LS V...", and the URL itself without such values
 *
 * cached_litespeed.c has the requests, cached_litespeed_fields.c the fields of answers, cached_litespeed_rules.c the directives.
 */
#include "cached_private.h"
#include "fresh_vary.h"

typedef enum cached_ls_kind {
    CACHED_LS_PRIVATE,
    CACHED_LS_SHARED,
    CACHED_LS_NO_VARY,
    CACHED_LS_PUBLIC
} cached_ls_kind;

/** Content of X-LiteSpeed-Cache-Control, or of a rule's variable Cache-Control. */
typedef struct cached_ls_control {
    uint8_t has; /**< anything was said */
    uint8_t no_store, is_private, is_shared, no_vary, has_esi;
    int64_t max_age; /**< seconds; -1: not said */
} cached_ls_control;

struct cached_ls {
    const char *vary;          /**< variant of public answers; "": one for all */
    const char *session;       /**< the client's identity, as hex digits; NULL: it has no session */
    const cached_server *keys; /**< parameters that do not count */
    cached_ls_control rules, said;
    const char *tags;    /**< X-LiteSpeed-Tag; NULL: none */
    const char *cookies; /**< X-LiteSpeed-Vary: "cookie=a,cookie=b"; NULL: none */
    uint8_t kind;        /**< cached_ls_kind of q->key.hash */
    uint8_t took;        /**< the fields of the answer were read */
    uint8_t raw;         /**< it is stored as PHP sent it, and its blocks are put in each time */
};

/** Set-Cookie for all clients of the stored answer. */
#define CACHED_LS_COOKIE "lsc-cookie"

/** 1: LiteSpeedCache is on for its virtual host. */
static inline int cached_ls_is_on(const server_rec *s)
{
    return cached_server_of(s)->litespeed == CACHED_ON;
}

/* ---- directives (cached_litespeed_rules.c) ---- */

/** 1: CacheLookup or CacheEnable public asks for it, and CacheDisable does not take it back. */
int cached_ls_looks_up(const request_rec *r);
void cached_ls_section_merge(apr_pool_t *p, cached_section *to, const cached_section *base,
                             const cached_section *add);
const char *cached_ls_lookup_cmd(cmd_parms *cmd, void *dir, int argc, char *const argv[]);
const char *cached_ls_key_cmd(cmd_parms *cmd, void *dir, const char *arg);
/** CacheEnable and CacheDisable of a provider "public" or "private". @param on  CACHED_ON or CACHED_OFF */
const char *cached_ls_enable_cmd(cmd_parms *cmd, cached_section *section, const char *url, int on);
/** 1: "public" or "private". */
int cached_ls_is_provider(const char *name);

/* ---- requests (cached_litespeed.c) ---- */

/** The client's identity, by its cookies, as hex digits; NULL: it has no session. */
const char *cached_ls_session(request_rec *r);
/** For GET and HEAD whose folder looks up: q->ls. Before its key is made. */
void cached_ls_begin(cached_request *q);
/** q's key becomes that of a kind. */
void cached_ls_use_key(cached_request *q, cached_ls_kind kind);
/** As cached_find(), for each kind in turn. */
void cached_ls_find(cached_request *q);
/** 1: its client is one of all, and neither a rule of its folder nor PHP named cookies, or a value, that tell clients apart. */
int cached_ls_is_usual(const cached_request *q);
/** 1: none of these cookies is a session's, or tells public answers apart where no rule names others. */
int cached_ls_is_for_all(const cached_server *s, const char *cookies, size_t len);
/** 1: the stored object is a page whose blocks are put in each time it is sent. */
int cached_ls_has_blocks(const cached_request *q);
/** X-LiteSpeed-Cache of the answer. @param hit  0: it was fetched, and is stored */
void cached_ls_say(cached_request *q, int hit);
/** A rule set a variable: brigade/litespeed.h */
int brg_litespeed_variable(request_rec *r, const char *name, const char *value);
/** Variables for PHP, which no client can set in their place. */
void cached_ls_tell_php(request_rec *r);
void cached_ls_insert_filter(request_rec *r);
apr_status_t cached_ls_filter(ap_filter_t *f, apr_bucket_brigade *in);
/** Where the page has blocks: CACHE_SAVE in front of the filter that puts them in. Its context is q. */
apr_status_t cached_ls_raw_filter(ap_filter_t *f, apr_bucket_brigade *in);
extern ap_filter_rec_t *cached_ls_filter_rec, *cached_ls_raw_filter_rec;

/* ---- fields of answers (cached_litespeed_fields.c) ---- */

/** Add the items of a list. */
void cached_ls_control_read(cached_ls_control *to, const char *list);
/** The fields leave the answer; purges happen. @param to  their other items; NULL: not wanted */
void cached_ls_take(request_rec *r, struct cached_ls *to);
/** May the answer be stored? Its key is then that of its kind. @return NULL, or the reason why not */
const char *cached_ls_decide(cached_request *q);
/** The field by which rules of freshness know it. @param fields  room for one more */
void cached_ls_response(cached_request *q, http_field *field, uint32_t *n);
/** Cookies of X-LiteSpeed-Vary, behind the names of fields that Vary has: "cookie=NAME". */
void cached_ls_vary_names(fresh_text *names, const char *list);
/** Call @a fn for each tag, with its site. */
void cached_ls_tags(const cached_request *q, void (*fn)(void *to, const char *tag, size_t len),
                    void *to);
/** A session's name of a tag. */
const char *cached_ls_private_tag(apr_pool_t *p, const char *session, const char *tag);

#endif
