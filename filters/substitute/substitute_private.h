/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUBSTITUTE_PRIVATE_H
#define BRIGADE_SUBSTITUTE_PRIVATE_H

/** Rules of Substitute, and lines that they change. */
#include "httpd.h"
#include "http_config.h"
#include "apr_strmatch.h"
#include "util_varbuf.h"

typedef struct subst_rule {
    const apr_strmatch_pattern *string; /**< or NULL */
    const ap_regex_t *regex;            /**< or NULL */
    const char *from, *to;
    apr_size_t to_len;
    int flatten; /**< 0: later rules do not look at the replacement */
} subst_rule;

/** A part of a line. Bytes live as long as the line is worked on. */
typedef struct subst_piece {
    const char *data;
    apr_size_t len;
} subst_piece;

/** "s/from/to/flags" as a rule. NULL, or the error. Threads: any. */
const char *subst_parse(apr_pool_t *p, const char *line, subst_rule *rule);

/** Apply @a rules to @a pieces, which become other ones in @a p. APR_ENOMEM: longer than @a most. */
apr_status_t subst_line(request_rec *r, apr_pool_t *p, const apr_array_header_t *rules,
                        apr_size_t most, apr_array_header_t **pieces);

#endif
