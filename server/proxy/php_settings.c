/* SPDX-License-Identifier: Apache-2.0 */
/* php_value and its kin: lines of the configuration, and the variables that PHP-FPM gets of them. */
#include "php_settings_private.h"
#include "proxy_private.h"
#include "configuration.h"
#include "kept_memory.h"
#include "trial.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy_fcgi);

/* ---- whether PHP is there ---- */

static enum { PHP_BY_HANDLER, PHP_OFF, PHP_ON } php_directives;
static int php_has_handler; /* a line names a FastCGI backend as a handler */

static apr_status_t php_directives_forget(void *unused)
{
    (void)unused;
    php_directives = PHP_BY_HANDLER;
    return APR_SUCCESS;
}

const char *php_directives_cmd(cmd_parms *cmd, void *dir, int on)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (error)
        return error;
    php_directives = on ? PHP_ON : PHP_OFF;
    apr_pool_cleanup_register(cmd->pool, NULL, php_directives_forget, apr_pool_cleanup_null);
    return NULL;
}

int proxy_php_is_module(const char *name)
{
    static const char *const names[] = {"mod_php.c", "mod_php8.c", "php_module", "php8_module"};

    for (size_t i = 0; php_directives == PHP_ON && i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return 1;
    return 0;
}

static int php_looks_for_handler(const ap_directive_t *d)
{
    for (; d; d = d->next)
        if (((!strcasecmp(d->directive, "SetHandler") || !strcasecmp(d->directive, "AddHandler")) &&
             strstr(d->args, "fcgi://")) ||
            php_looks_for_handler(d->first_child))
            return 1;
    return 0;
}

void php_settings_begin(void)
{
    php_has_handler = php_looks_for_handler(ap_conftree);
}

int php_module_is_here(void)
{
    return ap_find_linked_module("mod_php.c") || ap_find_linked_module("mod_php7.c");
}

/* ---- lines ---- */

static php_setting *php_setting_of(apr_array_header_t *all, const char *name)
{
    for (int i = 0; all && i < all->nelts; i++) {
        php_setting *one = &APR_ARRAY_IDX(all, i, php_setting);

        if (!strcmp(one->name, name))
            return one;
    }
    return apr_array_push(all);
}

static int php_name_is_one(const char *name)
{
    const char *at = name;

    while (apr_isalnum(*at) || *at == '_' || *at == '.' || *at == '-')
        at++;
    return *name && !*at;
}

const char *php_setting_cmd(cmd_parms *cmd, apr_array_header_t **to, const char *name,
                            const char *value)
{
    const int how = (int)(intptr_t)cmd->info;
    php_setting *one;

    if (php_module_is_here())
        return DECLINE_CMD;
    if (php_directives == PHP_OFF || (php_directives == PHP_BY_HANDLER && !php_has_handler))
        return conf_not_here;
    if (!php_name_is_one(name))
        return NULL; /* PHP has none of that name, which is no mistake to its module */
    if (how & PHP_IS_FLAG)
        value = !strcasecmp(value, "On") || !strcmp(value, "1") ? "1" : "0";
    else if (!strcasecmp(value, "none"))
        value = "";
    if (!*to)
        *to = apr_array_make(cmd->pool, 4, sizeof(php_setting));
    one = php_setting_of(*to, name);
    *one = (php_setting){name, value, (int16_t)php_name_find(name), (how & PHP_IS_ADMIN) != 0};
    return NULL;
}

apr_array_header_t *php_settings_merge(apr_pool_t *p, apr_array_header_t *base,
                                       apr_array_header_t *add)
{
    apr_array_header_t *all;

    if (!base || !add)
        return add ? add : base;
    all = apr_array_copy(p, base);
    for (int i = 0; i < add->nelts; i++) {
        const php_setting *mine = &APR_ARRAY_IDX(add, i, php_setting);
        const int known = all->nelts;
        php_setting *one = php_setting_of(all, mine->name);

        if (all->nelts > known || mine->admin >= one->admin)
            *one = *mine;
    }
    return all;
}

/* ---- which settings PHP was told of ---- */

static _Atomic uint64_t *php_told; /* a bit for each row, of all processes */

int php_settings_map(const server_rec *main)
{
    if (php_told || trial_runs())
        return OK;
    php_told = kept_memory_map("php-settings-1", PHP_NAME_WORDS * sizeof *php_told);
    if (php_told)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_EMERG, errno, main,
                 "no memory that processes share for the settings that PHP was told of");
    return HTTP_INTERNAL_SERVER_ERROR;
}

static void php_tell(int row)
{
    const uint64_t bit = 1ull << row % 64;
    _Atomic uint64_t *word = &php_told[row / 64];

    BRG_ASSERT(row >= 0 && row < 64 * PHP_NAME_WORDS);
    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
        atomic_fetch_or(word, bit);
}

/* ---- the variables ---- */

/* NAME='VALUE': nothing in it has a meaning to PHP but the quote, which stands in quotes of the other kind. */
static const char *php_line(apr_pool_t *p, const php_setting *one)
{
    const size_t name = strlen(one->name);
    char *line = apr_palloc(p, name + 3 * strlen(one->value) + sizeof "=''\n"), *to = line + name;
    const char *at = one->value;

    memcpy(line, one->name, name);
    *to++ = '=';
    do {
        const int is_quotes = *at == '\'';
        const size_t n = is_quotes ? strspn(at, "'") : strcspn(at, "'");

        *to++ = is_quotes ? '"' : '\'';
        memcpy(to, at, n);
        to[n] = is_quotes ? '"' : '\'';
        to += n + 1;
        at += n;
    } while (*at);
    memcpy(to, "\n", 2);
    return line;
}

/* A setting that all other requests can have, too, may be sent. */
const char *php_setting_doubt(const char *name, int admin, const apr_array_header_t *main)
{
    const int row = php_name_find(name);
    const php_name *known = row < 0 ? NULL : php_name_get(row);

    if (known && known->access == PHP_NEVER)
        return "PHP takes it at its start alone";
    if (known && known->access == PHP_SYSTEM && !admin)
        return "php_admin_value alone may set it";
    if (known && known->value)
        return NULL;
    for (int i = 0; main && i < main->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(main, i, php_setting).name, name))
            return NULL;
    return "PHP's own value is not known here, and the main server has none";
}

/* ${NAME} is php.ini's value, or else that of the variable of that name. */
static const char *php_reset(request_rec *r, const php_name *name, const char *text)
{
    if (!name->value)
        return text; /* all requests have the main server's */
    apr_table_setn(r->subprocess_env, name->name, name->value);
    return apr_pstrcat(r->pool, text, name->name, "=\"${", name->name, "}\"\n", NULL);
}

/* Settings of any request are reset: this one may have no line for one, or a line that PHP refuses.
 */
static const char *php_resets(request_rec *r)
{
    const char *text = "";

    for (int word = 0; word < PHP_NAME_WORDS; word++) {
        uint64_t left = atomic_load_explicit(&php_told[word], memory_order_relaxed);

        for (; left; left &= left - 1)
            text = php_reset(r, php_name_get(64 * word + __builtin_ctzll(left)), text);
    }
    return text;
}

static int php_has_admins(const apr_array_header_t *mine)
{
    for (int i = 0; mine && i < mine->nelts; i++)
        if (APR_ARRAY_IDX(mine, i, php_setting).admin)
            return 1;
    return 0;
}

/* An administrator's settings go to all that speaks FastCGI, and alone: what .htaccess says by variables, by another type of backend or by
 * a rule with [P] takes none of them away, nor does a quote without an end. */
void php_settings_put(request_rec *r, const apr_array_header_t *mine,
                      const apr_array_header_t *main, int generic)
{
    const int by_handler = !generic && r->handler && !strncmp(r->handler, "proxy:", 6);
    const char *text[2] = {"", ""}, *more;

    if (!php_told || (!by_handler && !php_has_admins(mine)))
        return;
    for (int i = 0; mine && i < mine->nelts; i++) {
        const php_setting *one = &APR_ARRAY_IDX(mine, i, php_setting);

        if (php_setting_doubt(one->name, one->admin, main))
            continue;
        if (one->row >= 0)
            php_tell(one->row);
        text[one->admin] = apr_pstrcat(r->pool, text[one->admin], php_line(r->pool, one), NULL);
    }
    more = apr_table_get(r->subprocess_env, "PHP_VALUE"); /* of SetEnv */
    text[0] = apr_pstrcat(r->pool, php_resets(r), text[0], more, NULL);
    if (*text[0])
        apr_table_setn(r->subprocess_env, "PHP_VALUE", text[0]);
    if (*text[1])
        apr_table_setn(r->subprocess_env, "PHP_ADMIN_VALUE", text[1]);
}
