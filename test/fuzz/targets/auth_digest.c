/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authorization fields of the scheme Digest, as clients send them. What was read is written again, with all parts
 * quoted, and reads as the same.
 * Covers: modules/auth/auth_digest_field.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "auth_digest_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *name;
    size_t at;
} parts[] = {
#define PART(name, member)                   \
    {                                        \
        name, offsetof(digest_field, member) \
    }
    PART("username", username), PART("realm", realm),
    PART("nonce", nonce),       PART("uri", uri),
    PART("response", response), PART("algorithm", algorithm),
    PART("cnonce", cnonce),     PART("opaque", opaque),
    PART("qop", qop),           PART("nc", nc),
};

#define PARTS (sizeof parts / sizeof *parts)

static const char *part_of(const digest_field *field, size_t i)
{
    return *(const char *const *)(const void *)((const char *)field + parts[i].at);
}

static char *quoted(apr_pool_t *p, const char *text)
{
    char *out = apr_palloc(p, 2 * strlen(text) + 1), *to = out;

    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *to++ = '\\';
        *to++ = *text;
    }
    *to = '\0';
    return out;
}

static char *written(apr_pool_t *p, const digest_field *field)
{
    char *text = apr_pstrdup(p, "Digest x=y");

    for (size_t i = 0; i < PARTS; i++)
        if (part_of(field, i))
            text =
                apr_psprintf(p, "%s, %s=\"%s\"", text, parts[i].name, quoted(p, part_of(field, i)));
    return text;
}

static void check(int right)
{
    if (!right)
        abort();
}

static void check_parts(const digest_field *a, const digest_field *b)
{
    for (size_t i = 0; i < PARTS; i++) {
        const char *one = part_of(a, i), *other = part_of(b, i);

        check(!one == !other && (!one || !strcmp(one, other)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *p;
    char *text = malloc(size + 1); /* so that a read behind its end is seen */
    digest_field field, again;
    digest_kind kind;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    apr_initialize();
    check(apr_pool_create(&p, NULL) == APR_SUCCESS);
    kind = digest_field_read(p, text, &field);
    free(text);
    check(kind != DIGEST_ABSENT && field.scheme);
    if (kind != DIGEST_OTHER) {
        check(digest_field_read(p, written(p, &field), &again) == kind);
        check_parts(&field, &again);
        check(again.client == field.client);
    }
    if (kind == DIGEST_WHOLE)
        check(field.username && field.realm && field.uri && field.response &&
              strlen(field.nonce) == DIGEST_NONCE_LEN &&
              (!field.qop || (field.cnonce && field.nc)));
    apr_pool_destroy(p);
    return 0;
}
