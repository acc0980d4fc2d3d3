/* SPDX-License-Identifier: Apache-2.0 */
/* Files of modules: what is in one is found, and no damage to one is followed out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_pool.h"
#include "module_file.h"
#include "http_config.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A shared object that is certain to be there: PCRE2. (APR may be part of the program.) */
static const char *object_path(void)
{
    Dl_info info;

    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "pcre2_compile_8"), &info), 0);
    return info.dli_fname;
}

static const module_file_symbol *object_symbol(const apr_array_header_t *symbols, const char *name)
{
    for (int i = 0; i < symbols->nelts; i++) {
        const module_file_symbol *s = &APR_ARRAY_IDX(symbols, i, module_file_symbol);

        if (!strcmp(s->name, name))
            return s;
    }
    return NULL;
}

static void test_symbols_and_libraries(void **state)
{
    module_file file;
    int libc = 0;

    assert_null(module_file_read(&file, object_path(), test_pool));
    assert_non_null(object_symbol(file.defined, "pcre2_compile_8"));
    assert_null(object_symbol(file.wanted, "pcre2_compile_8"));
    assert_non_null(object_symbol(file.wanted, "malloc"));
    for (int i = 0; i < file.libraries->nelts; i++)
        libc |= !strncmp(APR_ARRAY_IDX(file.libraries, i, const char *), "libc.so", 7);
    assert_true(libc);
}

static void test_programs_and_others_are_none(void **state)
{
    module_file file;

    assert_non_null(strstr(module_file_read(&file, "/proc/self/exe", test_pool), "program"));
    assert_non_null(strstr(module_file_read(&file, "/", test_pool), "directory"));
    assert_non_null(strstr(module_file_read(&file, "/no/such/file", test_pool), "cannot be read"));
}

static void test_structures_of_modules(void **state)
{
    static const module m = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, NULL, 0},
                        nothing;
    module_file_symbol s = {.name = "x_module", .is_data = 1, .size = sizeof m, .content = &m};
    unsigned long magic;
    int version, minor;

    assert_true(module_file_is_module(&s, &magic, &version, &minor));
    assert_int_equal(magic, MODULE_MAGIC_COOKIE);
    assert_int_equal(version, MODULE_MAGIC_NUMBER_MAJOR);
    assert_int_equal(minor, MODULE_MAGIC_NUMBER_MINOR);
    s.name = "mod_shib";
    assert_true(module_file_is_module(&s, &magic, &version, &minor));
    s.content = &nothing;
    assert_false(module_file_is_module(&s, &magic, &version, &minor));
    s.name = "_module";
    assert_false(module_file_is_module(&s, &magic, &version, &minor));
    s.name = "x_module"; /* one of another Apache */
    assert_true(module_file_is_module(&s, &magic, &version, &minor));
    s.content = &m;
    s.size = 2 * sizeof m + 8;
    assert_false(module_file_is_module(&s, &magic, &version, &minor));
    s.size = 8;
    assert_false(module_file_is_module(&s, &magic, &version, &minor));
}

/* Bytes of the head, and of the table of sections at the end, are where a reader goes astray. */
static void test_damaged_files(void **state)
{
    FILE *in = fopen(object_path(), "rb");
    char *data = malloc(1 << 22), path[40];
    size_t len = fread(data, 1, 1 << 22, in);
    int fd = memfd_create("damaged", 0);

    fclose(in);
    srand(1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int i = 0; i < 3000; i++) {
        size_t at = (size_t)rand() % (i % 2 ? 64 : 64 * 40),
               n = i % 100 ? len : (size_t)rand() % len;
        char kept;
        apr_pool_t *p;
        module_file file;

        at = i % 2 ? at : len - 1 - at;
        kept = data[at];
        data[at] = (char)rand();
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, data, n, 0), n);
        apr_pool_create(&p, test_pool);
        (void)module_file_read(&file, path, p);
        apr_pool_destroy(p);
        data[at] = kept;
    }
    close(fd);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_symbols_and_libraries),
        TEST_WITH_POOL(test_programs_and_others_are_none),
        TEST_WITH_POOL(test_structures_of_modules),
        TEST_WITH_POOL(test_damaged_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
