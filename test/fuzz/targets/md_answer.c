/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of authorities over HTTP, whatever they are, and URLs in them: a complete one can be read.
 * Covers: server/md/md_head.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "md_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(apr_pool_t *p, const char *text, size_t len)
{
    md_answer answer = {0}, cut = {0};
    const char *wrong = md_answer_read(p, text, len, 0, &answer), *location;
    md_url url;

    if (len && !md_answer_read(p, text, len - 1, 0, &cut) && !cut.more && wrong)
        abort(); /* complete, and damaged by the next byte */
    if (wrong)
        return;
    if (strlen(answer.body) > answer.len || answer.len > len)
        abort();
    md_answer_retry(&answer, apr_time_from_sec(1000));
    location = apr_table_get(answer.fields, "Location");
    if (location && !md_url_read(p, location, &url) &&
        (url.port < 1 || url.port > 65535 || *url.path != '/'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    apr_pool_t *p;
    char *copy;

    if (!begun++)
        apr_initialize();
    apr_pool_create(&p, NULL);
    copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    look(p, copy, size);
    free(copy);
    apr_pool_destroy(p);
    return 0;
}
