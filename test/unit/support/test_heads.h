/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_HEADS_H
#define BRIGADE_TEST_HEADS_H

/**
 * @file test_heads.h
 * Heads for the rules of a cache from text: "Name: value" lines, split at "|".
 */
#include "freshness.h"
#include <string.h>

#define TEST_FIELDS 32

typedef struct test_head {
    http_field field[TEST_FIELDS];
    fresh_head head;
} test_head;

/** @param code  0: a request with @a method. The result leads into @a lines and @a to */
static inline const fresh_head *test_head_of(test_head *to, int code, const char *method,
                                             const char *lines)
{
    uint32_t n = 0;

    while (lines && *lines) {
        const char *end = strchr(lines, '|'), *colon = strchr(lines, ':');
        http_field *f = to->field + n++;

        end = end ? end : lines + strlen(lines);
        *f = (http_field){.name = lines, .name_len = (uint32_t)(colon - lines)};
        f->value = colon + 1 + (colon[1] == ' ');
        f->value_len = (uint32_t)(end - f->value);
        f->id = (uint8_t)http_field_id_of(f->name, f->name_len);
        lines = *end ? end + 1 : end;
    }
    to->head =
        (fresh_head){to->field, n, (uint16_t)code, method, method ? (uint32_t)strlen(method) : 0};
    return &to->head;
}

#endif
