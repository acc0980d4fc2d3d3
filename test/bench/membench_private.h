/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMBENCH_PRIVATE_H
#define BRIGADE_MEMBENCH_PRIVATE_H

#include "membench_ours.h"
#include <stdio.h>

#define BENCH_TRACES 16
#define BENCH_SUBJECTS 24

/* What is compared: stock APR, or our pools on a specification. */
typedef struct bench_row {
    char name[96];
    const char *spec; /* NULL: stock */
    int is_inline;
    int absent; /* it could not be measured here */
    bench_result one[BENCH_TRACES], many[BENCH_TRACES];
} bench_row;

typedef struct bench_table {
    int threads; /* of the columns with several */
    int traces_n, rows_n;
    trace traces[BENCH_TRACES];
    const char *paths[BENCH_TRACES];
    bench_row rows[BENCH_SUBJECTS];
} bench_table;

void bench_print_table(const bench_table *table);

/** @return 0, or -1 after a message */
int bench_write_json(const bench_table *table, const char *path);
int bench_write_svg(const bench_table *table, const char *path);

/** Time per request against stock APR's; 0 where that was not measured. */
double bench_of_stock(const bench_table *table, const bench_row *row, int t);

#endif
