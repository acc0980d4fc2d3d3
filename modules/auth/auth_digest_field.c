/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization: Digest name=value, name="value", ... As Apache reads it: text that is no pair is
 * left out, of several parts of one name the last counts. */
#include "auth_digest_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *field_skip(const char *at)
{
    while (apr_isspace(*at))
        at++;
    return at;
}

enum { FIELD_BLANK = 1, FIELD_COMMA = 2, FIELD_EQUALS = 4 };

/* Blanks as apr_isspace() has them. */
static const unsigned char field_ends[256] = {
    ['\0'] = FIELD_BLANK | FIELD_COMMA | FIELD_EQUALS,
    [' '] = FIELD_BLANK,
    ['\t'] = FIELD_BLANK,
    ['\n'] = FIELD_BLANK,
    ['\v'] = FIELD_BLANK,
    ['\f'] = FIELD_BLANK,
    ['\r'] = FIELD_BLANK,
    [','] = FIELD_COMMA,
    ['='] = FIELD_EQUALS,
};

/* Up to one of @a ends. */
static const char *field_token(const char *at, char *out, char **end, int ends)
{
    while (!(field_ends[(unsigned char)*at] & ends))
        *out++ = *at++;
    *out = '\0';
    *end = out;
    return at;
}

static const char *field_quoted(const char *at, char *out, char **end)
{
    for (;;) {
        const size_t len = strcspn(at, "\"\\");

        memcpy(out, at, len);
        at += len;
        out += len;
        if (*at != '\\')
            break;
        at += at[1] != '\0';
        *out++ = *at++;
    }
    *out = '\0';
    *end = out;
    return *at ? at + 1 : at;
}

/* @param ends  of the name, and of the value. @return behind the pair and its comma */
static const char *field_pair(const char *at, char *name, char *value, char *ends[2])
{
    *value = '\0';
    ends[1] = value;
    at = field_skip(
        field_token(field_skip(at), name, &ends[0], FIELD_EQUALS | FIELD_COMMA | FIELD_BLANK));
    if (*at == '=') {
        at = field_skip(at + 1);
        at = *at == '"' ? field_quoted(at + 1, value, &ends[1])
                        : field_token(at, value, &ends[1], FIELD_COMMA | FIELD_BLANK);
    }
    while (*at && *at != ',')
        at++;
    return *at ? at + 1 : at;
}

#define FIELD_PART(name)                                      \
    {                                                         \
#name, sizeof #name - 1, offsetof(digest_field, name) \
    }

static const struct {
    const char *name;
    size_t len, at;
} field_parts[] = {
    FIELD_PART(username), FIELD_PART(realm),     FIELD_PART(nonce),  FIELD_PART(uri),
    FIELD_PART(response), FIELD_PART(algorithm), FIELD_PART(cnonce), FIELD_PART(opaque),
    FIELD_PART(qop),      FIELD_PART(nc),
};

static const char **field_part(digest_field *field, const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof field_parts / sizeof *field_parts; i++)
        if (len == field_parts[i].len && (*name | 0x20) == *field_parts[i].name &&
            !strcasecmp(name, field_parts[i].name))
            return (const char **)(void *)((char *)field + field_parts[i].at);
    return NULL;
}

/* As ap_getword_white(). @return behind the blanks that follow */
static const char *field_scheme(char **to, const char *text, const char **scheme)
{
    char *end;

    *scheme = *to;
    text = field_token(text, *to, &end, FIELD_BLANK);
    *to = end + 1;
    return field_skip(text);
}

digest_kind digest_field_parse(char *room, const char *text, digest_field *field)
{
    char *name = room, *to = room + strlen(text) + 1;

    memset(field, 0, sizeof *field);
    text = field_scheme(&to, text, &field->scheme);
    if (strcasecmp(field->scheme, "Digest") != 0)
        return DIGEST_OTHER;
    while (*text) {
        const char **part;
        char *ends[2];

        text = field_pair(text, name, to, ends);
        if ((part = field_part(field, name, (size_t)(ends[0] - name)))) {
            *part = to;
            to = ends[1] + 1;
        }
    }
    if (!field->username || !field->realm || !field->nonce || !field->uri || !field->response ||
        (field->qop && (!field->cnonce || !field->nc)) ||
        strlen(field->nonce) != DIGEST_NONCE_LEN || field->nonce[DIGEST_TIME_LEN - 1] != '=')
        return DIGEST_PARTIAL;
    if (field->opaque)
        field->client = strtoul(field->opaque, NULL, 16);
    return DIGEST_WHOLE;
}

digest_kind digest_field_read(apr_pool_t *p, const char *text, digest_field *field)
{
    if (text)
        return digest_field_parse(apr_palloc(p, DIGEST_FIELD_ROOM(strlen(text))), text, field);
    memset(field, 0, sizeof *field);
    return DIGEST_ABSENT;
}
