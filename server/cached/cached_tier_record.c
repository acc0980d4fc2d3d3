/* SPDX-License-Identifier: Apache-2.0 */
/* A stored answer as bytes for other machines: one sum over all of it, lengths that add up to the
 * whole. */
#include "cached_tier.h"
#include "disk.h"
#include "apr_sha1.h"
#include "brigade/assert.h"
#include <string.h>

/* Another layout, another meaning of its parts, or another order of bytes, is another number. */
#define RECORD_MAGIC 0x3365726f63655242ull

typedef struct record_head {
    uint64_t magic, sum; /* sum: of all behind it */
    uint64_t life, node, body_len;
    int64_t asked;
    char terms[STORE_TERMS];
    uint32_t text_len, variant_len, tags_len, head_len, vary, reserved;
} record_head;

_Static_assert(sizeof(record_head) == 104, "no holes: it is summed up, and read by others");
#define RECORD_SUMMED 16 /* begins there */

static uint64_t record_sum(const char *bytes, size_t n)
{
    disk_sum sum;

    disk_sum_begin(&sum);
    disk_sum_add(&sum, bytes + RECORD_SUMMED, n - RECORD_SUMMED);
    return disk_sum_end(&sum);
}

size_t tier_record_size(const tier_record *r)
{
    return sizeof(record_head) + r->text_len + r->variant_len + r->tags_len + r->head_len +
           r->body_len;
}

static char *record_put(char *to, const char *p, size_t n)
{
    if (n)
        memcpy(to, p, n);
    return to + n;
}

size_t tier_record_begin(char *to, const tier_record *r)
{
    record_head head = {.magic = RECORD_MAGIC,
                        .life = r->life,
                        .node = r->node,
                        .body_len = r->body_len,
                        .asked = r->asked,
                        .text_len = r->text_len,
                        .variant_len = r->variant_len,
                        .tags_len = r->tags_len,
                        .head_len = r->head_len,
                        .vary = r->vary};
    char *at = to + sizeof head;

    BRG_ASSERT(r->text_len && r->terms);
    memcpy(head.terms, r->terms, sizeof head.terms);
    memcpy(to, &head, sizeof head);
    at = record_put(at, r->text, r->text_len);
    at = record_put(at, r->variant, r->variant_len);
    at = record_put(at, r->tags, r->tags_len);
    at = record_put(at, r->head, r->head_len);
    BRG_ASSERT((size_t)(at - to) + r->body_len == tier_record_size(r));
    return (size_t)(at - to);
}

void tier_record_seal(char *bytes, size_t n)
{
    const uint64_t sum = record_sum(bytes, n);

    BRG_ASSERT(n > sizeof(record_head));
    memcpy(bytes + offsetof(record_head, sum), &sum, sizeof sum);
}

int tier_record_read(const char *bytes, size_t n, tier_record *r)
{
    record_head head;
    const char *at = bytes + sizeof head;
    uint64_t plain;

    if (n < sizeof head)
        return -1;
    memcpy(&head, bytes, sizeof head);
    plain =
        sizeof head + (uint64_t)head.text_len + head.variant_len + head.tags_len + head.head_len;
    if (head.magic != RECORD_MAGIC || !head.text_len || head.vary > 1 || plain > n ||
        head.body_len != n - plain || record_sum(bytes, n) != head.sum)
        return -1;
    *r = (tier_record){.life = head.life,
                       .node = head.node,
                       .asked = head.asked,
                       .terms = bytes + offsetof(record_head, terms),
                       .text = at,
                       .text_len = head.text_len,
                       .variant_len = head.variant_len,
                       .tags_len = head.tags_len,
                       .head_len = head.head_len,
                       .body_len = head.body_len,
                       .vary = head.vary};
    r->variant = at += head.text_len;
    r->tags = at += head.variant_len;
    r->head = at += head.tags_len;
    r->body = at + head.head_len;
    BRG_ASSERT(r->body + r->body_len == bytes + n);
    return head.tags_len && r->tags[head.tags_len - 1] ? -1 : 0;
}

void tier_record_id(unsigned char id[TIER_ID], const char *text, uint32_t text_len,
                    const char *variant, uint32_t variant_len)
{
    apr_sha1_ctx_t sha;

    apr_sha1_init(&sha);
    apr_sha1_update(&sha, text, text_len);
    if (variant_len) {
        apr_sha1_update(&sha, "\n", 1); /* in no key */
        apr_sha1_update(&sha, variant, variant_len);
    }
    id[0] = 's'; /* 'r' and 'p' were those of other forms */
    apr_sha1_final(id + 1, &sha);
}
