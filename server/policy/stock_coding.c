/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of Apache's mod_deflate and mod_brotli compress: their directives are read beside them, since their configuration is in a form
 * of their own. */
#include "configuration.h"
#include "stock_policy.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define STOCK_WINDOW_LEAST 9 /* DeflateWindowSize: with less, zlib refuses to begin */

/* Where the number of a directive goes. */
typedef enum stock_number {
    STOCK_NO_NUMBER,
    STOCK_LEVEL,
    STOCK_WINDOW,
    STOCK_MEMORY,
    STOCK_BLOCK,
    STOCK_PIECE
} stock_number;

static const struct {
    const char *directive;
    stock_number number;
} stock_numbers[] = {{"DeflateCompressionLevel", STOCK_LEVEL},
                     {"DeflateWindowSize", STOCK_WINDOW},
                     {"DeflateMemLevel", STOCK_MEMORY},
                     {"DeflateBufferSize", STOCK_PIECE},
                     {"BrotliCompressionQuality", STOCK_LEVEL},
                     {"BrotliCompressionWindow", STOCK_WINDOW},
                     {"BrotliCompressionMaxInputBlock", STOCK_BLOCK}};

/* Without directives. */
static const brg_coding_step stock_standards[] = {
    {.coding = BRG_CODING_GZIP,
     .is_told = 1,
     .passes = BRG_CODING_PASSES_FULL,
     .suffix = "-gzip",
     .piece = 8096,
     .coder =
         {.coding = BRG_CODING_GZIP, .level = -1, .window = 15, .memory = 9, .hides_level = 1}},
    {.coding = BRG_CODING_BROTLI,
     .is_told = 1,
     .passes = BRG_CODING_PASSES_ANY,
     .suffix = "-br",
     .piece = 8096,
     .coder = {.coding = BRG_CODING_BROTLI, .level = 5, .window = 18}}};

/* That a server has. */
typedef struct stock_coding {
    const server_rec *server;
    brg_coding_step step;
} stock_coding;

/* Of those with directives. Main thread; read only afterwards. */
static apr_array_header_t *stock_codings;

static apr_status_t stock_coding_forget(void *unused)
{
    stock_codings = NULL;
    return APR_SUCCESS;
}

static const brg_coding_step *stock_standard(enum brg_coding coding)
{
    BRG_ASSERT(coding == BRG_CODING_GZIP || coding == BRG_CODING_BROTLI);
    return &stock_standards[coding != BRG_CODING_GZIP];
}

static brg_coding_step *stock_coding_find(const server_rec *s, enum brg_coding coding)
{
    for (int i = 0; stock_codings && i < stock_codings->nelts; i++) {
        stock_coding *one = &APR_ARRAY_IDX(stock_codings, i, stock_coding);

        if (one->server == s && one->step.coding == coding)
            return &one->step;
    }
    return NULL;
}

/* A directive in a virtual host makes a configuration anew there: the modules merge none. */
static brg_coding_step *stock_coding_of(const cmd_parms *cmd, enum brg_coding coding)
{
    brg_coding_step *step = stock_coding_find(cmd->server, coding);

    if (step)
        return step;
    if (!stock_codings) {
        stock_codings = apr_array_make(cmd->pool, 2, sizeof(stock_coding));
        apr_pool_cleanup_register(cmd->pool, NULL, stock_coding_forget, apr_pool_cleanup_null);
    }
    APR_ARRAY_PUSH(stock_codings, stock_coding) =
        (stock_coding){cmd->server, *stock_standard(coding)};
    return stock_coding_find(cmd->server, coding);
}

static void stock_set_number(brg_coding_step *step, stock_number which, const char *arg)
{
    const int n = atoi(arg); /* the module has looked at it */

    switch (which) {
    case STOCK_LEVEL:
        step->coder.level = (short)n;
        break;
    case STOCK_WINDOW:
        step->coder.window = (short)n;
        step->is_told &= n >= STOCK_WINDOW_LEAST;
        break;
    case STOCK_MEMORY:
        step->coder.memory = (short)n;
        break;
    case STOCK_BLOCK:
        step->coder.block = (short)n;
        break;
    default:
        step->piece = (apr_size_t)n;
        step->is_told &= n > 0;
        break;
    }
}

static stock_number stock_number_of(const char *directive)
{
    for (size_t i = 0; i < sizeof stock_numbers / sizeof *stock_numbers; i++)
        if (!ap_cstr_casecmp(directive, stock_numbers[i].directive))
            return stock_numbers[i].number;
    return STOCK_NO_NUMBER;
}

static void stock_set_tag(brg_coding_step *step, const char *arg)
{
    step->tag = !ap_cstr_casecmp(arg, "Remove")     ? BRG_CODING_TAG_REMOVE
                : !ap_cstr_casecmp(arg, "NoChange") ? BRG_CODING_TAG_KEEP
                                                    : BRG_CODING_TAG_SUFFIX;
}

/* Those of request bodies, which get a server's configuration as well. */
static int stock_is_of_input(const char *name)
{
    return !strncasecmp(name, "DeflateInflate", sizeof "DeflateInflate" - 1);
}

void stock_coding_directive(const module *m, const cmd_parms *cmd, const char *name,
                            const char *args)
{
    const enum brg_coding coding =
        !strcmp(m->name, "mod_deflate.c") ? BRG_CODING_GZIP : BRG_CODING_BROTLI;
    const stock_number number = stock_number_of(name);
    brg_coding_step *step;

    BRG_ASSERT(coding == BRG_CODING_GZIP || !strcmp(m->name, "mod_brotli.c"));
    if (conf_is_htaccess(cmd))
        return;
    step = stock_coding_of(cmd, coding);
    if (number != STOCK_NO_NUMBER)
        stock_set_number(step, number, ap_getword_conf(cmd->pool, &args));
    else if (!ap_cstr_casecmp(name, "DeflateAlterETag") ||
             !ap_cstr_casecmp(name, "BrotliAlterETag"))
        stock_set_tag(step, ap_getword_conf(cmd->pool, &args));
    else if (!stock_is_of_input(name))
        step->is_told = 0; /* notes for logs, and those of other versions */
    step->is_told &= !m->merge_server_config;
}

int stock_coding_tell(const server_rec *s, brg_coding_step *step)
{
    const brg_coding_step *of = stock_coding_find(s, step->coding);

    BRG_ASSERT(s && step->coding != BRG_CODING_NONE);
    for (int i = 0; !of && s->is_virtual && stock_codings && i < stock_codings->nelts; i++) {
        const stock_coding *one = &APR_ARRAY_IDX(stock_codings, i, stock_coding);

        if (!one->server->is_virtual && one->step.coding == step->coding)
            of = &one->step;
    }
    if (!of)
        of = stock_standard(step->coding);
    step->tag = of->tag;
    step->tag_least = sizeof "\"x\"" - 1;
    step->passes = of->passes;
    step->suffix = of->suffix;
    step->piece = of->piece;
    step->coder = of->coder;
    return of->is_told && brg_coder_is_there(step->coding);
}
