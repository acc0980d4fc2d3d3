/* SPDX-License-Identifier: Apache-2.0 */
/* The results as a table and as JSON. */
#include "membench_private.h"
#include <errno.h>
#include <string.h>

static double report_ratio(double ns, double stock)
{
    return stock > 0 ? ns / stock : 0;
}

double bench_of_stock(const bench_table *table, const bench_row *row, int t)
{
    const bench_row *stock = &table->rows[BENCH_ROW_STOCK];

    return stock->absent ? 0 : report_ratio(row->one[t].cpu_ns, stock->one[t].cpu_ns);
}

double bench_of_stock_net(const bench_table *table, const bench_row *row, int t)
{
    const bench_row *stock = &table->rows[BENCH_ROW_STOCK], *empty = &table->rows[BENCH_ROW_EMPTY];

    if (stock->absent || empty->absent)
        return 0;
    return report_ratio(row->one[t].cpu_ns - empty->one[t].cpu_ns,
                        stock->one[t].cpu_ns - empty->one[t].cpu_ns);
}

double bench_speed_up(const bench_table *table, const bench_row *row, int t)
{
    return table->threads * report_ratio(row->many[t].alone_ns, row->many[t].cpu_ns);
}

/* By elapsed time. */
static double report_elapsed(const bench_row *row, int t)
{
    return report_ratio(row->many[t].requests_per_s, row->one[t].requests_per_s);
}

static void report_print_row(const bench_table *table, const bench_row *row, int t)
{
    const trace *tr = &table->traces[t];
    double allocations = (double)tr->allocations / (double)tr->requests;
    char of_stock[16] = "-", net[16] = "-", refills[24] = "-";

    if (bench_of_stock(table, row, t) > 0)
        snprintf(of_stock, sizeof(of_stock), "%.2f", bench_of_stock(table, row, t));
    if (bench_of_stock_net(table, row, t) > 0)
        snprintf(net, sizeof(net), "%.2f", bench_of_stock_net(table, row, t));
    if (row->one[t].refills >= 0)
        snprintf(refills, sizeof(refills), "%.2f", row->one[t].refills);
    printf("%-20s %8.2f %10.0f %8s %6s %9.0f %8.2f %7.2f %8.2f %8.1f %8.1f %10s\n", row->name,
           row->one[t].cpu_ns / allocations, row->one[t].cpu_ns, of_stock, net, row->many[t].cpu_ns,
           bench_speed_up(table, row, t), report_elapsed(row, t), row->many[t].waits,
           (double)row->one[t].burst_kb / 1024, (double)row->one[t].after_kb / 1024, refills);
}

void bench_print_table(const bench_table *table)
{
    int t, i;

    for (t = 0; t < table->traces_n; t++) {
        const trace *tr = &table->traces[t];

        printf("\n%s: %.1f allocations and %.0f bytes for each request\n", tr->name,
               (double)tr->allocations / (double)tr->requests,
               (double)tr->bytes / (double)tr->requests);
        printf("%-20s %8s %10s %8s %6s %6d thr. %8s %7s %8s %8s %8s %10s\n", "", "ns/alloc",
               "ns/request", "of stock", "net", table->threads, "speed-up", "elapsed", "waits/1k",
               "burst MB", "after MB", "refills/1k");
        for (i = 0; i < table->rows_n; i++)
            if (!table->rows[i].absent)
                report_print_row(table, &table->rows[i], t);
    }
    printf(
        "\nns: processor time of a thread, the best of several slices, the replay itself "
        "included; net: of stock,\n"
        "without the replay; %d thr.: ns/request with as many threads at once; speed-up: so many "
        "times one thread's\n"
        "requests for each second of a thread's processor time; elapsed: the same by elapsed time, "
        "which other work on\n"
        "the machine disturbs; waits: times that threads slept for each 1,000 requests.\n"
        "burst: resident memory that 1,000 connections in the middle of a request add; after: "
        "what is left of it.\n"
        "refills: requests to the operating system for each 1,000 requests.\n",
        table->threads);
}

FILE *report_open(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        fprintf(stderr, "brigade-membench: %s: %s\n", path, strerror(errno));
    return file;
}

int report_close(FILE *file, const char *path)
{
    int failed = ferror(file);

    if (fclose(file) != 0 || failed) {
        fprintf(stderr, "brigade-membench: %s was not written\n", path);
        return -1;
    }
    return 0;
}

void report_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text >= ' ' && strchr("\"\\<>&", *text) == NULL)
            putc(*text, file);
}

static void report_json_row(FILE *file, const bench_table *table, const bench_row *row, int t)
{
    const bench_result *one = &row->one[t], *many = &row->many[t];

    fputs("      {\"system\": \"", file);
    report_text(file, row->name);
    fprintf(file,
            "\", \"ns_per_allocation\": %.3f, \"ns_per_request\": %.1f, \"of_stock\": %.3f, "
            "\"net_of_stock\": %.3f, \"requests_per_s\": %.0f, ",
            one->cpu_ns * (double)table->traces[t].requests / (double)table->traces[t].allocations,
            one->cpu_ns, bench_of_stock(table, row, t), bench_of_stock_net(table, row, t),
            one->requests_per_s);
    fprintf(file,
            "\"threads_ns_per_request\": %.1f, \"threads_requests_per_s\": %.0f, "
            "\"speed_up\": %.3f, \"waits_per_1000\": %.3f, ",
            many->cpu_ns, many->requests_per_s, bench_speed_up(table, row, t), many->waits);
    fprintf(file, "\"burst_kb\": %ld, \"after_kb\": %ld, \"refills_per_1000\": ", one->burst_kb,
            one->after_kb);
    if (one->refills >= 0)
        fprintf(file, "%.3f}", one->refills);
    else
        fputs("null}", file);
}

int bench_write_json(const bench_table *table, const char *path)
{
    FILE *file = report_open(path);
    int t, i, first;

    if (file == NULL)
        return -1;
    fprintf(file, "{\"threads\": %d, \"traces\": [\n", table->threads);
    for (t = 0; t < table->traces_n; t++) {
        const trace *tr = &table->traces[t];

        fputs("  {\"trace\": \"", file);
        report_text(file, tr->name);
        fprintf(
            file,
            "\", \"requests\": %zu, \"allocations\": %zu, \"bytes\": %zu,\n    \"results\": [\n",
            tr->requests, tr->allocations, tr->bytes);
        for (i = 0, first = 1; i < table->rows_n; i++) {
            if (table->rows[i].absent)
                continue;
            fputs(first ? "" : ",\n", file);
            first = 0;
            report_json_row(file, table, &table->rows[i], t);
        }
        fprintf(file, "\n    ]}%s\n", t + 1 < table->traces_n ? "," : "");
    }
    fputs("]}\n", file);
    return report_close(file, path);
}
