/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RequestLimit: lines of arguments for a section, up to an empty line, and for a server behind it.
 * Covers: server/limit/limit_config.c
 */
#include "limit_private.h"
#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "expr_private.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_limit(const limit *l)
{
    check(l->name && *l->name && strlen(l->name) < LIMIT_NAME_ROOM);
    if (l->is_off)
        return;
    check(l->measure > LIMIT_NONE && l->measure <= LIMIT_BANDWIDTH);
    check(l->most > 0 && l->status >= 400 && l->status <= 599);
    check(l->bits[0] <= 32 && l->bits[1] <= 128 && l->undelayed <= l->burst);
    check(l->what != LIMIT_FIELD || (l->field_len && strlen(l->field) == l->field_len));
    if (l->measure == LIMIT_RATE)
        check(l->each > 0 && l->quota > 0 && l->window > 0 && l->burst % l->each == 0);
}

/* Each name once; all that were read as limits are in the list of all. */
static void check_limits(const limit_conf *conf)
{
    for (int i = 0; conf->list && i < conf->list->nelts; i++) {
        const limit *l = APR_ARRAY_IDX(conf->list, i, const limit *);

        check_limit(l);
        for (int k = 0; k < i; k++)
            check(strcmp(APR_ARRAY_IDX(conf->list, k, const limit *)->name, l->name) != 0);
    }
}

static void read_line(cmd_parms *cmd, limit_conf *conf, const char *line)
{
    const int before = conf->list ? conf->list->nelts : 0;
    const char *err = limit_directives[0].AP_RAW_ARGS(cmd, conf, line);

    check(err ? *err && (!conf->list || conf->list->nelts <= before + 1)
              : conf->list->nelts == before + 1);
}

static void read_lines(apr_pool_t *p, char *text)
{
    limit_conf *section = limit_dir_create(p, NULL), *server = limit_conf_create(p, NULL);
    void *configs[] = {server};
    server_rec s = {.module_config = (ap_conf_vector_t *)(void *)configs, .process = NULL};
    ap_directive_t place = {.filename = "fuzz", .line_num = 1};
    cmd_parms cmd = {.pool = p,
                     .temp_pool = p,
                     .server = &s,
                     .directive = &place,
                     .cmd = limit_directives,
                     .path = NULL};
    char *line, root[] = "/";

    limit_all = NULL;
    limit_module.module_index = 0;
    cmd.path = root;
    while ((line = strsep(&text, "\n")))
        if (!*line)
            cmd.path = NULL;
        else
            read_line(&cmd, cmd.path ? section : server, line);
    check_limits(section);
    check_limits(server);
    check_limits(limit_conf_merge(p, server, section));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_pool_t *p;

    if (!root) {
        if (apr_initialize() || apr_pool_create(&root, NULL))
            abort();
        apr_hook_global_pool = root;
        ap_expr_init(root);
    }
    apr_pool_create(&p, root);
    read_lines(p, apr_pstrmemdup(p, (const char *)data, size));
    limit_all = NULL;
    apr_pool_destroy(p);
    return 0;
}
