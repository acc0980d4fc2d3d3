/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the dependencies of an answer under watch, for an entry that this answer or a later one
 * fills. */
#include "cache_fill_private.h"
#include "cache_plan.h"
#include "cache_source_private.h"
#include "core_settings.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_strings.h"
#include <string.h>

/* Time stamps are of a clock that ticks a hundred times a second or more often: a change from now
 * on gets another stamp than a change so long ago. */
#define ARM_TICKS_US 100000

/* .htaccess files may count: some section for directories allows them. */
static int arm_overrides_possible(const request_rec *r)
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
static const char *const *arm_access_names(request_rec *r)
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
 * another one of the DirectoryIndex list may appear, and so does a file that was chosen among those
 * of its folder; anything farther away (FallbackResource, say) on files that nobody tells us of. */
enum { ARM_DIRECT, ARM_INDEX, ARM_CHOSEN, ARM_FAR };

static int arm_origin(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);
    char *target = apr_pstrdup(r->pool, r->parsed_uri.path ? r->parsed_uri.path : "");
    const char *asked = target;
    size_t len;

    if (ap_unescape_url(target) != OK || !r->uri)
        return ARM_FAR;
    if (found && found->led_from && !strcmp(asked, found->led_from))
        asked = found->led_to;
    if (!strcmp(asked, r->uri))
        return ARM_DIRECT;
    if (found && found->chosen_for && !strcmp(asked, found->chosen_for))
        return ARM_CHOSEN;
    len = strlen(asked);
    return len && asked[len - 1] == '/' && !strncmp(asked, r->uri, len) &&
                   !strchr(r->uri + len, '/')
               ? ARM_INDEX
               : ARM_FAR;
}

/* NULL: only the paths that phases looked at; r->filename may be the target of a redirect, or the
 * URL of a backend. */
static const char *arm_main_path(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const char *file = r->canonical_filename;

    if (offer->plan)
        return file && file[0] == '/' ? file : NULL;
    if (request_is_refused(r))
        return NULL;
    return offer->path && !offer->document ? offer->path : r->filename;
}

/* All paths that the answer depends on: the main one first, then those that the request looked at,
 * then those of its page. */
static apr_array_header_t *arm_paths(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);
    apr_array_header_t *paths = apr_array_make(r->pool, 8, sizeof(char *));
    const char *main_path = arm_main_path(r);

    if (main_path)
        APR_ARRAY_PUSH(paths, const char *) = main_path;
    if (found && found->first && (!main_path || strcmp(found->first, main_path)))
        APR_ARRAY_PUSH(paths, const char *) = found->first;
    for (int i = 0; found && found->more && i < found->more->nelts; i++)
        APR_ARRAY_PUSH(paths, const char *) = APR_ARRAY_IDX(found->more, i, const char *);
    for (const char *const *from = request_offer_of(r)->from; from && *from; from++)
        APR_ARRAY_PUSH(paths, const char *) = *from;
    return paths;
}

/* The answer is a file, or a backend's, and nothing that took part looked at the query. */
int cache_leaves_query(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return (offer->plan || (offer->path && !offer->document)) && !policy_query_counts(r);
}

/* The next name that is not there is another one, and so is what stands behind it: all of that is one part. */
static void arm_absent_alike(const request_rec *r, const char *absent, apr_array_header_t *parts)
{
    const char *file = absent ? cache_walked(r) : NULL;
    const size_t len = file ? strlen(file) : 0;
    const char **part = (const char **)(void *)parts->elts;
    int n = 0, seen = 0;

    for (int i = 0; len && i < parts->nelts; i++) {
        const int is_absent =
            !strncmp(part[i], file, len) && (!part[i][len] || part[i][len] == '/');

        if (!is_absent || !seen)
            part[n++] = is_absent ? absent : part[i];
        seen |= is_absent;
    }
    parts->nelts = len ? n : parts->nelts;
}

/* What has to be the same of two requests that differ, and the target of this one, in its last line. */
static void arm_shape(const request_rec *r, apr_array_header_t *parts)
{
    const request_offer *offer = request_offer_of(r);
    const char *shape =
        offer->plan && offer->absent ? offer->plan->shape(r, offer->plan->baton) : "";

    if (!*shape)
        return;
    APR_ARRAY_PUSH(parts, const char *) = shape;
    APR_ARRAY_PUSH(parts, const char *) = r->unparsed_uri;
}

/* The list of everything under watch, as one string. The answer that fills an entry must have the
 * fingerprint of the answer that armed it: in between, a missing directory may have come, or the
 * page may include another file. */
const char *cache_fingerprint(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);
    const cache_stored *stored = request_offer_of(r)->stored;
    apr_array_header_t *parts;

    if (stored && !stored->led_to)
        return cache_lifetime_fingerprint(r->pool, stored);
    parts = arm_paths(r);
    for (const request_rec *to = r; to && (to == r || to->next); to = to->next)
        arm_absent_alike(to, request_offer_of(r)->absent, parts);
    for (int i = 0; found && found->folders && i < found->folders->nelts; i++)
        APR_ARRAY_PUSH(parts, const char *) = APR_ARRAY_IDX(found->folders, i, const char *);
    APR_ARRAY_PUSH(parts, const char *) =
        apr_psprintf(r->pool, "%s%d%d%d", cache_composed_fingerprint(r), arm_origin(r),
                     arm_overrides_possible(r), cache_leaves_query(r));
    if (stored)
        APR_ARRAY_PUSH(parts, const char *) = cache_lifetime_fingerprint(r->pool, stored);
    arm_shape(r, parts);
    return apr_array_pstrcat(r->pool, parts, '\n');
}

/* Both the path and the query, should there be one. */
static int arm_targets_differ(const char *one, const char *other)
{
    const size_t path = strcspn(one, "?");

    return (path != strcspn(other, "?") || memcmp(one, other, path) != 0) &&
           (!one[path] || strcmp(one + path, other + strcspn(other, "?")) != 0);
}

int cache_fingerprint_fits(const char *armed, request_rec *r)
{
    const char *now = cache_fingerprint(r);
    const char *last = request_offer_of(r)->plan ? strrchr(now, '\n') : NULL;

    if (!last || strcmp(++last, r->unparsed_uri) != 0)
        return !strcmp(now, armed);
    return !strncmp(now, armed, (size_t)(last - now)) &&
           arm_targets_differ(last, armed + (last - now));
}

/* Folders of which every name counts. */
static int arm_watch_folders(response_cache *c, cache_entry *e, request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    for (int i = 0; found->folders && i < found->folders->nelts; i++)
        if (watch_add(c->watch, &e->owner, APR_ARRAY_IDX(found->folders, i, const char *),
                      WATCH_ENTRIES))
            return -1;
    return 0;
}

/* @param main_seen  watch_seen() of the main path alone */
static int arm_watch(response_cache *c, cache_entry *e, request_rec *r, uint64_t *main_seen)
{
    const char *const *names = arm_overrides_possible(r) ? arm_access_names(r) : NULL;
    const apr_array_header_t *paths = arm_paths(r);
    const uint64_t before = watch_seen(c->watch);

    BRG_ASSERT(loop_self() == c->loop && !c->is_workers); /* the set is the loop's */
    for (int i = 0; i < paths->nelts; i++) {
        const char *path = APR_ARRAY_IDX(paths, i, const char *);
        const int flags = i == 0 && arm_origin(r) == ARM_INDEX ? WATCH_ENTRIES : 0;

        if (watch_add(c->watch, &e->owner, path, flags))
            return -1;
        if (i == 0)
            *main_seen = watch_seen(c->watch) - before;
        if (names && names[0] && watch_add_names(c->watch, &e->owner, path, names))
            return -1;
    }
    return arm_watch_folders(c, e, r);
}

/* A change of the file after r looked at it shows in its time stamps. */
static int arm_file_is_comparable(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);
    const apr_int32_t needed = APR_FINFO_INODE | APR_FINFO_DEV | APR_FINFO_CTIME;

    return r->status == HTTP_OK && offer->path && !offer->coded &&
           (r->finfo.valid & needed) == needed && r->finfo.ctime + ARM_TICKS_US < r->request_time;
}

/* All that r depends on was under watch when it began, but for the file itself, which is compared.
 * So nothing can have changed unseen between r's look and the watches: the answer that arms the
 * entry may fill it. */
static int arm_saw_all(const response_cache *c, const request_rec *r, uint64_t main_seen)
{
    const request_dependencies *found = request_dependencies_of(r);

    return found->since && arm_file_is_comparable(r) && main_seen <= WATCH_SEEN_FILE &&
           found->since + main_seen == watch_seen(c->watch);
}

/* One stat for each answer sees changes of the file; not those of access files and of links, and not
 * that a better index appears. */
static int arm_stat_is_enough(request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    return request_offer_of(r)->path && arm_origin(r) == ARM_DIRECT && !arm_overrides_possible(r) &&
           found && !found->more && !found->folders && !found->link_policy;
}

/* All is under watch that can be; the rest is looked at. */
static cache_source_id arm_source(const cache_entry *e)
{
    if (e->composed)
        return CACHE_SOURCE_COMPOSED;
    if (e->lifetime)
        return CACHE_SOURCE_LED;
    return e->looks ? CACHE_SOURCE_LAYERS : CACHE_SOURCE_WATCHES;
}

static int arm_stat(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason)
{
    if (c->watch)
        watch_remove(c->watch, &e->owner); /* those of its paths that could be watched */
    if (!arm_stat_is_enough(r))
        return cache_refuse(reason, "what it depends on cannot be watched (kind of file "
                                    "system, rights, or FileCacheValidate)");
    e->source = CACHE_SOURCE_STAT;
    return 0;
}

/* All that decides which answer fills it. */
static int arm_end(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason)
{
    if (!(e->fingerprint = strdup(cache_fingerprint(r))))
        return cache_refuse(reason, "out of memory");
    c->figures.armed++;
    cache_account(c, e);
    return 0;
}

static int arm_looked_at_nothing(const request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    return found && !found->first && !found->folders && !found->too_many;
}

int cache_arm(response_cache *c, cache_entry *e, request_rec *r, policy_reason *reason)
{
    const request_dependencies *found = request_dependencies_of(r);
    const cache_stored *stored = request_offer_of(r)->stored;
    uint64_t main_seen = 0;

    BRG_ASSERT(e->in_cache && !e->filled && !e->source && !e->fingerprint);
    e->server = r->server;
    if (stored && cache_lifetime_arm(e, stored))
        return cache_refuse(reason, "out of memory");
    if (stored && !stored->led_to)
        return arm_end(c, e, r, reason);
    e->plans = request_offer_of(r)->plan != NULL;
    if (e->plans && arm_looked_at_nothing(r)) {
        e->source = CACHE_SOURCE_PLAN;
        return 0;
    }
    if (!found || found->too_many)
        return cache_refuse(reason, "it depends on more files than are kept");
    if (arm_origin(r) == ARM_FAR)
        return cache_refuse(reason,
                            "its target led to another file, by rules that may look at more "
                            "than is watched");
    if (!c->watch || arm_watch(c, e, r, &main_seen))
        return arm_stat(c, e, r, reason);
    e->source = CACHE_SOURCE_WATCHES;
    if (cache_layers_arm(c->watch, e, r, arm_paths(r),
                         arm_overrides_possible(r) ? arm_access_names(r) : NULL))
        return cache_refuse(reason, "it depends on more files of an overlay than are looked at");
    if (e->looks && found->folders)
        return cache_refuse(reason, "the names of a folder of an overlay are not looked at");
    if (cache_composed_arm(e, r))
        return cache_refuse(reason, "it has more stored parts than are kept");
    e->source = (uint8_t)arm_source(e);
    e->compared = !e->looks && arm_saw_all(c, r, main_seen);
    return arm_end(c, e, r, reason);
}

int cache_arm_folder(response_cache *c, cache_entry *e, request_rec *r, const char *path)
{
    const char *const *names = arm_overrides_possible(r) ? arm_access_names(r) : NULL;

    BRG_ASSERT(e->in_cache && !e->source && c->watch && loop_self() == c->loop);
    e->source = CACHE_SOURCE_WATCHES;
    return watch_add(c->watch, &e->owner, path, 0) ||
                   (names && names[0] && watch_add_names(c->watch, &e->owner, path, names))
               ? -1
               : 0;
}

static int arm_begin(request_rec *r)
{
    const response_cache *c = cache_store_cache();

    if (c && c->watch)
        request_dependencies_since(r, watch_seen(c->watch));
    return OK;
}

void cache_arm_register(void)
{
    ap_hook_create_request(arm_begin, NULL, NULL, APR_HOOK_FIRST);
}
