/* SPDX-License-Identifier: Apache-2.0 */
/* Which finished requests are stored, and when. See cache_private.h for why it takes two full
 * runs. */
#include "coding.h"
#include "request_parts.h"
#include "connection.h"
#include "cache_private.h"
#include "core_settings.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* A file that was changed within this time may change again without a new time stamp, and has a
 * weak ETag for so long: it is not stored yet. */
#define STORE_REST_US apr_time_from_sec(2)

/* Time stamps are of a clock that ticks a hundred times a second or more often: what changes from now on gets another one
 * than what changed so long ago has. */
#define STORE_TICKS_US 100000

/* An entry without its body, and its watches; of it, what comes when it is filled. */
#define STORE_ENTRY_BYTES 4096
#define STORE_FILL_BYTES 2048

int cache_refuse(policy_reason *reason, const char *why)
{
    *reason = (policy_reason){"the core", why};
    return -1;
}

/* ---- arming the watches ---- */

/* .htaccess files may count: some section for directories allows them. */
static int store_overrides_possible(const request_rec *r)
{
    const core_server_config *core = core_server_conf_of(r->server);

    for (int i = 0; core->sec_dir && i < core->sec_dir->nelts; i++) {
        ap_conf_vector_t *section = APR_ARRAY_IDX(core->sec_dir, i, ap_conf_vector_t *);
        const core_dir_config *dir = ap_get_core_module_config(section);

        if (dir && ((dir->override & ~OR_UNSET) != OR_NONE || dir->override_list))
            return 1;
    }
    return r->htaccess != NULL;
}

/* AccessFileName as a NULL-terminated list. */
static const char *const *store_access_names(request_rec *r)
{
    const core_server_config *core = core_server_conf_of(r->server);
    const char *list = core->access_name, *name;
    apr_array_header_t *names = apr_array_make(r->pool, 2, sizeof(char *));

    while (*list && *(name = ap_getword_conf(r->pool, &list)) != '\0')
        APR_ARRAY_PUSH(names, const char *) = name;
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)(const void *)names->elts;
}

/* How the URI came to the file. An index file depends on every entry of its directory, since
 * another one of the DirectoryIndex list may appear; anything farther away (FallbackResource, say)
 * on files that nobody tells us of. */
enum { STORE_DIRECT, STORE_INDEX, STORE_FAR };

static int store_origin(request_rec *r)
{
    char *asked = apr_pstrdup(r->pool, r->parsed_uri.path ? r->parsed_uri.path : "");
    size_t len;

    if (ap_unescape_url(asked) != OK || !r->uri)
        return STORE_FAR;
    if (!strcmp(asked, r->uri))
        return STORE_DIRECT;
    len = strlen(asked);
    return len && asked[len - 1] == '/' && !strncmp(asked, r->uri, len) &&
                   !strchr(r->uri + len, '/')
               ? STORE_INDEX
               : STORE_FAR;
}

static const char *store_main_path(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return offer->path ? offer->path : r->filename;
}

/* All paths that the answer depends on: the main one first, then what the request looked at, then
 * what its page was made of. */
static apr_array_header_t *store_paths(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);
    apr_array_header_t *paths = apr_array_make(r->pool, 8, sizeof(char *));
    const char *main_path = store_main_path(r);

    APR_ARRAY_PUSH(paths, const char *) = main_path;
    if (found && found->first && strcmp(found->first, main_path))
        APR_ARRAY_PUSH(paths, const char *) = found->first;
    for (int i = 0; found && found->more && i < found->more->nelts; i++)
        APR_ARRAY_PUSH(paths, const char *) = APR_ARRAY_IDX(found->more, i, const char *);
    for (const char *const *from = request_offer_of(r)->from; from && *from; from++)
        APR_ARRAY_PUSH(paths, const char *) = *from;
    return paths;
}

/* The answer is a file, and nothing that took part looked at the query. */
static int store_leaves_query(const request_rec *r)
{
    return request_offer_of(r)->path && !policy_query_counts(r);
}

/* All that decides what is put under watch, as one string. The answer that fills an entry must have
 * the fingerprint of the one that armed it: between the two, a missing directory may have come, or a
 * page have got another part. */
static const char *store_fingerprint(request_rec *r)
{
    apr_array_header_t *parts = store_paths(r);

    APR_ARRAY_PUSH(parts, const char *) = apr_psprintf(
        r->pool, "%d%d%d", store_origin(r), store_overrides_possible(r), store_leaves_query(r));
    return apr_array_pstrcat(r->pool, parts, '\n');
}

/* @param main_seen  what the main path added to watch_seen() */
static int store_watch(response_cache *c, cache_entry *e, request_rec *r, uint64_t *main_seen)
{
    const char *const *names = store_overrides_possible(r) ? store_access_names(r) : NULL;
    const apr_array_header_t *paths = store_paths(r);
    const uint64_t before = watch_seen(c->watch);

    for (int i = 0; i < paths->nelts; i++) {
        const char *path = APR_ARRAY_IDX(paths, i, const char *);
        const int flags = i == 0 && store_origin(r) == STORE_INDEX ? WATCH_ENTRIES : 0;

        if (watch_add(c->watch, &e->owner, path, flags))
            return -1;
        if (i == 0)
            *main_seen = watch_seen(c->watch) - before;
        if (names && names[0] && watch_add_names(c->watch, &e->owner, path, names))
            return -1;
    }
    return 0;
}

/* A change of the file after r looked at it shows in its time stamps. */
static int store_file_is_comparable(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const apr_int32_t needed = APR_FINFO_INODE | APR_FINFO_DEV | APR_FINFO_CTIME;

    return r->status == HTTP_OK && offer->path && !offer->coded &&
           (r->finfo.valid & needed) == needed && r->finfo.ctime + STORE_TICKS_US < r->request_time;
}

/* All that r depends on was under watch when it began, but for the file itself, which is compared. So nothing can
 * have changed unseen between r's look and the watches: what arms the entry may fill it. */
static int store_saw_all(const response_cache *c, const request_rec *r, uint64_t main_seen)
{
    const request_dependencies *found = request_dependencies_of(r);

    return found->since && store_file_is_comparable(r) && main_seen <= WATCH_SEEN_FILE &&
           found->since + main_seen == watch_seen(c->watch);
}

/* One stat for each answer sees changes of the file; not those of access files and of links, and not
 * that a better index appears. */
static int store_stat_is_enough(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    return request_offer_of(r)->path && store_origin(r) == STORE_DIRECT &&
           !store_overrides_possible(r) && found && !found->more && !found->link_policy;
}

static int store_arm(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason)
{
    const request_dependencies *found = request_dependencies_of(r);
    uint64_t main_seen = 0;

    e->server = r->server;
    if (!found || found->too_many)
        return cache_refuse(reason, "it depends on more files than are kept");
    if (store_origin(r) == STORE_FAR)
        return cache_refuse(reason,
                            "its target led to another file, by rules that may look at more "
                            "than is watched");
    if (!c->watch || store_watch(c, e, r, &main_seen))
        return store_stat_is_enough(r)
                   ? 0
                   : cache_refuse(reason, "what it depends on cannot be watched (kind of file "
                                          "system, rights, or FileCacheValidate)");
    e->watched = 1;
    e->compared = store_saw_all(c, r, main_seen) != 0;
    if (!(e->fingerprint = strdup(store_fingerprint(r))))
        return cache_refuse(reason, "out of memory");
    c->figures.armed++;
    cache_account(c, e);
    return 0;
}

/* ---- deciding ---- */

const char cache_why_seldom[] = "it is asked for too seldom, or too large for FileCacheSize";
const char cache_why_request[] = "it is no plain GET request, and no HEAD of a file";

const char cache_why_recent[] =
    "the file changed in the last two seconds, or the answer is not of a kind that is stored";

static int store_is_at_rest(const request_rec *r, const apr_finfo_t *finfo)
{
    return finfo->filetype == APR_REG && finfo->mtime + STORE_REST_US < r->request_time;
}

/* The body is read from the file. */
static int store_is_part_of_file(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return r->status == HTTP_PARTIAL_CONTENT && offer->path && !offer->coded;
}

/* The answer to a HEAD that says of the file what that to a GET would say. */
static int store_is_head_of_file(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const char *length = apr_table_get(r->headers_out, "Content-Length");

    return r->header_only && cache_request_may_arm(r) && offer->path && !offer->coded &&
           (r->status == HTTP_NOT_MODIFIED || (length && apr_atoi64(length) == r->finfo.size));
}

/* A list of variants that changed within the last second, by mod_negotiation: its tag will be a strong one. */
static int store_variants_change(const request_rec *r)
{
    return r->vlist_validator && r->vlist_validator[0] == 'W';
}

/* A file that has been at rest, a body made from such, or a file that is not there: what else an
 * answer may be is not watched for. */
static int store_answer_is_lasting(const response_cache *c, const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    if (store_variants_change(r))
        return 0;
    if (offer->path)
        return (r->status == HTTP_OK || r->status == HTTP_NOT_MODIFIED ||
                store_is_part_of_file(r)) &&
               (!r->path_info || !*r->path_info) && store_is_at_rest(r, &r->finfo);
    if (!c->watch || !r->filename || r->filename[0] != '/')
        return 0;
    if (offer->from)
        return (r->status == HTTP_OK || r->status == HTTP_NOT_MODIFIED) &&
               (apr_off_t)offer->len <= core_conf_of(r->server)->file_cache_max_file_bytes;
    if (r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return store_is_at_rest(r, &r->finfo);
    return r->status == HTTP_NOT_FOUND && r->finfo.filetype == APR_NOFILE;
}

static int store_queue(const request_rec *r)
{
    return r->status >= HTTP_BAD_REQUEST ? CACHE_ERRORS : CACHE_ANSWERS;
}

/* What the answer will take, about. */
static size_t store_bytes_wanted(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    apr_off_t most = core_conf_of(r->server)->file_cache_max_file_bytes;

    if (r->status == HTTP_NOT_MODIFIED || (offer->path && r->finfo.size > most))
        return STORE_ENTRY_BYTES;
    return STORE_ENTRY_BYTES + (size_t)(offer->path ? r->finfo.size : (apr_off_t)offer->len);
}

typedef struct store_key {
    const char *host;
    size_t host_len, uri_len;
    uint64_t hash;
} store_key;

static store_key store_key_of(const brg_conn *bc, request_rec *r)
{
    store_key key = {.host = apr_table_get(r->headers_in, "Host")};

    key.host_len = strlen(key.host);
    key.uri_len = store_leaves_query(r) ? cache_target_len(r) : strlen(r->unparsed_uri);
    key.hash = cache_hash(bc->listener, cache_chain_of(bc), key.host, key.host_len, r->unparsed_uri,
                          key.uri_len);
    return key;
}

/* Watches are system calls: what is asked for only once, by a crawler say, gets none. What was
 * answered from memory before a reload, or by the program before this one, counts as asked for again. */
static int store_is_wanted(response_cache *c, const request_rec *r, const store_key *key,
                           int *count)
{
    const brg_core_conf *conf = core_conf_of(r->server);

    admission_sample(&c->admission, c->entries_n);
    *count = (int)admission_count(&c->admission, key->hash);
    if (*count == 1 &&
        cache_hot_is(key->host, key->host_len, r->unparsed_uri, key->uri_len, c->loop->monotonic))
        *count = 2;
    if (*count > 1 &&
        cache_make_room(c, conf, store_queue(r), (unsigned)*count, store_bytes_wanted(r)))
        return 1;
    c->figures.rejected++;
    return 0;
}

/* Armed, or validated by stat; NULL: it cannot be stored, or is not worth it. */
static cache_entry *store_new(response_cache *c, request_rec *r, policy_reason *reason)
{
    const brg_conn *bc = connection_of(r->connection);
    const store_key key = store_key_of(bc, r);
    cache_entry *e;
    int count;

    if (c->is_workers || !store_is_wanted(c, r, &key, &count)) {
        cache_refuse(reason, cache_why_seldom);
        return NULL;
    }
    e = cache_add(c, bc->listener, cache_chain_of(bc), key.host, key.host_len, r->unparsed_uri,
                  key.uri_len, key.hash, store_queue(r));
    if (!e) {
        cache_refuse(reason, "there is no room in the cache");
        return NULL;
    }
    e->uses = (uint8_t)count;
    e->any_query = store_leaves_query(r) != 0;
    /* Else many entries would be armed for which there is no room once their bodies come, and each
     * that is filled would drive another one out: in a cycle the one that is asked for next. */
    e->reserved = store_bytes_wanted(r) - STORE_ENTRY_BYTES + STORE_FILL_BYTES;
    cache_account(c, e);
    if (cache_vary_take(c, e, r))
        cache_refuse(reason, "it depends on more request fields than are kept");
    if (reason->module || store_arm(c, e, r, reason)) {
        cache_forget(c, e);
        return NULL;
    }
    cache_limit_variants(c, e);
    cache_trim(c, core_conf_of(r->server));
    return e->in_cache ? e : NULL;
}

/* 1 if r depends on the client's address, and later requests cannot be told apart by it. */
static int store_client_is_open(const request_rec *r, policy_reason *reason)
{
    const int varies = cache_varies_by_client(r);
    const char *changer = varies ? policy_client_changer() : NULL;

    if (changer)
        *reason = (policy_reason){
            changer, "it may give clients other addresses, on which the answer depends"};
    else if (varies < 0)
        cache_refuse(reason, "it depends on the client's address, and on more");
    return changer || varies < 0;
}

/* What all who took part say, and the fields that the answer depended on. */
static int store_ask(request_rec *r, policy_reason *reason)
{
    int codings = request_offer_of(r)->codings, depends;

    if (request_is_debugged(r)) {
        cache_refuse(reason, "LogLevel asks for debug messages: what phases say is said each time");
        return BRG_CACHE_VOLATILE;
    }
    depends = policy_ask_modules(r, reason);
    if (depends != BRG_CACHE_VOLATILE && store_client_is_open(r, reason))
        depends = BRG_CACHE_VOLATILE;
    if (depends != BRG_CACHE_VOLATILE && codings)
        brg_cache_vary(r, "Accept-Encoding", coding_accepted, (const void *)(intptr_t)codings);
    if (depends != BRG_CACHE_VOLATILE)
        reason->module = NULL;
    return depends;
}

/* A shadow entry has no watches of its own. */
static int store_has_changed(response_cache *c, cache_entry *e)
{
    return c->watch && !c->is_workers && watch_changed(c->watch, &e->owner);
}

static int store_has_part(const cache_entry *e, const request_rec *r)
{
    return e->ranges &&
           (cache_is_multipart(r) ? e->ranges->parts.answer : e->ranges->part.answer) != NULL;
}

/* 1 if there is nothing that this answer could add to the entry. */
static int store_has_all(const cache_entry *e, const request_rec *r)
{
    int not_modified = r->status == HTTP_NOT_MODIFIED;

    if (r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return !e->filled || e->status != HTTP_OK || !e->body || e->coded ||
               (e->ranges && e->ranges->outside.answer);
    if (r->status == HTTP_PARTIAL_CONTENT)
        return store_has_part(e, r) || e->coded || e->uncacheable || e->fill;
    if (e->filled || (not_modified && e->filled_304))
        return !not_modified || e->head_304.answer != NULL;
    return e->uncacheable || e->fill;
}

/* The entry that the answer may fill; it has been armed by another one. NULL: none. */
static cache_entry *store_entry(response_cache *c, request_rec *r, cache_entry *e,
                                policy_reason *reason)
{
    if (e && !e->filled &&
        (strcmp(e->fingerprint, store_fingerprint(r)) || !cache_vary_same(e, r) ||
         e->queue != store_queue(r))) {
        cache_forget(c, e);
        e = NULL;
    }
    if (e) {
        if (!c->is_workers)
            cache_touch(c, e);
        return e;
    }
    e = store_new(c, r, reason);
    if (!e || (e->watched && !e->compared))
        return NULL; /* armed: the next full run fills it */
    if (r->status != HTTP_OK &&
        r->status < HTTP_BAD_REQUEST) { /* not enough to be validated by stat */
        cache_forget(c, e);
        return NULL;
    }
    return e;
}

const char *cache_kind_is_not(const response_cache *c, const request_rec *r)
{
    if (!cache_request_is_plain(r) && !store_is_head_of_file(r))
        return cache_why_request;
    return store_answer_is_lasting(c, r) ? NULL : cache_why_recent;
}

/* A range that is out of reach of a file that is stored: the page of 416 is stored beside it. */
static void store_fill_outside(response_cache *c, cache_entry *e, request_rec *r)
{
    if (c->is_workers || store_has_changed(c, e))
        return;
    cache_fill_416(c, e, r);
    cache_trim(c, core_conf_of(r->server));
}

/* An entry whose body is another one: what is stored stays as it is. */
static void store_fill_part(response_cache *c, cache_entry *e, request_rec *r)
{
    const int had_body = e->body != NULL;

    if (!c->is_workers && cache_fill_206(c, e, r) && !had_body && e->body)
        cache_forget(c, e); /* of a kind that is not sent from memory */
}

static void store_fill(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason)
{
    if (store_has_changed(c, e)) {
        cache_refuse(reason, "what it depends on changes while it is answered");
        cache_forget(c, e);
    } else if (r->status == HTTP_NOT_MODIFIED) {
        cache_fill_304(c, e, r);
    } else if (r->status == HTTP_PARTIAL_CONTENT) {
        store_fill_part(c, e, r);
    } else if (cache_fill(c, e, r)) {
        cache_refuse(reason, "its head or its body cannot be stored as a whole");
        cache_forget(c, e);
    } else if (e->uncacheable) {
        cache_refuse(reason, "what filters made of it is longer than FileCacheMaxFile");
    }
    cache_trim(c, core_conf_of(r->server));
}

void cache_store(response_cache *c, request_rec *r, policy_reason *reason)
{
    const char *why = cache_kind_is_not(c, r);
    cache_entry *e;
    uint64_t hash;
    int depends;

    if (why) {
        cache_refuse(reason, why);
        return;
    }
    e = cache_find_for(c, r, &hash);
    if (e ? store_has_all(e, r) : r->status == HTTP_RANGE_NOT_SATISFIABLE)
        return;
    depends = store_ask(r, reason);
    if (depends == BRG_CACHE_VOLATILE) {
        if (e && !e->filled)
            cache_forget(c, e);
        return;
    }
    if (e && e->filled && cache_varies_by_client(r) && !cache_vary_same(e, r))
        return; /* what tells clients apart has changed since r was decided */
    if (r->status == HTTP_RANGE_NOT_SATISFIABLE) {
        store_fill_outside(c, e, r);
        return;
    }
    if (!(e = store_entry(c, r, e, reason)))
        return;
    if (!e->filled)
        e->observed = depends == BRG_CACHE_OBSERVED;
    store_fill(c, e, r, reason);
}

cache_entry *cache_armed_for(response_cache *c, request_rec *r)
{
    policy_reason reason = {NULL, NULL};
    cache_entry *e;
    uint64_t hash;

    if (!store_answer_is_lasting(c, r))
        return NULL;
    if ((e = cache_find_for(c, r, &hash)) != NULL)
        return !e->filled && store_ask(r, &reason) != BRG_CACHE_VOLATILE && cache_vary_same(e, r)
                   ? e
                   : NULL;
    if (store_ask(r, &reason) != BRG_CACHE_VOLATILE)
        store_new(c, r, &reason);
    return NULL;
}
