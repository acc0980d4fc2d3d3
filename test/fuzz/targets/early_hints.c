/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a page or a Link field names to be fetched early. A target is a plain path of this origin, whatever the page says: it goes into a field.
 * Covers: modules/request/early_hints_links.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "early_hints_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const hint_links *links)
{
    if (links->n < 0 || links->n > HINTS_LINKS)
        abort();
    for (int i = 0; i < links->n; i++) {
        const char *target = links->link[i].target;

        if (target[0] != '/' || target[1] == '/' || strpbrk(target, "\r\n<>\"; ") ||
            links->link[i].as > HINT_MODULE)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *html = malloc(size + 1);
    hint_links links = {.n = 0};

    if (!html)
        return 0;
    memcpy(html, data, size);
    html[size] = '\0';
    hints_of_html(&links, html, size, "/dir/page", "https://localhost");
    check(&links);
    hints_of_field(&links, html, "/dir/page", "https://localhost");
    check(&links);
    free(html);
    return 0;
}
