/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_asn_table [routes of IPv4] [of IPv6]: what the table of prefixes costs with as many routes as the Internet
 * has: bytes, nanoseconds of a look-up for random addresses that have a route, updates a second, and look-ups while
 * updates go on. The prefixes have the lengths that those of the Internet have, roughly; paths are of 2 to 7 numbers,
 * of as many kinds as a full feed has.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "apr_general.h"
#include "asn_table.h"

#define PATHS 150000
#define LOOKUPS 4000000

static uint64_t seed = 42;

static uint32_t chance(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 32);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void some_prefix(brg_asn_prefix *p, int family)
{
    uint32_t a = chance(), kind = chance() % 100;

    memset(p, 0, sizeof *p);
    p->family = (unsigned char)family;
    if (family == ASN_IPV4) {
        p->length = (unsigned char)(kind < 60   ? 24
                                    : kind < 72 ? 22
                                    : kind < 80 ? 23
                                    : kind < 97 ? 16 + a % 6
                                                : 8 + a % 8);
        a = (1 + chance() % 223) << 24 | (chance() & 0xffffff);
        for (int i = 0; i < 4; i++)
            p->address[i] = (unsigned char)(a >> (24 - 8 * i));
        return;
    }
    p->length = (unsigned char)(kind < 48   ? 48
                                : kind < 65 ? 32
                                : kind < 75 ? 44
                                : kind < 85 ? 40
                                            : 29 + a % 36);
    p->address[0] = (unsigned char)(0x20 + chance() % 16);
    p->address[1] = (unsigned char)(chance() % 16);
    for (int i = 2; i < 8; i++)
        p->address[i] = (unsigned char)(chance() >> 8);
    if (kind < 48 || kind > 65) /* most are of few networks */
        p->address[3] &= 0xf;
}

static brg_asn_ref some_ref(brg_asn_writer *w, uint32_t which)
{
    unsigned char path[2 + 4 * 8] = {2, (unsigned char)(2 + which % 6)};
    uint32_t communities[8], n = which % 7;
    brg_asn_attributes a = {.path = path,
                            .path_bytes = 2 + 4u * path[1],
                            .communities = communities,
                            .communities_count = n};
    brg_asn_ref ref;

    for (unsigned i = 0; i < path[1]; i++)
        memcpy(path + 2 + 4 * i, &(uint32_t){(which * 7919u + i) % 80000}, 4);
    for (uint32_t i = 0; i < n; i++)
        communities[i] = which * 31u + i;
    a.origin = brg_asn_path_origin(path, a.path_bytes);
    return brg_asn_attributes_hold(w, &a, &ref) ? 0 : ref;
}

typedef struct load {
    brg_asn_table *table;
    brg_asn_writer *writer;
    brg_asn_prefix *prefixes;
    int count[2], all;
    _Atomic int over;
} load;

static void announce(load *l, int i)
{
    brg_asn_ref ref = some_ref(l->writer, chance() % PATHS);

    if (!ref || brg_asn_announce(l->writer, 0, &l->prefixes[i], ref))
        exit((fprintf(stderr, "the table is full\n"), 1));
    brg_asn_attributes_release(l->writer, ref);
}

/* @param addresses  a power of two: how many are asked for by turns */
static double lookups(const load *l, int family, int detail, int addresses)
{
    static brg_asn_detail d;
    static unsigned char address[1 << 16][16];
    int first = family == ASN_IPV4 ? 0 : l->count[0], missed = 0;
    double begin;
    brg_asn_route r;

    for (int i = 0; i < addresses; i++)
        memcpy(address[i],
               l->prefixes[first + (int)(chance() % (uint32_t)l->count[family])].address, 16);
    begin = now();
    for (int i = 0; i < LOOKUPS; i++)
        missed +=
            !brg_asn_lookup(l->table, family, address[i & (addresses - 1)], &r, detail ? &d : NULL);
    if (missed)
        printf("%d missed\n", missed);
    return (now() - begin) * 1e9 / LOOKUPS;
}

static void *churn(void *data)
{
    load *l = data;
    double begin = now();
    long n = 0;

    while (!atomic_load(&l->over)) {
        for (int i = 0; i < 50; i++, n += 2) {
            int which = (int)(chance() % (uint32_t)l->all);

            brg_asn_withdraw(l->writer, 0, &l->prefixes[which]);
            announce(l, which);
        }
    }
    printf("updates while looked up %.0f /s\n", (double)n / (now() - begin));
    return NULL;
}

int main(int argc, char **argv)
{
    load l = {.count = {argc > 1 ? atoi(argv[1]) : 1000000, argc > 2 ? atoi(argv[2]) : 200000}};
    apr_pool_t *p;
    pthread_t thread;
    double begin;

    apr_initialize();
    apr_pool_create(&p, NULL);
    if (brg_asn_table_create(&l.table, ASN_TABLE_SIZE, p))
        return 1;
    l.writer = brg_asn_writer_begin(l.table);
    l.all = l.count[0] + l.count[1];
    l.prefixes = calloc((size_t)l.all, sizeof *l.prefixes);
    for (int i = 0; i < l.all; i++)
        some_prefix(&l.prefixes[i], i < l.count[0] ? ASN_IPV4 : ASN_IPV6);
    begin = now();
    for (int i = 0; i < l.all; i++)
        announce(&l, i);
    printf("announced %d: %u + %u routes, %.0f /s\n", l.all,
           brg_asn_rib_routes(l.writer, 0, ASN_IPV4), brg_asn_rib_routes(l.writer, 0, ASN_IPV6),
           l.all / (now() - begin));
    printf("bytes %.1f MiB\n", (double)brg_asn_table_bytes(l.table) / (1 << 20));
    for (int f = 0; f < 2; f++)
        printf("IPv%d look-up: %.1f ns of 65536 addresses by turns, with path and communities %.1f "
               "ns; %.1f ns of 2048\n",
               f ? 6 : 4, lookups(&l, f, 0, 1 << 16), lookups(&l, f, 1, 1 << 16),
               lookups(&l, f, 0, 1 << 11));
    pthread_create(&thread, NULL, churn, &l);
    printf("look-up while updated %.1f ns\n", lookups(&l, ASN_IPV4, 0, 1 << 16));
    atomic_store(&l.over, 1);
    pthread_join(thread, NULL);
    printf("bytes %.1f MiB after that\n", (double)brg_asn_table_bytes(l.table) / (1 << 20));
    return 0;
}
