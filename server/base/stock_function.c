/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared libraries' functions are behind the program's in the loader's order. Where archives
 * are part of the program, the build has given the replaced functions a second name.
 */
#include "stock_function.h"
#include "brigade/assert.h"
#include <dlfcn.h>
#include <stdio.h>

void *stock_function(const char *name)
{
    char second[80];
    void *found;
    int n = snprintf(second, sizeof(second), "stock_%s", name);

    BRG_ASSERT(n > 0 && n < (int)sizeof(second));
    found = dlsym(RTLD_DEFAULT, second);
    return found != NULL ? found : dlsym(RTLD_NEXT, name);
}
