/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of fields that each version of HTTP has alike. */
#include "http_fields.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include <string.h>

int http_list_next(const char **p, const char *end, const char **item, size_t *len)
{
    const char *start, *stop;

    BRG_ASSERT(*p <= end);
    while (*p < end && (**p == ',' || **p == ' ' || **p == '\t'))
        (*p)++;
    if (*p == end)
        return 0;
    start = *p;
    while (*p < end && **p != ',')
        (*p)++;
    for (stop = *p; stop > start && (stop[-1] == ' ' || stop[-1] == '\t'); stop--) {
    }
    BRG_ASSERT(stop > start);
    *item = start;
    *len = (size_t)(stop - start);
    return 1;
}

int http_parse_length(const char *value, size_t len, uint64_t *out)
{
    uint64_t n = 0;

    if (len == 0)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (!http_is(value[i], HTTP_C_DIGIT) || n > (INT64_MAX - 9) / 10)
            return -1;
        n = n * 10 + (uint64_t)(value[i] - '0');
    }
    *out = n;
    return 0;
}

/* The port of a Host field: 1 to 65535. */
static int http_port_is_valid(const char *p, const char *end)
{
    uint32_t port = 0;

    BRG_ASSERT(p <= end);
    for (; p < end && http_is(*p, HTTP_C_DIGIT) && port < 65536; p++)
        port = port * 10 + (uint32_t)(*p - '0');
    return p == end && port > 0 && port < 65536;
}

static const char *http_host_literal(const char *p, const char *end)
{
    const char *start = ++p;

    BRG_ASSERT(p <= end && p[-1] == '[');
    while (p < end && (http_is(*p, HTTP_C_HEX) || *p == ':' || *p == '.'))
        p++;
    return p < end && *p == ']' && p - start >= 2 ? p + 1 : NULL;
}

static const char *http_host_name(const char *p, const char *end)
{
    const char *start = p;

    BRG_ASSERT(p <= end);
    for (; p < end; p++) {
        if (http_is(*p, HTTP_C_HOST))
            continue;
        if (*p != '.')
            break;
        if (p > start && p[-1] == '.')
            return NULL;
    }
    return p > start ? p : NULL;
}

int http_host_is_valid(const char *p, size_t len)
{
    const char *end = p + len;

    if (len == 0)
        return 0;
    p = *p == '[' ? http_host_literal(p, end) : http_host_name(p, end);
    return p && (p == end || (*p == ':' && http_port_is_valid(p + 1, end)));
}

#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Bytes of an aligned block that may not stand in a value, a NUL among them: bits. */
static inline uint32_t fields_not_value(const char *block)
{
    const __m128i x = _mm_load_si128((const __m128i *)(const void *)block);
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);

    return (uint32_t)_mm_movemask_epi8(
        _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\t')), control),
                     _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f))));
}

/* The same for names, of which nearly all are of letters and "-". */
static inline uint32_t fields_not_letter(const char *block)
{
    const __m128i x = _mm_load_si128((const __m128i *)(const void *)block);
    const __m128i letter = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));

    return 0xffff ^ (uint32_t)_mm_movemask_epi8(_mm_or_si128(
                        _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8('z' - 'a')), letter),
                        _mm_cmpeq_epi8(x, _mm_set1_epi8('-'))));
}

/* Up to the first byte that @a stops tells of. A block lies in one page with the part of the text that is in it. */
static inline __attribute__((always_inline)) size_t
fields_span(const char *text, uint32_t (*stops)(const char *block))
{
    const size_t off = (uintptr_t)text & 15;
    const char *block = text - off;
    uint32_t mask = stops(block) >> off;

    if (mask)
        return (size_t)__builtin_ctz(mask);
    while (!(mask = stops(block += 16))) {
    }
    return (size_t)(block - text) + (size_t)__builtin_ctz(mask);
}

/* Length and grammar in one look at each byte. */
void http_field_measure(const char *name, const char *value, http_measure *out)
{
    BRG_ASSERT_DEBUG(name && value);
    out->name = fields_span(name, fields_not_letter);
    out->name_is_safe = out->name && !name[out->name];
    if (!out->name_is_safe) {
        out->name += strlen(name + out->name);
        out->name_is_safe = http_is_token(name, out->name);
    }
    out->value = fields_span(value, fields_not_value);
    out->value_is_safe = !value[out->value];
    if (!out->value_is_safe)
        out->value += strlen(value + out->value);
}

#else

void http_field_measure(const char *name, const char *value, http_measure *out)
{
    BRG_ASSERT_DEBUG(name && value);
    out->name = strlen(name);
    out->value = strlen(value);
    out->name_is_safe = http_is_token(name, out->name);
    out->value_is_safe = http_is_value(value, out->value);
}

#endif

int http_name_is_safe(const char *name)
{
    return http_is_token(name, strlen(name));
}

int http_value_is_safe(const char *value)
{
    return http_is_value(value, strlen(value));
}

int http_field_is_safe(const char *name, const char *value)
{
    return http_name_is_safe(name) && http_value_is_safe(value);
}
