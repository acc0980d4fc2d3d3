/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of others: a record of the disk tier, and a segment of the store into which somebody wrote. A first byte that is
 * odd makes the sums of the record right.
 * Covers: server/store/disk_record.c server/store/store_object.c */
#include "disk_private.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_disk(const uint8_t *data, size_t size, int mend)
{
    static disk_shared shared;
    static disk_purges purges;
    static disk_entry entry[DISK_BUCKET];
    disk d = {.shared = &shared, .purges = &purges, .entry = entry, .buckets = 1, .room = 1 << 20};
    const disk_place place = {0, 1, 0, 4096};
    disk_record r;
    disk_head head;
    size_t n = size;
    char *bytes = malloc(size + 1);

    check(bytes != NULL);
    memcpy(bytes, data, size);
    if (size >= sizeof r) {
        memcpy(&r, bytes, sizeof r);
        if (mend) {
            r.magic = DISK_RECORD;
            r.at = 0;
            r.bytes = 4096;
            r.head_bytes = 8u * r.marks_n + r.text_len + STORE_TERMS + r.head_len;
            if (r.head_bytes <= size - sizeof r)
                r.head_sum = disk_sum_of(bytes + sizeof r, r.head_bytes);
            r.sum = disk_sum_of(&r, offsetof(disk_record, sum));
            memcpy(bytes, &r, sizeof r);
        }
    }
    if (size >= sizeof r && !disk_head_read(&d, &r.key, &place, bytes, &n, &head)) {
        check(head.head >= bytes && head.head + head.head_len <= bytes + size);
        check(head.text >= bytes && head.text + head.text_len <= bytes + size);
        check(head.body + head.body_bytes <= place.bytes);
    }
    free(bytes);
}

static void check_store(const uint8_t *data, size_t size)
{
    static store *s;
    static store_reader *r;
    static char terms[STORE_TERMS];
    const char *why, *p;
    store_found found;
    uint64_t off = 0;
    size_t n;
    int lost;

    if (!s) {
        store_limits limits;
        void *memory;

        store_limits_default(&limits, 8 * STORE_SEGMENT);
        limits.readers = 2;
        memory = mmap(NULL, store_size(&limits), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        check(memory != MAP_FAILED && (s = store_open(memory, &limits)) &&
              (r = store_reader_open(s)));
    }
    {
        const store_head head = {.key = {1, 2},
                                 .text = "x",
                                 .text_len = 1,
                                 .terms = terms,
                                 .head = "h",
                                 .head_len = 1,
                                 .length = 100,
                                 .epoch = store_epoch(s)};
        store_writer *w = store_write_begin(r, &head, 0, &why);
        char body[100] = "";

        check(w && !store_write(w, body, sizeof body));
        p = (char *)w->record;
        check(!store_write_end(&w));
    }
    for (size_t i = 0; i < size && i < sizeof(store_record) + 16; i++)
        ((char *)(uintptr_t)p)[i] ^= (char)data[i];
    if (!store_find(r, &(store_key){1, 2}, 0, &found) || !found.view.reader)
        return;
    for (int i = 0; i < 10 && (n = store_body(&found.view, off, &p, &lost)); i++, off += n)
        check(p >= s->data && p + n <= s->base + s->bytes);
    check(found.view.head >= s->data &&
          found.view.head + found.view.head_len <= s->base + s->bytes);
    store_release(&found.view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] & 2)
        check_store(data + 1, size - 1);
    else
        check_disk(data + 1, size - 1, data[0] & 1);
    return 0;
}
