/* SPDX-License-Identifier: Apache-2.0 */
/* A record, and a list of purges, that came out of a tier which others write to. The sum is made right, or nothing behind it would be
 * reached.
 * Covers: server/cached/cached_tier_record.c server/cached/cached_tier_log.c */
#include "cached_tier.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_record(char *bytes, size_t n, const tier_log *log)
{
    tier_record r;

    if (n > 104)
        tier_record_seal(bytes, n);
    if (tier_record_read(bytes, n, &r))
        return;
    if (tier_record_size(&r) != n || r.body + r.body_len != bytes + n)
        abort();
    (void)tier_log_ends(log, &r);
}

static void fuzz_log(char *bytes, size_t n)
{
    tier_log log = {.bytes = bytes, .n = n};
    size_t at = 0, texts = 0;
    tier_purge one;
    tier_record r = {.text = "http://a/", .text_len = 9, .tags = "red", .tags_len = 4, .asked = 5};

    if (n >= 32)
        tier_log_seal(&log);
    if (tier_log_read(bytes, n))
        return;
    while (tier_log_next(&log, &at, &one)) {
        texts += one.len;
        if (one.len && one.text + one.len > bytes + n)
            abort();
    }
    if (texts > n)
        abort();
    (void)tier_log_ends(&log, &r);
    tier_log_halve(&log);
    tier_log_seal(&log);
    if (tier_log_read(log.bytes, log.n))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tier_purge purge = {.when = 5, .text = "red", .len = 3, .kind = TIER_TAG};
    tier_log log = {.bytes = malloc(TIER_LOG_ROOM)};
    char *bytes = malloc(size + 1);

    if (!bytes || !log.bytes || size > TIER_LOG_MOST)
        goto end;
    if (size)
        memcpy(bytes, data, size);
    tier_log_begin(&log, 1);
    tier_log_add(&log, &purge);
    fuzz_record(bytes, size, &log);
    if (size)
        memcpy(bytes, data, size);
    fuzz_log(bytes, size);
end:
    free(bytes);
    free(log.bytes);
    return 0;
}
