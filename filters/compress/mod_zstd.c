/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_zstd: the coding zstd. The filter ZSTD_COMPRESS.
 */
#include "compress_private.h"
#include "dictionary_private.h"
#include "http_core.h"

extern module AP_MODULE_DECLARE_DATA zstd_module;

enum { ZSTD_ARG_LEVEL = COMPRESS_ARG_OWN, ZSTD_ARG_WINDOW, ZSTD_ARG_FILE_LEVEL };

/* Measured: docs/benchmarks.md, "Compression". */
#define ZSTD_LEVEL_STANDARD 3
#define ZSTD_FILE_LEVEL_STANDARD 9
#define ZSTD_LEVEL_USUAL 19 /* those beyond have larger windows */
#define ZSTD_WINDOW_MOST 23 /* RFC 9659: a decoder of HTTP need not have more than 8 MiB */
#define ZSTD_LEAST 63       /* bytes of a body: shorter ones do not gain */

static void zstd_settings(const compress_conf *conf, const compress_source *source,
                          brg_coder_settings *settings)
{
    const int stream = compress_arg(conf, ZSTD_ARG_LEVEL, ZSTD_LEVEL_STANDARD);
    const int file = compress_arg(conf, ZSTD_ARG_FILE_LEVEL,
                                  compress_arg(conf, ZSTD_ARG_LEVEL, ZSTD_FILE_LEVEL_STANDARD));
    const int level = source->file ? file : stream;

    settings->level = (short)level;
    settings->window =
        (short)compress_arg(conf, ZSTD_ARG_WINDOW, level > ZSTD_LEVEL_USUAL ? ZSTD_WINDOW_MOST : 0);
    settings->is_exact = source->file;
    settings->length = source->length;
}

static const compress_coder zstd_coder = {
    .coding = BRG_CODING_ZSTD,
    .filter = "ZSTD_COMPRESS",
    .suffix = "-zstd",
    .off = "no-zstd",
    .module = &zstd_module,
    .least = ZSTD_LEAST,
    .private_name = "ZstdPrivate",
    .loop_most = 16 * 1024,
    .settings = zstd_settings,
};

static apr_status_t zstd_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return compress_run(f, bb, &zstd_coder);
}

/* ---- directives ---- */

#define NUMBER(name, place, least, most)  \
    static const compress_number name = { \
        .module = &zstd_module, .arg = place, .from = least, .to = most}

NUMBER(zstd_level, ZSTD_ARG_LEVEL, 1, 22);
NUMBER(zstd_file_level, ZSTD_ARG_FILE_LEVEL, 1, 22);
NUMBER(zstd_window, ZSTD_ARG_WINDOW, 10, ZSTD_WINDOW_MOST);

#define CODER_INFO ((void *)&zstd_coder)
#define NUMBER_INFO(name) ((void *)&name)

static const command_rec zstd_commands[] = {
    AP_INIT_TAKE12("ZstdFilterNote", compress_set_note, CODER_INFO, RSRC_CONF,
                   "Set a note to report on compression ratio: [Input|Output|Ratio] NAME"),
    AP_INIT_TAKE1("ZstdAlterETag", compress_set_etag, CODER_INFO, RSRC_CONF,
                  "What becomes of the entity tag: AddSuffix (default), NoChange or Remove"),
    AP_INIT_TAKE1("ZstdCompressionLevel", compress_set_number, NUMBER_INFO(zstd_level), RSRC_CONF,
                  "Level of compression, 1 (fast) to 22 (small); default 3, of files 9"),
    AP_INIT_TAKE1(
        "ZstdFileLevel", compress_set_number, NUMBER_INFO(zstd_file_level), RSRC_CONF,
        "Level for whole files, which are kept in memory (default: ZstdCompressionLevel)"),
    AP_INIT_TAKE1("ZstdCompressionWindow", compress_set_number, NUMBER_INFO(zstd_window), RSRC_CONF,
                  "Window of compression, as a power of two: 10 to 23 (default: by level)"),
    AP_INIT_ITERATE("ZstdDictionary", dictionary_set, NULL, RSRC_CONF,
                    "Paths of files whose next version is sent as what differs: /assets/app*.js"),
    AP_INIT_FLAG("ZstdPrivate", compress_set_private, CODER_INFO, RSRC_CONF | ACCESS_CONF,
                 "Responses that depend on credentials are compressed, too (default Off)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

static void zstd_register_hooks(apr_pool_t *p)
{
    compress_register(p, &zstd_coder, zstd_filter);
    dictionary_register();
}

module AP_MODULE_DECLARE_DATA zstd_module = {
    STANDARD20_MODULE_STUFF, compress_create_dir_conf,
    compress_merge_dir_conf, compress_create_conf,
    compress_merge_conf,     zstd_commands,
    zstd_register_hooks,     0,
};
