/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PHP_SETTINGS_PRIVATE_H
#define BRIGADE_PROXY_PHP_SETTINGS_PRIVATE_H

/**
 * @file php_settings_private.h
 * php_value, php_flag, php_admin_value and php_admin_flag for PHP-FPM, as its variables PHP_VALUE and PHP_ADMIN_VALUE.
 *
 * A process of PHP-FPM keeps its settings: a request without a setting that another request had
 * would run with that one's. So each request first sets every setting that any request had to the
 * value of php.ini, or to PHP's own. PHP-FPM asks nobody whether a setting may be changed:
 * PHP_SYSTEM and PHP_NEVER are kept here.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"

/** Where a setting may be set, as PHP has it. */
typedef enum php_access {
    PHP_NEVER,  /**< when PHP starts, alone */
    PHP_SYSTEM, /**< by php_admin_value and php_admin_flag */
    PHP_PERDIR  /**< by all four */
} php_access;

typedef struct php_name {
    const char *name;
    php_access access;
    const char *value; /**< of PHP itself; NULL: not known */
} php_name;

#define PHP_NAME_WORDS 4 /**< words of bits for all rows */

/** @return the row of a name, or -1 */
int php_name_find(const char *name);
const php_name *php_name_get(int row);

/** A line of the configuration. */
typedef struct php_setting {
    const char *name, *value;
    int16_t row;   /**< -1: the name is not known */
    uint8_t admin; /**< php_admin_value, php_admin_flag */
} php_setting;

/**
 * Settings of two sections, as mod_php merges them: the second one's, but none in place of an admin's unless it is one, too.
 * @param base  of php_setting; NULL: none. So @a add
 */
apr_array_header_t *php_settings_merge(apr_pool_t *p, apr_array_header_t *base,
                                       apr_array_header_t *add);

/** Setter of the four directives; cmd->info: PHP_IS_FLAG and PHP_IS_ADMIN. @return NULL or a message */
const char *php_setting_cmd(cmd_parms *cmd, apr_array_header_t **to, const char *name,
                            const char *value);
#define PHP_IS_FLAG 1
#define PHP_IS_ADMIN 2

/** Begin of a configuration: is there a handler of FastCGI? Before its lines are carried out. */
void php_settings_begin(void);

/** Memory for the settings of PHP processes; the supervisor. @return OK or an error that stops the
 * start */
int php_settings_map(const server_rec *main);

/** 1: mod_php itself is loaded. */
int php_module_is_here(void);

/** Why a setting is not sent; NULL: it is. @param main  the main server's; NULL: none */
const char *php_setting_doubt(const char *name, int admin, const apr_array_header_t *main);

const char *php_directives_cmd(cmd_parms *cmd, void *dir, int on);

/**
 * PHP_VALUE and PHP_ADMIN_VALUE into r->subprocess_env, behind all that else sets variables.
 * @param mine     the request's; NULL: none
 * @param main     the main server's
 * @param generic  the backend is none of PHP: it gets an administrator's settings all the same
 */
void php_settings_put(request_rec *r, const apr_array_header_t *mine,
                      const apr_array_header_t *main, int generic);

#endif
