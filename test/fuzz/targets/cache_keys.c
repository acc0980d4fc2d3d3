/* SPDX-License-Identifier: Apache-2.0 */
/* Vary and the key of a variant, targets of Location, and Content-Range: the first byte chooses, the second one splits the rest.
 * Covers: server/freshness/fresh_vary.c server/freshness/fresh_key.c server/freshness/fresh_range.c */
#include "fresh_range.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

/* The same request has the same key, and blanks around it change nothing. */
static void check_vary(const char *a, size_t a_len, const char *b, size_t b_len)
{
    static char names_room[FRESH_VARY_TEXT], key_room[2][FRESH_VARIANT_MOST];
    http_field vary = {.name = "Vary", .name_len = 4, .value = a, .value_len = (uint32_t)a_len};
    http_field asked[2] = {
        {.name = "Accept-Language", .name_len = 15, .value = b, .value_len = (uint32_t)b_len},
        {.name = "foo", .name_len = 3, .value = b, .value_len = (uint32_t)b_len}};
    const fresh_head response = {&vary, 1, 200, NULL, 0}, request = {asked, 2, 0, "GET", 3};
    fresh_text names = {names_room, 0, sizeof names_room, 0};

    if (fresh_vary_names(&names, &response))
        return;
    check(!names.over);
    for (int i = 0; i < 2; i++) {
        fresh_text key = {key_room[i], 0, sizeof key_room[i], 0};

        fresh_variant(&key, names_room, names.len, &request);
        check(key.len <= key.room);
    }
    check(!memcmp(key_room[0], key_room[1], sizeof key_room[0]));
}

static void check_target(const char *a, size_t a_len, const char *b, size_t b_len)
{
    const fresh_target target = {
        .scheme = "http", .authority = "a", .authority_len = 1, .path = a, .path_len = a_len};
    char *room = malloc(a_len + b_len + 1);
    size_t n;

    check(room != NULL);
    n = fresh_invalidated_path(room, a_len + b_len + 1, &target, b, b_len);
    check(n <= a_len + b_len + 1 && (!n || *room == '/'));
    free(room);
}

static void check_range(const char *b, size_t b_len)
{
    fresh_range range;
    uint64_t total;

    if (!fresh_content_range(b, b_len, &range, &total))
        check(range.first <= range.last && range.last < total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t a_len, b_len;
    char *a, *b;

    if (size < 2)
        return 0;
    a_len = data[1] < size - 2 ? data[1] : size - 2;
    b_len = size - 2 - a_len;
    a = malloc(a_len + 1);
    b = malloc(b_len + 1);
    check(a && b);
    memcpy(a, data + 2, a_len);
    memcpy(b, data + 2 + a_len, b_len);
    if (data[0] % 3 == 0)
        check_vary(a, a_len, b, b_len);
    else if (data[0] % 3 == 1)
        check_target(a, a_len, b, b_len);
    else
        check_range(b, b_len);
    free(a);
    free(b);
    return 0;
}
