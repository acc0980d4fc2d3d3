/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared objects as they are read before one is opened: whatever the file says of sizes and places
 * in itself, nothing beyond it is read, and every name that comes out ends.
 * Covers: server/loader/module_file.c
 */
#include "module_file.h"
#include "apr_general.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touched; /* so that looking at things is not optimised away */

static void look_at(const apr_array_header_t *symbols)
{
    for (int i = 0; i < symbols->nelts; i++) {
        const module_file_symbol *s = &APR_ARRAY_IDX(symbols, i, module_file_symbol);
        unsigned long magic;
        int version, minor;

        touched += strlen(s->name);
        if (s->content)
            for (apr_size_t at = 0; at < s->size; at++)
                touched += ((const unsigned char *)s->content)[at];
        (void)module_file_is_module(s, &magic, &version, &minor);
    }
}

static void read_file(const char *path, apr_pool_t *p)
{
    module_file file;
    const char *error = module_file_read(&file, path, p);

    if (error) {
        if (!*error)
            abort();
        return;
    }
    look_at(file.defined);
    look_at(file.wanted);
    for (int i = 0; i < file.libraries->nelts; i++)
        touched += strlen(APR_ARRAY_IDX(file.libraries, i, const char *));
    touched += file.run_path ? strlen(file.run_path) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    char path[32];
    apr_pool_t *p;
    int fd = memfd_create("module", MFD_CLOEXEC);

    if (!root) {
        apr_initialize();
        apr_pool_create(&root, NULL);
    }
    if (fd < 0)
        return 0;
    if (write(fd, data, size) == (ssize_t)size) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        apr_pool_create(&p, root);
        read_file(path, p);
        apr_pool_destroy(p);
    }
    close(fd);
    return 0;
}
