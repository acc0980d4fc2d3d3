/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization: Digest name=value, name="value", ... As Apache reads it: what is no pair is left out, of several parts of
 * one name the last counts. */
#include "auth_digest_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>

static const char *field_skip(const char *at)
{
    while (apr_isspace(*at))
        at++;
    return at;
}

static const char *field_token(const char *at, char *out, const char *ends)
{
    while (*at && !strchr(ends, *at) && !apr_isspace(*at))
        *out++ = *at++;
    *out = '\0';
    return at;
}

static const char *field_quoted(const char *at, char *out)
{
    while (*at && *at != '"') {
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at++;
    }
    *out = '\0';
    return *at ? at + 1 : at;
}

/* @return behind the pair and its comma */
static const char *field_pair(const char *at, char *name, char *value)
{
    *value = '\0';
    at = field_skip(field_token(field_skip(at), name, "=,"));
    if (*at == '=') {
        at = field_skip(at + 1);
        at = *at == '"' ? field_quoted(at + 1, value) : field_token(at, value, ",");
    }
    while (*at && *at != ',')
        at++;
    return *at ? at + 1 : at;
}

static const char **field_part(digest_field *field, const char *name)
{
    const struct {
        const char *name;
        const char **part;
    } parts[] = {
        {"username", &field->username}, {"realm", &field->realm},
        {"nonce", &field->nonce},       {"uri", &field->uri},
        {"response", &field->response}, {"algorithm", &field->algorithm},
        {"cnonce", &field->cnonce},     {"opaque", &field->opaque},
        {"qop", &field->qop},           {"nc", &field->nc},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcasecmp(name, parts[i].name))
            return parts[i].part;
    return NULL;
}

digest_kind digest_field_read(apr_pool_t *p, const char *text, digest_field *field)
{
    char *name, *value;

    memset(field, 0, sizeof *field);
    if (!text)
        return DIGEST_ABSENT;
    field->scheme = ap_getword_white(p, &text);
    if (strcasecmp(field->scheme, "Digest") != 0)
        return DIGEST_OTHER;
    name = apr_palloc(p, strlen(text) + 1);
    value = apr_palloc(p, strlen(text) + 1);
    while (*text) {
        const char **part;

        text = field_pair(text, name, value);
        if ((part = field_part(field, name)))
            *part = apr_pstrdup(p, value);
    }
    if (!field->username || !field->realm || !field->nonce || !field->uri || !field->response ||
        (field->qop && (!field->cnonce || !field->nc)) ||
        strlen(field->nonce) != DIGEST_NONCE_LEN || field->nonce[DIGEST_TIME_LEN - 1] != '=')
        return DIGEST_PARTIAL;
    if (field->opaque)
        field->client = strtoul(field->opaque, NULL, 16);
    return DIGEST_WHOLE;
}
