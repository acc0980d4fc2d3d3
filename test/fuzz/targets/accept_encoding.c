/* SPDX-License-Identifier: Apache-2.0 */
/* Accept-Encoding, for files that were compressed beforehand, and Range, for parts of stored files: the first byte chooses
 * the codings that are there.
 * Covers: server/http/content_coding.c server/http/http_part.c */
#include "brigade/content_coding.h"
#include "http_part.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

/* What is accepted is there. */
static void check_coding(brg_codings there, const char *value, size_t len)
{
    const int accepted = brg_coding_accepted((const void *)(intptr_t)there, value, len);

    check(accepted >= BRG_CODING_NONE && accepted < BRG_CODINGS);
    check(!accepted || brg_codings_append(there, (enum brg_coding)accepted) == there);
}

static void check_parts(const char *value, size_t len)
{
    const http_part_limits limits = {7, 20, 20};
    http_part part[8];
    apr_off_t sum = 0;
    int n;

    if (http_parts_read(value, len, 1000, &limits, part, 8, &n) != HTTP_PARTS_SOME) {
        check(n == 0);
        return;
    }
    check(n > 0 && n <= limits.parts);
    for (int i = 0; i < n; i++) {
        char text[HTTP_PART_ROOM];

        check(part[i].first >= 0 && part[i].first <= part[i].last && part[i].last < 1000 &&
              part[i].length == 1000);
        check(http_part_text(text, &part[i]) == strlen(text));
        sum += part[i].last - part[i].first + 1;
    }
    check(sum <= 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int there[] = {1, 1 | 2 << 2 | 3 << 4, 3 | 1 << 2, 2 | 3 << 2};
    char *value;

    if (!size)
        return 0;
    /* Of the exact size, so that a sanitizer sees the first byte beyond it. */
    value = malloc(size);
    check(value != NULL);
    memcpy(value, data + 1, size - 1);
    check_coding(there[data[0] & 3], value, size - 1);
    check_parts(value, size - 1);
    free(value);
    return 0;
}
