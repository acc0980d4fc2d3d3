/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings that filters make where a client asks for them. */
#include "coding.h"
#include "declarations.h"
#include "filter_registry.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include <string.h>

/* Bits of a set: the codings themselves; that a filter is not ours; from CODING_LIST on a brg_codings. */
#define CODING_BIT(coding) (1 << ((coding)-1))
#define CODING_FOREIGN (1 << 3)
#define CODING_LIST 4

/* mod_filter's, or NULL. Main thread; read only afterwards. */
static APR_OPTIONAL_FN_TYPE(brg_filter_chosen) * coding_chosen;

void coding_survey(void)
{
    coding_chosen = APR_RETRIEVE_OPTIONAL_FN(brg_filter_chosen);
}

static enum brg_coding coding_of(const char *name)
{
    if (!ap_cstr_casecmp(name, "deflate"))
        return BRG_CODING_GZIP;
    if (!ap_cstr_casecmp(name, "brotli_compress"))
        return BRG_CODING_BROTLI;
    return !ap_cstr_casecmp(name, "zstd_compress") ? BRG_CODING_ZSTD : BRG_CODING_NONE;
}

enum brg_coding coding_of_filter(const ap_filter_rec_t *frec)
{
    BRG_ASSERT(frec->name != NULL);
    return coding_of(strncasecmp(frec->name, "bytype:", 7) ? frec->name : frec->name + 7);
}

/* Debian's modules read Accept-Encoding in another way than ours. */
static int coding_is_foreign(const ap_filter_rec_t *frec)
{
    const declaration *d;

    if (frec->providers) /* another mod_filter than ours */
        frec = ap_get_output_filter_handle(frec->name + 7);
    d = frec ? declaration_of(filter_owner(frec)) : NULL;
    return !d || d->stock;
}

int coding_add(int *codings, const ap_filter_t *f)
{
    const ap_filter_rec_t *frec = f->frec;
    enum brg_coding coding;

    if (frec->providers && coding_chosen && !(frec = coding_chosen(f, NULL)))
        return 1; /* not for this response */
    if (!(coding = coding_of_filter(frec)))
        return 0;
    *codings |= CODING_BIT(coding) | (coding_is_foreign(frec) ? CODING_FOREIGN : 0);
    *codings = (*codings & ((1 << CODING_LIST) - 1)) |
               brg_codings_append(*codings >> CODING_LIST, coding) << CODING_LIST;
    return 1;
}

/* ---- content codings ---- */

static int coding_bit(const char *word, size_t len)
{
    for (int i = 1; i < BRG_CODINGS; i++) {
        const char *name = brg_coding_name((enum brg_coding)i);

        if (strlen(name) == len && !strncasecmp(word, name, len))
            return CODING_BIT(i);
    }
    return 0;
}

/* Of a list of bare words. Weights do not work the same in all filters. */
static int coding_words(int wanted, const char *value, apr_size_t len)
{
    int codings = 0;
    size_t i = 0;

    while (value && i < len) {
        size_t start;

        while (i < len && (value[i] == ' ' || value[i] == '\t' || value[i] == ','))
            i++;
        start = i;
        while (i < len && value[i] &&
               strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-", value[i]))
            i++;
        codings |= coding_bit(value + start, i - start);
        while (i < len && (value[i] == ' ' || value[i] == '\t'))
            i++;
        if (i < len && value[i] != ',')
            return -1;
    }
    return codings & wanted;
}

int coding_accepted(const void *data, const char *value, apr_size_t len)
{
    const int codings = (int)(intptr_t)data;

    BRG_ASSERT(codings > 0 && codings >> (CODING_LIST + 3 * BRG_CODING_BITS) == 0);
    if (codings & CODING_FOREIGN)
        return coding_words(codings, value, len);
    /* All of them: the first filter may leave the response to the next. */
    return brg_codings_accepted((const void *)(intptr_t)(codings >> CODING_LIST), value, len);
}
