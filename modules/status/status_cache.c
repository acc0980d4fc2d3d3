/* SPDX-License-Identifier: Apache-2.0 */
/* Stored answers of backends in the shapes of the figures. */
#include "status_cache.h"
#include "metrics_private.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include <stddef.h>

/* A row for each sample; rows of one family stand together. */
static const struct {
    const char *family, *type, *help; /* NULL: of the family before */
    const char *labels;
    const char *member; /* of the object of JSON */
    size_t offset;
} samples[] = {
#define CACHE_SAMPLE(member) #member, offsetof(brg_status_cache, member)
    {"brigade_shared_cache_requests_total", "counter",
     "Requests to stored answers of backends, by what became of them.", "{result=\"hit\"}",
     CACHE_SAMPLE(hits)},
    {NULL, NULL, NULL, "{result=\"stale\"}", CACHE_SAMPLE(stale)},
    {NULL, NULL, NULL, "{result=\"revalidated\"}", CACHE_SAMPLE(revalidated)},
    {NULL, NULL, NULL, "{result=\"collapsed\"}", CACHE_SAMPLE(collapsed)},
    {NULL, NULL, NULL, "{result=\"miss\"}", CACHE_SAMPLE(misses)},
    {NULL, NULL, NULL, "{result=\"pass\"}", CACHE_SAMPLE(passed)},
    {NULL, NULL, NULL, "{result=\"invalidated\"}", CACHE_SAMPLE(invalidated)},
    {"brigade_shared_cache_objects", "gauge", "Stored answers in memory.", "",
     CACHE_SAMPLE(objects)},
    {"brigade_shared_cache_max_objects", "gauge",
     "Stored answers that memory may have (CacheMaxObjects).", "", CACHE_SAMPLE(objects_most)},
    {"brigade_shared_cache_bytes", "gauge", "Memory that they take.", "", CACHE_SAMPLE(bytes)},
    {"brigade_shared_cache_max_bytes", "gauge", "Memory that they may take (CacheMemory).", "",
     CACHE_SAMPLE(bytes_most)},
    {"brigade_shared_cache_fetches", "gauge",
     "Requests to backends whose answers others may wait for.", "", CACHE_SAMPLE(fetches)},
    {"brigade_shared_cache_held", "gauge", "Stored answers that are looked at, written or sent.",
     "", CACHE_SAMPLE(held)},
    {"brigade_shared_cache_stored_total", "counter", "Answers that were stored.", "",
     CACHE_SAMPLE(stored)},
    {"brigade_shared_cache_evicted_total", "counter", "Answers that made room for others.", "",
     CACHE_SAMPLE(evicted)},
    {"brigade_shared_cache_refused_total", "counter",
     "Answers that were not stored, since they are too large or no memory was free.", "",
     CACHE_SAMPLE(refused)},
    {"brigade_shared_cache_purges_total", "counter", "Purges, those by unsafe requests included.",
     "", CACHE_SAMPLE(purges)},
    {"brigade_shared_cache_disk_max_bytes", "gauge",
     "Bytes that files below CacheRoot may have (CacheMaxSize).", "",
     CACHE_SAMPLE(disk_bytes_most)},
    {"brigade_shared_cache_disk_written_bytes_total", "counter", "Bytes written below CacheRoot.",
     "", CACHE_SAMPLE(disk_written)},
    {"brigade_shared_cache_disk_faults_total", "counter", "What went wrong below CacheRoot.",
     "{reason=\"damaged\"}", CACHE_SAMPLE(disk_damaged)},
    {NULL, NULL, NULL, "{reason=\"failed\"}", CACHE_SAMPLE(disk_failed)},
    {"brigade_shared_cache_tier_lookups_total", "counter",
     "Answers that the tier which machines share (CacheSocache) was asked for.", "",
     CACHE_SAMPLE(tier_lookups)},
    {"brigade_shared_cache_tier_hits_total", "counter", "Answers that came out of it.", "",
     CACHE_SAMPLE(tier_hits)},
    {"brigade_shared_cache_tier_stored_total", "counter", "Answers that were written to it.", "",
     CACHE_SAMPLE(tier_stored)},
    {"brigade_shared_cache_tier_failures_total", "counter",
     "Calls that it did not answer, or not within a second.", "", CACHE_SAMPLE(tier_failed)},
    {"brigade_shared_cache_tier_wait_microseconds_total", "counter",
     "Time that look-ups and writes took.", "", CACHE_SAMPLE(tier_waited_us)},
#undef CACHE_SAMPLE
};

#define SAMPLES_N (int)(sizeof samples / sizeof *samples)

static int cache_get(brg_status_cache *out)
{
    APR_OPTIONAL_FN_TYPE(brg_status_cache_get) *get =
        APR_RETRIEVE_OPTIONAL_FN(brg_status_cache_get);

    return get && get(out);
}

static uint64_t cache_sample(const brg_status_cache *c, int i)
{
    BRG_ASSERT(i >= 0 && i < SAMPLES_N);
    return *(const uint64_t *)((const char *)c + samples[i].offset);
}

void status_cache_write_text(request_rec *r, int open)
{
    const char *family = NULL;
    brg_status_cache c;

    if (!cache_get(&c))
        return;
    for (int i = 0; i < SAMPLES_N; i++) {
        if (samples[i].family) {
            family = samples[i].family;
            metrics_family(r, family, samples[i].type, samples[i].help, open);
        }
        ap_rprintf(r, "%s%s %" APR_UINT64_T_FMT "\n", family, samples[i].labels,
                   cache_sample(&c, i));
    }
}

void status_cache_write_json(request_rec *r)
{
    brg_status_cache c;

    if (!cache_get(&c)) {
        ap_rputs(",\n\"shared_cache\":null", r);
        return;
    }
    ap_rputs(",\n\"shared_cache\":", r);
    for (int i = 0; i < SAMPLES_N; i++)
        ap_rprintf(r, "%s\"%s\":%" APR_UINT64_T_FMT, i ? "," : "{", samples[i].member,
                   cache_sample(&c, i));
    ap_rputs("}", r);
}
