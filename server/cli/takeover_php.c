/* SPDX-License-Identifier: Apache-2.0 */
/* --takeover-check: PHP within the server, or in PHP-FPM, and which of mod_php's lines the latter is told of. */
#include "main_parts.h"
#include "proxy.h"
#include "apr_strings.h"
#include <stdio.h>

static int php_is_line(const ap_directive_t *d)
{
    static const char *const names[] = {"php_value", "php_flag", "php_admin_value",
                                        "php_admin_flag"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!ap_cstr_casecmp(d->directive, names[i]))
            return 1;
    return 0;
}

/* @param tell  print the lines that PHP-FPM does not get. @return how many lines there are */
static int php_lines(apr_pool_t *p, const ap_directive_t *d, int tell)
{
    int n = 0;

    for (; d; d = d->next) {
        const char *doubt = php_is_line(d) ? proxy_php_doubt_of_fpm(p, d) : NULL;

        if (tell && doubt)
            printf("    %s:%d: %s %s: %s\n", d->filename, d->line_num, d->directive, d->args,
                   doubt);
        n += php_is_line(d) + php_lines(p, d->first_child, tell);
    }
    return n;
}

void main_takeover_php(apr_pool_t *p, const ap_directive_t *tree)
{
    const int n = php_lines(p, tree, 0), inside = proxy_php_is_inside();

    if (!n && !inside)
        return;
    printf("PHP:\n");
    if (inside)
        printf("  it runs within the server (libphp), so that each process has one connection at a "
               "time; PHP-FPM leaves the server event loops (SetHandler "
               "\"proxy:unix:/run/php/php-fpm.sock|fcgi://localhost\" in its place)\n");
    printf(
        "  PHP-FPM is told of php_value and the like, here (%d lines) and in .htaccess files, but "
        "not of what is named next\n",
        n);
    php_lines(p, tree, 1);
}
