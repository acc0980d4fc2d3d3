/* SPDX-License-Identifier: Apache-2.0 */
/* What a million objects of 1 KiB cost: bytes of memory in all, and microseconds to write, find and purge.
 *   bench_store_bytes [OBJECTS [BODY [MIB]]] */
#include "store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Pages of the mapping that are in use. */
static unsigned long kilobytes_used(void)
{
    char line[256];
    unsigned long kb, sum = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssShmem: %lu kB", &kb) == 1)
            sum = kb;
    if (file)
        fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    const unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1000000,
                   body = argc > 2 ? (unsigned)atoi(argv[2]) : 1024;
    const uint64_t mib = argc > 3 ? (uint64_t)atoi(argv[3]) : 1400;
    static const char terms[STORE_TERMS],
        head[] =
            "Content-Type: text/html\nETag: \"0123456789\"\nDate: Sun, 09 Sep 2001 01:46:40 GMT\n";
    char *bytes = calloc(1, body + 1), text[64];
    store_limits limits;
    store_reader *r;
    store_figures figures;
    store *s;
    void *memory;
    uint64_t mark;
    double t;
    unsigned there = 0;

    store_limits_default(&limits, mib << 20);
    memory = mmap(NULL, store_size(&limits), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || !bytes || !(s = store_open(memory, &limits)) ||
        !(r = store_reader_open(s)))
        return 1;
    mark = store_mark_of(s, "tag", 3);
    t = now_us();
    for (unsigned i = 0; i < n; i++) {
        const uint32_t len = (uint32_t)snprintf(text, sizeof text, "http://example.org/a/%07u", i);
        const store_head h = {.key = store_key_of(s, text, len, NULL, 0),
                              .text = text,
                              .text_len = len,
                              .terms = terms,
                              .head = head,
                              .head_len = sizeof head - 1,
                              .marks = &mark,
                              .marks_n = 1,
                              .length = body,
                              .epoch = store_epoch(s)};
        const char *why;
        store_writer *w = store_write_begin(r, &h, 0, &why);

        if (!w || store_write(w, bytes, body) || store_write_end(&w))
            return 2;
    }
    t = now_us() - t;
    store_figures_get(s, &figures);
    printf("write: %.3f us each; %lu objects\n", t / n, (unsigned long)figures.objects);
    printf("memory: %.3f GiB in all, %.1f bytes an object, %.1f beside body, head, key and terms\n",
           (double)kilobytes_used() / 1048576,
           (double)kilobytes_used() * 1024 / (double)figures.objects,
           (double)kilobytes_used() * 1024 / (double)figures.objects - body - (sizeof head - 1) -
               28 - STORE_TERMS);
    t = now_us();
    for (unsigned i = 0; i < n; i++) {
        const unsigned which = (unsigned)((uint64_t)i * 2654435761u % n);
        const uint32_t len =
            (uint32_t)snprintf(text, sizeof text, "http://example.org/a/%07u", which);
        const store_key key = store_key_of(s, text, len, NULL, 0);
        store_found found;

        if (store_find(r, &key, 0, &found))
            there++;
        store_release(&found.view);
    }
    t = now_us() - t;
    printf("find: %.3f us each; %u of %u found\n", t / n, there, n);
    t = now_us();
    store_purge_mark(s, mark, 0);
    printf("purge of a tag that all of them have: %.3f us\n", now_us() - t);
    return 0;
}
