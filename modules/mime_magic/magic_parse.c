/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a magic file: OFFSET TYPE VALUE TEXT, with blanks between them. A line with a mistake is a rule all the same,
 * since those below it belong to it and not to the rule before.
 */
#include "magic_private.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* A line as it is read. */
typedef struct magic_line {
    const char *at; /* the rest of the line */
    magic_rule *rule;
    apr_array_header_t *faults;
    apr_pool_t *p;
} magic_line;

static void magic_fault(magic_line *line, const char *text, const char *where)
{
    APR_ARRAY_PUSH(line->faults, const char *) = apr_psprintf(line->p, text, where);
}

static void magic_skip_blanks(magic_line *line)
{
    while (apr_isspace(*line->at))
        line->at++;
}

static long magic_number(magic_line *line)
{
    char *end;
    long number = strtol(line->at, &end, 0);

    line->at = end;
    return number;
}

/* A number of a rule, as a value of its type has it. */
static apr_uint64_t magic_as_type(const magic_rule *rule, long number)
{
    if (rule->is_unsigned)
        return number;
    switch (rule->type) {
    case MAGIC_BYTE:
        return (apr_uint64_t)(signed char)number;
    case MAGIC_SHORT:
    case MAGIC_BESHORT:
    case MAGIC_LESHORT:
        return (apr_uint64_t)(short)number;
    default:
        return number;
    }
}

/* ".l" and the like, "+4" and ")" of "(8.l+4)". */
static void magic_parse_indirect(magic_line *line)
{
    magic_rule *rule = line->rule;
    char letter[2] = "";
    int minus;

    rule->indirect_type = MAGIC_LONG;
    if (*line->at == '.') {
        letter[0] = *++line->at;
        if (letter[0] == 's')
            rule->indirect_type = MAGIC_SHORT;
        else if (letter[0] == 'b')
            rule->indirect_type = MAGIC_BYTE;
        else if (letter[0] != 'l')
            magic_fault(line, APLOGNO(01522) "mod_mime_magic: indirect offset type %s invalid",
                        letter);
        line->at += *letter != '\0';
    }
    minus = *line->at == '-';
    line->at += minus || *line->at == '+';
    if (apr_isdigit(*line->at))
        rule->indirect_offset = magic_number(line);
    if (minus)
        rule->indirect_offset = (long)(0 - (unsigned long)rule->indirect_offset);
    if (*line->at == ')')
        line->at++;
    else {
        magic_fault(line, APLOGNO(01523) "mod_mime_magic: missing ')' in indirect offset%s", "");
        line->at += *line->at != '\0';
    }
}

static void magic_parse_offset(magic_line *line)
{
    magic_rule *rule = line->rule;
    const char *begin;

    while (*line->at == '>') {
        line->at++;
        rule->depth++;
    }
    if (rule->depth && *line->at == '(') {
        line->at++;
        rule->indirect = 1;
    }
    begin = line->at;
    rule->offset = (int)magic_number(line);
    if (line->at == begin)
        magic_fault(line, APLOGNO(01521) "mod_mime_magic: offset %s invalid", begin);
    if (rule->indirect)
        magic_parse_indirect(line);
    while (apr_isdigit(*line->at))
        line->at++;
}

static int magic_parse_type(magic_line *line)
{
    static const struct {
        const char *name;
        magic_type type;
    } types[] = {
        {"byte", MAGIC_BYTE},     {"short", MAGIC_SHORT},   {"long", MAGIC_LONG},
        {"string", MAGIC_STRING}, {"date", MAGIC_DATE},     {"beshort", MAGIC_BESHORT},
        {"belong", MAGIC_BELONG}, {"bedate", MAGIC_BEDATE}, {"leshort", MAGIC_LESHORT},
        {"lelong", MAGIC_LELONG}, {"ledate", MAGIC_LEDATE},
    };

    magic_skip_blanks(line);
    if (*line->at == 'u') {
        line->at++;
        line->rule->is_unsigned = 1;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t length = strlen(types[i].name);

        if (!strncmp(line->at, types[i].name, length)) {
            line->rule->type = types[i].type;
            line->at += length;
            return 1;
        }
    }
    magic_fault(line, APLOGNO(01524) "mod_mime_magic: type %s invalid", line->at);
    return 0;
}

/* The character of an octal escape of at most three digits. */
static char magic_octal(magic_line *line)
{
    int value = 0;

    for (int i = 0; i < 3 && *line->at >= '0' && *line->at <= '7'; i++)
        value = value * 8 + *line->at++ - '0';
    return (char)value;
}

/* The character of "\x" and at most two digits; without a digit it is an x. */
static char magic_hex(magic_line *line)
{
    int value = 0, digits = 0;

    for (; digits < 2 && apr_isxdigit(*line->at); digits++) {
        int c = apr_tolower(*line->at++);

        value = value * 16 + (apr_isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return digits ? (char)value : 'x';
}

/* The character behind a backslash. */
static char magic_escaped(magic_line *line)
{
    static const char letters[] = "nrbtfv", controls[] = "\n\r\b\t\f\v";
    const char *letter;

    if (*line->at >= '0' && *line->at <= '7')
        return magic_octal(line);
    if (*line->at == 'x') {
        line->at++;
        return magic_hex(line);
    }
    letter = strchr(letters, *line->at);
    return letter ? (line->at++, controls[letter - letters]) : *line->at++;
}

/* A text up to a blank, which goes with it. */
static void magic_parse_string(magic_line *line)
{
    magic_rule *rule = line->rule;
    const char *begin = line->at;

    while (*line->at && !apr_isspace(*line->at)) {
        char c = *line->at++;

        if (rule->length == MAGIC_VALUE - 1) {
            magic_fault(line, APLOGNO(01526) "mod_mime_magic: string too long: %s", begin);
            return;
        }
        if (c == '\\' && !*line->at)
            return;
        rule->value[rule->length++] = c == '\\' ? magic_escaped(line) : c;
    }
    line->at += *line->at != '\0';
}

/* The relation to the value. 0: no value follows, "x" holds for each. */
static int magic_parse_relation(magic_line *line)
{
    magic_rule *rule = line->rule;

    rule->relation = '=';
    magic_skip_blanks(line);
    if (*line->at == 'x' && apr_isspace(line->at[1])) {
        rule->relation = *line->at++;
        return 0;
    }
    if (*line->at &&
        (strchr("<>&^=", *line->at) || (*line->at == '!' && rule->type != MAGIC_STRING)))
        rule->relation = *line->at++;
    magic_skip_blanks(line);
    return 1;
}

/* One conversion from the "%" on; its last letter in *letter, 'l' before it in *is_long. Behind it. */
static const char *magic_conversion(const char *c, char *letter, int *is_long)
{
    c += 1 + strspn(c + 1, "-+ #0");
    c += strspn(c, "0123456789.");
    *is_long = *c == 'l';
    c += *is_long;
    *letter = *c;
    return c + (*c != '\0');
}

/* How a text prints the value. With more conversions than one, or one of another kind, it is printed as it is. */
static magic_print magic_print_of(const char *text, int is_string)
{
    magic_print print = MAGIC_AS_IS;
    int conversions = 0;

    for (const char *c = strchr(text, '%'); c; c = strchr(c, '%')) {
        char letter;
        int is_long;

        c = magic_conversion(c, &letter, &is_long);
        if (letter == '%') {
            print = print ? print : MAGIC_NUMBER;
            continue;
        }
        if (++conversions > 1 || !letter || !strchr(is_string ? "s" : "diouxXc", letter))
            return MAGIC_AS_IS;
        print = is_string ? MAGIC_PRINT_STRING : is_long ? MAGIC_LONG_NUMBER : MAGIC_NUMBER;
    }
    return print;
}

static void magic_parse_text(magic_line *line)
{
    magic_rule *rule = line->rule;
    int is_string = rule->type == MAGIC_STRING || rule->type == MAGIC_DATE ||
                    rule->type == MAGIC_BEDATE || rule->type == MAGIC_LEDATE;

    magic_skip_blanks(line);
    if (*line->at == '\b') {
        line->at++;
        rule->joined = 1;
    } else if (line->at[0] == '\\' && line->at[1] == 'b') {
        line->at += 2;
        rule->joined = 1;
    }
    apr_cpystrn(rule->text, line->at, sizeof rule->text);
    rule->print = magic_print_of(rule->text, is_string);
}

int magic_parse(apr_pool_t *p, const char *text, magic_rule *rule, apr_array_header_t *faults)
{
    magic_line line = {.at = text, .rule = rule, .faults = faults, .p = p};

    memset(rule, 0, sizeof *rule);
    rule->relation = '=';
    magic_parse_offset(&line);
    if (!magic_parse_type(&line))
        return 0;
    rule->mask = ~(apr_uint64_t)0;
    if (*line.at == '&') {
        line.at++;
        rule->mask = magic_as_type(rule, magic_number(&line));
    }
    if (magic_parse_relation(&line)) {
        if (rule->type == MAGIC_STRING)
            magic_parse_string(&line);
        else
            rule->number = magic_as_type(rule, magic_number(&line));
    }
    magic_parse_text(&line);
    return 1;
}
