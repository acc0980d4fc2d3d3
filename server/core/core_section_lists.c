/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of sections, in the order in which the walks want them. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_strings.h"
#include <stdlib.h>
#include "core_private.h"
#include "brigade/assert.h"

static core_server_config *core_lists_of(server_rec *s)
{
    return ap_get_core_module_config(s->module_config);
}

AP_CORE_DECLARE(void) ap_add_per_dir_conf(server_rec *s, void *dir_config)
{
    BRG_ASSERT(dir_config != NULL);
    APR_ARRAY_PUSH(core_lists_of(s)->sec_dir, void *) = dir_config;
}

AP_CORE_DECLARE(void) ap_add_per_url_conf(server_rec *s, void *url_config)
{
    BRG_ASSERT(url_config != NULL);
    APR_ARRAY_PUSH(core_lists_of(s)->sec_url, void *) = url_config;
}

AP_CORE_DECLARE(void) ap_add_file_conf(apr_pool_t *p, core_dir_config *conf, void *url_config)
{
    BRG_ASSERT(conf != NULL && url_config != NULL);
    if (!conf->sec_file)
        conf->sec_file = apr_array_make(p, 2, sizeof(ap_conf_vector_t *));
    APR_ARRAY_PUSH(conf->sec_file, void *) = url_config;
}

AP_CORE_DECLARE(const char *)
ap_add_if_conf(apr_pool_t *p, core_dir_config *conf, void *if_config)
{
    const core_dir_config *added = ap_get_core_module_config((ap_conf_vector_t *)if_config), *last;

    BRG_ASSERT(added != NULL && conf != NULL);
    if (!conf->sec_if)
        conf->sec_if = apr_array_make(p, 2, sizeof(ap_conf_vector_t *));
    if (added->condition_ifelse & AP_CONDITION_ELSE) {
        last = conf->sec_if->nelts ? ap_get_core_module_config(APR_ARRAY_IDX(
                                         conf->sec_if, conf->sec_if->nelts - 1, ap_conf_vector_t *))
                                   : NULL;
        if (!last || !(last->condition_ifelse & AP_CONDITION_IF))
            return "<Else> or <ElseIf> section without previous <If> or "
                   "<ElseIf> section in same scope";
    }
    APR_ARRAY_PUSH(conf->sec_if, void *) = if_config;
    return NULL;
}

/* ---- order of <Directory> sections ---- */

typedef struct core_dir_rank {
    ap_conf_vector_t *vector;
    unsigned group; /* 0: paths; 1: names that are no paths ("proxy:..."); 2: regular expressions */
    unsigned components; /* shorter paths first */
    int position;        /* in the configuration */
} core_dir_rank;

static int core_compare_ranks(const void *a_, const void *b_)
{
    const core_dir_rank *a = a_, *b = b_;

    BRG_ASSERT_DEBUG(a == b || a->position != b->position);
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->group == 0 && a->components != b->components)
        return a->components < b->components ? -1 : 1;
    return a->position < b->position ? -1 : 1;
}

static void core_rank(core_dir_rank *rank, ap_conf_vector_t *vector, int position)
{
    const core_dir_config *d = ap_get_core_module_config(vector);

    BRG_ASSERT(d != NULL && (d->r || d->d));
    rank->vector = vector;
    rank->position = position;
    rank->components = d->d_components;
    rank->group = d->r ? 2 : d->d[0] != '/';
}

void ap_core_reorder_directories(apr_pool_t *p, server_rec *s)
{
    apr_array_header_t *sections = core_lists_of(s)->sec_dir;
    int n = sections->nelts;
    apr_pool_t *scratch;
    core_dir_rank *ranks;

    if (n < 2)
        return;
    apr_pool_create(&scratch, p);
    ranks = apr_palloc(scratch, sizeof *ranks * (apr_size_t)n);
    for (int i = 0; i < n; i++)
        core_rank(&ranks[i], APR_ARRAY_IDX(sections, i, ap_conf_vector_t *), i);
    qsort(ranks, (size_t)n, sizeof *ranks, core_compare_ranks);
    for (int i = 0; i < n; i++)
        APR_ARRAY_IDX(sections, i, ap_conf_vector_t *) = ranks[i].vector;
    apr_pool_destroy(scratch);
}
