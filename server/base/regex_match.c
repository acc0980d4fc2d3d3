/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching, within limits.
 *
 * A match needs an ovector and, for compiled code, a stack. Both belong to the calling thread and
 * are made once, so that a match allocates nothing; a thread's set is freed when the thread ends.
 *
 * PCRE counts steps anew for every position of the subject at which a match may begin. So the first
 * try divides the limit by the number of positions, which is enough for all but a few matches. Where
 * it is not, the second try has the whole limit at each position, looks at a few positions at a time,
 * and ends after REGEX_TIME_NS of processor time.
 */
#include "regex_limits.h"
#include "regex_private.h"

#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "brigade/assert.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

APLOG_USE_MODULE(core);

#define REGEX_PAIRS 32              /* groups that the first ovector of a thread holds */
#define REGEX_STACK_MIN (32 * 1024) /* bytes */
#define REGEX_STACK_MAX (512 * 1024)
#define REGEX_HEAP_KB 4096     /* of the interpreter, where no code may be generated */
#define REGEX_SHARES 2         /* the first try: so many limits, shared out */
#define REGEX_SHARE_MIN 100    /* steps at each position */
#define REGEX_WINDOW 8         /* positions of the second try between two looks at the clock */
#define REGEX_WINDOW_NS 500000 /* shorter ones are doubled */
#define REGEX_TIME_NS 10000000 /* processor time of the second try */

typedef struct regex_thread {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint32_t pairs;
} regex_thread;

/* One call of ap_regexec. */
typedef struct regex_job {
    const pcre2_code *pcre;
    PCRE2_SPTR subject;
    apr_size_t len;
    uint32_t options;
    regex_thread *self;
} regex_job;

static _Thread_local regex_thread *regex_self;
PROGRAM_THREAD_LOCAL unsigned regex_failed_n;
static pthread_key_t regex_key;
static uint32_t regex_limit = REGEX_LIMIT_DEFAULT;

void regex_limit_set(unsigned steps)
{
    BRG_ASSERT(steps > 0 && steps <= REGEX_LIMIT_MAX);
    regex_limit = steps;
}

/* ---- memory of a thread ---- */

static void regex_thread_free(void *data)
{
    regex_thread *self = data;

    BRG_ASSERT(!regex_self || regex_self == self); /* the thread that ends is the owner */
    pcre2_match_data_free(self->data);
    pcre2_match_context_free(self->context);
    pcre2_jit_stack_free(self->stack);
    free(self);
    regex_self = NULL;
}

static void regex_key_make(void)
{
    pthread_key_create(&regex_key, regex_thread_free);
}

static regex_thread *regex_thread_make(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    regex_thread *self = calloc(1, sizeof(*self));

    BRG_ASSERT(!regex_self);
    if (!self)
        return NULL;
    pthread_once(&once, regex_key_make);
    self->pairs = REGEX_PAIRS;
    self->data = pcre2_match_data_create(REGEX_PAIRS, NULL);
    self->context = pcre2_match_context_create(NULL);
    self->stack = pcre2_jit_stack_create(REGEX_STACK_MIN, REGEX_STACK_MAX, NULL);
    if (!self->data || !self->context) {
        regex_thread_free(self);
        return NULL;
    }
    pcre2_set_heap_limit(self->context, REGEX_HEAP_KB);
    /* without one, compiled code runs on 32 KiB of the thread's own stack */
    if (self->stack)
        pcre2_jit_stack_assign(self->context, NULL, self->stack);
    pthread_setspecific(regex_key, self);
    regex_self = self;
    return self;
}

/* The calling thread's set with room for that many groups, NULL without memory. */
static regex_thread *regex_thread_get(uint32_t pairs)
{
    regex_thread *self = regex_self ? regex_self : regex_thread_make();

    if (self && pairs > self->pairs) {
        pcre2_match_data *data = pcre2_match_data_create(pairs, NULL);

        if (!data)
            return NULL;
        pcre2_match_data_free(self->data);
        self->data = data;
        self->pairs = pairs;
    }
    BRG_ASSERT(!self || self->pairs >= pairs);
    return self;
}

static int regex_error(int rc)
{
    switch (rc) {
    case PCRE2_ERROR_NULL:
    case PCRE2_ERROR_BADOPTION:
    case PCRE2_ERROR_BADOFFSET:
        return AP_REG_INVARG;
    case PCRE2_ERROR_NOMEMORY:
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_JIT_STACKLIMIT:
        return AP_REG_ESPACE;
    default:
        return AP_REG_ASSERT;
    }
}

static void regex_copy_groups(const PCRE2_SIZE *ovector, uint32_t set, apr_size_t nmatch,
                              ap_regmatch_t *pmatch)
{
    apr_size_t i, n = set < nmatch ? set : nmatch;

    for (i = 0; i < n; i++) {
        int found = ovector[2 * i] != PCRE2_UNSET;

        pmatch[i].rm_so = found ? (int)ovector[2 * i] : -1;
        pmatch[i].rm_eo = found ? (int)ovector[2 * i + 1] : -1;
    }
    for (; i < nmatch; i++)
        pmatch[i].rm_so = pmatch[i].rm_eo = -1;
}

/* ---- searching ---- */

/* At the positions from @a at on, as many as the context's offset limit says. */
static int regex_try(const regex_job *job, apr_size_t at, uint32_t limit)
{
    BRG_ASSERT(at <= job->len && limit > 0);
    pcre2_set_match_limit(job->self->context, limit);
    pcre2_set_depth_limit(job->self->context, limit);
    return pcre2_match(job->pcre, job->subject, job->len, at, job->options, job->self->data,
                       job->self->context);
}

static apr_int64_t regex_clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (apr_int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int regex_try_windows(const regex_job *job, uint32_t limit)
{
    apr_int64_t begin_ns = regex_clock_ns(), spent_ns = 0, before_ns;
    apr_size_t width = REGEX_WINDOW;
    int rc = PCRE2_ERROR_NOMATCH;

    for (apr_size_t at = 0; at <= job->len && rc == PCRE2_ERROR_NOMATCH; at += width) {
        if (at > 0) {
            before_ns = spent_ns;
            spent_ns = regex_clock_ns() - begin_ns;
            if (spent_ns > REGEX_TIME_NS)
                return PCRE2_ERROR_MATCHLIMIT;
            width = spent_ns - before_ns < REGEX_WINDOW_NS ? 2 * width : REGEX_WINDOW;
        }
        BRG_ASSERT(width >= REGEX_WINDOW);
        pcre2_set_offset_limit(job->self->context, at + width - 1);
        rc = regex_try(job, at, limit);
    }
    return rc;
}

static int regex_search(const regex_job *job)
{
    uint32_t limit = regex_limit, all = 0;
    uint64_t share = (uint64_t)limit * REGEX_SHARES / (job->len + REGEX_SHARES);
    int rc;

    if (share < REGEX_SHARE_MIN)
        share = REGEX_SHARE_MIN;
    rc = regex_try(job, 0, share < limit ? (uint32_t)share : limit);
    if (rc != PCRE2_ERROR_MATCHLIMIT || share >= limit)
        return rc;
    pcre2_pattern_info(job->pcre, PCRE2_INFO_ALLOPTIONS, &all);
    /* One position only; or characters of several bytes, among which not every byte is one. */
    if (all & (PCRE2_ANCHORED | PCRE2_UTF))
        return regex_try(job, 0, limit);
    rc = regex_try_windows(job, limit);
    pcre2_set_offset_limit(job->self->context, PCRE2_UNSET);
    return rc;
}

static int regex_failed(const regex_code *code, int rc)
{
    static const char advice[] = ": see RegexMatchLimit";
    PCRE2_UCHAR8 why[128];

    BRG_ASSERT(rc < 0 && rc != PCRE2_ERROR_NOMATCH);
    regex_failed_n++;
    if (pcre2_get_error_message(rc, why, sizeof why) < 0)
        strcpy((char *)why, "unknown error");
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                 "match of regular expression %s given up: %s%s", code->text, (const char *)why,
                 rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT ? advice : "");
    return regex_error(rc);
}

AP_DECLARE(int)
ap_regexec_len(const ap_regex_t *preg, const char *buff, apr_size_t len, apr_size_t nmatch,
               ap_regmatch_t *pmatch, int eflags)
{
    const regex_code *code = preg->re_pcre;
    apr_size_t groups = (apr_size_t)preg->re_nsub + 1;
    regex_job job = {.subject = (PCRE2_SPTR)buff, .len = len};
    int rc;

    BRG_ASSERT_TAG(code, REGEX_CODE_TAG);
    if (len > INT_MAX)
        return AP_REG_INVARG;
    if (code->literal.len && !eflags)
        return regex_literal_match(&code->literal, buff, len, nmatch, pmatch);
    job.pcre = code->pcre;
    job.self = regex_thread_get((uint32_t)(groups < nmatch ? groups : nmatch));
    if (!job.self)
        return AP_REG_ESPACE;
    if (eflags & AP_REG_NOTBOL)
        job.options |= PCRE2_NOTBOL;
    if (eflags & AP_REG_NOTEOL)
        job.options |= PCRE2_NOTEOL;
    rc = regex_search(&job);
    if (rc == PCRE2_ERROR_NOMATCH)
        return AP_REG_NOMATCH;
    if (rc < 0)
        return regex_failed(code, rc);
    /* 0: more groups than the ovector holds, which is as full as it can be */
    regex_copy_groups(pcre2_get_ovector_pointer(job.self->data),
                      rc ? (uint32_t)rc : job.self->pairs, nmatch, pmatch);
    return 0;
}

AP_DECLARE(int)
ap_regexec(const ap_regex_t *preg, const char *string, apr_size_t nmatch, ap_regmatch_t *pmatch,
           int eflags)
{
    return ap_regexec_len(preg, string, strlen(string), nmatch, pmatch, eflags);
}
