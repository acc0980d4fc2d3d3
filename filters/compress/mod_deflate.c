/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_deflate: gzip. The filter DEFLATE for output and input, and INFLATE.
 */
#include "compress_private.h"
#include "inflate_private.h"
#include "http_core.h"

extern module AP_MODULE_DECLARE_DATA deflate_module;

enum { GZIP_LEVEL = COMPRESS_ARG_OWN, GZIP_MEMORY, GZIP_WINDOW, GZIP_FILE_LEVEL };

/* Measured: docs/benchmarks.md, "Compression". */
#define GZIP_LEVEL_STANDARD 4
#define GZIP_FILE_LEVEL_STANDARD 6
#define GZIP_MEMORY_STANDARD 9
#define GZIP_WINDOW_STANDARD 15
#define GZIP_LEAST 69 /* bytes of a body: shorter ones do not gain */

static void gzip_settings(const compress_conf *conf, const compress_source *source,
                          brg_coder_settings *settings)
{
    const int stream = compress_arg(conf, GZIP_LEVEL, GZIP_LEVEL_STANDARD);
    const int file = compress_arg(conf, GZIP_FILE_LEVEL,
                                  compress_arg(conf, GZIP_LEVEL, GZIP_FILE_LEVEL_STANDARD));

    settings->level = (short)(source->file ? file : stream);
    settings->window = (short)compress_arg(conf, GZIP_WINDOW, GZIP_WINDOW_STANDARD);
    settings->memory = (short)compress_arg(conf, GZIP_MEMORY, GZIP_MEMORY_STANDARD);
    settings->length = source->length;
}

static const compress_coder gzip_coder = {
    .coding = BRG_CODING_GZIP,
    .filter = "DEFLATE",
    .suffix = "-gzip",
    .off = "no-gzip",
    .only_html = "gzip-only-text/html",
    .force = "force-gzip",
    .module = &deflate_module,
    .frame = 18, /* RFC 1952: head and trailer */
    .least = GZIP_LEAST,
    .private_name = "DeflatePrivate",
    .loop_most = 32 * 1024,
    .settings = gzip_settings,
};

static apr_status_t gzip_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return compress_run(f, bb, &gzip_coder);
}

/* ---- directives ---- */

#define NUMBER(name, place, least, most)  \
    static const compress_number name = { \
        .module = &deflate_module, .arg = place, .from = least, .to = most}

NUMBER(gzip_level, GZIP_LEVEL, 1, 9);
NUMBER(gzip_file_level, GZIP_FILE_LEVEL, 1, 9);
NUMBER(gzip_memory, GZIP_MEMORY, 1, 9);
NUMBER(gzip_window, GZIP_WINDOW, 1, 15);
NUMBER(gzip_buffer, COMPRESS_ARG_BUFFER, 1, 16 * 1024 * 1024);

#define CODER_INFO ((void *)&gzip_coder)
#define NUMBER_INFO(name) ((void *)&name)

static const command_rec deflate_commands[] = {
    AP_INIT_TAKE12("DeflateFilterNote", compress_set_note, CODER_INFO, RSRC_CONF,
                   "Set a note to report on compression ratio: [Input|Output|Ratio] NAME"),
    AP_INIT_TAKE1("DeflateAlterETag", compress_set_etag, CODER_INFO, RSRC_CONF,
                  "What becomes of the entity tag: AddSuffix (default), NoChange or Remove"),
    AP_INIT_TAKE1("DeflateCompressionLevel", compress_set_number, NUMBER_INFO(gzip_level),
                  RSRC_CONF, "Level of compression, 1 (fast) to 9 (small); default 4, of files 6"),
    AP_INIT_TAKE1(
        "DeflateFileLevel", compress_set_number, NUMBER_INFO(gzip_file_level), RSRC_CONF,
        "Level for whole files, which are kept in memory (default: DeflateCompressionLevel)"),
    AP_INIT_TAKE1("DeflateMemLevel", compress_set_number, NUMBER_INFO(gzip_memory), RSRC_CONF,
                  "Memory for compression, 1 (little) to 9 (default)"),
    AP_INIT_TAKE1("DeflateWindowSize", compress_set_number, NUMBER_INFO(gzip_window), RSRC_CONF,
                  "Window of compression, as a power of two: 1 to 15 (default); below 9 it is 9"),
    AP_INIT_TAKE1("DeflateBufferSize", compress_set_number, NUMBER_INFO(gzip_buffer), RSRC_CONF,
                  "Bytes that are put out at once (default 8096)"),
    AP_INIT_FLAG("DeflatePrivate", compress_set_private, CODER_INFO, RSRC_CONF | ACCESS_CONF,
                 "Responses that depend on credentials are compressed, too (default Off)"),
    AP_INIT_TAKE1("DeflateInflateLimitRequestBody", inflate_set_limit, NULL, OR_ALL,
                  "Most bytes that a compressed request body may become (default: no limit)"),
    AP_INIT_TAKE1("DeflateInflateRatioLimit", inflate_set_ratio, NULL, OR_ALL,
                  "How many times its size a request body may become (default 200)"),
    AP_INIT_TAKE1("DeflateInflateRatioBurst", inflate_set_burst, NULL, OR_ALL,
                  "How many times that ratio may be exceeded (default 3)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

static void deflate_register_hooks(apr_pool_t *p)
{
    compress_register(p, &gzip_coder, gzip_filter);
    inflate_register(p);
}

module AP_MODULE_DECLARE_DATA deflate_module = {
    STANDARD20_MODULE_STUFF, compress_create_dir_conf,
    compress_merge_dir_conf, compress_create_conf,
    compress_merge_conf,     deflate_commands,
    deflate_register_hooks,  0,
};
