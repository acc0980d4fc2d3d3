/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one of the unit tests that are linked into this program, whose main() has the name of the test. A second argument says which
 * cases of it, as a pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define TEST(name) int name(void);
#include TEST_LIST
#undef TEST

static const struct {
    const char *name;
    int (*run)(void);
} units[] = {
#define TEST(name) {#name, name},
#include TEST_LIST
};

int main(int argc, char **argv)
{
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (argc < 2)
            printf("%s\n", units[i].name);
        else if (!strcmp(units[i].name, argv[1]))
            return units[i].run();
    if (argc > 1)
        fprintf(stderr, "There is no unit test %s; without an argument all are listed.\n", argv[1]);
    return argc > 1;
}
