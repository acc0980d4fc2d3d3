/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_COMPARE_PRIVATE_H
#define BRIGADE_CLI_MAIN_COMPARE_PRIVATE_H

/**
 * @file main_compare_private.h
 * Between main_compare.c (what --compare-memory measures) and main_compare_show.c (what it shows). Command line only: main thread.
 */
#include <stdio.h>

#define COMPARE_OPTION "--compare-memory"
#define COMPARE_URLS 16
#define COMPARE_ROWS 11 /**< the configuration's own, the systems, and another program */
#define COMPARE_OTHER (COMPARE_ROWS - 1) /**< that */

/** What requests for a URL cost with a system. */
typedef struct compare_figure {
    double
        cpu_us; /**< processor time of the server for a request, user and system; 0: not measured */
    double rate;         /**< requests a second, one at a time */
    double resident_kib; /**< memory of the process behind them */
} compare_figure;

typedef struct compare_table {
    const char *const *urls;
    int urls_n, requests;
    const char *names[COMPARE_ROWS];
    int absent[COMPARE_ROWS]; /**< it is not there, or could not serve */
    compare_figure
        figure[COMPARE_URLS]
              [COMPARE_ROWS]; /**< least processor time of the rounds, most requests a second */
    compare_figure worst[COMPARE_URLS]
                        [COMPARE_ROWS]; /**< the other end: how far rounds lie apart */
    double load;                        /**< processes that wanted a processor before it began */
} compare_table;

/** The table, as text. */
void compare_print(const compare_table *t, FILE *out);

/** The table as JSON: {"load", "urls": {URL: {memory system: {"cpu_us", "cpu_us_most", "rate", "rate_least", "mib"}}}}. */
void compare_json(const compare_table *t, FILE *out);

/** A page (HTML) with the picture, the table, and what was measured. */
void compare_page(const compare_table *t, FILE *out);

/** The table as a picture (SVG): a bar for each system and URL. */
void compare_draw(const compare_table *t, FILE *out);

#endif
