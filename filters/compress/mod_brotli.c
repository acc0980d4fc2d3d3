/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_brotli: the coding br. The filter BROTLI_COMPRESS.
 */
#include "compress_private.h"
#include "http_core.h"

extern module AP_MODULE_DECLARE_DATA brotli_module;

enum { BROTLI_QUALITY = COMPRESS_ARG_OWN, BROTLI_WINDOW, BROTLI_BLOCK, BROTLI_FILE_QUALITY };

/* Measured: docs/benchmarks.md, "Compression". */
#define BROTLI_QUALITY_STANDARD 4
#define BROTLI_FILE_QUALITY_STANDARD 8
#define BROTLI_WINDOW_STANDARD 18

static void brotli_settings(const compress_conf *conf, const compress_source *source,
                            brg_coder_settings *settings)
{
    const int stream = compress_arg(conf, BROTLI_QUALITY, BROTLI_QUALITY_STANDARD);
    const int file = compress_arg(conf, BROTLI_FILE_QUALITY,
                                  compress_arg(conf, BROTLI_QUALITY, BROTLI_FILE_QUALITY_STANDARD));

    settings->level = (short)(source->file ? file : stream);
    settings->window = (short)compress_arg(conf, BROTLI_WINDOW, BROTLI_WINDOW_STANDARD);
    settings->block = (short)compress_arg(conf, BROTLI_BLOCK, 0);
}

static const compress_coder brotli_coder = {
    .coding = BRG_CODING_BROTLI,
    .filter = "BROTLI_COMPRESS",
    .suffix = "-br",
    .off = "no-brotli",
    .module = &brotli_module,
    .private_name = "BrotliPrivate",
    .loop_most = 16 * 1024,
    .settings = brotli_settings,
};

static apr_status_t brotli_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return compress_run(f, bb, &brotli_coder);
}

/* ---- directives ---- */

#define NUMBER(name, place, least, most)  \
    static const compress_number name = { \
        .module = &brotli_module, .arg = place, .from = least, .to = most}

NUMBER(brotli_quality, BROTLI_QUALITY, 0, 11);
NUMBER(brotli_file_quality, BROTLI_FILE_QUALITY, 0, 11);
NUMBER(brotli_window, BROTLI_WINDOW, 10, 24);
NUMBER(brotli_block, BROTLI_BLOCK, 16, 24);

#define CODER_INFO ((void *)&brotli_coder)
#define NUMBER_INFO(name) ((void *)&name)

static const command_rec brotli_commands[] = {
    AP_INIT_TAKE12("BrotliFilterNote", compress_set_note, CODER_INFO, RSRC_CONF,
                   "Set a note to report on compression ratio: [Input|Output|Ratio] NAME"),
    AP_INIT_TAKE1("BrotliAlterETag", compress_set_etag, CODER_INFO, RSRC_CONF,
                  "What becomes of the entity tag: AddSuffix (default), NoChange or Remove"),
    AP_INIT_TAKE1("BrotliCompressionQuality", compress_set_number, NUMBER_INFO(brotli_quality),
                  RSRC_CONF,
                  "Quality of compression, 0 (fast) to 11 (small); default 4, of files 8"),
    AP_INIT_TAKE1(
        "BrotliFileQuality", compress_set_number, NUMBER_INFO(brotli_file_quality), RSRC_CONF,
        "Quality for whole files, which are kept in memory (default: BrotliCompressionQuality)"),
    AP_INIT_TAKE1("BrotliCompressionWindow", compress_set_number, NUMBER_INFO(brotli_window),
                  RSRC_CONF, "Window of compression, as a power of two: 10 to 24 (default 18)"),
    AP_INIT_TAKE1("BrotliCompressionMaxInputBlock", compress_set_number, NUMBER_INFO(brotli_block),
                  RSRC_CONF,
                  "Largest input block, as a power of two: 16 to 24 (default: by quality)"),
    AP_INIT_FLAG("BrotliPrivate", compress_set_private, CODER_INFO, RSRC_CONF | ACCESS_CONF,
                 "Responses that depend on credentials are compressed, too (default Off)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

static void brotli_register_hooks(apr_pool_t *p)
{
    compress_register(p, &brotli_coder, brotli_filter);
}

module AP_MODULE_DECLARE_DATA brotli_module = {
    STANDARD20_MODULE_STUFF, compress_create_dir_conf,
    compress_merge_dir_conf, compress_create_conf,
    compress_merge_conf,     brotli_commands,
    brotli_register_hooks,   0,
};
