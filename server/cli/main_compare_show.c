/* SPDX-License-Identifier: Apache-2.0 */
/* Output of --compare-memory: a table of text, and a picture with a bar for each row. */
#include "main_compare_private.h"
#include <stdlib.h>

#define DRAW_LEFT 190
#define DRAW_ROW 20
#define DRAW_BARS 520
#define DRAW_WIDTH 920

/* How much more the dearest round cost than the cheapest, in per cent. */
static double show_spread(const compare_table *t, int url, int row)
{
    return (t->worst[url][row].cpu_us / t->figure[url][row].cpu_us - 1) * 100;
}

/* No other process wants a processor. */
static int show_is_quiet(const compare_table *t)
{
    return t->load < 0.7;
}

static void show_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            fprintf(out, "\\u%04x", *text);
        else
            fputc(*text, out);
    fputc('"', out);
}

void compare_print(const compare_table *t, FILE *out)
{
    for (int url = 0; url < t->urls_n; url++) {
        const double own = t->figure[url][0].cpu_us;

        fprintf(out, "%s%s: %d requests, all phases and filters\n\n%-24s %11s %7s %7s %11s %9s\n",
                url ? "\n" : "", t->urls[url], t->requests, "memory system", "cpu us/req", "spread",
                "times", "requests/s", "MiB");
        for (int row = 0; row < COMPARE_ROWS; row++) {
            const compare_figure *f = &t->figure[url][row];

            if (!*t->names[row])
                continue;
            if (t->absent[row] || !(f->cpu_us > 0))
                fprintf(out, "%-24s %11s\n", t->names[row], "-");
            else
                fprintf(out, "%-24s %11.2f %6.0f%% %7.2f %11.0f %9.1f\n", t->names[row], f->cpu_us,
                        show_spread(t, url, row), f->cpu_us / own, f->rate, f->resident_kib / 1024);
        }
    }
    if (!show_is_quiet(t))
        fprintf(out, "\nThis machine is not quiet (load %.1f): small differences say nothing.\n",
                t->load);
    fflush(out);
}

void compare_json(const compare_table *t, FILE *out)
{
    fprintf(out, "{\"load\": %.2f, \"requests\": %d, \"urls\": {", t->load, t->requests);
    for (int url = 0; url < t->urls_n; url++) {
        const char *comma = "";

        fprintf(out, "%s\n  ", url ? "," : "");
        show_json_text(out, t->urls[url]);
        fputs(": {", out);
        for (int row = 0; row < COMPARE_ROWS; row++) {
            const compare_figure *f = &t->figure[url][row], *worst = &t->worst[url][row];

            if (!*t->names[row] || t->absent[row] || !(f->cpu_us > 0))
                continue;
            fprintf(out, "%s\n    ", comma);
            comma = ",";
            show_json_text(out, t->names[row]);
            fprintf(out,
                    ": {\"cpu_us\": %.3f, \"cpu_us_most\": %.3f, \"rate\": %.1f, "
                    "\"rate_least\": %.1f, \"mib\": %.1f}",
                    f->cpu_us, worst->cpu_us, f->rate, worst->rate, f->resident_kib / 1024);
        }
        fputs("}", out);
    }
    fputs("}}\n", out);
}

/* ---- the picture ---- */

static void draw_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else
            fputc(*text, out);
}

static double draw_most(const compare_table *t, int url)
{
    double most = 0;

    for (int row = 0; row < COMPARE_ROWS; row++)
        if (!t->absent[row] && t->figure[url][row].cpu_us > most)
            most = t->figure[url][row].cpu_us;
    return most;
}

static void draw_row(FILE *out, const compare_table *t, int url, int row, int y)
{
    const compare_figure *f = &t->figure[url][row];
    const double width = f->cpu_us / draw_most(t, url) * DRAW_BARS;

    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", DRAW_LEFT - 8, y + 13);
    draw_text(out, t->names[row]);
    fprintf(out,
            "</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
            "<text x=\"%.1f\" y=\"%d\">%.1f us, %.2f times, %.1f MiB</text>\n",
            DRAW_LEFT, y, width, DRAW_ROW - 4,
            row == COMPARE_OTHER ? "#777"
            : row                ? "#36c"
                                 : "#173",
            DRAW_LEFT + width + 6, y + 13, f->cpu_us, f->cpu_us / t->figure[url][0].cpu_us,
            f->resident_kib / 1024);
}

/* @return where the next one begins */
static int draw_url(FILE *out, const compare_table *t, int url, int y)
{
    fprintf(out, "<text x=\"8\" y=\"%d\" font-weight=\"bold\">", y + 16);
    draw_text(out, t->urls[url]);
    fputs("</text>\n", out);
    y += DRAW_ROW + 8;
    for (int row = 0; row < COMPARE_ROWS; row++) {
        if (t->absent[row] || !(t->figure[url][row].cpu_us > 0))
            continue;
        draw_row(out, t, url, row, y);
        y += DRAW_ROW;
    }
    return y + DRAW_ROW;
}

static int draw_height(const compare_table *t)
{
    int rows = 0;

    for (int row = 0; row < COMPARE_ROWS; row++)
        rows += !t->absent[row];
    return 30 + t->urls_n * ((rows + 2) * DRAW_ROW + 8);
}

void compare_draw(const compare_table *t, FILE *out)
{
    int y = 30;

    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%%\" height=\"100%%\" "
        "fill=\"#fff\"/>\n<text x=\"8\" y=\"18\">Processor time of a request by memory system, %d "
        "requests each</text>\n",
        DRAW_WIDTH, draw_height(t), t->requests);
    for (int url = 0; url < t->urls_n; url++)
        y = draw_url(out, t, url, y);
    fputs("</svg>\n", out);
}

/* ---- the page ---- */

static void show_page_table(const compare_table *t, FILE *out)
{
    char *text = NULL;
    size_t len;
    FILE *in = open_memstream(&text, &len);

    if (!in)
        return;
    compare_print(t, in);
    if (fclose(in) == 0)
        draw_text(out, text);
    free(text);
}

void compare_page(const compare_table *t, FILE *out)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Memory systems of "
        "a site</title><style>body{font-family:sans-serif;max-width:62em;margin:2em auto;padding:0 "
        "1em}"
        "svg{max-width:100%;height:auto}pre{overflow:auto}</style></head><body>"
        "<h1>Memory systems of a site</h1>\n<p>What a request costs with each memory system for "
        "requests, connections and buckets, of this configuration as a server of its own. Answers "
        "do "
        "not come from the response cache. Of several rounds the cheapest counts; the spread is "
        "how "
        "much more the dearest cost.</p>\n",
        out);
    compare_draw(t, out);
    fputs("<pre>", out);
    show_page_table(t, out);
    fputs("</pre></body></html>\n", out);
}
