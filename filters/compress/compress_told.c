/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What filters that compress will do, by a response's head alone (brigade/content_coding.h): compress_decide.c without a
 * request_rec. Where that depends on how the body comes, it is left to the filters.
 */
#include "compress_private.h"
#include "http_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>

static APR_OPTIONAL_FN_TYPE(brg_filter_types) * told_types;

static void told_retrieve(void)
{
    told_types = APR_RETRIEVE_OPTIONAL_FN(brg_filter_types);
}

/* ---- a filter of a request ---- */

static int told_forbids(const request_rec *r, const compress_coder *coder)
{
    return apr_table_get(r->subprocess_env, coder->off) != NULL;
}

static int told_is_one(const request_rec *r, const char *variable)
{
    const char *value = variable ? apr_table_get(r->subprocess_env, variable) : NULL;

    return value && !strcmp(value, "1");
}

static int told_has_type(const char *types, const char *type)
{
    const size_t len = strcspn(type, "; \t");

    for (; *types; types += strlen(types) + 1)
        if (!strncmp(types, type, len) && !types[len])
            return 1;
    return 0;
}

/* Named by SetOutputFilter it runs whatever the type. @return 0: it goes by more than types */
static int told_is_by_type(const ap_filter_t *f, brg_coding_step *step,
                           const ap_filter_rec_t **frec)
{
    *frec = f->frec;
    if (!f->frec->providers)
        return 1;
    step->types = told_types ? told_types(f, f->r->pool, frec) : NULL;
    return step->types != NULL;
}

/* What is made of a body that is no file. Notes are left to the filter. */
static void told_compression(brg_coding_step *step, const compress_conf *conf,
                             const compress_coder *coder)
{
    const compress_source source = {.length = -1};

    BRG_ASSERT(coder->suffix && coder->settings);
    step->is_told = !conf->note_input && !conf->note_output && !conf->note_ratio;
    step->tag = conf->etag == COMPRESS_ETAG_REMOVE ? BRG_CODING_TAG_REMOVE
                : conf->etag == COMPRESS_ETAG_KEEP ? BRG_CODING_TAG_KEEP
                                                   : BRG_CODING_TAG_SUFFIX;
    step->tag_least = sizeof "\"\"" - 1;
    step->passes = BRG_CODING_PASSES_MUCH;
    step->suffix = coder->suffix;
    step->piece = (apr_size_t)compress_arg(conf, COMPRESS_ARG_BUFFER, COMPRESS_BUFFER);
    step->coder.coding = coder->coding;
    coder->settings(conf, &source, &step->coder);
}

static int brg_coding_step_of(const ap_filter_t *f, brg_coding_step *step)
{
    const request_rec *r = f->r;
    const ap_filter_rec_t *frec;
    const compress_dir_conf *conf;
    const compress_coder *coder;

    BRG_ASSERT(r && step);
    *step = (brg_coding_step){.coding = BRG_CODING_NONE};
    if (!told_is_by_type(f, step, &frec) || !(coder = compress_coder_of(frec)))
        return 0;
    if (told_forbids(r, coder) || r->main)
        return 1;
    conf = ap_get_module_config(r->per_dir_config, coder->module);
    step->coding = coder->coding;
    step->least = coder->least;
    step->only_html = told_is_one(r, coder->only_html) != 0;
    step->forced = coder->force && apr_table_get(r->subprocess_env, coder->force);
    step->with_user = conf->private == 1;
    step->has_user = r->user != NULL;
    told_compression(step, compress_conf_of(r, coder), coder);
    return brg_coder_is_quick(&step->coder);
}

/* ---- a response ---- */

/* Types in capitals are left to the filters, which compare them as they are. */
static int told_type_is_plain(const char *type)
{
    for (; *type && *type != ';'; type++)
        if (apr_isupper(*type))
            return 0;
    return 1;
}

static int told_is_meant(const brg_coding_step *s, const brg_coding_asked *a)
{
    return s->coding != BRG_CODING_NONE && (!s->only_html || !strncmp(a->type, "text/html", 9)) &&
           (!s->types || (a->status == HTTP_OK && told_has_type(s->types, a->type)));
}

/* The client prefers one of the codings of @a step, the first of which is this filter's. */
static int told_accepts(const brg_coding_step *step, int n, const brg_coding_asked *a)
{
    brg_codings list = 0;

    for (int i = 0; i < n; i++)
        if (told_is_meant(&step[i], a))
            list = brg_codings_append(list, step[i].coding);
    return brg_coding_accepted((const void *)(intptr_t)list, a->accept,
                               a->accept ? strlen(a->accept) : 0) == (int)step->coding;
}

static brg_coding_fate told_fate(const brg_coding_step *step, int n, const brg_coding_asked *a)
{
    if (!told_is_meant(step, a))
        return BRG_CODING_LEAVES;
    if (!step->with_user && compress_is_for_one(a->control, a->vary))
        return BRG_CODING_LEAVES;
    if (!a->knows_request)
        return BRG_CODING_ASKS;
    if (!step->with_user && (step->has_user || a->authorization))
        return BRG_CODING_LEAVES;
    if (a->least < (apr_off_t)step->least)
        return a->is_all ? BRG_CODING_LEAVES : BRG_CODING_UNKNOWN;
    if (!step->forced && !told_accepts(step, n, a))
        return BRG_CODING_NAMES;
    return step->is_told ? BRG_CODING_COMPRESSES : BRG_CODING_UNKNOWN;
}

static brg_coding_fate brg_coding_fate_of(const brg_coding_step *step, int n,
                                          const brg_coding_asked *a, int *by)
{
    brg_coding_fate fate = BRG_CODING_LEAVES;

    if (compress_is_coded(a->coding))
        return BRG_CODING_LEAVES;
    if (!a->type || !told_type_is_plain(a->type))
        return BRG_CODING_UNKNOWN;
    for (*by = 0; *by < n; ++*by) {
        const brg_coding_fate one = told_fate(step + *by, n - *by, a);

        if (one > BRG_CODING_NAMES)
            return one;
        fate = one == BRG_CODING_NAMES ? one : fate;
    }
    return fate;
}

void compress_told_register(void)
{
    APR_REGISTER_OPTIONAL_FN(brg_coding_step_of);
    APR_REGISTER_OPTIONAL_FN(brg_coding_fate_of);
    ap_hook_optional_fn_retrieve(told_retrieve, NULL, NULL, APR_HOOK_MIDDLE);
}
