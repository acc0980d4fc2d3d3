/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization: Digest name=value, name="value", ... As Apache reads it: what is no pair is left out, of several parts of
 * one name the last counts. */
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

#define FIELD_BLANKS " \t\n\v\f\r" /* as apr_isspace() has them */

/* Up to one of @a ends, which libc finds many bytes at a time. */
static const char *field_token(const char *at, char *out, const char *ends)
{
    const size_t len = strcspn(at, ends);

    memcpy(out, at, len);
    out[len] = '\0';
    return at + len;
}

static const char *field_quoted(const char *at, char *out)
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
    return *at ? at + 1 : at;
}

/* @return behind the pair and its comma */
static const char *field_pair(const char *at, char *name, char *value)
{
    *value = '\0';
    at = field_skip(field_token(field_skip(at), name, "=," FIELD_BLANKS));
    if (*at == '=') {
        at = field_skip(at + 1);
        at = *at == '"' ? field_quoted(at + 1, value) : field_token(at, value, "," FIELD_BLANKS);
    }
    while (*at && *at != ',')
        at++;
    return *at ? at + 1 : at;
}

#define FIELD_PART(name)                    \
    {                                       \
#name, offsetof(digest_field, name) \
    }

static const struct {
    const char *name;
    size_t at;
} field_parts[] = {
    FIELD_PART(username), FIELD_PART(realm),     FIELD_PART(nonce),  FIELD_PART(uri),
    FIELD_PART(response), FIELD_PART(algorithm), FIELD_PART(cnonce), FIELD_PART(opaque),
    FIELD_PART(qop),      FIELD_PART(nc),
};

static const char **field_part(digest_field *field, const char *name)
{
    for (size_t i = 0; i < sizeof field_parts / sizeof *field_parts; i++)
        if ((*name | 0x20) == *field_parts[i].name && !strcasecmp(name, field_parts[i].name))
            return (const char **)(void *)((char *)field + field_parts[i].at);
    return NULL;
}

/* As ap_getword_white(). @return behind the blanks that follow */
static const char *field_scheme(char **to, const char *text, const char **scheme)
{
    const char *end = field_token(text, *to, FIELD_BLANKS);

    *scheme = *to;
    *to += end - text + 1;
    return field_skip(end);
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

        text = field_pair(text, name, to);
        if ((part = field_part(field, name))) {
            *part = to;
            to += strlen(to) + 1;
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
