/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of authorities, whatever it is: what is read can be written and read again.
 * Covers: server/md/md_json.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "md_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(apr_pool_t *p, const md_json *v)
{
    for (; v; v = v->next) {
        if (v->kind == MD_JSON_TEXT) {
            const char *quoted = md_json_quote(p, v->text);
            const md_json *again = md_json_read(p, quoted, strlen(quoted));

            if (!again || strcmp(again->text, v->text) != 0)
                abort();
        }
        look(p, v->first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    apr_pool_t *p;
    char *copy;

    if (!begun++)
        apr_initialize();
    apr_pool_create(&p, NULL);
    copy = malloc(size ? size : 1); /* of its size: reads beyond it are found */
    memcpy(copy, data, size);
    look(p, md_json_read(p, copy, size));
    free(copy);
    apr_pool_destroy(p);
    return 0;
}
