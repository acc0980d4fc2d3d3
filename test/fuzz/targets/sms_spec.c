/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specifications of memory systems. What is refused has a message; what is accepted can be built
 * and used, describes itself as a specification that builds the same, and gives everything back.
 * Covers: memory/sms_spec.c memory/sms_params.c memory/sms_kinds.c
 */
#include "brigade/sms.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void use(brg_sms *s)
{
    char *block = brg_sms_allocate(s, 100), *moved;

    if (block == NULL)
        return; /* a limit, or a fault */
    memset(block, 1, 100);
    moved = brg_sms_resize(s, block, 100, 9000);
    if (moved != NULL)
        check(moved[0] == 1 && moved[99] == 1);
    brg_sms_free(s, moved != NULL ? moved : block, moved != NULL ? 9000 : 100);
    check(brg_sms_verify(s) == NULL);
}

/* A system that fills a block of a gigabyte does as it was told, and tells the search nothing. */
static int asks_for_much(const char *spec)
{
    for (size_t digits = 0; *spec != '\0'; spec++) {
        if (*spec >= '0' && *spec <= '9')
            digits++;
        else if (digits > 0 && ((*spec | 32) == 'g' || ((*spec | 32) == 'm' && digits > 2)))
            return 1;
        else
            digits = 0;
        if (digits > 8)
            return 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char spec[600], described[600];
    brg_sms *s;
    const char *message;
    brg_sms_figures figures;

    if (size >= sizeof(spec))
        return 0;
    memcpy(spec, data, size);
    spec[size] = '\0';
    if (asks_for_much(spec))
        return 0;
    message = brg_sms_create(&s, spec, NULL, NULL);
    check((message == NULL) == (s != NULL));
    if (message != NULL) {
        check(message[0] != '\0');
        return 0;
    }
    strcpy(described, brg_sms_describe(s, NULL));
    use(s);
    brg_sms_destroy(&s, NULL);
    message = brg_sms_create(&s, described, NULL, NULL);
    check(message == NULL && strcmp(brg_sms_describe(s, NULL), described) == 0);
    brg_sms_destroy(&s, NULL);
    brg_sms_statistics(brg_sms_os(), &figures);
    check(figures.held_bytes == 0);
    return 0;
}
