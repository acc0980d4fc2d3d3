/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings that filters make where a client asks for them. */
#include "coding.h"
#include "declarations.h"
#include "filter_registry.h"
#include "stock_policy.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include "apr_lib.h"
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

int coding_is_likely(const ap_filter_t *f)
{
    if (!coding_of_filter(f->frec))
        return 0;
    return !f->frec->providers || !coding_chosen || coding_chosen(f, NULL) != NULL;
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

/* ---- filters of Apache's files ---- */

/* Both files look at a response alike. What they decide by its length differs from build to build: bodies of fewer bytes are left to them. */
#define CODING_FILE_LEAST 128

typedef struct coding_file {
    const char *module, *filter;
    enum brg_coding coding;
    const char *off, *only_html, *force; /* variables, or NULL: as in compress_coder */
} coding_file;

static const coding_file coding_files[] = {
    {"mod_deflate.c", "deflate", BRG_CODING_GZIP, "no-gzip", "gzip-only-text/html", "force-gzip"},
    {"mod_brotli.c", "brotli_compress", BRG_CODING_BROTLI, "no-brotli", NULL, NULL}};

static const coding_file *coding_file_of(const ap_filter_rec_t *frec)
{
    const declaration *d = filter_declaration(frec);

    if (!d || !d->stock || stock_rule_is_void(d->stock))
        return NULL;
    for (size_t i = 0; i < sizeof coding_files / sizeof *coding_files; i++)
        if (!strcmp(d->name, coding_files[i].module) &&
            !ap_cstr_casecmp(frec->name, coding_files[i].filter))
            return &coding_files[i];
    return NULL;
}

static const char *coding_variable(const request_rec *r, const char *name)
{
    return name ? apr_table_get(r->subprocess_env, name) : NULL;
}

int coding_of_file(const request_rec *r, const ap_filter_rec_t *frec, brg_coding_step *step)
{
    const coding_file *file = coding_file_of(frec);
    const char *only;

    if (!file)
        return 0;
    only = coding_variable(r, file->only_html);
    step->coding = coding_variable(r, file->off) || r->main ? BRG_CODING_NONE : file->coding;
    step->least = CODING_FILE_LEAST;
    step->only_html = only && !strcmp(only, "1");
    step->forced = coding_variable(r, file->force) != NULL;
    step->with_user = 1;
    if (step->coding == BRG_CODING_NONE)
        return 1;
    step->is_told = stock_coding_tell(r->server, step);
    return brg_coder_is_quick(&step->coder);
}

/* Lists, and names that mean no coding, are left to the filter. */
static int coding_is_there(const char *value)
{
    static const char *const none[] = {"identity", "7bit", "8bit", "binary"};

    if (value[strcspn(value, ",; \t\"")])
        return 0;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (!ap_cstr_casecmp(value, none[i]))
            return 0;
    return *value != '\0';
}

static int coding_has_type(const char *types, const char *type)
{
    const size_t len = strcspn(type, "; \t");

    for (; *types; types += strlen(types) + 1)
        if (!strncmp(types, type, len) && !types[len])
            return 1;
    return 0;
}

/* The coding's name is somewhere in it. */
static int coding_may_be_named(enum brg_coding coding, const char *accept)
{
    return accept && ap_strcasestr(accept, brg_coding_name(coding));
}

/* How builds read weights differs. */
static brg_coding_fate coding_file_accepted(const brg_coding_step *step, const char *accept)
{
    const int words = accept ? coding_words(CODING_BIT(step->coding), accept, strlen(accept)) : 0;

    if (words > 0)
        return step->is_told ? BRG_CODING_COMPRESSES : BRG_CODING_UNKNOWN;
    return coding_may_be_named(step->coding, accept) ? BRG_CODING_UNKNOWN : BRG_CODING_NAMES;
}

brg_coding_fate coding_file_fate(const brg_coding_step *step, const brg_coding_asked *asked)
{
    const char *type = asked->type;

    if (!type)
        return BRG_CODING_UNKNOWN;
    for (const char *at = type; *at && *at != ';'; at++)
        if (apr_isupper(*at))
            return BRG_CODING_UNKNOWN;
    if (step->coding == BRG_CODING_NONE ||
        (step->types && (asked->status != HTTP_OK || !coding_has_type(step->types, type))) ||
        (step->only_html && strncmp(type, "text/html", 9) != 0))
        return BRG_CODING_LEAVES;
    if (asked->coding)
        return coding_is_there(asked->coding) ? BRG_CODING_LEAVES : BRG_CODING_UNKNOWN;
    if (!asked->knows_request)
        return BRG_CODING_ASKS;
    return asked->least < (apr_off_t)step->least || step->forced
               ? BRG_CODING_UNKNOWN
               : coding_file_accepted(step, asked->accept);
}
