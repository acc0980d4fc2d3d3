/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_ACME_PRIVATE_H
#define BRIGADE_MD_ACME_PRIVATE_H

/** @file md_acme_private.h  Requests, for md_acme.c and md_acme_order.c. They return NULL with acme->problem. */
#include "md_acme.h"

/** A signed request; another nonce is tried where the authority does not take the first. */
const md_answer *md_acme_post(md_acme *acme, const char *url, const char *payload);

/** The same; the answer is a JSON object. */
const md_json *md_acme_post_json(md_acme *acme, const char *url, const char *payload,
                                 const md_answer **answer);

/** A problem document (RFC 7807) in one line; NULL: not such a document. */
const char *md_acme_problem_of(apr_pool_t *p, const md_json *problem);

#endif
