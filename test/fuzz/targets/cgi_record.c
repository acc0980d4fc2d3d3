/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the daemon of CGI programs. What is read lies within the message, and is written again to the same bytes.
 * Covers: modules/cgid/cgi_record.c
 */
#include "cgi_record.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 64

static void check(int right)
{
    if (!right)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *strings[MOST];
    char *record = malloc(size + 1), *again;
    cgi_program p;

    check(record != NULL);
    memcpy(record, data, size);
    if (cgi_record_read(record, size, strings, MOST, &p)) {
        check(cgi_record_size(&p) == size);
        again = malloc(size);
        check(again != NULL);
        cgi_record_write(again, &p);
        check(!memcmp(again, record, size));
        free(again);
    }
    free(record);
    return 0;
}
