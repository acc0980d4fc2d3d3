/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list in its three shapes: plain (ul), fancy (pre) and fancy as a table. The HTML equals
 * Apache's to the byte, since style sheets and scripts of sites and tools that read listings depend
 * on it.
 */
#include "autoindex_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_time.h"

/* The common data of a list's rows. */
typedef struct ai_list_ctx {
    request_rec *r;
    const ai_view *view;
    const ai_conf *conf;
    int opts;
    int table, css;
    int name_width, desc_width; /* desc_width -1: no limit */
    const char *tag_end;        /* " />" or ">" */
} ai_list_ctx;

static void ai_pad(request_rec *r, int n)
{
    static const char blanks[] = "                                ";

    for (; n > 0; n -= (int)sizeof(blanks) - 1)
        ap_rwrite(blanks, n < (int)sizeof(blanks) - 1 ? n : (int)sizeof(blanks) - 1, r);
}

/* Begin a cell: its class with a style sheet, else the attribute that gives it its old look. */
static void ai_cell(const ai_list_ctx *list, const char *tag, const char *css_class,
                    const char *attribute)
{
    if (list->css)
        ap_rvputs(list->r, "<", tag, " class=\"", css_class, "\">", NULL);
    else
        ap_rvputs(list->r, "<", tag, attribute, ">", NULL);
}

static void ai_icon(const ai_list_ctx *list, apr_pool_t *p, const char *url, const char *alt)
{
    request_rec *r = list->r;

    ap_rvputs(r, "<img src=\"", ap_escape_html(p, url), "\" alt=\"", alt, "\"", NULL);
    if (list->conf->icon_width)
        ap_rprintf(r, " width=\"%d\"", list->conf->icon_width);
    if (list->conf->icon_height)
        ap_rprintf(r, " height=\"%d\"", list->conf->icon_height);
    ap_rputs(list->tag_end, r);
}

static void ai_sort_link(const ai_list_ctx *list, const char *text, char key)
{
    const ai_view *view = list->view;
    char query[] = "?C=N;O=A";

    if (list->opts & AI_SUPPRESS_COLSORT) {
        ap_rputs(text, list->r);
        return;
    }
    query[3] = key;
    query[7] = key == view->key && view->direction == 'A' ? 'D' : 'A';
    ap_rvputs(list->r, "<a href=\"", query, view->link_args, "\">", text, "</a>", NULL);
}

static int ai_columns(const ai_list_ctx *list)
{
    return 1 + !(list->opts & AI_SUPPRESS_ICON) + !(list->opts & AI_SUPPRESS_LAST_MOD) +
           !(list->opts & AI_SUPPRESS_SIZE) + !(list->opts & AI_SUPPRESS_DESC);
}

static void ai_table_rule(const ai_list_ctx *list)
{
    if (!(list->opts & AI_SUPPRESS_RULES)) {
        ap_rprintf(list->r, "   <tr%s><th colspan=\"%d\"><hr%s></th></tr>\n",
                   list->css ? " class=\"indexbreakrow\"" : "", ai_columns(list),
                   list->opts & AI_XHTML ? " /" : "");
    }
}

static void ai_table_begin(const ai_list_ctx *list)
{
    const char *blank = ai_find_name(list->conf->icons, "^^BLANKICON^^");
    request_rec *r = list->r;

    ap_rputs(list->css ? "  <table id=\"indexlist\">\n   <tr class=\"indexhead\">"
                       : "  <table>\n   <tr>",
             r);
    if (!(list->opts & AI_SUPPRESS_ICON)) {
        ai_cell(list, "th", "indexcolicon", " valign=\"top\"");
        if (blank)
            ai_icon(list, r->pool, blank, "[ICO]");
        else
            ap_rputs("&nbsp;", r);
        ap_rputs("</th>", r);
    }
    ai_cell(list, "th", "indexcolname", "");
    ai_sort_link(list, "Name", 'N');
    if (!(list->opts & AI_SUPPRESS_LAST_MOD)) {
        ap_rputs("</th>", r);
        ai_cell(list, "th", "indexcollastmod", "");
        ai_sort_link(list, "Last modified", 'M');
    }
    if (!(list->opts & AI_SUPPRESS_SIZE)) {
        ap_rputs("</th>", r);
        ai_cell(list, "th", "indexcolsize", "");
        ai_sort_link(list, "Size", 'S');
    }
    if (!(list->opts & AI_SUPPRESS_DESC)) {
        ap_rputs("</th>", r);
        ai_cell(list, "th", "indexcoldesc", "");
        ai_sort_link(list, "Description", 'D');
    }
    ap_rputs("</th></tr>\n", r);
    ai_table_rule(list);
}

static void ai_pre_begin(const ai_list_ctx *list)
{
    const char *blank = ai_find_name(list->conf->icons, "^^BLANKICON^^");
    request_rec *r = list->r;

    ap_rputs("<pre>", r);
    if (!(list->opts & AI_SUPPRESS_ICON)) {
        if (blank) {
            ai_icon(list, r->pool, blank, "Icon ");
            ap_rputs(" ", r);
        } else {
            ap_rputs("      ", r);
        }
    }
    ai_sort_link(list, "Name", 'N');
    ai_pad(r, list->name_width - 4 + 1);
    if (!(list->opts & AI_SUPPRESS_LAST_MOD)) {
        ai_sort_link(list, "Last modified", 'M');
        ap_rputs("      ", r);
    }
    if (!(list->opts & AI_SUPPRESS_SIZE)) {
        ai_sort_link(list, "Size", 'S');
        ap_rputs("  ", r);
    }
    if (!(list->opts & AI_SUPPRESS_DESC))
        ai_sort_link(list, "Description", 'D');
    if (list->opts & AI_SUPPRESS_RULES)
        ap_rputs("\n", r);
    else
        ap_rvputs(r, "<hr", list->tag_end, NULL);
}

/* The link with the name, cut and padded to the width of its column. */
static void ai_name(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry,
                    const char *anchor)
{
    const char *name = entry->is_parent ? "Parent Directory" : entry->name;
    int len = (int)strlen(name), width = list->name_width;

    if (len > width) {
        name = apr_pstrcat(p, apr_pstrmemdup(p, name, (apr_size_t)width - 3), "..>", NULL);
        len = width;
    }
    ap_rvputs(list->r, "<a href=\"", anchor, "\">", ap_escape_html(p, name), "</a>", NULL);
    /* A table makes room for its longest name itself. */
    if (!(list->opts & AI_TABLE) || list->conf->name_adjust != AI_ADJUST_FIT)
        ai_pad(list->r, width - len);
}

static const char *ai_time(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry)
{
    char text[64] = "";
    apr_time_exp_t t;
    apr_size_t len;

    apr_time_exp_lt(&t, entry->time);
    apr_strftime(text, &len, sizeof(text),
                 list->opts & AI_OLD_DATE_FORMAT ? "%d-%b-%Y %H:%M  " : "%Y-%m-%d %H:%M  ", &t);
    return apr_pstrdup(p, text);
}

/* Past the text's next visible character: a tag shows nothing, an entity one character. */
static const char *ai_next_visible(const char *s)
{
    if (*s == '<')
        while (*s && *s != '>')
            s++;
    else if (*s == '&')
        while (*s && *s != ';')
            s++;
    return *s ? s + 1 : s;
}

static const char *ai_cut_desc(const ai_list_ctx *list, apr_pool_t *p, const char *desc)
{
    int room = list->desc_width;
    const char *s = desc, *next;

    if (room < 0)
        return desc;
    while (*s && (room > 0 || *s == '<')) {
        next = ai_next_visible(s);
        room -= *s != '<';
        s = next;
    }
    if (!*s || s == desc)
        return desc;
    return apr_pstrcat(p, apr_pstrmemdup(p, desc, (apr_size_t)(s - desc) - 1), ">", NULL);
}

static const char *ai_icon_alt(apr_pool_t *p, const ai_entry *entry)
{
    return apr_pstrcat(p, "[", entry->alt ? entry->alt : "   ", "]", NULL);
}

static void ai_linked_icon(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry,
                           const char *anchor, const char *none)
{
    const char *icon = entry->icon ? entry->icon : list->conf->default_icon;
    request_rec *r = list->r;

    if (list->opts & AI_ICONS_ARE_LINKS)
        ap_rvputs(r, "<a href=\"", anchor, "\">", NULL);
    if (icon)
        ai_icon(list, p, icon, ai_icon_alt(p, entry));
    else
        ap_rputs(none, r);
    if (list->opts & AI_ICONS_ARE_LINKS)
        ap_rputs("</a>", r);
}

static void ai_table_row_begin(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry,
                               int row)
{
    const char *alt = "", *dash = "";
    char *lower;

    if (!list->css) {
        ap_rputs("<tr>", list->r);
        return;
    }
    if ((list->opts & AI_ADD_ALT_CLASS) && entry->alt) {
        lower = apr_pstrdup(p, entry->alt);
        ap_str_tolower(lower);
        alt = lower;
        dash = "-";
    }
    ap_rvputs(list->r, "   <tr class=\"", row & 1 ? "odd" : "even", dash, alt, "\">", NULL);
}

static void ai_table_row(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry,
                         const char *anchor, int row)
{
    request_rec *r = list->r;
    char size[5];

    ai_table_row_begin(list, p, entry, row);
    if (!(list->opts & AI_SUPPRESS_ICON)) {
        ai_cell(list, "td", "indexcolicon", " valign=\"top\"");
        ai_linked_icon(list, p, entry, anchor, "&nbsp;");
        ap_rputs("</td>", r);
    }
    ai_cell(list, "td", "indexcolname", "");
    ai_name(list, p, entry, anchor);
    if (!(list->opts & AI_SUPPRESS_LAST_MOD)) {
        ap_rputs("</td>", r);
        ai_cell(list, "td", "indexcollastmod", entry->time < 0 ? "" : " align=\"right\"");
        ap_rputs(entry->time < 0 ? "&nbsp;" : ai_time(list, p, entry), r);
    }
    if (!(list->opts & AI_SUPPRESS_SIZE)) {
        ap_rputs("</td>", r);
        ai_cell(list, "td", "indexcolsize", " align=\"right\"");
        ap_rputs(apr_strfsize(entry->size, size), r);
    }
    if (!(list->opts & AI_SUPPRESS_DESC)) {
        ap_rputs("</td>", r);
        ai_cell(list, "td", "indexcoldesc", "");
        ap_rputs(entry->desc ? ai_cut_desc(list, p, entry->desc) : "&nbsp;", r);
    }
    ap_rputs("</td></tr>\n", r);
}

static void ai_pre_row(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry,
                       const char *anchor)
{
    request_rec *r = list->r;
    char size[5];

    if (!(list->opts & AI_SUPPRESS_ICON)) {
        ai_linked_icon(list, p, entry, anchor, "     ");
        ap_rputs(" ", r);
    }
    ai_name(list, p, entry, anchor);
    ap_rputs(" ", r);
    if (!(list->opts & AI_SUPPRESS_LAST_MOD))
        ap_rputs(entry->time < 0 ? "                   " : ai_time(list, p, entry), r);
    if (!(list->opts & AI_SUPPRESS_SIZE))
        ap_rvputs(r, apr_strfsize(entry->size, size), "  ", NULL);
    if (!(list->opts & AI_SUPPRESS_DESC) && entry->desc)
        ap_rputs(ai_cut_desc(list, p, entry->desc), r);
    ap_rputs("\n", r);
}

static void ai_plain_row(const ai_list_ctx *list, apr_pool_t *p, const ai_entry *entry,
                         const char *anchor)
{
    ap_rvputs(list->r, "<li><a href=\"", anchor, "\"> ",
              entry->is_parent ? "Parent Directory" : ap_escape_html(p, entry->name), "</a></li>\n",
              NULL);
}

static void ai_widths(ai_list_ctx *list, const apr_array_header_t *entries)
{
    const ai_conf *conf = list->conf;

    list->name_width = conf->name_width;
    if (conf->name_adjust == AI_ADJUST_FIT) {
        for (int i = 0; i < entries->nelts; i++) {
            const ai_entry *entry = APR_ARRAY_IDX(entries, i, ai_entry *);
            int len = (int)strlen(entry->is_parent ? "Parent Directory" : entry->name);
            if (len > list->name_width)
                list->name_width = len;
        }
    }
    list->desc_width = conf->desc_width;
    if (conf->desc_adjust == AI_ADJUST_FIT) {
        list->desc_width = -1;
    } else if (conf->desc_adjust == AI_ADJUST_UNSET) {
        list->desc_width = AI_DESC_WIDTH + (list->opts & AI_SUPPRESS_ICON ? 6 : 0) +
                           (list->opts & AI_SUPPRESS_LAST_MOD ? 19 : 0) +
                           (list->opts & AI_SUPPRESS_SIZE ? 7 : 0);
    }
}

static void ai_list_begin(const ai_list_ctx *list)
{
    if (list->table)
        ai_table_begin(list);
    else if (list->opts & AI_FANCY)
        ai_pre_begin(list);
    else
        ap_rputs("<ul>", list->r);
}

static void ai_list_end(const ai_list_ctx *list)
{
    if (list->table) {
        ai_table_rule(list);
        ap_rputs("</table>\n", list->r);
    } else if (list->opts & AI_FANCY) {
        if (!(list->opts & AI_SUPPRESS_RULES))
            ap_rvputs(list->r, "<hr", list->tag_end, NULL);
        ap_rputs("</pre>\n", list->r);
    } else {
        ap_rputs("</ul>\n", list->r);
    }
}

void ai_list(request_rec *r, const ai_view *view, const apr_array_header_t *entries)
{
    ai_list_ctx list = {.r = r, .view = view, .conf = view->conf, .opts = view->opts};
    apr_pool_t *scratch;

    list.table = (view->opts & (AI_FANCY | AI_TABLE)) == (AI_FANCY | AI_TABLE);
    list.css = view->conf->style_sheet != NULL;
    list.tag_end = view->opts & AI_XHTML ? " />" : ">";
    ai_widths(&list, entries);
    apr_pool_create(&scratch, r->pool);
    apr_pool_tag(scratch, "autoindex_scratch");
    ai_list_begin(&list);
    for (int i = 0; i < entries->nelts; i++) {
        const ai_entry *entry = APR_ARRAY_IDX(entries, i, ai_entry *);
        const char *anchor = ap_escape_html(scratch, ap_os_escape_path(scratch, entry->name, 0));

        if (list.table)
            ai_table_row(&list, scratch, entry, anchor, i);
        else if (view->opts & AI_FANCY)
            ai_pre_row(&list, scratch, entry, anchor);
        else
            ai_plain_row(&list, scratch, entry, anchor);
        apr_pool_clear(scratch);
    }
    apr_pool_destroy(scratch);
    ai_list_end(&list);
}
