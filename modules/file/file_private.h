/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_PRIVATE_H
#define FILE_PRIVATE_H

/**
 * @file file_private.h
 * Parts of the module for files: the handler (mod_file.c), directives (file_config.c), coded forms of
 * files (file_coded.c), files that filters read (file_kept.c).
 */
#include "httpd.h"
#include "http_config.h"
#include "file_coded.h"

extern module AP_MODULE_DECLARE_DATA file_module;

#define FILE_READ_UNSET (-1)
#define FILE_READ_DEFAULT (16 * 1024)

typedef struct file_dir_conf {
    apr_off_t read_bytes; /* FileReadSize, or FILE_READ_UNSET */
    brg_codings codings;  /* PrecompressedFiles, or FILE_CODINGS_UNSET */
} file_dir_conf;

extern const command_rec file_commands[];

void *file_create_dir_conf(apr_pool_t *p, char *dir);
void *file_merge_dir_conf(apr_pool_t *p, void *basev, void *overv);

/** pre_config hook. */
int file_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp);

#endif
