/* SPDX-License-Identifier: Apache-2.0 */
/* Negotiation in an answer's fields: Vary, TCN and Alternates (RFC 2295), and the list of variants
 * in its page. */
#include "neg_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "util_time.h"
#include <stdlib.h>
#include <string.h>

static const neg_variant *fields_variant(const negotiation *n, int i)
{
    return &APR_ARRAY_IDX(n->variants, i, neg_variant);
}

static const char *fields_languages(const negotiation *n, const neg_variant *v)
{
    return v->languages ? apr_array_pstrcat(n->r->pool, v->languages, ',') : NULL;
}

static int fields_differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

/* The fields by which variants differ. */
static const char *fields_vary(const negotiation *n)
{
    const neg_variant *first = fields_variant(n, 0);
    int type = 0, language = 0, charset = 0, coding = 0;
    const char *vary;

    for (int i = 1; i < n->variants->nelts; i++) {
        const neg_variant *v = fields_variant(n, i);

        type |= fields_differ(v->type, first->type);
        language |= fields_differ(fields_languages(n, v), fields_languages(n, first));
        charset |= fields_differ(v->charset, first->charset);
        coding |= fields_differ(v->encoding, first->encoding);
    }
    vary = apr_pstrcat(n->r->pool, n->transparent ? ",negotiate" : "", type ? ",accept" : "",
                       language ? ",accept-language" : "", charset ? ",accept-charset" : "",
                       coding ? ",accept-encoding" : "", NULL);
    return *vary ? vary + 1 : NULL;
}

static const char *fields_quality(apr_pool_t *p, float q)
{
    char *text = apr_psprintf(p, "%1.3f", q), *end = text + strlen(text);

    while (end > text && end[-1] == '0')
        *--end = '\0';
    if (end > text && end[-1] == '.')
        *--end = '\0';
    return text;
}

static const char *fields_part(apr_pool_t *p, const char *name, const char *value)
{
    return value && *value ? apr_pstrcat(p, " {", name, " ", value, "}", NULL) : "";
}

static const char *fields_alternate(const negotiation *n, const neg_variant *v)
{
    apr_pool_t *p = n->r->pool;
    const char *length =
        v->length >= 0 && !(v->sub && v->sub->handler && !strcmp(v->sub->handler, "cgi-script"))
            ? apr_off_t_toa(p, v->length)
            : NULL;

    return apr_pstrcat(
        p, "{\"", ap_escape_path_segment(p, v->file), "\" ", fields_quality(p, v->source_q),
        fields_part(p, "type", v->type), fields_part(p, "charset", v->charset),
        fields_part(p, "language", fields_languages(n, v)), fields_part(p, "encoding", v->encoding),
        fields_part(p, "length", length), "}", NULL);
}

static void fields_alternates(const negotiation *n)
{
    for (int i = 0; i < n->variants->nelts; i++)
        neg_find_length(n, &APR_ARRAY_IDX(n->variants, i, neg_variant));
    for (int i = 0; i < n->variants->nelts; i++)
        apr_table_mergen(n->r->err_headers_out, "Alternates",
                         fields_alternate(n, fields_variant(n, i)));
}

static const char *fields_item(const negotiation *n, const neg_variant *v)
{
    apr_pool_t *p = n->r->pool;
    const char *file = ap_escape_html(p, v->file), *languages = fields_languages(n, v);

    return apr_pstrcat(
        p, "<li><a href=\"", ap_escape_path_segment(p, v->file), "\">", file, "</a> ",
        v->description ? v->description : "", v->type && *v->type ? ", type " : "",
        v->type ? v->type : "", languages ? ", language " : "", languages ? languages : "",
        v->charset && *v->charset ? ", charset " : "", v->charset ? v->charset : "",
        v->encoding ? ", encoding " : "", v->encoding ? v->encoding : "", "</li>\n", NULL);
}

static void fields_list(const negotiation *n)
{
    const char *list = "Available variants:\n<ul>\n";

    for (int i = 0; i < n->variants->nelts; i++)
        list = apr_pstrcat(n->r->pool, list, fields_item(n, fields_variant(n, i)), NULL);
    apr_table_setn(n->r->notes, "variant-list", apr_pstrcat(n->r->pool, list, "</ul>\n", NULL));
}

static void fields_choice(const negotiation *n, const neg_variant *v)
{
    request_rec *r = n->r;

    if (!n->transparent)
        return;
    apr_table_setn(r->err_headers_out, "Content-Location",
                   ap_escape_path_segment(r->pool, v->file));
    if (n->has_negotiate)
        fields_alternates(n);
}

void neg_set_fields(negotiation *n, const neg_variant *chosen, int status)
{
    apr_table_t *out = n->r->err_headers_out;
    const char *vary = n->variants->nelts ? fields_vary(n) : NULL;

    if (chosen)
        fields_choice(n, chosen);
    else
        fields_alternates(n);
    if (vary)
        apr_table_mergen(out, "Vary", vary);
    if (n->transparent)
        apr_table_setn(out, "TCN", chosen ? "choice" : "list");
    if (!chosen)
        fields_list(n);
    (void)status;
}
