/* SPDX-License-Identifier: Apache-2.0 */
/* The fields with a client's preferences. */
#include "neg_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define CLIENT_Q_DEFAULT 1.0F

/* A number from 0 to 1; other text counts as 1, as with Apache. */
static float client_q(const char *text)
{
    const double q = atof(text);

    return q < 0 || (!apr_isdigit(*text) && *text != '.') ? 1.0F : q > 1 ? 1.0F : (float)q;
}

static void client_parameter(apr_pool_t *p, neg_range *range, const char *name, const char *value)
{
    if (name[0] == 'q' && (!name[1] || !strcmp(name, "qs"))) {
        range->q = client_q(value);
        range->has_q = 1;
    } else if (!strcmp(name, "level")) {
        range->level = (float)atof(value);
    } else if (!strcmp(name, "charset")) {
        char *charset = apr_pstrdup(p, value);

        ap_str_tolower(charset);
        range->charset = charset;
    }
}

/* name=value, quoted or not. */
static const char *client_parameter_at(apr_pool_t *p, neg_range *range, const char *at)
{
    const char *begin = at += strspn(at, " \t;"), *end;
    char *name, *value;

    at += strcspn(at, "=;,");
    end = at;
    while (end > begin && apr_isspace(end[-1]))
        end--;
    name = apr_pstrmemdup(p, begin, (apr_size_t)(end - begin));
    ap_str_tolower(name);
    if (*at != '=')
        return at;
    at++;
    at += strspn(at, " \t");
    if (*at == '"') {
        begin = ++at;
        at += strcspn(at, "\"");
        value = apr_pstrmemdup(p, begin, (apr_size_t)(at - begin));
        at += strcspn(at, ";,");
    } else {
        begin = at;
        at += strcspn(at, "; ,\t\r\n");
        value = apr_pstrmemdup(p, begin, (apr_size_t)(at - begin));
        at += strcspn(at, ";,");
    }
    client_parameter(p, range, name, value);
    return at;
}

neg_range neg_range_at(apr_pool_t *p, const char **at)
{
    neg_range range = {.q = CLIENT_Q_DEFAULT};
    const char *begin = *at + strspn(*at, " \t,"), *end = begin + strcspn(begin, ";,"),
               *trimmed = end;
    char *name;

    while (trimmed > begin && apr_isspace(trimmed[-1]))
        trimmed--;
    name = apr_pstrmemdup(p, begin, (apr_size_t)(trimmed - begin));
    ap_str_tolower(name);
    range.name = name;
    while (*end == ';')
        end = client_parameter_at(p, &range, end);
    if (!range.level && !strcmp(name, "text/html"))
        range.level = 2.0F;
    *at = *end ? end + 1 : end;
    return range;
}

apr_array_header_t *neg_ranges(apr_pool_t *p, const char *field)
{
    apr_array_header_t *list;

    if (!field)
        return NULL;
    list = apr_array_make(p, 8, sizeof(neg_range));
    while (*field) {
        const neg_range range = neg_range_at(p, &field);

        if (*range.name)
            APR_ARRAY_PUSH(list, neg_range) = range;
    }
    return list;
}

apr_array_header_t *neg_languages(apr_pool_t *p, const char *field)
{
    apr_array_header_t *list = apr_array_make(p, 2, sizeof(const char *));

    while (*field) {
        const neg_range range = neg_range_at(p, &field);

        if (*range.name)
            APR_ARRAY_PUSH(list, const char *) = range.name;
    }
    return list->nelts ? list : NULL;
}

/* ---- Negotiate (RFC 2295) ---- */

static void client_negotiate(negotiation *n, const char *field)
{
    n->may_choose = !field;
    n->has_negotiate = field != NULL;
    while (field && *field) {
        const char *word = ap_get_token(n->r->pool, &field, 0);

        if (!ap_cstr_casecmp(word, "trans") || !ap_cstr_casecmp(word, "vlist") ||
            !ap_cstr_casecmp(word, "guess-small"))
            n->knows_lists = 1;
        else if (apr_isdigit(*word))
            n->knows_lists = n->may_choose = n->by_product = 1;
        else if (!strcmp(word, "*"))
            n->knows_lists = n->may_choose = 1;
        field += strspn(field, ", \t");
    }
}

void neg_read_client(negotiation *n)
{
    apr_pool_t *p = n->r->pool;
    const apr_table_t *in = n->r->headers_in;

    client_negotiate(n, apr_table_get(in, "Negotiate"));
    n->types = neg_ranges(p, apr_table_get(in, "Accept"));
    n->charsets = neg_ranges(p, apr_table_get(in, "Accept-Charset"));
    n->encodings = neg_ranges(p, apr_table_get(in, "Accept-Encoding"));
    n->languages = neg_ranges(p, apr_table_get(in, "Accept-Language"));
    for (int i = 0; n->types && i < n->types->nelts; i++)
        n->type_has_q |= APR_ARRAY_IDX(n->types, i, neg_range).has_q;
}
