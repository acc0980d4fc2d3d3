/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of values, one or a list of them, and HTML entities. */
#include "ssi_private.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"

/* ---- entities ---- */

/* Named characters of Latin-1 that are decoded, with their codes. */
static const struct {
    const char *name;
    unsigned char code;
} entities[] = {
    {"lt", '<'},     {"gt", '>'},     {"amp", '&'},    {"quot", '"'},   {"ETH", 208},
    {"eth", 240},    {"Auml", 196},   {"Euml", 203},   {"Iuml", 207},   {"Ouml", 214},
    {"Uuml", 220},   {"auml", 228},   {"euml", 235},   {"iuml", 239},   {"ouml", 246},
    {"uuml", 252},   {"yuml", 255},   {"Acirc", 194},  {"Aring", 197},  {"AElig", 198},
    {"Ecirc", 202},  {"Icirc", 206},  {"Ocirc", 212},  {"Ucirc", 219},  {"THORN", 222},
    {"szlig", 223},  {"acirc", 226},  {"aring", 229},  {"aelig", 230},  {"ecirc", 234},
    {"icirc", 238},  {"ocirc", 244},  {"ucirc", 251},  {"thorn", 254},  {"Agrave", 192},
    {"Aacute", 193}, {"Atilde", 195}, {"Ccedil", 199}, {"Egrave", 200}, {"Eacute", 201},
    {"Igrave", 204}, {"Iacute", 205}, {"Ntilde", 209}, {"Ograve", 210}, {"Oacute", 211},
    {"Otilde", 213}, {"Oslash", 216}, {"Ugrave", 217}, {"Uacute", 218}, {"Yacute", 221},
    {"agrave", 224}, {"aacute", 225}, {"atilde", 227}, {"ccedil", 231}, {"egrave", 232},
    {"eacute", 233}, {"igrave", 236}, {"iacute", 237}, {"ntilde", 241}, {"ograve", 242},
    {"oacute", 243}, {"otilde", 245}, {"oslash", 248}, {"ugrave", 249}, {"uacute", 250},
    {"yacute", 253},
};
#define ENTITY_LONGEST 6

static int entity_code(const char *name, apr_size_t len)
{
    if (len > ENTITY_LONGEST)
        return -1;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (!strncmp(entities[i].name, name, len) && !entities[i].name[len])
            return entities[i].code;
    return -1;
}

/* The character of "&#digits;", or -1: such an entity is removed. */
static int entity_number(const char *digits, const char *end)
{
    int code = 0;

    BRG_ASSERT(digits <= end);
    for (; apr_isdigit(*digits) && code < 256; digits++)
        code = code * 10 + (*digits - '0');
    if (digits < end)
        return -1;
    return code == 9 || code == 10 || (code >= 32 && code <= 126) || (code >= 161 && code <= 255)
               ? code
               : -1;
}

const char *ssi_decode_entities(apr_pool_t *p, const char *text)
{
    char *out, *at;

    if (!strchr(text, '&'))
        return text;
    out = at = apr_palloc(p, strlen(text) + 1);
    while (*text) {
        const char *end = text + (*text == '&' ? strcspn(text, ";") : 0);
        int code;

        if (*text != '&' || *end != ';') {
            *at++ = *text++;
        } else if (text[1] == '#') {
            if ((code = entity_number(text + 2, end)) >= 0)
                *at++ = (char)code;
            text = end + 1;
        } else if ((code = entity_code(text + 1, (apr_size_t)(end - text) - 1)) >= 0) {
            *at++ = (char)code;
            text = end + 1;
        } else {
            *at++ = *text++;
        }
    }
    *at = '\0';
    return out;
}

/* ---- lists of encodings ---- */

static const char *decode_one(apr_pool_t *p, const char *how, const char *value)
{
    char *out;

    if (!strcasecmp(how, "none"))
        return value;
    if (!strcasecmp(how, "entity"))
        return ssi_decode_entities(p, value);
    if (!strcasecmp(how, "base64"))
        return ap_pbase64decode(p, value);
    out = apr_pstrdup(p, value);
    if (!strcasecmp(how, "url"))
        ap_unescape_url(out);
    else if (!strcasecmp(how, "urlencoded"))
        ap_unescape_urlencoded(out);
    else
        return NULL;
    return out;
}

static const char *encode_one(apr_pool_t *p, const char *how, const char *value)
{
    if (!strcasecmp(how, "none"))
        return value;
    if (!strcasecmp(how, "entity"))
        return ap_escape_html2(p, value, 0);
    if (!strcasecmp(how, "url"))
        return ap_escape_uri(p, value);
    if (!strcasecmp(how, "urlencoded"))
        return ap_escape_urlencoded(p, value);
    if (!strcasecmp(how, "base64"))
        return ap_pbase64encode(p, (char *)(apr_uintptr_t)value);
    return NULL;
}

typedef const char *encode_step(apr_pool_t *p, const char *how, const char *value);

static const char *encode_chain(apr_pool_t *p, const char *chain, const char *value,
                                const char **bad, encode_step *step)
{
    char *last, *how;

    BRG_ASSERT(value != NULL);
    if (!chain)
        return value;
    for (how = apr_strtok(apr_pstrdup(p, chain), ", \t", &last); how;
         how = apr_strtok(NULL, ", \t", &last)) {
        value = step(p, how, value);
        if (!value) {
            *bad = how;
            return NULL;
        }
    }
    return value;
}

const char *ssi_decode(apr_pool_t *p, const char *chain, const char *value, const char **bad)
{
    return encode_chain(p, chain, value, bad, decode_one);
}

const char *ssi_encode(apr_pool_t *p, const char *chain, const char *value, const char **bad)
{
    return encode_chain(p, chain, value, bad, encode_one);
}
