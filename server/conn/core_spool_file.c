/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a spool, and the disk space of all spools of the process. */
#include "core_spool_private.h"
#include "clock.h"
#include "loop.h"

#include "brigade/assert.h"
#include "http_log.h"

#include "apr_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define SPOOL_LOG_US apr_time_from_sec(60) /* one line about trouble in this time */

static _Atomic spool_pos spool_total;

void spool_log(const struct core_output *out, apr_status_t rv, const char *what)
{
    static _Atomic apr_time_t said;
    apr_time_t last = atomic_load(&said), now = clock_monotonic();

    if ((!last || now - last >= SPOOL_LOG_US) && atomic_compare_exchange_strong(&said, &last, now))
        ap_log_cerror(APLOG_MARK, APLOG_ERR, rv, out->c,
                      "%s in %s: slow clients are waited for (this is said once a minute)", what,
                      out->bc->loop->config->spool_dir);
}

int spool_open(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char name[APR_PATH_MAX];

    if (fd >= 0)
        return fd;
    apr_snprintf(name, sizeof name, "%s/brigade-output.XXXXXX", dir);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

int spool_open_file(struct core_spool *sp, const char *dir)
{
    BRG_ASSERT(sp->fd < 0 && !sp->active && !sp->high);
    sp->fd = spool_open(dir);
    return sp->fd < 0 ? -1 : 0;
}

struct core_spool *spool_create(struct core_output *out)
{
    struct core_spool *sp = apr_pcalloc(out->c->pool, sizeof *sp);
    pthread_condattr_t attr;

    pthread_mutex_init(&sp->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&sp->room, &attr);
    pthread_condattr_destroy(&attr);
    sp->out = out;
    sp->fd = -1;
    sp->drain.bc = out->bc;
    return sp;
}

void spool_close(struct core_spool *sp)
{
    transport_divert(sp->out->bc, NULL);
    if (sp->fd >= 0)
        spool_close_file(sp->fd, sp->high);
    sp->fd = -1;
    sp->high = 0;
    sp->active = 0;
}

int spool_charge(struct core_spool *sp, spool_pos end)
{
    spool_pos more = end - sp->high;

    if (more <= 0)
        return 1;
    if (!spool_reserve(sp->out->bc->loop->config, more))
        return 0;
    sp->high = end;
    return 1;
}

int spool_reserve(const loops_config *config, spool_pos bytes)
{
    if (atomic_fetch_add(&spool_total, bytes) + bytes <= config->spool_total)
        return 1;
    atomic_fetch_sub(&spool_total, bytes);
    return 0;
}

void spool_freed(spool_pos bytes)
{
    atomic_fetch_sub(&spool_total, bytes);
}

void spool_uncharge(struct core_spool *sp, spool_pos before)
{
    atomic_fetch_sub(&spool_total, sp->high - before);
    sp->high = before;
}
