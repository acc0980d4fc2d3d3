/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of the module for files. */
#include "file_private.h"
#include "file_kept.h"
#include "apr_strings.h"

#define FILE_READ_MOST (16 * 1024 * 1024)

void *file_create_dir_conf(apr_pool_t *p, char *dir)
{
    file_dir_conf *conf = apr_palloc(p, sizeof *conf);

    conf->read_bytes = FILE_READ_UNSET;
    conf->codings = FILE_CODINGS_UNSET;
    return conf;
}

void *file_merge_dir_conf(apr_pool_t *p, void *basev, void *overv)
{
    const file_dir_conf *base = basev, *over = overv;
    file_dir_conf *conf = apr_pmemdup(p, base, sizeof *base);

    if (over->read_bytes != FILE_READ_UNSET)
        conf->read_bytes = over->read_bytes;
    if (over->codings != FILE_CODINGS_UNSET)
        conf->codings = over->codings;
    return conf;
}

static const char *file_set_read_bytes(cmd_parms *cmd, void *confv, const char *arg)
{
    file_dir_conf *conf = confv;
    char *end;

    if (apr_strtoff(&conf->read_bytes, arg, &end, 10) != APR_SUCCESS || *end || end == arg ||
        conf->read_bytes < 0 || conf->read_bytes > FILE_READ_MOST)
        return apr_psprintf(cmd->pool, "FileReadSize takes a number of bytes from 0 to %d",
                            FILE_READ_MOST);
    return NULL;
}

static const char *file_add_coding(cmd_parms *cmd, void *confv, const char *name)
{
    file_dir_conf *conf = confv;

    return file_codings_add(cmd, &conf->codings, name);
}

static const char *file_set_kept(cmd_parms *cmd, void *unused, const char *arg)
{
    apr_off_t bytes;
    char *end;

    if (apr_strtoff(&bytes, arg, &end, 10) != APR_SUCCESS || *end || end == arg || bytes < 0)
        return "FileKeptForFilters takes a number of bytes";
    file_kept_limit((apr_size_t)bytes);
    return ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

int file_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    file_kept_limit(FILE_KEPT_DEFAULT);
    return OK;
}

const command_rec file_commands[] = {
    AP_INIT_TAKE1("FileKeptForFilters", file_set_kept, NULL, RSRC_CONF,
                  "Memory of a process for files that filters read again and again, in bytes "
                  "(default 16777216; 0: none)"),
    AP_INIT_ITERATE(
        "PrecompressedFiles", file_add_coding, NULL, OR_FILEINFO,
        "Codings (br, zstd, gzip) in which files may stand beside a file, with .br, .zst "
        "and .gz behind its name, to be sent to clients that take them; or off (default)"),
    AP_INIT_TAKE1(
        "FileReadSize", file_set_read_bytes, NULL, OR_FILEINFO,
        "Largest file that is read and sent in one piece with its head, in bytes (default 16384)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};
