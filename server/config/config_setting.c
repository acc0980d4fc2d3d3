/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of single fields, by type. */
#include "setting.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "http_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <errno.h>
#include <string.h>

/* ---- numbers ---- */

static const char *number_outside(const cmd_parms *cmd, const char *arg, apr_int64_t least,
                                  apr_int64_t most)
{
    return apr_psprintf(cmd->pool,
                        "%s: parameter must be a number between %" APR_INT64_T_FMT
                        " and %" APR_INT64_T_FMT ": %s",
                        cmd->cmd->name, least, most, arg);
}

const char *conf_number(const cmd_parms *cmd, const char *arg, apr_int64_t least, apr_int64_t most,
                        apr_int64_t *value)
{
    char *end;

    BRG_ASSERT(least <= most);
    errno = 0;
    *value = apr_strtoi64(arg, &end, 10);
    if (errno || end == arg || *end || *value < least || *value > most)
        return number_outside(cmd, arg, least, most);
    return NULL;
}

const char *conf_number_begin(const cmd_parms *cmd, const char *arg, apr_int64_t least,
                              apr_int64_t most, apr_int64_t *value)
{
    BRG_ASSERT(least <= most);
    *value = brg_argument_number(cmd, arg);
    return *value < least || *value > most ? number_outside(cmd, arg, least, most) : NULL;
}

const char *conf_bytes(const cmd_parms *cmd, const char *arg, apr_int64_t *value)
{
    static const char units[] = "KMG";
    const apr_size_t len = strlen(arg);
    const char *unit = len ? strchr(units, apr_toupper(arg[len - 1])) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    const char *error = conf_number(cmd, unit ? apr_pstrmemdup(cmd->temp_pool, arg, len - 1) : arg,
                                    0, APR_INT64_MAX >> shift, value);

    BRG_ASSERT(shift >= 0 && shift < 32);
    if (!error)
        *value <<= shift;
    return error;
}

/* ---- words ---- */

int conf_word_find(const conf_word *words, const char *arg, int *value)
{
    BRG_ASSERT(words != NULL && arg != NULL);
    for (; words->name; words++) {
        if (!ap_cstr_casecmp(arg, words->name)) {
            *value = words->value;
            return 1;
        }
    }
    return 0;
}

const char *conf_word_question(apr_pool_t *p, const conf_word *words, const char *arg)
{
    brg_nearest nearest = {arg, NULL, 0};

    for (; words->name; words++)
        brg_nearest_offer(&nearest, words->name);
    return brg_nearest_question(p, &nearest);
}

/* ---- setters ---- */

static const conf_setting *setting_of(const cmd_parms *cmd, const char **error)
{
    const conf_setting *s = cmd->info;

    BRG_ASSERT(s != NULL && s->size <= sizeof(apr_int64_t));
    *error = s->where ? ap_check_cmd_context((cmd_parms *)(uintptr_t)cmd, s->where) : NULL;
    return s;
}

static void store(const conf_setting *s, const cmd_parms *cmd, void *dir, apr_int64_t value)
{
    char *field = (char *)(s->of ? s->of(cmd) : dir) + s->at;

    if (s->size == sizeof(int8_t))
        *(int8_t *)field = (int8_t)value;
    else if (s->size == sizeof(int32_t))
        *(int32_t *)(void *)field = (int32_t)value;
    else if (s->size == sizeof(int64_t))
        *(int64_t *)(void *)field = value;
    else
        BRG_ASSERT(!"a field of such a size is set");
}

/* @a error: of the reading of @a arg; *value counts without one. */
static const char *finish(const conf_setting *s, cmd_parms *cmd, void *dir, const char *error,
                          apr_int64_t value)
{
    if (!error)
        store(s, cmd, dir, value);
    return error && s->refusal ? s->refusal : error;
}

static const char *set_read(cmd_parms *cmd, void *dir, const char *arg,
                            const char *(*read)(const cmd_parms *, const char *, apr_int64_t,
                                                apr_int64_t, apr_int64_t *))
{
    const char *error;
    const conf_setting *s = setting_of(cmd, &error);
    apr_int64_t n;

    if (error)
        return error;
    error = read(cmd, arg, s->least, s->most, &n);
    return finish(s, cmd, dir, error, n);
}

const char *conf_set_number(cmd_parms *cmd, void *dir, const char *arg)
{
    return set_read(cmd, dir, arg, conf_number);
}

const char *conf_set_number_begin(cmd_parms *cmd, void *dir, const char *arg)
{
    return set_read(cmd, dir, arg, conf_number_begin);
}

const char *conf_set_clamped(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error;
    const conf_setting *s = setting_of(cmd, &error);

    if (!error)
        store(s, cmd, dir,
              brg_argument_clamp(cmd, brg_argument_number(cmd, arg), s->least, s->most));
    return error;
}

const char *conf_set_bytes(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error;
    const conf_setting *s = setting_of(cmd, &error);
    apr_int64_t n;

    if (error)
        return error;
    error = conf_bytes(cmd, arg, &n);
    if (!error && (n < s->least || n > s->most))
        error = apr_psprintf(cmd->pool,
                             "%s must be from %" APR_INT64_T_FMT " to %" APR_INT64_T_FMT " bytes",
                             cmd->cmd->name, s->least, s->most);
    return finish(s, cmd, dir, error, n);
}

const char *conf_set_time(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error;
    const conf_setting *s = setting_of(cmd, &error);
    apr_interval_time_t t;

    if (error)
        return error;
    if (ap_timeout_parameter_parse(arg, &t, "s") != APR_SUCCESS || t < s->least)
        error = apr_pstrcat(cmd->pool, cmd->cmd->name, " takes a time",
                            s->least > 0 ? " above 0" : "", ", not \"", arg, "\"", NULL);
    return finish(s, cmd, dir, error, t);
}

static const char *words_named(apr_pool_t *p, const conf_word *words)
{
    const char *text = words->name;

    for (words++; words->name; words++)
        text = apr_pstrcat(p, text, words[1].name ? ", " : " or ", words->name, NULL);
    return text;
}

const char *conf_set_word(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error;
    const conf_setting *s = setting_of(cmd, &error);
    int value = 0;

    if (error)
        return error;
    if (!conf_word_find(s->words, arg, &value))
        error = apr_pstrcat(cmd->pool, cmd->cmd->name, " takes ",
                            words_named(cmd->temp_pool, s->words), ", not \"", arg, "\"", NULL);
    return finish(s, cmd, dir, error, value);
}

const char *conf_set_flag(cmd_parms *cmd, void *dir, int on)
{
    const char *error;
    const conf_setting *s = setting_of(cmd, &error);

    BRG_ASSERT(s->least != s->most);
    return error ? error : finish(s, cmd, dir, NULL, on ? s->most : s->least);
}
