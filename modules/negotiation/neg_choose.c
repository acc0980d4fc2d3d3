/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice. The manual of Apache describes it ("Content Negotiation"): a variant is left out where one of its qualities is 0; of
 * the others the best by type, language, LanguagePriority, level, charset, coding and length, in this order.
 */
#include "neg_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

#define CHOOSE_FAINT 0.001F    /* a language by the first part of its tag */
#define CHOOSE_UNSAID 0.0005F  /* a variant without a language */
#define CHOOSE_UNCODED 0.0001F /* without coding, where the client names other codings */
#define CHOOSE_UNASKED 0.5F    /* coded, where the client says nothing */

static int choose_n(const apr_array_header_t *list)
{
    return list ? list->nelts : 0;
}

static const neg_range *choose_range(const apr_array_header_t *list, int i)
{
    BRG_ASSERT(list && i >= 0 && i < list->nelts);
    return &APR_ARRAY_IDX(list, i, neg_range);
}

/* ---- types ---- */

static int choose_type_stars(const neg_range *range, const neg_variant *v)
{
    const char *slash = strchr(range->name, '/');

    if (!strcmp(range->name, "*/*") || !strcmp(range->name, "*"))
        return 1;
    if (slash && !strcmp(slash, "/*"))
        return strncmp(v->type, range->name, (size_t)(slash - range->name + 1)) ? 0 : 2;
    return strcmp(v->type, range->name) || v->level > range->level ? 0 : 3;
}

/* A client that gives no q at all wants types under stars less than the rest. */
static float choose_star_q(const negotiation *n, const neg_range *range, int stars)
{
    if (n->type_has_q || n->has_negotiate || stars == 3)
        return range->q;
    return stars == 1 ? 0.01F : 0.02F;
}

static void choose_type(const negotiation *n, neg_variant *v)
{
    BRG_ASSERT(v->type != NULL);
    v->type_q = n->types ? 0 : 1.0F;
    v->stars = 0;
    for (int i = 0; i < choose_n(n->types); i++) {
        const neg_range *range = choose_range(n->types, i);
        const int stars = choose_type_stars(range, v);

        if (stars > v->stars) {
            v->stars = stars;
            v->type_q = choose_star_q(n, range, stars);
        }
    }
}

/* ---- charsets, codings ---- */

static const char *choose_charset_of(const neg_variant *v)
{
    if (v->charset)
        return v->charset;
    return v->type && !strncmp(v->type, "text/", 5) ? "iso-8859-1" : NULL;
}

static void choose_charset(const negotiation *n, neg_variant *v)
{
    const char *charset = n->has_negotiate ? v->charset : choose_charset_of(v);
    const neg_range *star = NULL;

    v->charset_q = 1.0F;
    if (!n->charsets || !charset)
        return;
    for (int i = 0; i < choose_n(n->charsets); i++) {
        const neg_range *range = choose_range(n->charsets, i);

        if (!strcmp(range->name, charset)) {
            v->charset_q = range->q;
            return;
        }
        if (!strcmp(range->name, "*"))
            star = range;
    }
    v->charset_q = star ? star->q : !strcmp(charset, "iso-8859-1") ? 1.0F : 0;
}

static const char *choose_coding(const char *name)
{
    return name[0] == 'x' && name[1] == '-' ? name + 2 : name;
}

static int choose_is_coded(const neg_variant *v)
{
    return v->encoding && strcmp(v->encoding, "identity") && strcmp(v->encoding, "8bit") &&
           strcmp(v->encoding, "7bit") && strcmp(v->encoding, "binary");
}

static void choose_encoding(const negotiation *n, neg_variant *v)
{
    const char *coding = choose_is_coded(v) ? choose_coding(v->encoding) : "identity";
    const neg_range *star = NULL;

    if (!n->encodings) {
        v->encoding_q = choose_is_coded(v) ? CHOOSE_UNASKED : 1.0F;
        return;
    }
    for (int i = 0; i < choose_n(n->encodings); i++) {
        const neg_range *range = choose_range(n->encodings, i);

        if (!strcmp(choose_coding(range->name), coding)) {
            v->encoding_q = range->q;
            return;
        }
        if (!strcmp(range->name, "*"))
            star = range;
    }
    v->encoding_q = star ? star->q : choose_is_coded(v) ? 0 : CHOOSE_UNCODED;
}

/* ---- languages ---- */

static int choose_priority(const negotiation *n, const char *language)
{
    for (int i = 0; i < choose_n(n->conf->languages); i++)
        if (!strcasecmp(APR_ARRAY_IDX(n->conf->languages, i, const char *), language))
            return i;
    return -1;
}

static void choose_language_index(const negotiation *n, neg_variant *v)
{
    v->language_index = -1;
    for (int i = 0; i < choose_n(v->languages); i++) {
        const int at = choose_priority(n, APR_ARRAY_IDX(v->languages, i, const char *));

        if (at >= 0 && (v->language_index < 0 || at < v->language_index))
            v->language_index = at;
    }
    BRG_ASSERT(v->language_index < choose_n(n->conf->languages));
}

/* @return how well a range names a language: 0 not at all, 1 by its first part, 2 as its beginning, 3 as itself */
static int choose_language_match(const char *range, const char *language)
{
    const size_t len = strlen(range), part = strcspn(range, "-");

    if (!strcasecmp(range, language))
        return 3;
    if (!strncasecmp(range, language, len) && language[len] == '-')
        return 2;
    return range[part] == '-' && strlen(language) == part && !strncasecmp(range, language, part);
}

static float choose_language_q(const negotiation *n, const char *language)
{
    const neg_range *star = NULL;
    float q = -1.0F, faint = -1.0F;
    size_t longest = 0;

    for (int i = 0; i < choose_n(n->languages); i++) {
        const neg_range *range = choose_range(n->languages, i);
        const int match = choose_language_match(range->name, language);

        if (!strcmp(range->name, "*"))
            star = star ? star : range;
        else if (match >= 2 && strlen(range->name) > longest) {
            longest = strlen(range->name);
            q = range->q;
        } else if (match == 1) {
            faint = CHOOSE_FAINT;
        }
    }
    return q >= 0 ? q : star ? star->q : faint >= 0 ? faint : 0;
}

static void choose_language(const negotiation *n, neg_variant *v)
{
    choose_language_index(n, v);
    v->language_q = 1.0F;
    if (!v->languages) {
        v->language_q = n->has_negotiate || !n->some_language ? 1.0F : CHOOSE_UNSAID;
        return;
    }
    if (!n->languages)
        return;
    v->language_q = 0;
    for (int i = 0; i < choose_n(v->languages); i++) {
        const float q = choose_language_q(n, APR_ARRAY_IDX(v->languages, i, const char *));

        if (q > v->language_q)
            v->language_q = q;
    }
}

/* ---- which is better ---- */

static int choose_is_possible(const neg_variant *v)
{
    return v->type_q > 0 && v->source_q > 0 && v->language_q > 0 && v->charset_q > 0 &&
           v->encoding_q > 0;
}

static int choose_index_order(const neg_variant *a, const neg_variant *b)
{
    if (a->language_index == b->language_index)
        return 0;
    if (a->language_index < 0)
        return -1;
    return b->language_index < 0 || a->language_index < b->language_index ? 1 : -1;
}

static int choose_float_order(float a, float b)
{
    return a > b ? 1 : a < b ? -1 : 0;
}

static int choose_charset_order(const neg_variant *a, const neg_variant *b)
{
    const char *of_a = choose_charset_of(a), *of_b = choose_charset_of(b);
    const int order = choose_float_order(a->charset_q, b->charset_q);

    if (order)
        return order;
    return (of_a && strcmp(of_a, "iso-8859-1") != 0) - (of_b && strcmp(of_b, "iso-8859-1") != 0);
}

static int choose_length_order(const negotiation *n, neg_variant *a, neg_variant *b)
{
    neg_find_length(n, a);
    neg_find_length(n, b);
    if (a->length < 0 || b->length < 0)
        return 0;
    return a->length < b->length ? 1 : a->length > b->length ? -1 : 0;
}

/* Of one type: the highest level that the client named the type for; else the lowest. */
static int choose_level_order(const neg_variant *a, const neg_variant *b)
{
    const float of_a = a->stars == 3 ? a->level : 0, of_b = b->stars == 3 ? b->level : 0;
    int order;

    if (strcmp(a->type, b->type) != 0)
        return 0;
    order = choose_float_order(of_a, of_b);
    return order ? order : choose_float_order(b->level, a->level);
}

/* RFC 2296: the product of all. */
static int choose_product_order(const neg_variant *a, const neg_variant *b)
{
    return choose_float_order(
        a->type_q * a->source_q * a->charset_q * a->language_q * a->encoding_q,
        b->type_q * b->source_q * b->charset_q * b->language_q * b->encoding_q);
}

static int choose_order(const negotiation *n, neg_variant *a, neg_variant *b)
{
    int order;

    if (n->by_product && n->transparent)
        return choose_product_order(a, b);
    if ((order = choose_float_order(a->type_q * a->source_q, b->type_q * b->source_q)) ||
        (order = choose_float_order(a->language_q, b->language_q)) ||
        (order = choose_index_order(a, b)) || (order = choose_level_order(a, b)) ||
        (order = choose_charset_order(a, b)) ||
        (order = choose_float_order(a->encoding_q, b->encoding_q)))
        return order;
    return choose_length_order(n, a, b);
}

/* By LanguagePriority alone, where no language is accepted (ForceLanguagePriority Fallback). */
static void choose_by_priority(const negotiation *n, neg_variant *v)
{
    (void)n;
    v->language_q = !v->languages || v->language_index >= 0 ? 1.0F : 0;
}

static neg_variant *choose_best(negotiation *n, int by_priority)
{
    neg_variant *best = NULL;

    for (int i = 0; i < n->variants->nelts; i++) {
        neg_variant *v = &APR_ARRAY_IDX(n->variants, i, neg_variant);

        if (by_priority)
            choose_by_priority(n, v);
        if (choose_is_possible(v) && (!best || choose_order(n, v, best) > 0))
            best = v;
    }
    BRG_ASSERT(!best || choose_is_possible(best));
    return best;
}

int neg_is_sure(const negotiation *n, const neg_variant *v)
{
    return !n->by_product ||
           (n->types && v->stars == 3 && (!v->languages || n->languages) &&
            (!choose_is_coded(v) || n->encodings) && (!v->charset || n->charsets));
}

/* 1 if the client accepts the language of a variant, or says nothing of languages. */
static int choose_has_language(const negotiation *n)
{
    for (int i = 0; i < n->variants->nelts; i++) {
        const neg_variant *v = &APR_ARRAY_IDX(n->variants, i, neg_variant);

        if (v->languages && v->language_q > 0)
            return 1;
    }
    return !n->languages;
}

neg_variant *neg_choose(negotiation *n)
{
    neg_variant *best = NULL;

    BRG_ASSERT(n->variants && n->variants->elt_size == (int)sizeof(neg_variant));
    for (int i = 0; i < n->variants->nelts; i++)
        n->some_language |= APR_ARRAY_IDX(n->variants, i, neg_variant).languages != NULL;
    for (int i = 0; i < n->variants->nelts; i++) {
        neg_variant *v = &APR_ARRAY_IDX(n->variants, i, neg_variant);

        choose_type(n, v);
        choose_charset(n, v);
        choose_encoding(n, v);
        choose_language(n, v);
    }
    if (n->conf->force > 0 && (n->conf->force & NEG_FORCE_FALLBACK) && !choose_has_language(n))
        best = choose_best(n, 1);
    return best ? best : choose_best(n, 0);
}
