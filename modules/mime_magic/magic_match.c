/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a magic file beside the first bytes of a file. The first rule that holds decides
 * about the file, even if its text is empty and none below it holds.
 */
#include "magic_private.h"
#include "apr_strings.h"
#include "apr_time.h"
#include "brigade/assert.h"
#include <string.h>

/* Dates as far from 1970 as the end of the year 9999, in seconds. */
#define MAGIC_LAST_DATE APR_INT64_C(253402300799)

/* The bytes at an offset, as a number of the machine's order once they are converted. */
typedef union magic_found {
    unsigned char byte;
    unsigned short half;
    unsigned long whole;
    unsigned char bytes[MAGIC_VALUE];
    char text[MAGIC_VALUE];
} magic_found;

/* Bytes, and their result so far. */
typedef struct magic_trial {
    const unsigned char *bytes;
    apr_size_t size;
    magic_result *result;
    magic_found found;
} magic_trial;

void magic_begin(magic_result *result)
{
    result->length = 0;
    result->text[0] = '\0';
    result->odd = result->pointless = 0;
}

void magic_put(magic_result *result, const char *text)
{
    apr_size_t length = strlen(text), room = sizeof result->text - 1 - result->length;

    if (length > room)
        length = room;
    memcpy(result->text + result->length, text, length);
    result->length += length;
    result->text[result->length] = '\0';
}

static int magic_take(magic_trial *trial, apr_int64_t offset)
{
    if (offset < 0 || offset + MAGIC_VALUE > (apr_int64_t)trial->size)
        return 0;
    memcpy(trial->found.bytes, trial->bytes + offset, MAGIC_VALUE);
    return 1;
}

static unsigned long magic_big(const unsigned char *b)
{
    return (apr_uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

static unsigned long magic_little(const unsigned char *b)
{
    return (apr_uint32_t)b[3] << 24 | b[2] << 16 | b[1] << 8 | b[0];
}

/* A string ends at the line's end; numbers of another order get the machine's. */
static void magic_convert(magic_type type, magic_found *found)
{
    const unsigned char *b = found->bytes;
    char *end;

    switch (type) {
    case MAGIC_STRING:
        found->text[MAGIC_VALUE - 1] = '\0';
        end = strchr(found->text, '\n');
        if (end)
            *end = '\0';
        break;
    case MAGIC_BESHORT:
        found->half = (unsigned short)(b[0] << 8 | b[1]);
        break;
    case MAGIC_LESHORT:
        found->half = (unsigned short)(b[1] << 8 | b[0]);
        break;
    case MAGIC_BELONG:
    case MAGIC_BEDATE:
        found->whole = (unsigned long)(apr_int32_t)magic_big(b);
        break;
    case MAGIC_LELONG:
    case MAGIC_LEDATE:
        found->whole = (unsigned long)(apr_int32_t)magic_little(b);
        break;
    default:
        break;
    }
}

/* Where the bytes say that the value is. */
static apr_int64_t magic_follow(const magic_rule *rule, const magic_found *found)
{
    unsigned long at = rule->indirect_type == MAGIC_BYTE    ? found->byte
                       : rule->indirect_type == MAGIC_SHORT ? found->half
                                                            : found->whole;

    return (apr_int64_t)(at + (unsigned long)rule->indirect_offset);
}

static int magic_find(const magic_rule *rule, magic_trial *trial)
{
    if (!magic_take(trial, rule->offset))
        return 0;
    if (rule->type == MAGIC_NONE) {
        trial->result->pointless++;
        return 0;
    }
    magic_convert(rule->type, &trial->found);
    if (!rule->indirect)
        return 1;
    if (!magic_take(trial, magic_follow(rule, &trial->found)))
        return 0;
    magic_convert(rule->type, &trial->found);
    return 1;
}

/* The first difference to the value of a rule, as a number; 0: none. */
static apr_int64_t magic_difference(const magic_rule *rule, const magic_found *found)
{
    for (int i = 0; i < rule->length; i++) {
        int difference = found->bytes[i] - (unsigned char)rule->value[i];

        if (difference)
            return difference;
    }
    return 0;
}

/* A found number, in the type of the rule; without its mask. */
static apr_uint64_t magic_number_of(const magic_rule *rule, const magic_found *found)
{
    switch (rule->type) {
    case MAGIC_BYTE:
        return rule->is_unsigned ? found->byte : (apr_uint64_t)(signed char)found->byte;
    case MAGIC_SHORT:
    case MAGIC_BESHORT:
    case MAGIC_LESHORT:
        return rule->is_unsigned ? found->half : (apr_uint64_t)(short)found->half;
    case MAGIC_STRING:
        return (apr_uint64_t)magic_difference(rule, found);
    default:
        return found->whole;
    }
}

/* A value that is the letter x and nothing else, which holds for each as "x" alone does. */
static int magic_is_x(const magic_rule *rule)
{
    return rule->type == MAGIC_STRING ? rule->value[0] == 'x' && !rule->value[1]
                                      : (rule->number & 0xffff) == 'x';
}

static int magic_holds(const magic_rule *rule, magic_trial *trial)
{
    apr_uint64_t value, number = rule->number;

    if (magic_is_x(rule)) {
        trial->result->odd++;
        return 1;
    }
    value = magic_number_of(rule, &trial->found) & rule->mask;
    switch (rule->relation) {
    case 'x':
        return 1;
    case '!':
        return value != number;
    case '=':
        return value == number;
    case '>':
        return rule->is_unsigned ? value > number : (apr_int64_t)value > (apr_int64_t)number;
    case '<':
        return rule->is_unsigned ? value < number : (apr_int64_t)value < (apr_int64_t)number;
    case '&':
        return (value & number) == number;
    default:
        BRG_ASSERT(rule->relation == '^');
        return (value & number) != number;
    }
}

/* The string that the text of a rule prints: with "=" the rule's own, which the file has, too. */
static const char *magic_string_of(const magic_rule *rule, const magic_found *found, char *date)
{
    apr_int64_t seconds = (apr_int64_t)found->whole;

    if (rule->type == MAGIC_STRING)
        return rule->relation == '=' ? rule->value : found->text;
    if (seconds < -MAGIC_LAST_DATE || seconds > MAGIC_LAST_DATE ||
        apr_ctime(date, apr_time_from_sec(seconds)))
        return "";
    return date;
}

static void magic_print_rule(const magic_rule *rule, magic_trial *trial)
{
    char text[MAGIC_RESULT], date[APR_CTIME_LEN];
    apr_uint64_t number = magic_number_of(rule, &trial->found) & rule->mask;

    switch (rule->print) {
    case MAGIC_AS_IS:
        magic_put(trial->result, rule->text);
        return;
    case MAGIC_NUMBER:
        apr_snprintf(text, sizeof text, rule->text, (int)number);
        break;
    case MAGIC_LONG_NUMBER:
        apr_snprintf(text, sizeof text, rule->text, (long)number);
        break;
    case MAGIC_PRINT_STRING:
        apr_snprintf(text, sizeof text, rule->text, magic_string_of(rule, &trial->found, date));
        break;
    }
    magic_put(trial->result, text);
}

/* The rules below a matching one, up to the next rule of the top level. */
static void magic_match_below(const apr_array_header_t *rules, int i, magic_trial *trial)
{
    int blank = ((const magic_rule *)rules->elts)[i].text[0] != '\0';
    unsigned depth = 1;

    for (i++; i < rules->nelts; i++) {
        const magic_rule *rule = &APR_ARRAY_IDX(rules, i, const magic_rule);

        if (!rule->depth)
            return;
        if (rule->depth > depth)
            continue;
        depth = rule->depth;
        if (!magic_find(rule, trial) || !magic_holds(rule, trial))
            continue;
        if (blank && !rule->joined && rule->text[0]) {
            magic_put(trial->result, " ");
            blank = 0;
        }
        magic_print_rule(rule, trial);
        blank |= rule->text[0] != '\0';
        depth++;
    }
}

int magic_match(const apr_array_header_t *rules, const unsigned char *bytes, apr_size_t size,
                magic_result *result)
{
    magic_trial trial = {.bytes = bytes, .size = size, .result = result};

    for (int i = 0; i < rules->nelts; i++) {
        const magic_rule *rule = &APR_ARRAY_IDX(rules, i, const magic_rule);

        if (magic_find(rule, &trial) && magic_holds(rule, &trial)) {
            magic_print_rule(rule, &trial);
            magic_match_below(rules, i, &trial);
            return 1;
        }
        while (i + 1 < rules->nelts && APR_ARRAY_IDX(rules, i + 1, const magic_rule).depth)
            i++;
    }
    return 0;
}
