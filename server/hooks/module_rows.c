/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in module_rows.def. */
#include "module_rows.h"
#include "httpd.h"
#include <string.h>

#define SHARED .shared = 1,
#define SECOND .second = 1,
#define VITAL .vital = 1,
#define NOT_APACHES .not_apaches = 1,
#define OTHER_MPM .other_mpm = 1,
#define IDLE .idle = 1,
#define QUERY_FREE .query_free = 1,
#define NAME_FREE .name_free = 1,
#define EARLY_ALIKE .early_alike = 1,
#define NEEDS(id) .needs = #id "_module",
#define FAMILY(id) .family = #id,
#define SERVED_BY(id) .served_by = "mod_" #id ".c",
#define PLAIN_FILTERS(list) .plain_filters = list,
#define RULE(...)
#define DIRECTIVES(list) .directives = list,
#define DIRECTIVES_OF(who, list) .label = who, .directives = list,
#define MODULE(id, base, ...) \
    {.short_name = #id, .symbol = #id "_module", .file = base, .name = base ".c", __VA_ARGS__},
#define BUILTIN(id, linkage, ...) MODULE(id, __VA_ARGS__.is_builtin = 1)

const module_row module_rows[] = {
#include "module_rows.def"
};
const int module_rows_n = sizeof module_rows / sizeof *module_rows;

_Static_assert(sizeof module_rows / sizeof *module_rows <= MODULE_ROWS_MOST,
               "MODULE_ROWS_MOST is too small");

const module_row *module_row_named(const char *name)
{
    for (int i = 0; name && i < module_rows_n; i++)
        if (!strcmp(module_rows[i].name, name))
            return &module_rows[i];
    return NULL;
}

const module_row *module_row_of_symbol(const char *symbol)
{
    for (int i = 0; i < module_rows_n; i++)
        if (!strcmp(module_rows[i].symbol, symbol))
            return &module_rows[i];
    return NULL;
}

int module_list_has(const char *list, const char *word, size_t len)
{
    while (list && *list) {
        size_t n = strcspn(list, " ");

        if (n == len && !ap_cstr_casecmpn(list, word, len))
            return 1;
        list += n + (list[n] == ' ');
    }
    return 0;
}

const char *module_rows_directive(const char *name)
{
    const size_t len = strlen(name);

    for (int i = 0; len && i < module_rows_n; i++)
        if (module_list_has(module_rows[i].directives, name, len))
            return module_rows[i].label ? module_rows[i].label : module_rows[i].file;
    return NULL;
}

int module_rows_apaches(const char *symbol)
{
    const module_row *row = module_row_of_symbol(symbol);

    return row && !row->not_apaches && !row->vital && !row->other_mpm;
}

int module_rows_other_mpm(const char *symbol)
{
    const module_row *row = module_row_of_symbol(symbol);

    return row && row->other_mpm;
}

int module_rows_idle(const char *symbol)
{
    const module_row *row = module_row_of_symbol(symbol);

    return row && row->idle;
}
