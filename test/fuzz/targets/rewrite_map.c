/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text maps: the first line is the key, the rest the file. A value has no white space, and is what the first line with
 * the key says.
 * Covers: modules/rewrite/rewrite_map_text.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "apr_general.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "rewrite_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(apr_pool_t *p, const char *key, const char *text, size_t len)
{
    int fd = memfd_create("map", MFD_CLOEXEC), fresh;
    struct rewrite_text_map *map = rewrite_text_make(p, apr_psprintf(p, "/proc/self/fd/%d", fd));
    const char *value = NULL;

    if (write(fd, text, len) != (ssize_t)len ||
        rewrite_text_find(map, p, key, &value, &fresh) != APR_SUCCESS)
        abort();
    for (const char *at = value; at && *at; at++)
        if (apr_isspace(*at))
            abort();
    if (value && (!*value || !*key || *key == '#'))
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int started;
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    apr_pool_t *p;

    if (!started) {
        started = 1;
        apr_initialize();
    }
    if (!line)
        return 0;
    apr_pool_create(&p, NULL);
    look(p, apr_pstrmemdup(p, (const char *)data, (size_t)(line - data)), (const char *)line + 1,
         size - (size_t)(line + 1 - data));
    apr_pool_destroy(p);
    return 0;
}
