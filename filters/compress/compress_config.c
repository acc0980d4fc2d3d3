/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that all modules that compress have. */
#include "compress_private.h"
#include "brigade/directive.h"
#include "http_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>

void *compress_create_conf(apr_pool_t *p, server_rec *s)
{
    compress_conf *conf = apr_pcalloc(p, sizeof *conf);

    for (int i = 0; i < COMPRESS_ARGS; i++)
        conf->args[i] = COMPRESS_UNSET;
    return conf;
}

#define SET(member) conf->member = over->member != COMPRESS_UNSET ? over->member : base->member
#define OR(member) conf->member = over->member ? over->member : base->member

void *compress_merge_conf(apr_pool_t *p, void *basev, void *overv)
{
    const compress_conf *base = basev, *over = overv;
    compress_conf *conf = apr_pcalloc(p, sizeof *conf);

    OR(etag);
    OR(note_input);
    OR(note_output);
    OR(note_ratio);
    for (int i = 0; i < COMPRESS_ARGS; i++)
        SET(args[i]);
    return conf;
}

void *compress_create_dir_conf(apr_pool_t *p, char *dir)
{
    compress_dir_conf *conf = apr_palloc(p, sizeof *conf);

    *conf = (compress_dir_conf){COMPRESS_UNSET, COMPRESS_UNSET, COMPRESS_UNSET, COMPRESS_UNSET};
    return conf;
}

void *compress_merge_dir_conf(apr_pool_t *p, void *basev, void *overv)
{
    const compress_dir_conf *base = basev, *over = overv;
    compress_dir_conf *conf = apr_palloc(p, sizeof *conf);

    SET(private);
    SET(inflate_limit);
    SET(inflate_ratio);
    SET(inflate_burst);
    return conf;
}

static compress_conf *config_of(const cmd_parms *cmd)
{
    const compress_coder *coder = cmd->info;

    return ap_get_module_config(cmd->server->module_config, coder->module);
}

const char *compress_set_etag(cmd_parms *cmd, void *dir, const char *arg)
{
    compress_conf *conf = config_of(cmd);

    if (!ap_cstr_casecmp(arg, "AddSuffix"))
        conf->etag = COMPRESS_ETAG_SUFFIX;
    else if (!ap_cstr_casecmp(arg, "NoChange"))
        conf->etag = COMPRESS_ETAG_KEEP;
    else if (!ap_cstr_casecmp(arg, "Remove"))
        conf->etag = COMPRESS_ETAG_REMOVE;
    else
        return apr_psprintf(cmd->pool, "%s accepts only 'AddSuffix', 'NoChange', and 'Remove'",
                            cmd->directive->directive);
    return NULL;
}

const char *compress_set_note(cmd_parms *cmd, void *dir, const char *first, const char *second)
{
    compress_conf *conf = config_of(cmd);

    if (!second || !ap_cstr_casecmp(first, "ratio"))
        conf->note_ratio = second ? second : first;
    else if (!ap_cstr_casecmp(first, "input"))
        conf->note_input = second;
    else if (!ap_cstr_casecmp(first, "output"))
        conf->note_output = second;
    else
        return apr_psprintf(cmd->pool, "Unknown note type %s", first);
    return NULL;
}

const char *compress_set_private(cmd_parms *cmd, void *dir, int on)
{
    ((compress_dir_conf *)dir)->private = on;
    return NULL;
}

const char *compress_set_number(cmd_parms *cmd, void *dir, const char *arg)
{
    const compress_number *number = cmd->info;
    compress_conf *conf = ap_get_module_config(cmd->server->module_config, number->module);
    const apr_int64_t value = brg_argument_number(cmd, arg);

    BRG_ASSERT(number->arg >= 0 && number->arg < COMPRESS_ARGS && number->from >= 0);
    if (value < number->from || value > number->to)
        return apr_psprintf(cmd->pool, "%s must be between %d and %d", cmd->directive->directive,
                            number->from, number->to);
    conf->args[number->arg] = (int)value;
    return NULL;
}

int compress_arg(const compress_conf *conf, int arg, int standard)
{
    BRG_ASSERT(arg >= 0 && arg < COMPRESS_ARGS);
    return conf->args[arg] != COMPRESS_UNSET ? conf->args[arg] : standard;
}
