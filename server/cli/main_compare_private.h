/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_COMPARE_PRIVATE_H
#define BRIGADE_CLI_MAIN_COMPARE_PRIVATE_H

/**
 * @file main_compare_private.h
 * Between main_compare.c (measures for --compare-memory) and
 * main_compare_show.c (shows the figures). Command line only: main thread.
 */
#include <stdio.h>

#define COMPARE_OPTION "--compare-memory"
#define COMPARE_URLS 16
#define COMPARE_ROWS 11 /**< the configuration's own, the systems, and another program */
#define COMPARE_OTHER (COMPARE_ROWS - 1) /**< that */

/** The cost of requests for a URL with a system. */
typedef struct compare_figure {
    /** processor time of the server for a request, user and system; 0: not measured */
    double cpu_us;
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

/** A page (HTML) with the picture, the table, and the description of the measurement. */
void compare_page(const compare_table *t, FILE *out);

/** The table as a picture (SVG): a bar for each system and URL. */
void compare_draw(const compare_table *t, FILE *out);

#endif
