/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory walk: from r->filename to the file (r->finfo), the rest behind it (r->path_info)
 * and the configuration of the directories on the way: <Directory> sections, shortest first, each
 * level followed by its .htaccess, and regular expressions at the end.
 *
 * It needs no system call for each directory. One stat() of the whole name tells that everything above it
 * is a directory; if the name does not exist, one of its parent mostly tells. The components are looked at
 * one by one only where neither helps, or where the Options of a directory do not allow all symbolic
 * links. And nothing is looked at that the loop knows: walk_known.c.
 */
#include "walk_dir_private.h"
#include "request_context.h"
#include "configuration.h"
#include "conn.h"
#include "brigade/assert.h"
#include "brigade/explain.h"
#include "brigade/response_cache.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"

APLOG_USE_MODULE(core);

const core_dir_config *walk_dir_core(dir_walk *w)
{
    if (!w->conf)
        w->conf = walk_fold_onto(w->r, &w->found, w->r->per_dir_config);
    return ap_get_core_module_config(w->conf);
}

void walk_dir_take(dir_walk *w, ap_conf_vector_t *sec, int sec_is_config)
{
    walk_fold_add(w->r, &w->found, sec, sec_is_config);
    w->conf = NULL;
}

/* The first end bytes of path as a string. One past its length stands for a slash that is added. */
static char *dir_prefix(dir_walk *w, apr_size_t end)
{
    BRG_ASSERT(end <= w->len + 1);
    if (!w->scratch) {
        w->scratch = apr_palloc(w->r->pool, w->len + 2);
        memcpy(w->scratch, w->path, w->len);
        w->scratch[w->len] = '/';
        w->cut = w->len + 1;
    }
    if (w->cut <= w->len)
        w->scratch[w->cut] = w->cut == w->len ? '/' : w->path[w->cut];
    w->scratch[end] = '\0';
    w->cut = end;
    return w->scratch;
}

/* ---- the file system ---- */

static apr_status_t dir_stat(dir_walk *w, apr_size_t end, apr_int32_t wanted, apr_finfo_t *finfo)
{
    request_rec *r = w->r;
    char *name = r->filename;
    apr_status_t rv;

    if (end < w->len)
        r->filename = dir_prefix(w, end);
    rv = ap_run_dirwalk_stat(finfo, r, wanted);
    r->filename = name;
    return rv == APR_INCOMPLETE && (finfo->valid & APR_FINFO_TYPE) ? APR_SUCCESS : rv;
}

/* The name is not there: the properties of the directory that it is missing in. @return an error of
 * stat() */
static apr_status_t dir_survey_parent(dir_walk *w, apr_finfo_t *parent, apr_size_t *slash)
{
    for (*slash = w->len - 1; *slash > 0 && w->path[*slash - 1] != '/'; (*slash)--) {
    }
    if (w->folder && *slash == w->pos)
        return folder_info(w->table, w->folder, w->r, parent) ? APR_SUCCESS : APR_ENOENT;
    return *slash > 1 ? dir_stat(w, *slash - 1, APR_FINFO_MIN, parent) : APR_ENOENT;
}

/* A name in a folder that is known was looked for in vain, or would have to be waited for. @return 1: a worker goes on, and reads all
 * names of the folder */
static int dir_missed(dir_walk *w, int waits)
{
    const int many = w->folder && folder_missed(w->folder);

    if (!w->folder || !(many || waits) || !conn_on_loop() || !request_may_leave_thread(w->r))
        return 0;
    folder_want_names(w->folder, w->r);
    return request_files_of(w->r)->wanted != NULL;
}

/* The result of one or two system calls for the whole name. @return OK or WALK_WOULD_WAIT */
static int dir_survey(dir_walk *w)
{
    request_rec *r = w->r;
    apr_finfo_t parent, link;
    apr_size_t slash;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(w->len > 0 && w->path[0] == '/');
    w->was_given = r->finfo.filetype != APR_NOFILE;
    if (r->finfo.filetype == APR_NOFILE || r->finfo.filetype == APR_LNK)
        rv = dir_stat(w, w->len, APR_FINFO_MIN, &r->finfo);
    if (rv == APR_SUCCESS) {
        w->dirs_end = w->len;
        w->type_known = 1;
        return OK;
    }
    if (APR_STATUS_IS_EAGAIN(rv)) {
        (void)dir_missed(w, 1);
        return WALK_WOULD_WAIT;
    }
    memset(&r->finfo, 0, sizeof r->finfo);
    r->finfo.filetype = APR_NOFILE;
    if (!APR_STATUS_IS_ENOENT(rv))
        return OK;
    /* A link that leads nowhere, also with a slash behind it, which the kernel would follow it for. */
    rv = dir_stat(w, w->len - (w->path[w->len - 1] == '/'), APR_FINFO_MIN | APR_FINFO_LINK, &link);
    if (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv))
        return rv == APR_SUCCESS ? OK : WALK_WOULD_WAIT;
    rv = dir_survey_parent(w, &parent, &slash);
    if (APR_STATUS_IS_EAGAIN(rv))
        return WALK_WOULD_WAIT;
    if (rv != APR_SUCCESS || parent.filetype != APR_DIR)
        return OK;
    if (w->folder && slash == w->pos && dir_missed(w, 0))
        return WALK_WOULD_WAIT;
    /* No file, but the times of its directory: they tell mod_negotiation of new and removed variants. */
    r->finfo = parent;
    r->finfo.filetype = APR_NOFILE;
    w->dirs_end = slash;
    w->type_known = 1;
    return OK;
}

int walk_resolve_symlink(const char *path, apr_finfo_t *finfo, int opts, apr_pool_t *p)
{
    apr_finfo_t target;
    apr_int32_t wanted = finfo->valid & ~(APR_FINFO_NAME | APR_FINFO_LINK);

    BRG_ASSERT(finfo->filetype == APR_LNK);
    if (opts & OPT_SYM_LINKS) {
        if (apr_stat(&target, path, wanted | APR_FINFO_MIN, p) != APR_SUCCESS)
            return HTTP_FORBIDDEN;
    } else if (opts & OPT_SYM_OWNER) {
        if (!(finfo->valid & APR_FINFO_OWNER) &&
            apr_stat(finfo, path, wanted | APR_FINFO_LINK | APR_FINFO_OWNER, p) != APR_SUCCESS)
            return HTTP_FORBIDDEN;
        if (apr_stat(&target, path, wanted | APR_FINFO_MIN | APR_FINFO_OWNER, p) != APR_SUCCESS ||
            apr_uid_compare(target.user, finfo->user) != APR_SUCCESS)
            return HTTP_FORBIDDEN;
    } else {
        return HTTP_FORBIDDEN;
    }
    *finfo = target;
    return OK;
}

static int dir_stat_failed(const dir_walk *w, apr_size_t end, apr_status_t rv)
{
    request_rec *r = w->r;
    const char *path = apr_pstrmemdup(r->pool, w->path, end);

    if (APR_STATUS_IS_EACCES(rv)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(00035) "access to %s denied (filesystem path '%s') because search "
                                     "permissions are missing on a component of the path",
                      r->uri, path);
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(00036) "access to %s failed (filesystem path '%s')", r->uri, path);
    }
    return HTTP_FORBIDDEN;
}

/* Look at the component that ends before end, under the Options of its directory. */
static int dir_look(dir_walk *w, apr_size_t end, int opts, apr_finfo_t *finfo)
{
    int follow = (opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) == OPT_SYM_LINKS;
    apr_status_t rv;

    if (!follow)
        request_link_policy_counts(w->r);
    rv = dir_stat(w, end, APR_FINFO_MIN | (follow ? 0 : APR_FINFO_LINK), finfo);
    if (follow && (APR_STATUS_IS_ENOENT(rv) || rv == ELOOP)) /* or a link that leads nowhere */
        rv = dir_stat(w, end, APR_FINFO_MIN | APR_FINFO_LINK, finfo);
    if (APR_STATUS_IS_ENOENT(rv)) {
        memset(finfo, 0, sizeof *finfo);
        finfo->filetype = APR_NOFILE;
        return OK;
    }
    /* The kernel would wait for the disk, or for a rename elsewhere. */
    if (APR_STATUS_IS_EAGAIN(rv))
        return WALK_WOULD_WAIT;
    if (rv != APR_SUCCESS)
        return dir_stat_failed(w, end, rv);
    if (finfo->filetype == APR_LNK &&
        walk_resolve_symlink(dir_prefix(w, end), finfo, opts, w->r->pool) != OK) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, w->r,
                      "%sSymbolic link not allowed or link target not accessible: %s",
                      w->was_given && end >= w->len ? APLOGNO(00032) : APLOGNO(00037),
                      dir_prefix(w, end));
        return HTTP_FORBIDDEN;
    }
    return OK;
}

/* Which links the level-th component from the root may be. The path has at most len / 2 + 1 of them. */
void walk_dir_note_links(dir_walk *w, unsigned level, int opts)
{
    apr_size_t most = w->len / 2 + 2;

    BRG_ASSERT(level >= 1 && level < most);
    if (!w->links) {
        w->links = apr_palloc(w->r->pool, most);
        memset(w->links, LINKS_FOLLOW, most - 1);
        w->links[most - 1] = '\0';
    }
    w->links[level - 1] = opts & OPT_SYM_LINKS   ? LINKS_FOLLOW
                          : opts & OPT_SYM_OWNER ? LINKS_OWNER
                                                 : LINKS_NONE;
}

/* The next component, which ends before end: a directory (*is_dir), or the end of the walk, with r->finfo set.
 * @return OK, WALK_WOULD_WAIT or the status that refuses the request */
static int dir_component(dir_walk *w, apr_size_t end, unsigned level, int *is_dir)
{
    request_rec *r = w->r;
    int opts = walk_dir_core(w)->opts;
    int is_last = end + (end < w->len) == w->len;
    int follow = (opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) == OPT_SYM_LINKS;
    apr_finfo_t looked;
    apr_finfo_t *finfo = &r->finfo;

    BRG_ASSERT(level > 0 && end <= w->len);
    w->is_plain = w->is_plain && follow;
    if (!(opts & OPT_SYM_LINKS) || w->links)
        walk_dir_note_links(w, level, opts);
    if (follow && !is_last && end < w->dirs_end) {
        *is_dir = 1;
        return OK;
    }
    if (!follow || !is_last || !w->type_known) {
        int res;

        finfo = &looked;
        if ((res = dir_look(w, end, opts, finfo)) != OK)
            return res;
        if (finfo->filetype == APR_NOFILE && !is_last && w->folder && level == w->level &&
            dir_missed(w, 0))
            return WALK_WOULD_WAIT;
    }
    *is_dir = finfo->filetype == APR_DIR;
    /* The name itself may be a FIFO or a device: index files and rewrite rules ignore it, as in Apache, and no handler
     * opens it (handler_run()). */
    if (finfo != &r->finfo && !*is_dir && finfo->filetype != APR_REG &&
        finfo->filetype != APR_NOFILE) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00038) "Forbidden: %s doesn't point to a file or directory",
                      dir_prefix(w, end));
        return HTTP_FORBIDDEN;
    }
    if (finfo != &r->finfo && (is_last || !*is_dir) &&
        (finfo->filetype != APR_NOFILE || r->finfo.filetype != APR_NOFILE))
        r->finfo = *finfo;
    return OK;
}

/* ---- the configuration ---- */

/* The first pos bytes of path, a slash included that may be missing there, are d's. */
static int dir_is(const dir_walk *w, const char *d, apr_size_t pos)
{
    apr_size_t have = pos > w->len ? w->len : pos;

    if (strncmp(d, w->path, have) != 0)
        return 0;
    return have == pos ? d[pos] == '\0' : d[have] == '/' && d[have + 1] == '\0';
}

void walk_dir_each_time(request_rec *r)
{
    request_mark_volatile(r, "core.c",
                          "an access file has <IfFile> or Warning, and is read for each request");
}

static int dir_htaccess(dir_walk *w, apr_size_t pos)
{
    const core_dir_config *core = walk_dir_core(w);
    int override = (int)core->override & ~OR_UNSET;
    ap_conf_vector_t *found = NULL;
    unsigned unrepeatable;
    int res;

    if (!override && (!core->override_list || apr_is_empty_table(core->override_list)))
        return OK;
    w->is_plain = 0;
    if (walk_would_wait(w->r, ++w->searched))
        return WALK_WOULD_WAIT;
    unrepeatable = conf_unrepeatable_noted();
    res = ap_parse_htaccess(&found, w->r, override, core->override_opts, core->override_list,
                            apr_pstrdup(w->r->pool, dir_prefix(w, pos)), w->access_name);
    if (unrepeatable != conf_unrepeatable_noted())
        walk_dir_each_time(w->r);
    if (res == OK && found) {
        w->found.keep = NULL; /* it ends with the request */
        walk_dir_take(w, found, 0);
    }
    return res;
}

/* Add the sections for the name that ends before pos, the level-th from the root. */
void walk_dir_sections(dir_walk *w, apr_size_t pos, unsigned level)
{
    for (; w->next_sec < w->secs->nelts; w->next_sec++) {
        ap_conf_vector_t *sec = APR_ARRAY_IDX(w->secs, w->next_sec, ap_conf_vector_t *);
        const core_dir_config *core = ap_get_core_module_config(sec);

        if (core->r || core->d_components > level)
            break;
        if (core->d_is_fnmatch
                ? apr_fnmatch(core->d, dir_prefix(w, pos), APR_FNM_PATHNAME) == APR_SUCCESS
                : dir_is(w, core->d, pos))
            walk_dir_take(w, sec, 1);
    }
}

/* Bytes of the directory that r->filename is or is in, its last slash included or to be added. */
static apr_size_t dir_of_file(const request_rec *r)
{
    const apr_size_t len = strlen(r->filename);
    const char *slash = strrchr(r->filename, '/');

    if (r->finfo.filetype == APR_DIR)
        return slash && !slash[1] ? len - 1 : len;
    return slash ? (apr_size_t)(slash - r->filename) : 0;
}

/*
 * The subject of regular expressions. Requests that follow from one for the same directory, such as
 * that for its index, are under the sections of the first: so the expression "/folder/$" counts for
 * an index too, as in Apache.
 */
static const char *dir_regex_subject(const request_rec *r)
{
    for (;;) {
        const request_rec *from = r->main ? r->main : r->prev;
        apr_size_t len;

        if (!from || !from->filename || from->server != r->server)
            return r->filename;
        len = dir_of_file(from);
        if (len != dir_of_file(r) || strncmp(from->filename, r->filename, len))
            return r->filename;
        r = from;
    }
}

static void dir_regexes(dir_walk *w)
{
    const char *subject = w->next_sec < w->secs->nelts ? dir_regex_subject(w->r) : NULL;

    for (int i = w->next_sec; i < w->secs->nelts; i++) {
        ap_conf_vector_t *sec = APR_ARRAY_IDX(w->secs, i, ap_conf_vector_t *);
        const core_dir_config *core = ap_get_core_module_config(sec);

        if (core->r && walk_regex_matches(w->r, core, subject))
            walk_dir_take(w, sec, 1);
    }
}

/* ---- the walk ---- */

int walk_is_canonical(const char *path)
{
    for (const char *p = path; (p = strchr(p, '/')); p++) {
        if (p[1] != '/' && p[1] != '.')
            continue;
        if (p[1] == '/' || p[2] == '/' || !p[2] || (p[2] == '.' && (p[3] == '/' || !p[3])))
            return 0;
    }
    return 1;
}

/* @return OK, or DECLINED: this is no name in the file system */
static int dir_begin(dir_walk *w, request_rec *r)
{
    static const apr_array_header_t none = {0};
    const core_server_config *sconf = ap_get_core_module_config(r->server->module_config);
    apr_status_t rv = APR_SUCCESS;

    if (!r->filename) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(00029) "Module bug?  Request filename is missing for URI %s", r->uri);
        return DECLINED;
    }
    if (r->filename[0] != '/') {
        rv = APR_EBADPATH;
    } else if (r->filename != r->canonical_filename && !walk_is_canonical(r->filename)) {
        rv = apr_filepath_merge(&r->filename, NULL, r->filename,
                                APR_FILEPATH_NOTRELATIVE | APR_FILEPATH_TRUENAME, r->pool);
    }
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, rv, r,
                      APLOGNO(00030) "Module bug?  Request filename path %s is invalid or or "
                                     "not absolute for uri %s",
                      r->filename, r->uri);
        return DECLINED;
    }
    *w = (dir_walk){.r = r, .path = r->filename, .len = strlen(r->filename), .pos = 1, .level = 1};
    w->conf = r->per_dir_config;
    w->is_plain = !brg_explain && w->conf == r->server->lookup_defaults;
    if (request_files_of(r))
        request_files_of(r)->known = 0;
    w->secs = sconf->sec_dir ? sconf->sec_dir : &none;
    w->access_name = sconf->access_name ? sconf->access_name : DEFAULT_ACCESS_FNAME;
    return OK;
}

/* Split the text behind the last component that exists (or the first that does not) off the name.
 */
static void dir_finish(dir_walk *w, apr_size_t end)
{
    request_rec *r = w->r;
    request_files *files = request_files_of(r);

    BRG_ASSERT(end > 0 && end <= w->len);
    if (end < w->len) {
        const char *rest = w->path + end;

        r->path_info = r->path_info && *r->path_info
                           ? apr_pstrcat(r->pool, rest, r->path_info, NULL)
                           : (char *)rest;
        r->filename = apr_pstrmemdup(r->pool, w->path, end);
    } else if (!r->path_info) {
        r->path_info = r->filename + w->len; /* empty */
    }
    r->canonical_filename = r->filename;
    if (files) {
        files->links = w->links;
        files->walked = r->filename;
        files->rest = r->path_info;
    }
    dir_regexes(w);
    walk_dir_core(w);
    r->per_dir_config = w->conf;
}

/* The directories from w->pos on. @return OK: w->end is the end of the walk */
static int dir_levels(dir_walk *w)
{
    int res, is_dir, kept;

    if (!w->taken)
        walk_memo_plain(w);
    for (kept = w->taken;; w->level++, w->taken = 0) {
        const char *slash;

        if (!w->taken) {
            walk_dir_sections(w, w->pos, w->level);
            if ((res = dir_htaccess(w, w->pos)) != OK)
                return res;
        }
        if (w->pos >= w->len) {
            w->end = w->len; /* all of it is a directory */
            return OK;
        }
        slash = memchr(w->path + w->pos, '/', w->len - w->pos);
        w->end = slash ? (apr_size_t)(slash - w->path) : w->len;
        if (!kept && w->is_plain && w->end + (w->end < w->len) == w->len)
            walk_memo_keep(w, NULL);
        if ((res = dir_component(w, w->end, w->level, &is_dir)) != OK)
            return res;
        if (!is_dir)
            return OK;
        w->pos = w->end + 1;
        w->folder = NULL;
    }
}

AP_DECLARE(int) ap_directory_walk(request_rec *r)
{
    dir_walk w;
    int res;

    if (dir_begin(&w, r) != OK) {
        r->finfo.filetype = APR_NOFILE;
        return OK;
    }
    if (walk_would_wait(r, 0))
        return WALK_WOULD_WAIT;
    folder_read_names(r);
    brg_cache_depends_on(r, w.path);
    if ((res = walk_known(&w)) == OK && (res = dir_survey(&w)) == OK)
        res = dir_levels(&w);
    if (res != OK && res != DONE)
        return res;
    /* <Directory> sections, patterns above all, may name a file as well. */
    if (w.end == w.len && r->finfo.filetype == APR_REG)
        walk_dir_sections(&w, w.len + 1, w.level + 1);
    dir_finish(&w, w.end);
    return OK;
}
