/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of files with networks: "prefix asn", RouteViews' pfx2as "address length asn" and ip2asn's
 * "first last asn", with tabs, commas or blanks between. Text behind the number is of no interest
 * (country, name).
 */
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include "asn_module.h"

static int bits_of(const brg_asn_prefix *p)
{
    return p->family == ASN_IPV4 ? 32 : 128;
}

static int parse_address(const char *text, brg_asn_prefix *p)
{
    memset(p->address, 0, sizeof p->address);
    p->family = strchr(text, ':') ? ASN_IPV6 : ASN_IPV4;
    return inet_pton(p->family == ASN_IPV4 ? AF_INET : AF_INET6, text, p->address) == 1;
}

static int parse_number(const char *text, char **end, unsigned long long most,
                        unsigned long long *value)
{
    if (*text < '0' || *text > '9')
        return 0;
    *value = strtoull(text, end, 10);
    return *value <= most;
}

/* "AS64496", "64496_64511", "64496,64511", "{64496,64511}" */
static const char *parse_origins(char *text, asn_line *line)
{
    unsigned long long n;

    for (;;) {
        while (*text == '{' || *text == '"' || *text == ' ')
            text++;
        if ((text[0] == 'A' || text[0] == 'a') && (text[1] == 'S' || text[1] == 's'))
            text += 2;
        if (!parse_number(text, &text, 0xffffffff, &n))
            return "no AS number";
        if (n && line->origins_count < (int)(sizeof line->origins / sizeof *line->origins))
            line->origins[line->origins_count++] = (uint32_t)n;
        while (*text == '}' || *text == '"')
            text++;
        if (!*text || *text == ' ')
            return NULL;
        if (*text != '_' && *text != ',')
            return "no AS number";
        text++;
    }
}

static const char *parse_length(const char *text, brg_asn_prefix *p)
{
    unsigned long long n;
    char *end;

    if (!parse_number(text, &end, (unsigned long long)bits_of(p), &n) || *end)
        return "no length of a prefix";
    p->length = (unsigned char)n;
    return NULL;
}

static const char *parse_last(const char *text, asn_line *line)
{
    brg_asn_prefix last;

    if (!parse_address(text, &last))
        return "no address";
    if (last.family != line->first.family || memcmp(line->first.address, last.address, 16) > 0)
        return "the range ends before it begins";
    memcpy(line->last, last.address, 16);
    line->range = 1;
    return NULL;
}

static char *unquote(char *field)
{
    size_t n;

    while (*field == '"' || *field == ' ')
        field++;
    for (n = strlen(field); n && (field[n - 1] == '"' || field[n - 1] == ' '); n--)
        field[n - 1] = 0;
    return field;
}

/* The first field of @a *rest; the second time also the text behind. */
static char *next_field(char **rest, const char *between)
{
    char *field = *rest, *end = field + strcspn(field, between);

    *rest = end + strspn(end, *between == ' ' ? between : "");
    if (*end && *between != ' ')
        *rest = end + 1;
    *end = 0;
    return unquote(field);
}

const char *asn_line_parse(char *text, asn_line *line)
{
    const char *between, *error;
    char *first, *second, *slash;

    memset(line, 0, sizeof *line);
    text[strcspn(text, "\r\n")] = 0;
    text += strspn(text, " \t");
    if (!*text || *text == '#')
        return NULL;
    between = strchr(text, '\t')                                             ? "\t"
              : strchr(text, ',') && strcspn(text, ",") < strcspn(text, " ") ? ","
                                                                             : " ";
    first = next_field(&text, between);
    if ((slash = strchr(first, '/')))
        *slash++ = 0;
    if (!parse_address(first, &line->first))
        return "no address";
    if (slash) {
        if ((error = parse_length(slash, &line->first)))
            return error;
    } else {
        second = next_field(&text, between);
        error =
            strpbrk(second, ".:") ? parse_last(second, line) : parse_length(second, &line->first);
        if (error)
            return error;
    }
    return parse_origins(next_field(&text, between), line);
}

static int bit_of(const unsigned char *address, int i)
{
    return address[i / 8] >> (7 - i % 8) & 1;
}

/* @a address with all bits behind @a length set. */
static void fill(unsigned char *address, int length, int bits)
{
    for (int i = length; i < bits; i++)
        address[i / 8] = (unsigned char)(address[i / 8] | 128 >> i % 8);
}

/* One further. @return 0 at the end of all addresses */
static int step_up(unsigned char *address, int bits)
{
    for (int i = bits / 8; i-- > 0;)
        if (++address[i])
            return 1;
    return 0;
}

int asn_line_next(asn_line *line, brg_asn_prefix *prefix)
{
    int bits = bits_of(&line->first), length = bits;
    unsigned char end[16], last[16];

    if (!line->range)
        return 0;
    *prefix = line->first;
    memcpy(last, prefix->address, sizeof last);
    while (length > 0 && !bit_of(prefix->address, length - 1)) {
        memcpy(end, prefix->address, sizeof end);
        fill(end, length - 1, bits);
        if (memcmp(end, line->last, sizeof end) > 0)
            break;
        memcpy(last, end, sizeof last);
        length--;
    }
    prefix->length = (unsigned char)length;
    line->range = memcmp(last, line->last, sizeof last) < 0 && step_up(last, bits);
    memcpy(line->first.address, last, sizeof last);
    return 1;
}
