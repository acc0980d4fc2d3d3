/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of cache-manager for browsers (BuiltinPages modern): stored objects by size, by demand
 * and by host, reasons against storing, and forms to look up and to purge. No script is in it. All
 * names and fields come from clients and backends: they are escaped.
 */
#include "cached_below_private.h"
#include "cached_named_private.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/figures.h"
#include "brigade/loop.h"
#include "brigade/pages.h"
#include "http_core.h"
#include "http_main.h"
#include "http_protocol.h"
#include <inttypes.h>
#include <string.h>

enum { PAGE_ROWS = 15, PAGE_HOSTS = 500, PAGE_TEXT = 2048 };

static const char page_style[] = {
#include "cached_style.inc"
};

/* An object, or the objects of a host. */
typedef struct page_row {
    const char *text;
    uint64_t bytes, objects, hits;
} page_row;

typedef struct page_rows {
    page_row row[PAGE_ROWS];
    int n;
} page_rows;

/* The result of one look through the store. */
typedef struct page_found {
    apr_pool_t *p;
    page_rows biggest, wanted;
    apr_hash_t *hosts; /* of page_row */
} page_found;

static const char *text(request_rec *r, const char *s)
{
    return brg_html_text(r->pool, s);
}

/* ---- stored answers ---- */

/* Into a list that begins with the largest. */
static void rows_offer(apr_pool_t *p, page_rows *rows, const page_row *row, int by_hits)
{
    int at = rows->n;

    while (at > 0 &&
           (by_hits ? rows->row[at - 1].hits < row->hits : rows->row[at - 1].bytes < row->bytes))
        at--;
    if (at >= PAGE_ROWS)
        return;
    if (rows->n < PAGE_ROWS)
        rows->n++;
    memmove(rows->row + at + 1, rows->row + at, (size_t)(rows->n - 1 - at) * sizeof *row);
    rows->row[at] = *row;
    rows->row[at].text = apr_pstrdup(p, row->text);
}

/* "http://host:port" of a key. */
static size_t host_len(const char *key)
{
    const char *slashes = strstr(key, "://");

    return slashes ? (size_t)(slashes - key) + 3 + strcspn(slashes + 3, "/?") : 0;
}

static void host_add(page_found *found, const page_row *row)
{
    const size_t len = host_len(row->text);
    page_row *host = apr_hash_get(found->hosts, row->text, (apr_ssize_t)len);

    if (!host) {
        if (apr_hash_count(found->hosts) >= PAGE_HOSTS)
            return;
        host = apr_pcalloc(found->p, sizeof *host);
        host->text = apr_pstrmemdup(found->p, row->text, len);
        apr_hash_set(found->hosts, host->text, (apr_ssize_t)len, host);
    }
    host->objects++;
    host->bytes += row->bytes;
    host->hits += row->hits;
}

static int page_each(void *data, const store_view *view, uint64_t length)
{
    page_found *found = data;
    char name[PAGE_TEXT + 1];
    const uint32_t len = view->text_len < PAGE_TEXT ? view->text_len : PAGE_TEXT;
    page_row row = {.text = name, .bytes = length, .objects = 1, .hits = view->hits};

    if (view->vary)
        return 1;
    memcpy(name, view->text, len);
    name[len] = '\0';
    rows_offer(found->p, &found->biggest, &row, 0);
    if (row.hits)
        rows_offer(found->p, &found->wanted, &row, 1);
    host_add(found, &row);
    return 1;
}

/* ---- parts of the page ---- */

static const char *size_text(apr_pool_t *p, uint64_t bytes)
{
    char size[5];

    return apr_pstrdup(p, apr_strfsize((apr_off_t)bytes, size));
}

/* A link to the stored answers of a target. */
static void page_link(request_rec *r, const char *url)
{
    ap_rvputs(r, "<a href=\"?find=", text(r, ap_escape_urlencoded(r->pool, url)), "\">",
              text(r, url), "</a>", NULL);
}

static void page_table(request_rec *r, const char *title, const char *figure, const page_rows *rows,
                       int by_hits)
{
    ap_rvputs(r, "<section class=\"card\"><h2>", title, "</h2>", NULL);
    if (!rows->n)
        ap_rputs("<p class=\"soft\">Nothing yet.</p>", r);
    else
        ap_rvputs(r,
                  "<div class=\"scroll\"><table><tr><th scope=\"col\">Target</th><th scope=\"col\" "
                  "class=\"n\">",
                  figure, "</th></tr>\n", NULL);
    for (int i = 0; i < rows->n; i++) {
        const page_row *row = &rows->row[i];

        ap_rputs("<tr><td>", r);
        page_link(r, row->text);
        ap_rvputs(r, "</td><td class=\"n\">",
                  !by_hits        ? size_text(r->pool, row->bytes)
                  : row->hits < 7 ? apr_psprintf(r->pool, "%" PRIu64, row->hits)
                                  : "7 or more",
                  "</td></tr>\n", NULL);
    }
    ap_rputs(rows->n ? "</table></div></section>\n" : "</section>\n", r);
}

static void page_hosts(request_rec *r, apr_hash_t *hosts)
{
    ap_rputs(
        "<section class=\"card\"><h2>By host</h2><div class=\"scroll\"><table><tr><th "
        "scope=\"col\">Host</th>"
        "<th scope=\"col\" class=\"n\">Answers</th><th scope=\"col\" class=\"n\">Size</th></tr>\n",
        r);
    for (apr_hash_index_t *i = apr_hash_first(r->pool, hosts); i; i = apr_hash_next(i)) {
        const page_row *host = apr_hash_this_val(i);

        ap_rputs("<tr><td>", r);
        page_link(r, apr_pstrcat(r->pool, host->text, "/*", NULL));
        ap_rprintf(r, "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%s</td></tr>\n",
                   host->objects, size_text(r->pool, host->bytes));
    }
    ap_rputs("</table></div></section>\n", r);
}

/* ---- virtual hosts ---- */

static void page_rate(request_rec *r, int host, uint64_t cached, uint64_t uncached)
{
    const char *name = host ? brg_figure_host(host) : "others";

    ap_rvputs(r, "<tr><td>", text(r, name && *name ? name : "(no name)"), NULL);
    ap_rprintf(r,
               "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
               "</td><td class=\"n\">%.1f %%</td></tr>\n",
               cached + uncached, cached, 100.0 * (double)cached / (double)(cached + uncached));
}

static void page_rates(request_rec *r)
{
    brg_figures *f = apr_palloc(r->pool, sizeof *f);

    if (brg_figures_sum(f))
        return;
    ap_rputs("<section class=\"card\"><h2>Hit rate by virtual host</h2><div class=\"scroll\">"
             "<table><tr><th scope=\"col\">Virtual host</th><th scope=\"col\" class=\"n\">"
             "Requests</th><th scope=\"col\" class=\"n\">From store</th><th scope=\"col\" "
             "class=\"n\">Rate</th></tr>\n",
             r);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++) {
        uint64_t cached = 0, uncached = 0;

        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++) {
            cached += f->host[host][protocol].cached;
            uncached += f->host[host][protocol].uncached;
        }
        if (cached + uncached)
            page_rate(r, host, cached, uncached);
    }
    ap_rputs("</table></div></section>\n", r);
}

/* ---- why answers were not stored ---- */

typedef struct page_why {
    cached_reason last;
    int targets;
} page_why;

static void why_each(void *data, const cached_reason *reason)
{
    apr_hash_t *reasons = data;
    apr_pool_t *p = apr_hash_pool_get(reasons);
    page_why *why = apr_hash_get(reasons, reason->text, APR_HASH_KEY_STRING);

    if (!why) {
        why = apr_pcalloc(p, sizeof *why);
        apr_hash_set(reasons, apr_pstrdup(p, reason->text), APR_HASH_KEY_STRING, why);
    }
    if (reason->when >= why->last.when)
        why->last = *reason;
    why->targets++;
}

static void page_whys(request_rec *r)
{
    apr_hash_t *reasons = apr_hash_make(r->pool);

    cached_why_each(why_each, reasons);
    if (!apr_hash_count(reasons))
        return;
    ap_rputs("<section class=\"card\"><h2>Why answers were not stored</h2><div "
             "class=\"scroll\"><table><tr>"
             "<th scope=\"col\">Reason</th><th scope=\"col\" class=\"n\">Targets</th><th "
             "scope=\"col\">Last</th></tr>\n",
             r);
    for (apr_hash_index_t *i = apr_hash_first(r->pool, reasons); i; i = apr_hash_next(i)) {
        const page_why *why = apr_hash_this_val(i);

        ap_rprintf(r,
                   "<tr><td>%s</td><td class=\"n\">%d</td><td>%" APR_TIME_T_FMT
                   " s ago, status %d</td></tr>\n",
                   text(r, why->last.text), why->targets, apr_time_sec(brg_now() - why->last.when),
                   why->last.code);
    }
    ap_rputs("</table></div></section>\n", r);
}

/* ---- one target ---- */

static void page_line(void *to, const char *line)
{
    request_rec *r = to;

    ap_rvputs(r, text(r, line), "\n", NULL);
}

static void page_purge(request_rec *r, const char *what, const char *why, const char *query,
                       const char *url)
{
    ap_rvputs(r, "<details><summary>", what, "</summary><form method=\"post\" action=\"?", query,
              text(r, ap_escape_urlencoded(r->pool, url)), "\"><p>", why, "</p><button>", what,
              ": ", text(r, url), "</button></form></details>\n", NULL);
}

static void page_target(request_rec *r, const char *url)
{
    cached_named named;
    const char *error =
        cached_named_read(r->pool, ap_server_conf, apr_pstrdup(r->pool, url), &named);

    ap_rvputs(r, "<section class=\"card\"><h2>", text(r, url), "</h2>", NULL);
    if (error) {
        ap_rvputs(r, "<p class=\"state bad\">", text(r, error), "</p></section>\n", NULL);
        return;
    }
    ap_rputs("<pre tabindex=\"0\">", r);
    (void)cached_report(r->pool, &named, page_line, r);
    ap_rputs("</pre>\n", r);
    page_purge(r, "Purge", "It ends at once: the next request asks the backend.", "", url);
    page_purge(r, "Make stale",
               "It is asked for anew when it is wanted, and sent on if the backend fails.",
               "soft&amp;", url);
    ap_rputs("</section>\n", r);
}

/* ---- the whole ---- */

static const char *style_query(apr_pool_t *p)
{
    apr_ssize_t len = sizeof(page_style) - 1;

    return apr_psprintf(p, "?style=%08x", apr_hashfunc_default(page_style, &len));
}

static void page_head(request_rec *r, const char *url)
{
    store_figures figures;

    store_figures_get(cached_store(), &figures);
    ap_rvputs(r,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
              "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
              "name=\"color-scheme\" content=\"light dark\">\n<title>Stored answers</title>\n<link "
              "rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"",
              style_query(r->pool), "\">\n</head>\n<body>\n<main>\n<h1>Stored answers</h1>\n",
              NULL);
    ap_rprintf(r,
               "<p class=\"soft\">%" PRIu64 " answers in %s of memory; %" PRIu64
               " were stored, %" PRIu64 " made room for others, %" PRIu64
               " were purged. <a href=\"%s\">Look again</a></p>\n",
               figures.objects, size_text(r->pool, figures.bytes), figures.stored, figures.evicted,
               figures.purges, text(r, r->uri));
    ap_rvputs(
        r,
        "<form role=\"search\"><label>A URL, a beginning (https://www.example.org/news/*) or a tag "
        "(tag:news) <input type=\"search\" name=\"find\" value=\"",
        text(r, url), "\"></label><button>Look up</button></form>\n", NULL);
}

static int page_is_style(const request_rec *r)
{
    return r->args && strncmp(r->args, "style=", 6) == 0;
}

int cached_page_is_wanted(request_rec *r)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");
    const int bare = !r->args || !*r->args || !strncmp(r->args, "find=", 5);

    return brg_pages_of(r) != BRG_PAGES_APACHE &&
           (page_is_style(r) || (bare && accept && ap_strcasestr(accept, "text/html")));
}

static int page_send_style(request_rec *r)
{
    ap_set_content_type(r, "text/css; charset=utf-8");
    ap_set_content_length(r, sizeof(page_style) - 1);
    apr_table_setn(r->headers_out, "Cache-Control", "max-age=31536000, immutable");
    ap_rwrite(page_style, sizeof(page_style) - 1, r);
    return OK;
}

int cached_page(request_rec *r)
{
    page_found found = {.p = r->pool, .hosts = apr_hash_make(r->pool)};
    char *url = r->args && *r->args ? apr_pstrdup(r->pool, r->args + 5) : apr_pstrdup(r->pool, "");
    cached_place *place = cached_place_here();

    BRG_ASSERT(cached_store());
    if (page_is_style(r))
        return page_send_style(r);
    if (*url && ap_unescape_urlencoded(url) != OK)
        return HTTP_BAD_REQUEST;
    apr_table_setn(r->headers_out, "Content-Security-Policy",
                   "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors "
                   "'none'; base-uri 'none'");
    ap_set_content_type(r, "text/html; charset=utf-8");
    page_head(r, url);
    if (*url)
        page_target(r, url);
    if (place)
        store_each(cached_reader(place), page_each, &found);
    page_table(r, "Asked for most", "Hits", &found.wanted, 1);
    page_table(r, "Biggest", "Size", &found.biggest, 0);
    page_rates(r);
    page_hosts(r, found.hosts);
    page_whys(r);
    ap_rputs("</main>\n</body>\n</html>\n", r);
    return OK;
}
