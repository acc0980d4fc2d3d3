/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before and after the list: the HTML frame and the files of HeaderName and ReadmeName, which are
 * fetched as subrequests, so that they may be negotiated or parsed, and shown as text if they are
 * text.
 */
#include "autoindex_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"

static void ai_preamble(request_rec *r, const ai_view *view, const char *title)
{
    const ai_conf *conf = view->conf;
    int xhtml = (view->opts & AI_XHTML) != 0;

    ap_rvputs(r,
              xhtml ? "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n"
                      "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
                      "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n"
                    : "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" "
                      "\"http://www.w3.org/TR/html4/strict.dtd\">\n<html>\n",
              " <head>\n  <title>Index of ", title, "</title>\n", NULL);
    if (conf->style_sheet) {
        ap_rvputs(r, "  <link rel=\"stylesheet\" href=\"", conf->style_sheet,
                  "\" type=\"text/css\"", xhtml ? " />\n" : ">\n", NULL);
    }
    if (conf->head_insert)
        ap_rputs(conf->head_insert, r);
    ap_rputs(" </head>\n <body>\n", r);
}

static void ai_h1(request_rec *r, const ai_view *view, const char *title)
{
    if (view->modern) {
        ai_modern_h1(r, view);
        return;
    }
    ap_rvputs(r, view->conf->style_sheet ? "  <h1 id=\"indextitle\">Index of " : "<h1>Index of ",
              title, "</h1>\n", NULL);
}

/* Subrequest for a header or readme file, or NULL. */
static request_rec *ai_frame_file(request_rec *r, const char *name)
{
    request_rec *sub;

    if (!name || !(sub = ap_sub_req_lookup_uri(name, r, r->output_filters)))
        return NULL;
    if (sub->status != HTTP_OK || !sub->filename || sub->finfo.filetype != APR_REG ||
        !sub->content_type || strncasecmp(sub->content_type, "text/", 5) != 0) {
        if (!(sub->status == HTTP_OK && sub->filename && sub->finfo.filetype == APR_REG &&
              ai_is_html(sub))) {
            ap_destroy_sub_req(sub);
            return NULL;
        }
    }
    return sub;
}

/* The sub-request's output becomes part of the listing: its content filters stay, its end (EOS) is not passed on. */
static int ai_run_html(request_rec *r, request_rec *sub)
{
    ap_filter_t *f = sub->output_filters;

    while (f && f->frec != ap_subreq_core_filter_handle)
        f = f->next;
    if (f)
        f->next = r->output_filters;
    return ap_run_sub_req(sub);
}

static void ai_write_escaped(request_rec *r, const char *text, apr_size_t len)
{
    apr_size_t from = 0;

    for (apr_size_t i = 0; i < len; i++) {
        const char *entity = text[i] == '<'   ? "&lt;"
                             : text[i] == '>' ? "&gt;"
                             : text[i] == '&' ? "&amp;"
                                              : NULL;
        if (entity) {
            ap_rwrite(text + from, (int)(i - from), r);
            ap_rputs(entity, r);
            from = i + 1;
        }
    }
    ap_rwrite(text + from, (int)(len - from), r);
}

static void ai_write_plain(request_rec *r, const request_rec *sub)
{
    apr_file_t *file;
    char text[4096];
    apr_size_t len;

    if (apr_file_open(&file, sub->filename, APR_FOPEN_READ, APR_FPROT_OS_DEFAULT, r->pool))
        return;
    ap_rputs("<pre>\n", r);
    for (;;) {
        len = sizeof(text);
        if (apr_file_read(file, text, &len) != APR_SUCCESS || !len)
            break;
        ai_write_escaped(r, text, len);
    }
    apr_file_close(file);
    ap_rputs("</pre>\n", r);
}

/* Its own frame, or Apache's. */
static void ai_begin(request_rec *r, const ai_view *view, const char *title)
{
    if (!view->modern) {
        ai_preamble(r, view, title);
        return;
    }
    ai_modern_preamble(r, view);
    ai_modern_path(r, view);
}

void ai_head(request_rec *r, const ai_view *view)
{
    const char *title = ap_escape_html(r->pool, ai_folder_uri(r));
    request_rec *sub = ai_frame_file(r, view->conf->header);
    int html = sub && ai_is_html(sub);

    if (!html || !(view->opts & AI_SUPPRESS_PREAMBLE))
        ai_begin(r, view, title);
    if (!sub) {
        ai_h1(r, view, title);
        return;
    }
    if (html) {
        if (ai_run_html(r, sub) != OK)
            ai_h1(r, view, title);
    } else {
        ai_write_plain(r, sub);
    }
    ap_destroy_sub_req(sub);
}

void ai_tail(request_rec *r, const ai_view *view)
{
    request_rec *sub = ai_frame_file(r, view->conf->readme);
    int html = sub && ai_is_html(sub), shown = 0;

    if (html) {
        shown = ai_run_html(r, sub) == OK;
    } else if (sub) {
        ai_write_plain(r, sub);
        shown = 1;
    }
    if (sub)
        ap_destroy_sub_req(sub);
    if (!shown)
        ap_rputs(ap_psignature("", r), r);
    if (!(shown && html && (view->opts & AI_SUPPRESS_PREAMBLE)))
        ap_rputs("</body></html>\n", r);
}
