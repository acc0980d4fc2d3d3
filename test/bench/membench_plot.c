/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results as a picture: a bar for each memory system, the replay's own part of it lighter.
 *
 * Systems that see every block take twenty times as long as pools that do not; their bars are cut,
 * so that the others can be told apart.
 */
#include "membench_private.h"

#define PLOT_LEFT 150
#define PLOT_BAR 18
#define PLOT_WIDTH 920
#define PLOT_BARS (PLOT_WIDTH - PLOT_LEFT - 290)
#define PLOT_TIMES_STOCK 2.0 /* where bars are cut */

/* Nanoseconds at the right end of the bars. */
static double plot_most(const bench_table *table, int t)
{
    const bench_row *stock = &table->rows[BENCH_ROW_STOCK];
    double most = 1, ns;
    int i;

    if (!stock->absent)
        return stock->one[t].cpu_ns * PLOT_TIMES_STOCK;
    for (i = 0; i < table->rows_n; i++) {
        ns = table->rows[i].absent ? 0 : table->rows[i].one[t].cpu_ns;
        most = ns > most ? ns : most;
    }
    return most;
}

static void plot_rect(FILE *file, double x, int y, double width, const char *fill)
{
    fprintf(file, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", x, y,
            width, PLOT_BAR - 4, fill);
}

/* The gap of a bar that is cut. */
static void plot_cut(FILE *file, int y)
{
    int x = PLOT_LEFT + PLOT_BARS - 24;

    fprintf(file,
            "<path d=\"M%d %d l6 -%d h5 l-6 %d z\" fill=\"#fff\"/>"
            "<path d=\"M%d %d l6 -%d h5 l-6 %d z\" fill=\"#fff\"/>",
            x, y + PLOT_BAR - 3, PLOT_BAR - 2, PLOT_BAR - 2, x + 9, y + PLOT_BAR - 3, PLOT_BAR - 2,
            PLOT_BAR - 2);
}

static void plot_row(FILE *file, const bench_table *table, const bench_row *row, int t, int y)
{
    const bench_row *empty = &table->rows[BENCH_ROW_EMPTY];
    double most = plot_most(table, t), ns = row->one[t].cpu_ns;
    double width = (ns > most ? most : ns) / most * PLOT_BARS;
    double replay = empty->absent ? 0 : empty->one[t].cpu_ns / most * PLOT_BARS;
    int ours = row->spec != NULL;

    if (replay > width)
        replay = width;
    fprintf(file, "<text x=\"%d\" y=\"%d\" class=\"n\">", PLOT_LEFT - 8, y + 12);
    report_text(file, row->name);
    fputs("</text>", file);
    plot_rect(file, PLOT_LEFT, y, replay, ours ? "#a9c1ee" : "#ccc");
    plot_rect(file, PLOT_LEFT + replay, y, width - replay, ours ? "#36c" : "#777");
    if (ns > most)
        plot_cut(file, y);
    fprintf(file, "<text x=\"%.1f\" y=\"%d\">%.0f", PLOT_LEFT + 6 + width, y + 12, ns);
    if (ours && bench_of_stock(table, row, t) > 0)
        fprintf(file, " = %.2f of stock", bench_of_stock(table, row, t));
    if (row->many[t].cpu_ns > 0)
        fprintf(file, ", %d threads x%.2f", table->threads, bench_speed_up(table, row, t));
    fputs("</text>\n", file);
}

/* @return where the next one begins */
static int plot_trace(FILE *file, const bench_table *table, int t, int y)
{
    const bench_row *stock = &table->rows[BENCH_ROW_STOCK];
    int i, rows = 0;

    fprintf(file, "<text x=\"10\" y=\"%d\" class=\"h\">", y + 20);
    report_text(file, table->traces[t].name);
    fprintf(file, ": nanoseconds of processor time per request, %.1f allocations</text>\n",
            (double)table->traces[t].allocations / (double)table->traces[t].requests);
    y += 30;
    for (i = 0; i < table->rows_n; i++)
        rows += !table->rows[i].absent;
    if (!stock->absent)
        fprintf(file, "<path d=\"M%d %d v%d\" stroke=\"#c33\" stroke-dasharray=\"3 3\"/>\n",
                PLOT_LEFT + (int)(PLOT_BARS / PLOT_TIMES_STOCK), y, rows * PLOT_BAR);
    for (i = 0; i < table->rows_n; i++)
        if (!table->rows[i].absent) {
            plot_row(file, table, &table->rows[i], t, y);
            y += PLOT_BAR;
        }
    return y + 14;
}

int bench_write_svg(const bench_table *table, const char *path)
{
    FILE *file = report_open(path);
    int t, i, y = 26, height = y + 10;

    if (file == NULL)
        return -1;
    for (t = 0; t < table->traces_n; t++)
        for (i = 0, height += 44; i < table->rows_n; i++)
            height += table->rows[i].absent ? 0 : PLOT_BAR;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">"
            "<style>.h{font-weight:bold;font-size:14px}.n{text-anchor:end}"
            "text{paint-order:stroke;stroke:#fff;stroke-width:3px}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"10\" y=\"18\">Light: what the replay itself takes. Dashed: stock APR pools. "
            "Bars "
            "beyond %.0f times that are cut.</text>\n",
            PLOT_WIDTH, height, PLOT_TIMES_STOCK);
    for (t = 0; t < table->traces_n; t++)
        y = plot_trace(file, table, t, y);
    fputs("</svg>\n", file);
    return report_close(file, path);
}
