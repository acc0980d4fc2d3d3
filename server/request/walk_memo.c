/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where walks of a loop came to before their last component: the next one for a name in the same folder goes on from there.
 *
 * Two kinds of ends are kept. One through folders that the loop knows holds while nothing under
 * watch has changed and no folder left the table. An end without them holds for ever: only the text
 * of the path counts in it, since no access file may be there and all links are allowed.
 */
#include "walk_dir_private.h"
#include "brigade/assert.h"
#include "brigade/explain.h"
#include "http_request.h"
#include "loop.h"
#include <string.h>

#define MEMO_PLACES 64 /* a power of two; a new end replaces the old one */
#define MEMO_UP 4      /* folders that are looked for, from the last on */
#define MEMO_PATH 136  /* bytes of a path; longer ones are not kept */

typedef struct walk_memo {
    const server_rec *server; /* NULL: free */
    folder *folder;           /* NULL: no folder is known */
    folder_view *view;
    uint64_t stamp; /* folders_stamp(), with a folder */
    walk_fold found;
    ap_conf_vector_t *conf;
    int next_sec;
    unsigned level;
    apr_size_t len;
    char path[MEMO_PATH];
} walk_memo;

struct walk_memos {
    walk_memo place[MEMO_PLACES];
};

/* Bytes before the last component. */
static apr_size_t memo_len(const dir_walk *w)
{
    const char *slash = memrchr(w->path, '/', w->len - (w->path[w->len - 1] == '/'));

    return slash ? (apr_size_t)(slash - w->path) + 1 : 0;
}

static walk_memo *memo_place(const brg_loop *loop, const dir_walk *w, apr_size_t len)
{
    uint64_t last, hash = len;

    if (len >= sizeof last) {
        memcpy(&last, w->path + len - sizeof last, sizeof last);
        hash ^= last;
    }
    hash = (hash ^ (uint64_t)(uintptr_t)w->r->server) * 0x9E3779B97F4A7C15u;
    return &loop->walks->place[hash >> 32 & (MEMO_PLACES - 1)];
}

static const walk_memo *memo_at(const brg_loop *loop, const dir_walk *w, apr_size_t len, int known)
{
    const walk_memo *m = memo_place(loop, w, len);

    if (m->server != w->r->server || m->len != len || memcmp(m->path, w->path, len) != 0 ||
        known != (m->folder != NULL))
        return NULL;
    if (known && (!m->stamp || m->stamp != folders_stamp(w->table)))
        return NULL;
    return m;
}

/* The end of the walk to the folder that the last component is in, or to one of those above, as pretty URLs have components that
 * are no folders; NULL: not kept, or not true any more. */
static const walk_memo *memo_find(const dir_walk *w, int known)
{
    const brg_loop *loop = loop_self();
    apr_size_t len = loop && loop->walks ? memo_len(w) : 0;
    const walk_memo *m = NULL;

    for (int up = 0; len && up < MEMO_UP && !m; up++) {
        const char *slash;

        if (len <= MEMO_PATH)
            m = memo_at(loop, w, len, known);
        slash = memrchr(w->path, '/', len - 1);
        len = slash ? (apr_size_t)(slash - w->path) + 1 : 0;
    }
    return m;
}

static void memo_take(dir_walk *w, const walk_memo *m)
{
    w->found = m->found;
    w->conf = m->conf;
    w->next_sec = m->next_sec;
    w->level = m->level;
    w->pos = m->len;
    w->folder = m->folder;
    w->taken = 1;
}

folder_view *walk_memo_known(dir_walk *w)
{
    const walk_memo *m = memo_find(w, 1);

    if (!m)
        return NULL;
    BRG_ASSERT(m->view && m->view->server == w->r->server);
    memo_take(w, m);
    return m->view;
}

void walk_memo_plain(dir_walk *w)
{
    const walk_memo *m = w->is_plain ? memo_find(w, 0) : NULL;

    if (m && m->len - 1 < w->dirs_end)
        memo_take(w, m);
}

/* Options of all folders above allow all links. */
static int memo_links_are_free(const folder_view *v)
{
    while ((v = v->above) != NULL) {
        const core_dir_config *core = ap_get_core_module_config(v->conf);

        if ((core->opts & (OPT_SYM_LINKS | OPT_SYM_OWNER)) != OPT_SYM_LINKS)
            return 0;
    }
    return 1;
}

static int memo_may_keep(const dir_walk *w, const folder_view *v)
{
    if (brg_explain || w->links || memo_len(w) != w->pos || w->pos > MEMO_PATH)
        return 0;
    return v ? memo_links_are_free(v) : walk_is_config(w->r, w->conf);
}

void walk_memo_keep(dir_walk *w, folder_view *v)
{
    brg_loop *loop = loop_self();
    walk_memo *m;

    if (!loop || !memo_may_keep(w, v))
        return;
    if (!loop->walks)
        loop->walks = apr_pcalloc(loop->pool, sizeof *loop->walks);
    m = memo_place(loop, w, w->pos);
    *m = (walk_memo){.server = w->r->server,
                     .folder = v ? w->folder : NULL,
                     .view = v,
                     .stamp = v ? folders_stamp(w->table) : 0,
                     .found = w->found,
                     .conf = w->conf,
                     .next_sec = w->next_sec,
                     .level = w->level,
                     .len = w->pos};
    memcpy(m->path, w->path, w->pos);
}
