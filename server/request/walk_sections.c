/* SPDX-License-Identifier: Apache-2.0 */
/* The walks that need no file system: <Location>, <Files> and <If>. */
#include "walk_private.h"
#include "expr_depends.h"
#include "request_context.h"
#include "request_parts.h"
#include "http_log.h"
#include "http_request.h"
#include "ap_expr.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(core);

static ap_conf_vector_t *section_at(const apr_array_header_t *secs, int i)
{
    BRG_ASSERT_DEBUG(i >= 0 && i < secs->nelts);
    return APR_ARRAY_IDX(secs, i, ap_conf_vector_t *);
}

int walk_regex_matches(request_rec *r, const core_dir_config *core, const char *subject)
{
    apr_size_t n = core->refs ? (apr_size_t)core->refs->nelts : 0;
    ap_regmatch_t *groups = n ? apr_palloc(r->pool, n * sizeof *groups) : NULL;

    BRG_ASSERT(core->r && subject);
    if (ap_regexec(core->r, subject, n, groups, 0))
        return 0;
    for (apr_size_t i = 0; i < n; i++) {
        const char *name = APR_ARRAY_IDX(core->refs, i, const char *);

        if (name && groups[i].rm_so >= 0) {
            apr_table_setn(r->subprocess_env, name,
                           apr_pstrmemdup(r->pool, subject + groups[i].rm_so,
                                          (apr_size_t)(groups[i].rm_eo - groups[i].rm_so)));
        }
    }
    return 1;
}

/* ---- <Location> ---- */

/* The sections that matched, kept in AP_NOTE_LOCATION_WALK: the walk is made several times a
 * request. */
typedef struct location_note {
    const char *uri; /* a copy: r->uri is decoded in place between two walks */
    const server_rec *server;
    int n;
    ap_conf_vector_t *secs[]; /* room for all of the server's */
} location_note;

/* Whole path segments of uri start with prefix. */
static int location_has_prefix(const char *prefix, const char *uri)
{
    const char *p = prefix;

    while (*p && *p == *uri) {
        p++;
        uri++;
    }
    return !*p && (p == prefix || p[-1] == '/' || *uri == '/' || !*uri);
}

static int location_matches(request_rec *r, const core_dir_config *core, const char *folded)
{
    if (core->r)
        return walk_regex_matches(r, core, r->uri);
    if (core->d_is_fnmatch)
        return apr_fnmatch(core->d, folded, APR_FNM_PATHNAME) == APR_SUCCESS;
    return location_has_prefix(core->d, folded);
}

/* For <Location> several slashes count as one; <LocationMatch> sees them all. */
static const char *location_folded(request_rec *r)
{
    char *folded;

    if (r->uri[0] != '/' || !strstr(r->uri, "//"))
        return r->uri;
    folded = apr_pstrdup(r->pool, r->uri);
    ap_no2slash(folded);
    return folded;
}

static location_note *location_note_make(request_rec *r, const apr_array_header_t *secs)
{
    apr_size_t secs_bytes = (apr_size_t)secs->nelts * sizeof(ap_conf_vector_t *);
    apr_size_t uri_bytes = strlen(r->uri) + 1;
    location_note *note = apr_palloc(r->pool, sizeof *note + secs_bytes + uri_bytes);

    note->uri = memcpy((char *)(note + 1) + secs_bytes, r->uri, uri_bytes);
    note->server = r->server;
    note->n = 0;
    return note;
}

static const location_note *location_match_all(request_rec *r, const apr_array_header_t *secs)
{
    void **slot = ap_get_request_note(r, AP_NOTE_LOCATION_WALK);
    location_note *note = slot ? *slot : NULL;
    const char *folded;

    if (note && note->server == r->server && !strcmp(note->uri, r->uri))
        return note;
    note = location_note_make(r, secs);
    if (slot)
        *slot = note;
    folded = location_folded(r);
    for (int i = 0; i < secs->nelts; i++) {
        ap_conf_vector_t *sec = section_at(secs, i);

        if (location_matches(r, ap_get_core_module_config(sec), folded))
            note->secs[note->n++] = sec;
    }
    BRG_ASSERT(note->n <= secs->nelts);
    return note;
}

AP_DECLARE(int) ap_location_walk(request_rec *r)
{
    const core_server_config *sconf = ap_get_core_module_config(r->server->module_config);
    const location_note *note;
    walk_fold fold;

    if (!sconf->sec_url || !sconf->sec_url->nelts || !r->uri)
        return OK;
    fold = (walk_fold){.keep = walk_keep_of(r, r->per_dir_config)};
    note = location_match_all(r, sconf->sec_url);
    for (int i = 0; i < note->n; i++)
        walk_fold_add(r, &fold, note->secs[i], 1);
    r->per_dir_config = walk_fold_onto(r, &fold, r->per_dir_config);
    return OK;
}

/* ---- names that are not there ---- */

/* As location_matches() and file_matches(), for no request. */
static int section_holds(const core_dir_config *core, const char *subject, int is_location)
{
    if (core->r)
        return ap_regexec(core->r, subject, 0, NULL, 0) != AP_REG_NOMATCH;
    if (core->d_is_fnmatch)
        return apr_fnmatch(core->d, subject, APR_FNM_PATHNAME) == APR_SUCCESS;
    return is_location ? location_has_prefix(core->d, subject) : !strcmp(core->d, subject);
}

#define SECTIONS_TOLD 62 /* bits of an answer */

/* Those that hold: a bit for each. @return BRG_CACHE_NAME_COUNTS: they are too many, or make variables of the subject */
static apr_int64_t sections_that_hold(const apr_array_header_t *secs, const char *subject,
                                      int is_location)
{
    apr_int64_t which = 0;

    for (int i = 0; secs && i < secs->nelts; i++) {
        const core_dir_config *core = ap_get_core_module_config(section_at(secs, i));

        if (!section_holds(core, subject, is_location))
            continue;
        if (i >= SECTIONS_TOLD || (core->r && core->refs && core->refs->nelts))
            return BRG_CACHE_NAME_COUNTS;
        which |= (apr_int64_t)1 << i;
    }
    return which;
}

apr_int64_t walk_sections_of_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                                  const char *filename, const char *path_info, int is_file)
{
    const core_server_config *sconf = ap_get_core_module_config(s->module_config);
    const core_dir_config *dconf = ap_get_core_module_config(dir);
    const char *slash = strrchr(filename ? filename : path, '/');
    const apr_int64_t locations = sections_that_hold(sconf->sec_url, path, 1);

    /* where another hook answers no file is looked for, and so no <Files> */
    return !slash || strstr(path, "//") ||
                   (filename && (locations || sections_that_hold(dconf->sec_file, slash + 1, 0)))
               ? BRG_CACHE_NAME_COUNTS
               : locations;
}

/* ---- <Files> ---- */

static int file_matches(request_rec *r, const core_dir_config *core, const char *name)
{
    if (core->r)
        return walk_regex_matches(r, core, name);
    if (core->d_is_fnmatch)
        return apr_fnmatch(core->d, name, APR_FNM_PATHNAME) == APR_SUCCESS;
    return !strcmp(core->d, name);
}

AP_DECLARE(int) ap_file_walk(request_rec *r)
{
    const core_dir_config *dconf = ap_get_core_module_config(r->per_dir_config);
    const apr_array_header_t *secs = dconf->sec_file;
    const char *slash, *name;
    walk_fold fold;
    int is_config;

    if (!secs || !secs->nelts || !r->filename)
        return OK;
    fold = (walk_fold){.keep = walk_keep_of(r, r->per_dir_config)};
    slash = strrchr(r->filename, '/');
    name = slash ? slash + 1 : r->filename;
    is_config = walk_is_config(r, r->per_dir_config); /* and with it the sections that it lists */
    for (int i = 0; i < secs->nelts; i++) {
        ap_conf_vector_t *sec = section_at(secs, i);

        if (file_matches(r, ap_get_core_module_config(sec), name))
            walk_fold_add(r, &fold, sec, is_config);
    }
    r->per_dir_config = walk_fold_onto(r, &fold, r->per_dir_config);
    return OK;
}

/* ---- <If>, <ElseIf>, <Else> ---- */

/* A condition that cannot be evaluated is not met. */
static int if_condition_met(request_rec *r, const core_dir_config *core)
{
    const char *err = NULL;
    int rc = ap_expr_exec(r, core->condition, &err);

    if (expr_name_all(r, core->condition))
        request_mark_volatile(r, "core.c", "the condition of an <If> section looks at the request");
    if (rc < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00039) "Failed to evaluate <If > condition: %s", err);
    }
    return rc > 0;
}

static void if_walk_level(request_rec *r, const apr_array_header_t *secs, walk_fold *fold,
                          int is_config)
{
    int taken = 0; /* a branch of the current <If>, <ElseIf>, <Else> matched */

    for (int i = 0; i < secs->nelts; i++) {
        ap_conf_vector_t *sec = section_at(secs, i);
        const core_dir_config *core = ap_get_core_module_config(sec);

        if (!(core->condition_ifelse & AP_CONDITION_ELSE))
            taken = 0;
        else if (taken)
            continue;
        if ((core->condition_ifelse & AP_CONDITION_IF) && !if_condition_met(r, core))
            continue;
        taken = 1;
        walk_fold_add(r, fold, sec, is_config);
    }
}

/* Level by level: the sections inside matching ones come after all of their own level. */
AP_DECLARE(int) ap_if_walk(request_rec *r)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    int is_config;

    if (!core->sec_if || !core->sec_if->nelts)
        return OK;
    is_config = walk_is_config(r, r->per_dir_config);
    while (core->sec_if && core->sec_if->nelts) {
        walk_fold fold = {.keep = walk_keep_of(r, r->per_dir_config)};

        if_walk_level(r, core->sec_if, &fold, is_config);
        if (!fold.sum)
            break;
        r->per_dir_config = walk_fold_onto(r, &fold, r->per_dir_config);
        core = ap_get_core_module_config(fold.sum);
    }
    return OK;
}
