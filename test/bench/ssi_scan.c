/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the start-tag search: every variant on prose, on pages full of comments, and on pages
 * made to keep a search busy.
 *
 *     ssi_scan [TAG]            GB/s of each variant on each page; the last column compares the
 *                               variant that the server uses with its own speed on prose
 *     ssi_scan_counted [TAG]    the same program built with SSI_SCAN_COUNT: bytes examined per byte
 *                               of the page (memmem keeps its own to itself)
 *
 * No page contains the tag, so all of it is searched. Exit status 1 if the server's variant misses
 * what it promises: memmem's speed on prose, and a third of its own prose speed anywhere.
 */
#include "ssi_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apr_general.h"

#define PAGE_BYTES (256 * 1024)
#define ROUNDS 9
#define ROUND_NS 4000000.0

static const char words[] =
    "the server reads a page and sends what it finds, in order: headings, "
    "lists & tables, links to other pages. Nobody notices when it is fast; ";

static char page[PAGE_BYTES];

static void fill(const char *unit)
{
    size_t n = strlen(unit);

    for (size_t i = 0; i < PAGE_BYTES; i++)
        page[i] = unit[i % n];
}

static void fill_prose(void)
{
    static const char *const marks[] = {"<p>",
                                        "</p>\n<p class=\"text\">",
                                        "<a href=\"/a/b.html#c\">",
                                        "</a> ",
                                        "<br/>\n",
                                        "<li style=\"color:#0a0\">",
                                        "</li>\n"};
    unsigned seed = 7;
    size_t at = 0, from, n;
    const char *mark;

    while (at < PAGE_BYTES) {
        seed = seed * 1103515245u + 12345u;
        from = (seed >> 16) % 60;
        n = 20 + (seed >> 8) % 50;
        for (size_t i = 0; i < n && at < PAGE_BYTES; i++)
            page[at++] = words[from + i];
        mark = marks[(seed >> 20) % 7];
        for (size_t i = 0; mark[i] && at < PAGE_BYTES; i++)
            page[at++] = mark[i];
    }
}

static const struct {
    const char *name, *unit;
} pages[] = {
    {"prose", NULL},
    {"comments", "<!-- a comment, as templates leave them --><p>text</p>\n"},
    {"tight", "<!-- -->"},
    {"<!--", "<!--"},
    {"<<<<<!--", "<<<<<!--"},
    {"----", "----"},
    {"<!--x", "<!--x"},
    {"!-#<", "!--##<!-#<!##--#"},
    {"x!--#", "x!--#"},
    {"<x--#", "<x--#"},
    {"<!-x#", "<!-x#"},
    {"<", "<"},
};

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Bytes per nanosecond, that is GB/s: the best of some rounds. */
static double measure(const ssi_pattern *pattern, ssi_find_fn find)
{
    double best = 0, begin, speed;
    volatile size_t found;
    unsigned n;

    for (int round = 0; round < ROUNDS; round++) {
        begin = now_ns();
        for (n = 0; n < 1 || now_ns() - begin < ROUND_NS; n++)
            found = find(pattern, page, PAGE_BYTES);
        speed = (double)n * PAGE_BYTES / (now_ns() - begin);
        if (speed > best)
            best = speed;
    }
    (void)found;
    return best;
}

int main(int argc, char **argv)
{
    ssi_scan_variant variants[SSI_SCAN_VARIANTS];
    const char *tag = argc > 1 ? argv[1] : "<!--#";
    double speed, prose = 0, memmem_prose = 0, worst = 1;
    ssi_pattern *pattern;
    apr_pool_t *pool;
    size_t n;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    pattern = ssi_pattern_make(pool, tag, strlen(tag));
    n = ssi_scan_variants(variants);
    printf("%-10s", tag);
    for (size_t v = 0; v < n; v++)
        printf(" %11s", variants[v].name);
    printf("\n");
    for (size_t p = 0; p < sizeof(pages) / sizeof(*pages); p++) {
        if (pages[p].unit)
            fill(pages[p].unit);
        else
            fill_prose();
        printf("%-10s", pages[p].name);
        if (ssi_find_naive(pattern, page, PAGE_BYTES) < PAGE_BYTES) {
            printf(" contains the tag\n");
            continue;
        }
        for (size_t v = 0; v < n; v++) {
#ifdef SSI_SCAN_COUNT
            ssi_scan_examined = 0;
            variants[v].find(pattern, page, PAGE_BYTES);
            speed = (double)ssi_scan_examined / PAGE_BYTES;
#else
            speed = measure(pattern, variants[v].find);
            if (p == 0 && variants[v].find == ssi_find_memmem)
                memmem_prose = speed;
            if (p == 0 && variants[v].find == pattern->find)
                prose = speed;
            if (variants[v].find == pattern->find && prose > 0 && speed / prose < worst)
                worst = speed / prose;
#endif
            printf(" %11.2f", speed);
        }
        printf("\n");
    }
#ifndef SSI_SCAN_COUNT
    printf("the server's: %.2f of memmem on prose; at worst %.2f of its own prose speed\n",
           prose / memmem_prose, worst);
    if (prose < memmem_prose || worst < 1.0 / 3)
        return EXIT_FAILURE;
#endif
    return EXIT_SUCCESS;
}
