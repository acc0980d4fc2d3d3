/* SPDX-License-Identifier: Apache-2.0 */
/* Text files with a line for each user or group. */
#include "auth_lines.h"
#include "http_config.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "util_varbuf.h"
#include <string.h>

/* The text up to a colon, or to the end. */
static char *lines_part(request_rec *r, const char *at)
{
    return apr_pstrmemdup(r->pool, at, strcspn(at, ":"));
}

/* @return the text behind "name:", or NULL: the line has another name */
static const char *lines_behind(const char *line, const char *name, apr_size_t len)
{
    if (strncmp(line, name, len) != 0 || (line[len] && line[len] != ':'))
        return NULL;
    line += len;
    while (*line == ':') /* as Apache's words end */
        line++;
    return line;
}

static const char *lines_first_hash(request_rec *r, const char *line)
{
    const char *colon = strchr(line, ':');

    return colon && colon[1] ? lines_part(r, colon + 1) : NULL;
}

apr_status_t auth_lines_find(request_rec *r, const char *path, const char *user, const char *realm,
                             auth_line *found)
{
    const apr_size_t user_len = strlen(user), realm_len = realm ? strlen(realm) : 0;
    char line[MAX_STRING_LEN];
    ap_configfile_t *f;
    apr_status_t rv = ap_pcfg_openfile(&f, r->pool, path);

    if (rv != APR_SUCCESS)
        return rv;
    while (!found->hash && ap_cfg_getline(line, sizeof line, f) == APR_SUCCESS) {
        const char *rest;

        if (!*line || *line == '#')
            continue;
        if (!found->like)
            found->like = lines_first_hash(r, line);
        rest = lines_behind(line, user, user_len);
        if (rest && realm)
            rest = lines_behind(rest, realm, realm_len);
        if (rest)
            found->hash = lines_part(r, rest);
    }
    ap_cfg_closefile(f);
    return APR_SUCCESS;
}

/* ---- groups ---- */

/* The group of a line that has the user, or NULL. */
static const char *lines_group(apr_pool_t *p, const char *line, const char *user)
{
    char *group = ap_getword(p, &line, ':');
    apr_size_t len = strlen(group);
    const char *word;

    while (len && apr_isspace(group[len - 1]))
        group[--len] = '\0';
    while (*line && *(word = ap_getword_conf(p, &line)))
        if (!strcmp(word, user))
            return group;
    return NULL;
}

apr_status_t auth_lines_groups(request_rec *r, const char *path, apr_table_t **groups)
{
    ap_configfile_t *f;
    struct ap_varbuf line;
    apr_pool_t *p;
    apr_status_t rv = ap_pcfg_openfile(&f, r->pool, path);

    if (rv != APR_SUCCESS)
        return rv;
    *groups = apr_table_make(r->pool, 15);
    apr_pool_create(&p, r->pool);
    apr_pool_tag(p, "authz_groupfile (groups_for_user)");
    ap_varbuf_init(r->pool, &line, 200);
    while ((rv = ap_varbuf_cfg_getline(&line, f, (16 * 1024 * 1024))) == APR_SUCCESS) {
        const char *group;

        if (!*line.buf || *line.buf == '#')
            continue;
        apr_pool_clear(p);
        group = lines_group(p, line.buf, r->user);
        if (group)
            apr_table_setn(*groups, apr_pstrdup(r->pool, group), "in");
    }
    ap_cfg_closefile(f);
    ap_varbuf_free(&line);
    apr_pool_destroy(p);
    return APR_SUCCESS;
}
