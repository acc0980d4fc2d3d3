/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of names of a page (ssi_names.h): hashed, in the page's memory. */
#include "ssi_names.h"
#include <string.h>

int ssi_names_has(const ssi_names *names, const char *name)
{
    if (names->all)
        return apr_hash_get(names->all, name, APR_HASH_KEY_STRING) != NULL;
    for (int i = 0; i < names->few_n; i++)
        if (!strcmp(names->few[i], name))
            return 1;
    return 0;
}

void ssi_names_add(ssi_names *names, apr_pool_t *p, const char *name)
{
    if (names->few_n < SSI_NAMES_FEW) {
        names->few[names->few_n++] = name;
        return;
    }
    if (!names->all) {
        names->all = apr_hash_make(p);
        for (int i = 0; i < names->few_n; i++)
            apr_hash_set(names->all, names->few[i], APR_HASH_KEY_STRING, names->few[i]);
    }
    apr_hash_set(names->all, name, APR_HASH_KEY_STRING, name);
}
