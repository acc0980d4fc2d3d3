/* SPDX-License-Identifier: Apache-2.0 */
/* Names of request fields, and the size of fields that come in several lines. */
#include "http_head.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HTTP_IS(lit, what)                                \
    do {                                                  \
        if (http_same_wide(name, lit, sizeof(lit) - 1)) { \
            return what;                                  \
        }                                                 \
    } while (0)

#define HTTP_IS_SHORT(lit, what)                     \
    do {                                             \
        if (http_same(name, lit, sizeof(lit) - 1)) { \
            return what;                             \
        }                                            \
    } while (0)

static http_field_id http_short_id(const char *name, size_t len)
{
    switch (len) {
    case 2:
        HTTP_IS_SHORT("te", HTTP_F_TE);
        break;
    case 4:
        HTTP_IS_SHORT("host", HTTP_F_HOST);
        break;
    case 5:
        HTTP_IS_SHORT("range", HTTP_F_RANGE);
        break;
    case 6:
        HTTP_IS_SHORT("accept", HTTP_F_ACCEPT);
        HTTP_IS_SHORT("cookie", HTTP_F_COOKIE);
        HTTP_IS_SHORT("expect", HTTP_F_EXPECT);
        HTTP_IS_SHORT("pragma", HTTP_F_PRAGMA);
        break;
    case 7:
        HTTP_IS_SHORT("referer", HTTP_F_REFERER);
        HTTP_IS_SHORT("upgrade", HTTP_F_UPGRADE);
        HTTP_IS_SHORT("trailer", HTTP_F_TRAILER);
        break;
    default:
        break;
    }
    return HTTP_F_OTHER;
}

http_field_id http_field_id_of(const char *name, size_t len)
{
    BRG_ASSERT_DEBUG(name && len > 0);
    if (len < 8)
        return http_short_id(name, len);
    switch (len) {
    case 8:
        HTTP_IS("if-range", HTTP_F_IF_RANGE);
        HTTP_IS("if-match", HTTP_F_IF_MATCH);
        break;
    case 10:
        HTTP_IS("connection", HTTP_F_CONNECTION);
        HTTP_IS("user-agent", HTTP_F_USER_AGENT);
        HTTP_IS("keep-alive", HTTP_F_KEEP_ALIVE);
        break;
    case 13:
        HTTP_IS("if-none-match", HTTP_F_IF_NONE_MATCH);
        HTTP_IS("cache-control", HTTP_F_CACHE_CONTROL);
        HTTP_IS("authorization", HTTP_F_AUTHORIZATION);
        break;
    case 14:
        HTTP_IS("content-length", HTTP_F_CONTENT_LENGTH);
        break;
    case 15:
        HTTP_IS("accept-encoding", HTTP_F_ACCEPT_ENCODING);
        HTTP_IS("accept-language", HTTP_F_ACCEPT_LANGUAGE);
        HTTP_IS("x-forwarded-for", HTTP_F_X_FORWARDED_FOR);
        break;
    case 17:
        HTTP_IS("if-modified-since", HTTP_F_IF_MODIFIED_SINCE);
        HTTP_IS("transfer-encoding", HTTP_F_TRANSFER_ENCODING);
        break;
    case 19:
        HTTP_IS("if-unmodified-since", HTTP_F_IF_UNMODIFIED_SINCE);
        break;
    default:
        break;
    }
    return HTTP_F_OTHER;
}

/* ---- fields of several lines ---- */

/* By name, then as they came. */
static int http_by_name(const void *left, const void *right, void *head)
{
    const uint16_t i = *(const uint16_t *)left, j = *(const uint16_t *)right;
    const http_field *a = &((const http_head *)head)->field[i],
                     *b = &((const http_head *)head)->field[j];

    BRG_ASSERT_DEBUG(((const http_head *)head)->n_fields > *(const uint16_t *)left);
    if (a->name_len != b->name_len)
        return a->name_len < b->name_len ? -1 : 1;
    return strncasecmp(a->name, b->name, a->name_len) ?: (int)i - (int)j;
}

static int http_same_name(const http_field *a, const http_field *b)
{
    return a->name_len == b->name_len && strncasecmp(a->name, b->name, a->name_len) == 0;
}

/* Apart from its caller: only the heads that need it pay for this much stack. */
static __attribute__((noinline)) const http_field *http_find_oversized(const http_head *head,
                                                                       uint32_t most)
{
    uint16_t order[HTTP_HEAD_MAX_FIELDS];
    const http_field *first = NULL;
    uint64_t size = 0;

    BRG_ASSERT(head->n_fields <= HTTP_HEAD_MAX_FIELDS);
    for (uint16_t i = 0; i < head->n_fields; i++)
        order[i] = i;
    /* One client may send thousands of lines: sorting them bounds the comparisons. */
    qsort_r(order, head->n_fields, sizeof(*order), http_by_name, (void *)head);
    for (uint16_t i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[order[i]];
        const int joins = first && http_same_name(first, f);

        size = joins ? size + 2 + f->value_len : f->value_len;
        if (!joins)
            first = f;
        else if (size > most)
            return first;
    }
    return NULL;
}

const http_field *http_head_oversized(const http_head *head, uint32_t most)
{
    BRG_ASSERT(head->n_fields == 0 || head->field);
    return head->head_len <= most ? NULL : http_find_oversized(head, most);
}
