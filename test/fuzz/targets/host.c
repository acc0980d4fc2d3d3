/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of Host fields: what is accepted strictly is accepted loosely, and never looks like a
 * path.
 * Covers: server/request/vhost_host.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "vhosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *value = malloc(size ? size : 1);
    vhost_host strict, loose;
    int loosely;

    if (!value)
        return 0;
    memcpy(value, data, size);
    loosely = vhost_host_parse(value, size, 0, &loose);
    if (vhost_host_parse(value, size, 1, &strict)) {
        if (!loosely || strict.name != loose.name || strict.len != loose.len ||
            strict.port != loose.port || !strict.len)
            abort();
    }
    if (loosely) {
        if (loose.port > 65535 || loose.name < value || loose.name + loose.len > value + size ||
            memchr(loose.name, '/', loose.len) || memchr(loose.name, '\\', loose.len))
            abort();
    }
    free(value);
    return 0;
}
