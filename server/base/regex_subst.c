/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacement texts: $0 to $9 stand for the groups of a match, a backslash takes its meaning from
 * the character after it.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "apr_strings.h"
#include "util_char.h"
#include "util_varbuf.h"

#define REGEX_SUBST_MAX (64 * 1024) /* ap_pregsub's limit, bytes with the NUL */

typedef struct regex_subst {
    const char *input, *source;
    apr_size_t nmatch;
    const ap_regmatch_t *pmatch;
} regex_subst;

/* The next piece of the result, from *at on; its length, 0 for a group that is empty. */
static apr_size_t regex_piece(const regex_subst *job, const char **at, const char **piece)
{
    const char *s = *at;

    if (job->nmatch == 0) {
        *piece = s;
        *at = s + strlen(s);
        return (apr_size_t)(*at - s);
    }
    if (s[0] == '$' && util_is(s[1], UTIL_C_DIGIT)) {
        apr_size_t group = (apr_size_t)(s[1] - '0');

        *at = s + 2;
        if (group >= job->nmatch || job->pmatch[group].rm_so < 0 ||
            job->pmatch[group].rm_eo <= job->pmatch[group].rm_so)
            return 0;
        *piece = job->source + job->pmatch[group].rm_so;
        return (apr_size_t)(job->pmatch[group].rm_eo - job->pmatch[group].rm_so);
    }
    if (s[0] == '\\' && s[1])
        s++;
    *piece = s++;
    while (*s && *s != '$' && *s != '\\')
        s++;
    *at = s;
    return (apr_size_t)(s - *piece);
}

/* Length of the result without NUL; APR_ENOMEM from maxlen bytes on, unless that is 0. */
static apr_status_t regex_subst_len(const regex_subst *job, apr_size_t maxlen, apr_size_t *len)
{
    const char *at = job->input, *piece;

    *len = 0;
    while (*at) {
        apr_size_t n = regex_piece(job, &at, &piece);

        if (n >= APR_SIZE_MAX - *len)
            return APR_ENOMEM;
        *len += n;
    }
    return maxlen && *len >= maxlen ? APR_ENOMEM : APR_SUCCESS;
}

static char *regex_subst_put(const regex_subst *job, char *d)
{
    const char *at = job->input, *piece = NULL;

    while (*at) {
        apr_size_t n = regex_piece(job, &at, &piece);

        if (n)
            memcpy(d, piece, n);
        d += n;
    }
    *d = '\0';
    return d;
}

AP_DECLARE(apr_status_t)
ap_pregsub_ex(apr_pool_t *p, char **result, const char *input, const char *source,
              apr_size_t nmatch, ap_regmatch_t pmatch[], apr_size_t maxlen)
{
    regex_subst job = {input, source, nmatch, pmatch};
    const char *end;
    apr_size_t len;
    apr_status_t rv;

    *result = NULL;
    if (!source)
        return APR_EINVAL;
    rv = regex_subst_len(&job, maxlen, &len);
    if (rv != APR_SUCCESS)
        return rv;
    *result = apr_palloc(p, len + 1);
    end = regex_subst_put(&job, *result);
    BRG_ASSERT(end == *result + len);
    return APR_SUCCESS;
}

AP_DECLARE(char *)
ap_pregsub(apr_pool_t *p, const char *input, const char *source, apr_size_t nmatch,
           ap_regmatch_t pmatch[])
{
    char *result;

    ap_pregsub_ex(p, &result, input, source, nmatch, pmatch, REGEX_SUBST_MAX);
    return result;
}

AP_DECLARE(apr_status_t)
ap_varbuf_regsub(struct ap_varbuf *vb, const char *input, const char *source, apr_size_t nmatch,
                 ap_regmatch_t pmatch[], apr_size_t maxlen)
{
    regex_subst job = {input, source, nmatch, pmatch};
    const char *end;
    apr_size_t len;
    apr_status_t rv;

    if (!source)
        return APR_EINVAL;
    if (vb->strlen == AP_VARBUF_UNKNOWN)
        vb->strlen = strlen(vb->buf);
    rv = regex_subst_len(&job, maxlen, &len);
    if (rv != APR_SUCCESS || len == 0)
        return rv;
    ap_varbuf_grow(vb, vb->strlen + len);
    BRG_ASSERT(vb->strlen + len <= vb->avail);
    end = regex_subst_put(&job, vb->buf + vb->strlen);
    vb->strlen += len;
    BRG_ASSERT(end == vb->buf + vb->strlen);
    return APR_SUCCESS;
}
