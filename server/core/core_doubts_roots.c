/* SPDX-License-Identifier: Apache-2.0 */
/* Document roots that nobody may see: a section of the configuration refuses all of it, or the user of the server cannot enter it.
 * Only where it is certain: nothing that is nearer to the files, or matches in other ways, says more. */
#include "core_doubts_private.h"
#include "core_private.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "unixd.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOTS_GROUPS 64 /* of the server's user, at most */

/* ---- which section decides ---- */

typedef struct roots_look {
    const core_doubts *d;
    const char *root;              /* ends with a slash */
    const ap_directive_t *decides; /* the Require that refuses; NULL: none does */
    unsigned components;           /* of the section that it is in */
    int is_open;                   /* something else may let clients in */
} roots_look;

static int roots_is_named(const ap_directive_t *node, const char *name)
{
    return !ap_cstr_casecmp(node->directive, name);
}

static int roots_is_access(const ap_directive_t *node)
{
    static const char *const names[] = {"Require", "<RequireAll", "<RequireAny", "<RequireNone",
                                        "Allow",   "Deny",        "Order",       "Satisfy"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (roots_is_named(node, names[i]))
            return 1;
    return 0;
}

static int roots_refuses(apr_pool_t *p, const ap_directive_t *node)
{
    const char *args = core_doubts_args(node), *first, *second;

    if (!roots_is_named(node, "Require"))
        return 0;
    first = ap_getword_conf(p, &args);
    second = ap_getword_conf(p, &args);
    return !ap_cstr_casecmp(first, "all") && !ap_cstr_casecmp(second, "denied");
}

/* The result of a section's lines. *refuses: its one line of access control refuses everybody. @return 1 if it has such lines */
static int roots_section_says(apr_pool_t *p, const ap_directive_t *section,
                              const ap_directive_t **refuses)
{
    int n = 0;

    *refuses = NULL;
    for (const ap_directive_t *node = section->first_child; node; node = node->next) {
        const ap_directive_t *inner;

        if (roots_is_access(node)) {
            n++;
            if (roots_refuses(p, node))
                *refuses = node;
        } else if (node->first_child && roots_section_says(p, node, &inner)) {
            n += 2; /* <Limit>, <Files>, <If>: for some requests */
        }
    }
    if (n != 1)
        *refuses = NULL;
    return n > 0;
}

static const char *roots_with_slash(apr_pool_t *p, const char *path)
{
    const size_t len = strlen(path);

    return len && path[len - 1] == '/' ? path : apr_pstrcat(p, path, "/", NULL);
}

/* <Directory PATH>: above the root or the root itself, below it, or a pattern that may be either. */
static void roots_directory(roots_look *look, const ap_directive_t *section, const char *path)
{
    apr_pool_t *p = look->d->p;
    const ap_directive_t *refuses;
    unsigned components;
    char *full;

    if (!roots_section_says(p, section, &refuses))
        return;
    if (!strcmp(path, "~") || apr_fnmatch_test(path) ||
        apr_filepath_merge(&full, NULL, path, APR_FILEPATH_TRUENAME, p) != APR_SUCCESS) {
        look->is_open |= !refuses;
        return;
    }
    path = roots_with_slash(p, full);
    if (!strncmp(path, look->root, strlen(look->root)) && strcmp(path, look->root)) {
        look->is_open |= !refuses;
        return;
    }
    if (strncmp(look->root, path, strlen(path)) != 0)
        return;
    components = (unsigned)ap_count_dirs(path);
    if (components < look->components)
        return;
    look->components = components;
    look->decides = refuses;
}

/* Sections for paths of URLs and conditions come last; they may let in again. */
static void roots_other(roots_look *look, const ap_directive_t *section)
{
    static const char *const names[] = {"<Location", "<LocationMatch", "<DirectoryMatch",
                                        "<Files",    "<FilesMatch",    "<If",
                                        "<ElseIf",   "<Else"};
    const char *args = core_doubts_args(section);
    const ap_directive_t *refuses;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (roots_is_named(section, names[i]) &&
            roots_section_says(look->d->p, section, &refuses) && !refuses &&
            (i || !strcmp(ap_getword_conf(look->d->p, &args), "/>")))
            look->is_open = 1;
}

static void roots_sections(roots_look *look, const ap_directive_t *tree)
{
    for (; tree; tree = tree->next) {
        const char *args = core_doubts_args(tree);

        if (roots_is_named(tree, "<Directory")) {
            char *path = ap_getword_conf(look->d->p, &args);
            const size_t len = strlen(path);

            if (len && path[len - 1] == '>')
                path[len - 1] = '\0';
            roots_directory(look, tree, path);
        } else {
            roots_other(look, tree);
        }
    }
}

/* Lines that map requests elsewhere: whatever they match, or the path that they name where that is /. */
static int roots_maps(apr_pool_t *p, const ap_directive_t *node)
{
    static const char *const any[] = {"ProxyPassMatch",   "RewriteRule",        "AliasMatch",
                                      "ScriptAliasMatch", "SetHandler",         "ProxyPassInherit",
                                      "FallbackResource", "VirtualDocumentRoot"};
    static const char *const paths[] = {"ProxyPass", "Redirect", "Alias", "ScriptAlias"};
    const char *args = core_doubts_args(node), *first = ap_getword_conf(p, &args),
               *second = ap_getword_conf(p, &args);

    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if (roots_is_named(node, any[i]))
            return 1;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (roots_is_named(node, paths[i]))
            return !strcmp(first, "/") || !strcmp(second, "/") || strstr(first, "://");
    return roots_is_named(node, "RedirectMatch") && atoi(first) < 400;
}

static int roots_maps_all(apr_pool_t *p, const ap_directive_t *tree)
{
    for (; tree; tree = tree->next) {
        const char *args = core_doubts_args(tree);

        if (roots_maps(p, tree))
            return 1;
        if (roots_is_named(tree, "<Location") && !strcmp(ap_getword_conf(p, &args), "/>") &&
            roots_maps_all(p, tree->first_child))
            return 1;
    }
    return 0;
}

/* The line by which a server refuses everybody its document root; NULL: none for certain. */
static const ap_directive_t *roots_wall(const core_doubts *d, const server_rec *s, const char *root)
{
    roots_look look = {.d = d, .root = roots_with_slash(d->p, root)};
    const ap_directive_t *host = s == d->main ? NULL : apr_hash_get(d->nodes, &s, sizeof(s));
    const ap_directive_t *inside = host ? host->first_child : NULL;

    roots_sections(&look, ap_conftree);
    roots_sections(&look, inside);
    if (look.is_open || roots_maps_all(d->p, ap_conftree) || roots_maps_all(d->p, inside))
        return NULL;
    return look.decides;
}

/* ---- whose files they are ---- */

static int roots_may(const struct stat *st, uid_t uid, const gid_t *groups, int groups_n, int bit)
{
    if (!uid)
        return 1;
    if (st->st_uid == uid)
        return (st->st_mode & ((unsigned)bit << 6)) != 0;
    for (int i = 0; i < groups_n; i++)
        if (st->st_gid == groups[i])
            return (st->st_mode & ((unsigned)bit << 3)) != 0;
    return (st->st_mode & (unsigned)bit) != 0;
}

/* The first folder on the way to a path that the user of the server cannot enter; NULL: all are open. */
static const char *roots_closed(apr_pool_t *p, const char *root)
{
    const struct passwd *user = getpwuid(ap_unixd_config.user_id);
    gid_t groups[ROOTS_GROUPS];
    int n = ROOTS_GROUPS;
    char *path = realpath(root, NULL), *copy = path ? apr_pstrdup(p, path) : NULL;
    struct stat st;

    free(path);
    if (!copy || geteuid() || !user ||
        getgrouplist(user->pw_name, ap_unixd_config.group_id, groups, &n) < 0)
        return NULL;
    for (char *at = copy; *at; at++) {
        const char end = at[1];

        if (end && end != '/')
            continue;
        at[1] = '\0';
        if (!stat(copy, &st) && !roots_may(&st, ap_unixd_config.user_id, groups, n, 1))
            return copy;
        at[1] = end;
    }
    return NULL;
}

/* ---- lines ---- */

static int roots_is_from(const core_doubts *d, const server_rec *s, const ap_directive_t *node)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config),
                             *main_conf = ap_get_core_module_config(d->main->module_config);

    return core_doubts_server(d, node) == s ||
           (!node->parent && conf->ap_document_root == main_conf->ap_document_root);
}

static void roots_tell_wall(const core_doubts *d, const ap_directive_t *node,
                            const ap_directive_t *wall, const char *root)
{
    core_doubts_say(d, node,
                    "DocumentRoot %s: every request is refused (403) by %s; a section <Directory "
                    "\"%s\"> with the line Require all granted lets clients see it",
                    root, brg_directive_place(d->p, wall), root);
}

static void roots_look_at(core_doubts *d, const ap_directive_t *node)
{
    const ap_directive_t *wall = NULL;
    const core_server_config *conf;
    const char *closed;

    if (!roots_is_named(node, "DocumentRoot"))
        return;
    conf = ap_get_core_module_config(core_doubts_server(d, node)->module_config);
    if (!conf->ap_document_root || !ap_is_directory(d->p, conf->ap_document_root))
        return;
    closed = roots_closed(d->p, conf->ap_document_root);
    if (closed)
        core_doubts_say(d, node,
                        "DocumentRoot %s: the user of the server (User %s) may not "
                        "enter %s, so every request is refused (403): chmod o+x %s",
                        conf->ap_document_root, ap_unixd_config.user_name, closed, closed);
    for (const server_rec *s = d->main; s; s = s->next) {
        if (!roots_is_from(d, s, node))
            continue;
        wall = roots_wall(d, s, conf->ap_document_root);
        if (!wall)
            return;
    }
    if (wall)
        roots_tell_wall(d, node, wall, conf->ap_document_root);
}

void core_doubts_roots(core_doubts *d)
{
    core_doubts_each(d, ap_conftree, roots_look_at);
}
