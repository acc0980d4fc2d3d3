/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a magic file up to an empty one, and the beginning of a file behind it: the file's type.
 * Covers: modules/mime_magic/magic_parse.c modules/mime_magic/magic_match.c modules/mime_magic/magic_guess.c
 * Covers: modules/mime_magic/magic_unpack.c
 */
#include "magic_private.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static apr_array_header_t *read_rules(apr_pool_t *p, char *text)
{
    apr_array_header_t *rules = apr_array_make(p, 8, sizeof(magic_rule));
    apr_array_header_t *faults = apr_array_make(p, 8, sizeof(const char *));
    char *line;

    while ((line = strsep(&text, "\n"))) {
        magic_rule *rule = apr_array_push(rules);
        int before = faults->nelts, good = magic_parse(p, line, rule, faults);

        check(good == (rule->type != MAGIC_NONE) && (good || faults->nelts > before));
        check(rule->length < MAGIC_VALUE && memchr(rule->text, '\0', sizeof rule->text));
    }
    return rules;
}

static void tell(apr_pool_t *p, const apr_array_header_t *rules, const unsigned char *bytes,
                 apr_size_t size)
{
    magic_result *result = apr_palloc(p, sizeof *result);
    magic_said said;

    magic_begin(result);
    if (!magic_match(rules, bytes, size, result) && !magic_guess(bytes, size, result))
        check(!result->length);
    check(strlen(result->text) == result->length);
    if (magic_say(p, result->text, &said))
        check(strchr(said.type, '/') && (!said.encoding || *said.encoding));
}

/* As the module has it: the bytes with a NUL behind them, those of a compressed file with one in place of the last. */
static void tell_file(apr_pool_t *p, const apr_array_header_t *rules, const uint8_t *data,
                      size_t size)
{
    unsigned char *bytes = malloc(size + 1), *out = malloc(MAGIC_BYTES);

    memcpy(bytes, data, size);
    bytes[size] = '\0';
    tell(p, rules, bytes, size + 1);
    if (magic_encoding(bytes, size)) {
        apr_size_t length = magic_unpack(p, bytes, size, out);

        check(length <= MAGIC_BYTES);
        if (length) {
            out[length - 1] = '\0';
            tell(p, rules, out, length);
        }
    }
    free(bytes);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    const uint8_t *end = memmem(data, size, "\n\n", 2);
    apr_pool_t *p;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    if (!end || size - (size_t)(end - data) > 2 * MAGIC_BYTES)
        return 0;
    apr_pool_create(&p, root);
    tell_file(p, read_rules(p, apr_pstrmemdup(p, (const char *)data, end - data)), end + 2,
              size - (size_t)(end + 2 - data));
    apr_pool_destroy(p);
    return 0;
}
