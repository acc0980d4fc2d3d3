/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONFIG_SETTING_H
#define BRIGADE_CONFIG_SETTING_H

/**
 * @file setting.h
 * Directives that set one field of a structure: a row of a table says which field and which values it takes, one
 * setter for each type does the rest. All setters return NULL or a message. Threads: main. Blocking: no.
 */
#include "http_config.h"

/** A word that a directive takes, in any case. A list ends at a NULL. */
typedef struct conf_word {
    const char *name;
    int value;
} conf_word;

/** The field that a directive sets: cmd->info of the setters below. */
typedef struct conf_setting {
    void *(*of)(const cmd_parms *cmd); /**< the structure; NULL: the settings of the section */
    apr_size_t at, size;               /**< the field in it: CONF_FIELD */
    unsigned where;          /**< GLOBAL_ONLY, ... of ap_check_cmd_context(); 0: anywhere */
    apr_int64_t least, most; /**< bounds; of a flag, the values for Off and On */
    const conf_word *words;
    const char *refusal; /**< of other values; NULL: a message with directive, bounds and value */
} conf_setting;

/** The members at and size of a conf_setting. */
#define CONF_FIELD(type, field) .at = offsetof(type, field), .size = sizeof((type *)0)->field
/** A conf_setting as cmd->info, in a table at file scope. */
#define CONF_SETTING(...) (&(conf_setting){__VA_ARGS__})

/** A whole number, with nothing behind it. */
const char *conf_set_number(cmd_parms *cmd, void *dir, const char *arg);
/** A whole number as atoi() reads it: brg_argument_number(). */
const char *conf_set_number_begin(cmd_parms *cmd, void *dir, const char *arg);
/** The same; a number outside of the bounds becomes the nearest inside, with a warning. */
const char *conf_set_clamped(cmd_parms *cmd, void *dir, const char *arg);
/** A number of bytes; K, M or G may stand behind it. */
const char *conf_set_bytes(cmd_parms *cmd, void *dir, const char *arg);
/** A time of ap_timeout_parameter_parse(), seconds without a unit, from @c least microseconds on. */
const char *conf_set_time(cmd_parms *cmd, void *dir, const char *arg);
/** One of the words. */
const char *conf_set_word(cmd_parms *cmd, void *dir, const char *arg);
/** On or Off of AP_INIT_FLAG. */
const char *conf_set_flag(cmd_parms *cmd, void *dir, int on);

/** @return 1 if @a arg is one of @a words, with *value set */
int conf_word_find(const conf_word *words, const char *arg, int *value);
/** "; did you mean 'WORD'?", or "". */
const char *conf_word_question(apr_pool_t *p, const conf_word *words, const char *arg);

/** @name The same numbers, read into a variable
 * @return NULL with *value set, or a message that names the directive
 * @{ */
const char *conf_number(const cmd_parms *cmd, const char *arg, apr_int64_t least, apr_int64_t most,
                        apr_int64_t *value);
const char *conf_number_begin(const cmd_parms *cmd, const char *arg, apr_int64_t least,
                              apr_int64_t most, apr_int64_t *value);
const char *conf_bytes(const cmd_parms *cmd, const char *arg, apr_int64_t *value);
/** @} */

#endif
