/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMBENCH_PRIVATE_H
#define BRIGADE_MEMBENCH_PRIVATE_H

#include "membench_ours.h"
#include <stdio.h>

#define BENCH_TRACES 16
#define BENCH_SUBJECTS 24

#define BENCH_ROW_STOCK 0
#define BENCH_ROW_EMPTY 1

/* What is compared: stock APR, or our pools on a specification; and the replay without any pools.
 */
typedef struct bench_row {
    char name[96];
    const char *spec; /* NULL in the first two rows: stock, and empty */
    int is_inline, is_empty;
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

/** A file to write to, or NULL after a message; and its end, with what went wrong. */
FILE *report_open(const char *path);
int report_close(FILE *file, const char *path);

/** A name, without what JSON or SVG would have to escape: only a user's specification could hold
 * such. */
void report_text(FILE *file, const char *text);

/** Time per request against stock APR's; 0 where that was not measured. Net: without that of the
 * replay itself. */
double bench_of_stock(const bench_table *table, const bench_row *row, int t);
double bench_of_stock_net(const bench_table *table, const bench_row *row, int t);

/** Throughput of all threads against that of one, by the processor time that requests take. */
double bench_speed_up(const bench_table *table, const bench_row *row, int t);

#endif
