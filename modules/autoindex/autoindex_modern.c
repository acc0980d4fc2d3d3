/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list as BuiltinPages modern has it: a table for people on any screen, light and dark. Its style, and the script
 * that filters it while one types, come from URLs of the listing itself (?style=, ?script=): a policy with "default-src 'self'"
 * allows them. Without scripts the field of the filter is a form.
 */
#include "autoindex_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_hash.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_time.h"
#include "brigade/pages.h"

#define AI_DEFAULTS (AI_FOLDERS_FIRST | AI_VERSION_SORT | AI_IGNORE_CASE)

static const char ai_style[] = {
#include "autoindex_style.inc"
};
static const char ai_script[] = {
#include "autoindex_script.inc"
};

static const struct ai_part {
    const char *name; /* as the query begins */
    const char *type, *text;
    apr_size_t len;
} ai_parts[] = {
    {"style=", "text/css; charset=utf-8", ai_style, sizeof(ai_style) - 1},
    {"script=", "text/javascript; charset=utf-8", ai_script, sizeof(ai_script) - 1},
};

/* The common data of all rows. */
typedef struct ai_page {
    request_rec *r;
    const ai_view *view;
    int dates, sizes, descs; /* columns */
} ai_page;

int ai_modern_opts(const ai_conf *conf)
{
    int opts = (conf->opts & AI_NONE) ? 0 : conf->opts | conf->plus | (AI_DEFAULTS & ~conf->minus);

    return (opts | AI_FANCY) & ~AI_XHTML;
}

/* ---- style sheet and script ---- */

/* Changes with the text, so that clients may keep it for ever. */
static const char *ai_part_query(apr_pool_t *p, const struct ai_part *part)
{
    apr_ssize_t len = (apr_ssize_t)part->len;

    return apr_psprintf(p, "?%s%08x", part->name, apr_hashfunc_default(part->text, &len));
}

static const struct ai_part *ai_part_of(const request_rec *r)
{
    for (apr_size_t i = 0; r->args && i < sizeof(ai_parts) / sizeof(ai_parts[0]); i++)
        if (strncmp(r->args, ai_parts[i].name, strlen(ai_parts[i].name)) == 0)
            return &ai_parts[i];
    return NULL;
}

int ai_modern_is_part(const request_rec *r)
{
    return ai_part_of(r) != NULL;
}

int ai_modern_part(request_rec *r)
{
    const struct ai_part *part = ai_part_of(r);

    ap_set_content_type(r, part->type);
    ap_set_content_length(r, (apr_off_t)part->len);
    apr_table_setn(r->headers_out, "Cache-Control", "max-age=31536000, immutable");
    if (!r->header_only)
        ap_rwrite(part->text, (int)part->len, r);
    return OK;
}

/* ---- before the list ---- */

/* Names of files are in any charset; the page is in UTF-8 unless IndexOptions Charset= says otherwise. */
static const char *ai_text(apr_pool_t *p, const ai_view *view, const char *s)
{
    return ai_is_utf8(view) ? brg_html_text(p, s) : ap_escape_html(p, s);
}

void ai_modern_preamble(request_rec *r, const ai_view *view)
{
    const ai_conf *conf = view->conf;

    ap_rputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n", r);
    if (ai_is_utf8(view))
        ap_rputs("<meta charset=\"utf-8\">\n", r);
    ap_rvputs(r,
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Index of ",
              ai_text(r->pool, view, ai_folder_uri(r)),
              "</title>\n<link rel=\"stylesheet\" href=\"", ai_part_query(r->pool, &ai_parts[0]),
              "\">\n<script src=\"", ai_part_query(r->pool, &ai_parts[1]), "\" defer></script>\n",
              NULL);
    if (conf->style_sheet)
        ap_rvputs(r, "<link rel=\"stylesheet\" href=\"", conf->style_sheet, "\">\n", NULL);
    if (conf->head_insert)
        ap_rputs(conf->head_insert, r);
    ap_rputs("</head>\n<body>\n", r);
}

static void ai_link(request_rec *r, const ai_view *view, const char *uri, const char *text)
{
    ap_rvputs(r, "<a href=\"", ap_escape_html(r->pool, ap_os_escape_path(r->pool, uri, 1)), "\">",
              ai_text(r->pool, view, text), "</a>", NULL);
}

/* A link to each folder above this one. */
void ai_modern_path(request_rec *r, const ai_view *view)
{
    const char *uri = ai_folder_uri(r), *at = uri, *slash;

    if (!uri[1])
        return;
    ap_rputs("<nav id=\"path\" aria-label=\"Folders above\">", r);
    ai_link(r, view, "/", ap_get_server_name(r));
    while ((slash = strchr(at + 1, '/'))) {
        ap_rputs(" / ", r);
        ai_link(r, view, apr_pstrmemdup(r->pool, uri, (apr_size_t)(slash - uri) + 1),
                apr_pstrmemdup(r->pool, at + 1, (apr_size_t)(slash - at) - 1));
        at = slash;
    }
    ap_rputs("</nav>\n", r);
}

void ai_modern_h1(request_rec *r, const ai_view *view)
{
    const char *uri = ai_folder_uri(r);

    ap_rvputs(r, "<h1>",
              ai_text(r->pool, view, uri[1] ? strrchr(uri, '/') + 1 : ap_get_server_name(r)),
              "</h1>\n", NULL);
}

/* ---- the list ---- */

static const char *ai_size_text(apr_pool_t *p, apr_off_t size)
{
    static const char units[] = "KMGTPE";
    double shown = (double)size;
    int unit = -1;

    if (size < 1024)
        return apr_psprintf(p, "%d B", (int)size);
    for (; shown >= 1023.95 && units[unit + 1]; unit++)
        shown /= 1024;
    return apr_psprintf(p, shown < 9.95 ? "%.1f %ciB" : "%.0f %ciB", shown, units[unit]);
}

static void ai_icon_cell(const ai_page *page, apr_pool_t *p, const ai_entry *entry)
{
    const char *icon = entry->icon ? entry->icon : page->view->conf->default_icon;

    if (page->view->opts & AI_SUPPRESS_ICON)
        return;
    if (icon)
        ap_rvputs(page->r, "<img src=\"", ap_escape_html(p, icon), "\" alt=\"",
                  ai_text(p, page->view, entry->alt ? entry->alt : ""), "\" width=\"20\">", NULL);
    else
        ap_rvputs(page->r, "<i class=\"", entry->kind, "\"></i>", NULL);
}

/* The time of day in an element of its own, which small screens leave out. */
static void ai_date_cell(const ai_page *page, apr_pool_t *p, const ai_entry *entry)
{
    apr_time_exp_t local, utc;

    if (entry->time < 0) {
        ap_rputs("<td class=\"d\"></td>", page->r);
        return;
    }
    apr_time_exp_lt(&local, entry->time);
    apr_time_exp_gmt(&utc, entry->time);
    ap_rputs(apr_psprintf(p,
                          "<td class=\"d\"><time datetime=\"%04d-%02d-%02dT%02d:%02d:%02dZ\">"
                          "%04d-%02d-%02d<span class=\"t\"> %02d:%02d</span></time></td>",
                          utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                          utc.tm_sec, local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                          local.tm_hour, local.tm_min),
             page->r);
}

static void ai_size_cell(const ai_page *page, apr_pool_t *p, const ai_entry *entry)
{
    if (entry->size < 0)
        ap_rputs("<td class=\"s\"></td>", page->r);
    else
        ap_rputs(apr_psprintf(p, "<td class=\"s\" title=\"%" APR_OFF_T_FMT " bytes\">%s</td>",
                              entry->size, ai_size_text(p, entry->size)),
                 page->r);
}

static void ai_row(const ai_page *page, apr_pool_t *p, const ai_entry *entry)
{
    const char *name = entry->is_parent ? "Parent Directory" : entry->name;

    ap_rputs(entry->is_parent ? "<tr id=\"up\"><td class=\"n\">" : "<tr><td class=\"n\">", page->r);
    ai_icon_cell(page, p, entry);
    ap_rvputs(page->r, "<a href=\"", ap_escape_html(p, ap_os_escape_path(p, entry->name, 0)), "\">",
              ai_text(p, page->view, name), "</a></td>", NULL);
    if (page->dates)
        ai_date_cell(page, p, entry);
    if (page->sizes)
        ai_size_cell(page, p, entry);
    if (page->descs)
        ap_rvputs(page->r, "<td class=\"x\">", entry->desc ? entry->desc : "", "</td>", NULL);
    ap_rputs("</tr>\n", page->r);
}

static void ai_column(const ai_page *page, const char *css, const char *text, char key)
{
    const ai_view *view = page->view;
    const int sorted = key == view->key;
    char query[] = "?C=N;O=A";

    ap_rvputs(page->r, "<th scope=\"col\" class=\"", css, "\"", NULL);
    if (view->opts & AI_SUPPRESS_COLSORT) {
        ap_rvputs(page->r, ">", text, "</th>", NULL);
        return;
    }
    query[3] = key;
    query[7] = sorted && view->direction == 'A' ? 'D' : 'A';
    ap_rvputs(page->r,
              !sorted                  ? ""
              : view->direction == 'A' ? " aria-sort=\"ascending\""
                                       : " aria-sort=\"descending\"",
              "><a href=\"", query, view->link_args, "\">", text, "</a></th>", NULL);
}

/* How much there is, and a field for P=, by which the script filters as well. */
static void ai_bar(const ai_page *page, const apr_array_header_t *entries)
{
    const ai_view *view = page->view;
    request_rec *r = page->r;
    int folders = 0, files = 0;
    apr_off_t bytes = 0;

    for (int i = 0; i < entries->nelts; i++) {
        const ai_entry *entry = APR_ARRAY_IDX(entries, i, ai_entry *);

        folders += !entry->is_parent && entry->is_folder;
        files += !entry->is_parent && !entry->is_folder;
        bytes += entry->size > 0 ? entry->size : 0;
    }
    ap_rprintf(r, "<div id=\"bar\"><p role=\"status\">%d folder%s, %d file%s", folders,
               folders == 1 ? "" : "s", files, files == 1 ? "" : "s");
    if (files && page->sizes)
        ap_rvputs(r, ", ", ai_size_text(r->pool, bytes), NULL);
    ap_rputs("</p>", r);
    if (!(view->opts & AI_IGNORE_CLIENT))
        ap_rvputs(
            r,
            "<form><label>Names <input name=\"P\" type=\"search\" placeholder=\"*.pdf\" value=\"",
            ai_text(r->pool, view, view->pattern ? view->pattern : ""),
            "\"></label><button>Filter</button></form>", NULL);
    ap_rputs("</div>\n", r);
}

static void ai_table_head(const ai_page *page)
{
    ap_rputs("<table>\n<thead><tr>", page->r);
    ai_column(page, "n", "Name", 'N');
    if (page->dates)
        ai_column(page, "d", "Last modified", 'M');
    if (page->sizes)
        ai_column(page, "s", "Size", 'S');
    if (page->descs)
        ai_column(page, "x", "Description", 'D');
    ap_rputs("</tr></thead>\n<tbody>\n", page->r);
}

static int ai_has_descs(const apr_array_header_t *entries)
{
    for (int i = 0; i < entries->nelts; i++)
        if (APR_ARRAY_IDX(entries, i, ai_entry *)->desc)
            return 1;
    return 0;
}

void ai_modern_list(request_rec *r, const ai_view *view, const apr_array_header_t *entries)
{
    const ai_page page = {.r = r,
                          .view = view,
                          .dates = !(view->opts & AI_SUPPRESS_LAST_MOD),
                          .sizes = !(view->opts & AI_SUPPRESS_SIZE),
                          .descs = ai_has_descs(entries)};
    apr_pool_t *scratch;
    int rows = 0;

    apr_pool_create(&scratch, r->pool);
    apr_pool_tag(scratch, "autoindex_scratch");
    ap_rputs("<main>\n", r);
    ai_bar(&page, entries);
    ai_table_head(&page);
    for (int i = 0; i < entries->nelts; i++) {
        const ai_entry *entry = APR_ARRAY_IDX(entries, i, ai_entry *);

        ai_row(&page, scratch, entry);
        rows += !entry->is_parent;
        apr_pool_clear(scratch);
    }
    apr_pool_destroy(scratch);
    if (!rows)
        ap_rprintf(r, "<tr><td class=\"empty\" colspan=\"%d\">%s</td></tr>\n",
                   1 + page.dates + page.sizes + page.descs,
                   view->pattern ? "No name is like this." : "Nothing is here.");
    ap_rputs("</tbody>\n</table>\n</main>\n", r);
}
