/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that mod_md has got from an authority. Its watchdog, in a server process, puts them into
 * "staging"; they are moved to their place, and used, when mod_md reads its configuration. Nobody else
 * may do that: it knows which account, which archive and which challenges belong to it. So the
 * supervisor looks for jobs that are finished and asks itself for a graceful restart.
 *
 * The restart waits for other jobs that are under way: mod_md of the new processes would begin them a
 * second time. A job that is still there after that (MDActivationDelay, a certificate that mod_md does not take)
 * gets no other one before STAGED_AGAIN. */
#include "tls_certificate.h"
#include "clock.h"
#include "plain_file.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"
#include "apr_file_info.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(ssl);

#define STAGED_LOOK (2 * APR_USEC_PER_SEC)
#define STAGED_AGAIN (12 * 3600 * APR_USEC_PER_SEC)
#define STAGED_BUSY (5 * APR_USEC_PER_SEC)      /* a job goes on if it did something since */
#define STAGED_PATIENCE (60 * APR_USEC_PER_SEC) /* for handshakes that never end */
#define STAGED_MOST (64 * 1024) /* bytes of a job's file; the end of a longer one is its log */

/* A job that was seen finished; in the heap, since it outlives the configuration. */
typedef struct staged_job {
    struct staged_job *next;
    apr_time_t changed, seen;
    char name[];
} staged_job;

static staged_job *staged_jobs;
static const char *staged_dir;              /* NULL: mod_md manages nothing */
static apr_time_t staged_due, staged_since; /* since when there is news; 0: no news */

/* ---- where ---- */

static const char *staged_find(const ap_directive_t *node, const char *name)
{
    const char *found;

    for (; node; node = node->next) {
        if (!ap_cstr_casecmp(node->directive, name))
            return node->args;
        if ((found = staged_find(node->first_child, name)) != NULL)
            return found;
    }
    return NULL;
}

/* mod_md's folder; NULL: it manages nothing. */
static const char *staged_store(apr_pool_t *p)
{
    const char *args, *base = "md";

    if (!ap_find_linked_module("mod_md.c") ||
        (!staged_find(ap_conftree, "MDomain") && !staged_find(ap_conftree, "<MDomain") &&
         !staged_find(ap_conftree, "<MDomainSet") && !staged_find(ap_conftree, "ManagedDomain")))
        return NULL;
    if ((args = staged_find(ap_conftree, "MDStoreDir")) != NULL)
        base = ap_getword_conf(p, &args);
    return ap_server_root_relative(p, base);
}

/* The built-in mod_md stages nothing: its certificates are exchanged as any. */
static int tls_staged_is_loaded(void)
{
    const module *m = ap_find_linked_module("mod_md.c");

    return m && m->dynamic_load_handle;
}

void tls_staged_begin(apr_pool_t *p)
{
    const char *store = tls_staged_is_loaded() ? staged_store(p) : NULL;

    staged_due = 0;
    staged_dir = store ? apr_pstrcat(p, store, "/staging", NULL) : NULL;
}

apr_array_header_t *tls_staged_certificates(apr_pool_t *p)
{
    apr_array_header_t *files = apr_array_make(p, 2, sizeof(const char *));
    const char *store = staged_store(p);
    glob_t found;

    if (!store || glob(apr_pstrcat(p, store, "/domains/*/pubcert*.pem", NULL), 0, NULL, &found))
        return files;
    for (size_t i = 0; i < found.gl_pathc; i++)
        APR_ARRAY_PUSH(files, const char *) = apr_pstrdup(p, found.gl_pathv[i]);
    globfree(&found);
    return files;
}

void tls_staged_end(void)
{
    staged_dir = NULL;
}

/* ---- jobs ---- */

static int staged_is_finished(const char *file, apr_pool_t *p)
{
    char *text = apr_palloc(p, STAGED_MOST + 1), *at;

    if (plain_file_read(file, text, STAGED_MOST + 1, NULL) < 0)
        return 0;
    at = strstr(text, "\"finished\"");
    if (at)
        at += strspn(at + 10, " \t:") + 10;
    return at && !strncmp(at, "true", 4);
}

static staged_job *staged_job_of(const char *name)
{
    staged_job *job = staged_jobs;

    while (job && strcmp(job->name, name) != 0)
        job = job->next;
    return job;
}

static int staged_is_news(const char *name, apr_time_t changed)
{
    const staged_job *job = staged_job_of(name);

    return !job || job->changed != changed || clock_monotonic() - job->seen >= STAGED_AGAIN;
}

static void staged_note(const char *name, apr_time_t changed)
{
    staged_job *job = staged_job_of(name);

    if (!job) {
        job = ap_malloc(sizeof *job + strlen(name) + 1);
        strcpy(job->name, name);
        job->next = staged_jobs;
        staged_jobs = job;
    }
    job->changed = changed;
    job->seen = clock_monotonic();
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                 "TLS: mod_md has a new certificate for %s: graceful restart", name);
}

/* ---- all of them ---- */

enum { STAGED_NONE, STAGED_NEWS, STAGED_WORKS };

static int staged_state(const char *name, apr_time_t *changed, apr_pool_t *p)
{
    const char *folder = apr_pstrcat(p, staged_dir, "/", name, NULL);
    const char *file = apr_pstrcat(p, folder, "/job.json", NULL);
    apr_int32_t wanted = APR_FINFO_MTIME | APR_FINFO_TYPE;
    apr_finfo_t info, job;

    if (*name == '.' || apr_stat(&info, folder, wanted, p) != APR_SUCCESS ||
        info.filetype != APR_DIR)
        return STAGED_NONE;
    if (apr_stat(&job, file, wanted, p) != APR_SUCCESS || job.filetype != APR_REG)
        job.mtime = info.mtime;
    else if (staged_is_finished(file, p)) {
        *changed = job.mtime;
        return staged_is_news(name, job.mtime) ? STAGED_NEWS : STAGED_NONE;
    }
    if (job.mtime < info.mtime)
        job.mtime = info.mtime;
    return apr_time_now() - job.mtime < STAGED_BUSY ? STAGED_WORKS : STAGED_NONE;
}

/* @return which states there are, as bits. @param note  this is the restart for new certificates */
static int staged_scan(int note, apr_pool_t *p)
{
    apr_time_t changed;
    apr_finfo_t entry;
    apr_dir_t *dir;
    int states = 0, state;

    if (apr_dir_open(&dir, staged_dir, p) != APR_SUCCESS)
        return 0;
    while (apr_dir_read(&entry, APR_FINFO_NAME, dir) == APR_SUCCESS) {
        state = staged_state(entry.name, &changed, p);
        states |= 1 << state;
        if (note && state == STAGED_NEWS)
            staged_note(entry.name, changed);
    }
    apr_dir_close(dir);
    return states;
}

static int staged_is_time(apr_time_t now, apr_pool_t *p)
{
    int states = staged_scan(0, p);

    if (!(states & 1 << STAGED_NEWS)) {
        staged_since = 0;
        return 0;
    }
    if (!staged_since)
        staged_since = now;
    return !(states & 1 << STAGED_WORKS) || now - staged_since >= STAGED_PATIENCE;
}

apr_time_t tls_staged_due(void)
{
    return staged_dir ? staged_due : 0;
}

void tls_staged_look(apr_pool_t *pool)
{
    apr_time_t now = clock_monotonic();
    apr_pool_t *p;

    if (!staged_dir || now < staged_due)
        return;
    staged_due = now + STAGED_LOOK;
    apr_pool_create(&p, pool);
    if (staged_is_time(now, p)) {
        staged_since = 0;
        staged_scan(1, p);
        kill(getpid(), AP_SIG_GRACEFUL);
    }
    apr_pool_destroy(p);
}
