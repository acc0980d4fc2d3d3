/* SPDX-License-Identifier: Apache-2.0 */
/* Cache-Control, targeted fields, dates, Age, entity tags and structured fields: the first byte chooses.
 * Covers: server/freshness/fresh_fields.c server/freshness/fresh_date.c server/freshness/structured_field.c server/freshness/fresh_tell.c */
#include "fresh_tell.h"
#include "structured_field.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_cc(const char *value, size_t len)
{
    const char *p = value, *name, *arg;
    size_t name_len, arg_len;
    int quoted;
    fresh_cc cc = {0};

    while (fresh_cc_next(&p, value + len, &name, &name_len, &arg, &arg_len, &quoted)) {
        check(name >= value && name + name_len <= value + len);
        check(!arg || (arg >= value && arg + arg_len <= value + len));
    }
    fresh_cc_add(&cc, value, len);
    check(!(cc.has & FRESH_CC_MAX_AGE) || cc.max_age <= FRESH_SPAN_MOST);
    cc = (fresh_cc){0};
    if (!fresh_cc_targeted(&cc, value, len))
        check(!cc.has);
}

static void check_tags(const char *value, size_t len)
{
    const char *p = value, *item;
    fresh_etag tag;
    size_t n;

    while (fresh_etag_next(&p, value + len, &tag))
        check(tag.opaque >= value && tag.opaque + tag.len <= value + len);
    p = value;
    while (fresh_tags_next(FRESH_TAGS_SPACE, &p, value + len, &item, &n))
        check(n > 0 && item >= value && item + n <= value + len);
    if (!fresh_groups_valid(value, len))
        return;
    p = value;
    while (fresh_group_next(&p, value + len, &item, &n))
        check(item >= value && item + n <= value + len && n <= FRESH_GROUP_BYTES);
}

static void check_structured(const char *value, size_t len)
{
    const char *key;
    size_t key_len;
    sf_cursor at;
    sf_item item;

    sf_begin(&at, value, len);
    while (sf_dictionary_next(&at, &key, &key_len, &item) > 0)
        check(key >= value && key_len && key + key_len <= value + len &&
              (!item.text || item.text + item.len <= value + len));
    sf_begin(&at, value, len);
    while (sf_list_next(&at, &item) > 0)
        check(item.text >= value || item.type == SF_BOOLEAN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t seconds = 0;
    char *value;

    if (!size)
        return 0;
    value = malloc(size); /* of the exact size, so that a sanitizer sees the first byte beyond it */
    check(value != NULL);
    memcpy(value, data + 1, --size);
    switch (data[0] & 3) {
    case 0:
        check_cc(value, size);
        break;
    case 1:
        check(fresh_date(value, size, apr_time_from_sec(1000000000)) >= 0);
        check(fresh_age_parse(value, size, &seconds) || seconds <= FRESH_SPAN_MOST);
        break;
    case 2:
        check_tags(value, size);
        break;
    default:
        check_structured(value, size);
    }
    free(value);
    return 0;
}
