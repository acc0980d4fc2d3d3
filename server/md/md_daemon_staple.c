/* SPDX-License-Identifier: Apache-2.0 */
/* OCSP responses in the daemon: when they are due, and the jobs that get them. */
#include "md_daemon_staple.h"
#include "md_http.h"
#include "md_job.h"
#include "http_log.h"
#include "apr_file_info.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/process.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

#define STAPLE_JOBS 4                          /* at a time */
#define STAPLE_JOB_US (180 * APR_USEC_PER_SEC) /* a job that takes longer is ended */
#define STAPLE_KEEP (7 * 86400 * APR_USEC_PER_SEC)
#define STAPLE_RENEW 33 /* percent */

typedef struct staple_job {
    const md_staple *of;
    apr_pool_t *pool; /* of the last reading */
    md_ocsp_cert cert;
    md_staple_state state;
    apr_time_t next_try; /* after an error */
    pid_t job;           /* 0: none */
    apr_time_t until;    /* the job's, monotonic */
} staple_job;

struct md_staple_jobs {
    server_rec *s;
    const md_store *store;
    pid_t supervisor;
    apr_pool_t *pool;
    int n, working;
    staple_job all[];
};

/* ---- files ---- */

static const char *staple_folder(const md_staple_jobs *jobs, apr_pool_t *p, const char *name)
{
    return apr_pstrcat(p, jobs->store->folder, "/ocsp", name ? "/" : "", name, NULL);
}

static const char *staple_file(const md_staple_jobs *jobs, apr_pool_t *p, const staple_job *j)
{
    return apr_pstrcat(p, staple_folder(jobs, p, j->of->name), "/ocsp-",
                       md_ocsp_id_text(p, j->cert.id), ".json", NULL);
}

static int staple_keep(const md_staple_jobs *jobs, apr_pool_t *p, const staple_job *j,
                       const md_ocsp_answer *answer)
{
    BRG_ASSERT(answer->len > 0);
    if ((mkdir(staple_folder(jobs, p, NULL), 0700) && errno != EEXIST) ||
        (mkdir(staple_folder(jobs, p, j->of->name), 0700) && errno != EEXIST))
        return -1;
    return md_file_write(p, staple_file(jobs, p, j), md_ocsp_json(p, answer));
}

/* Of one folder: responses that are older. */
static void staple_clean_folder(apr_pool_t *p, const char *folder, apr_time_t before)
{
    const apr_int32_t wanted = APR_FINFO_NAME | APR_FINFO_MTIME | APR_FINFO_TYPE;
    apr_finfo_t entry;
    apr_dir_t *dir;

    if (apr_dir_open(&dir, folder, p) != APR_SUCCESS)
        return;
    while (apr_dir_read(&entry, wanted, dir) == APR_SUCCESS)
        if (entry.filetype == APR_REG && !strncmp(entry.name, "ocsp-", 5) && entry.mtime < before)
            unlink(apr_pstrcat(p, folder, "/", entry.name, NULL));
    apr_dir_close(dir);
}

/* MDStaplingKeepResponse; a part is a fraction of the rule. */
static void staple_clean(const md_staple_jobs *jobs)
{
    const md_window *keep = md_conf_of(jobs->s)->set->staple_keep;
    const apr_interval_time_t age = !keep           ? STAPLE_KEEP
                                    : keep->percent ? STAPLE_KEEP / 100 * keep->percent
                                                    : keep->length;
    apr_finfo_t entry;
    apr_pool_t *p;
    apr_dir_t *dir;

    apr_pool_create(&p, jobs->pool);
    if (apr_dir_open(&dir, staple_folder(jobs, p, NULL), p) == APR_SUCCESS) {
        while (apr_dir_read(&entry, APR_FINFO_NAME, dir) == APR_SUCCESS)
            if (*entry.name != '.')
                staple_clean_folder(p, staple_folder(jobs, p, entry.name), apr_time_now() - age);
        apr_dir_close(dir);
    }
    apr_pool_destroy(p);
}

/* ---- knowledge ---- */

static int staple_index(const md_staple_jobs *jobs, const staple_job *j)
{
    return (int)(j - jobs->all);
}

static const char *staple_pem(const md_staple_jobs *jobs, const staple_job *j)
{
    const md_staple *of = j->of;

    if (!of->spec)
        return of->pem;
    return md_file_read(j->pool,
                        md_store_file(j->pool, jobs->store, of->name, "pubcert", of->spec));
}

/* When the response is to be there anew; 0: never. */
static apr_time_t staple_due(const staple_job *j)
{
    static const md_window usual = {.percent = STAPLE_RENEW};
    const md_window *window = j->of->set->staple_renew ? j->of->set->staple_renew : &usual;
    apr_time_t at;

    if (!j->state.known)
        return 0;
    at = j->state.until ? j->state.until - md_window_of(window, j->state.from, j->state.until) : 1;
    return at < j->next_try ? j->next_try : at;
}

static void staple_tell(const md_staple_jobs *jobs, staple_job *j, const md_ocsp_answer *answer)
{
    j->state.next_run = staple_due(j);
    md_staple_tell(staple_index(jobs, j), &j->state, answer ? answer->der : NULL,
                   answer ? answer->len : 0);
}

/* The certificate, and the response that the store has. */
static void staple_read(const md_staple_jobs *jobs, staple_job *j)
{
    const char *pem, *text;
    md_ocsp_answer answer = {0};
    md_staple_state *state = &j->state;

    BRG_ASSERT(!j->job && j->pool);
    apr_pool_clear(j->pool);
    pem = staple_pem(jobs, j);
    state->known =
        pem && !md_ocsp_cert_read(j->pool, pem, &j->cert) && j->cert.url && j->cert.issuer;
    state->from = state->until = 0;
    state->revoked = 0;
    if (state->known && memcmp(state->id, j->cert.id, MD_OCSP_ID) != 0) {
        memcpy(state->id, j->cert.id, MD_OCSP_ID);
        state->errors = 0;
        j->next_try = 0;
    }
    text = state->known ? md_file_read(j->pool, staple_file(jobs, j->pool, j)) : NULL;
    if (text && !md_ocsp_of_json(j->pool, &j->cert, text, apr_time_now(), &answer)) {
        state->from = answer.from;
        state->until = answer.until;
        state->revoked = answer.revoked;
    }
    staple_tell(jobs, j, answer.len ? &answer : NULL);
}

/* ---- a job ---- */

static const char *job_ask(const md_staple_jobs *jobs, apr_pool_t *p, staple_job *j)
{
    const md_settings *set = j->of->set;
    const md_http http = {
        .proxy = set->proxy, .ca_file = set->ca_file, .agent = ap_get_server_banner()};
    const char *problem = "no request can be made";
    const md_answer *answer;
    md_ocsp_answer read;
    apr_size_t len;
    const unsigned char *der = md_ocsp_request(p, &j->cert, &len);

    if (!der)
        return problem;
    if (!(answer = md_http_send(&http, p, "POST", j->cert.url, "application/ocsp-request",
                                (const char *)der, len, &problem)))
        return problem;
    if (answer->status != 200)
        return apr_psprintf(p, "%s: answers %d", j->cert.url, answer->status);
    problem = md_ocsp_read(p, &j->cert, (const unsigned char *)answer->body, answer->len,
                           apr_time_now(), &read);
    if (problem)
        return apr_pstrcat(p, j->cert.url, ": ", problem, NULL);
    return staple_keep(jobs, p, j, &read) ? apr_pstrcat(p, "the store: ", strerror(errno), NULL)
                                          : NULL;
}

static void job_message(const md_staple_jobs *jobs, apr_pool_t *p, const staple_job *j,
                        const char *event)
{
    const md_domain other = {.name = j->of->name, .names = apr_array_make(p, 1, sizeof(char *))};

    md_command_tell(p, jobs->s, j->of->domain ? j->of->domain : &other, event);
}

static void __attribute__((noreturn)) job_run(const md_staple_jobs *jobs, staple_job *j)
{
    const char *problem;
    apr_pool_t *p;

    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == jobs->supervisor)
        _exit(1);
    apr_pool_create(&p, NULL);
    problem = job_ask(jobs, p, j);
    if (problem) {
        ap_log_error(APLOG_MARK, j->state.errors ? APLOG_INFO : APLOG_WARNING, 0, jobs->s,
                     "%s: OCSP status update failed (%d. time): %s", j->of->name,
                     j->state.errors + 1, problem);
        apr_cpystrn(j->state.problem, problem, sizeof j->state.problem);
        md_staple_tell(staple_index(jobs, j), &j->state, NULL, 0);
    }
    job_message(jobs, p, j, problem ? "ocsp-errored" : "ocsp-renewed");
    _exit(problem ? 1 : 0);
}

static void job_begin(md_staple_jobs *jobs, staple_job *j)
{
    const pid_t pid = fork();

    BRG_ASSERT(!j->job && j->state.known && jobs->working < STAPLE_JOBS);
    if (!pid)
        job_run(jobs, j);
    if (pid < 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, jobs->s, "%s: no process for a job",
                     j->of->name);
        j->next_try = apr_time_now() + 60 * APR_USEC_PER_SEC;
        return;
    }
    j->job = pid;
    j->until = brg_monotonic_now() + STAPLE_JOB_US;
    jobs->working++;
}

static void job_failed(staple_job *j, int index)
{
    md_staple_state told;
    unsigned char chance;

    ap_random_insecure_bytes(&chance, 1);
    j->state.errors++;
    j->next_try =
        apr_time_now() + md_retry_after(md_all.retry_delay, j->state.errors, chance / 255.0);
    if (!md_staple_state_of(index, &told))
        memcpy(j->state.problem, told.problem, sizeof told.problem);
}

static void job_over(md_staple_jobs *jobs, staple_job *j, int status)
{
    BRG_ASSERT(j->job > 0 && jobs->working > 0);
    j->job = 0;
    jobs->working--;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        job_failed(j, staple_index(jobs, j));
    } else {
        j->state.errors = 0;
        j->state.problem[0] = '\0';
        j->next_try = 0;
    }
    staple_read(jobs, j);
    if (!j->state.errors && staple_due(j) <= apr_time_now()) /* the window is as long as its life */
        j->next_try = apr_time_now() + md_all.retry_delay;
}

void md_staple_jobs_reap(md_staple_jobs *jobs)
{
    const apr_time_t now = brg_monotonic_now();

    for (int i = 0; i < jobs->n; i++) {
        staple_job *j = &jobs->all[i];
        int status;

        if (!j->job)
            continue;
        if (now >= j->until)
            kill(j->job, SIGKILL);
        if (waitpid(j->job, &status, WNOHANG) == j->job)
            job_over(jobs, j, status);
    }
}

/* ---- all of them ---- */

apr_interval_time_t md_staple_jobs_look(md_staple_jobs *jobs, apr_interval_time_t wait)
{
    const apr_time_t now = apr_time_now();

    for (int i = 0; i < jobs->n; i++) {
        staple_job *j = &jobs->all[i];
        const apr_time_t due = j->job ? 0 : staple_due(j);

        if (due && due <= now && jobs->working < STAPLE_JOBS)
            job_begin(jobs, j);
        else if (due && due - now < wait)
            wait = due > now ? due - now : 0;
    }
    return wait;
}

void md_staple_jobs_changed(md_staple_jobs *jobs, const md_domain *domain)
{
    for (int i = 0; i < jobs->n; i++)
        if (jobs->all[i].of->domain == domain && jobs->all[i].of->spec && !jobs->all[i].job)
            staple_read(jobs, &jobs->all[i]);
}

int md_staple_jobs_working(const md_staple_jobs *jobs)
{
    return jobs->working;
}

void md_staple_jobs_end(md_staple_jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++)
        if (jobs->all[i].job)
            kill(jobs->all[i].job, SIGTERM);
}

md_staple_jobs *md_staple_jobs_begin(server_rec *s, const md_store *store, pid_t supervisor,
                                     apr_pool_t *p)
{
    const int n = md_staples->nelts;
    md_staple_jobs *jobs = apr_pcalloc(p, sizeof *jobs + sizeof(staple_job) * (apr_size_t)n);

    *jobs = (md_staple_jobs){.s = s, .store = store, .supervisor = supervisor, .pool = p, .n = n};
    staple_clean(jobs);
    for (int i = 0; i < n; i++) {
        staple_job *j = &jobs->all[i];

        j->of = &APR_ARRAY_IDX(md_staples, i, const md_staple);
        apr_pool_create(&j->pool, p);
        staple_read(jobs, j);
    }
    return jobs;
}
