/* SPDX-License-Identifier: Apache-2.0 */
/* --check-module: facts that need no code of the file come first; then it is
 * opened, and its hooks are registered, by a process that may crash. */
#include "module_check.h"
#include "brigade/assert.h"
#include "configuration.h"
#include "module_file.h"
#include "module_symbols.h"
#include "response_cache.h"
#include "brigade/sms.h"
#include "apr_file_io.h"
#include "apr_strings.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct module_subject {
    process_rec *process;
    apr_pool_t *p;
    const char *path;
    module_file file;
    char *stage; /* the step at work; shared with the parent process */
    int bad;
    int passed_over; /* LoadModule does not open it */
} module_subject;

#define MODULE_STAGE_SIZE 200

static void module_stage(module_subject *s, const char *what)
{
    BRG_ASSERT(s->stage != NULL);
    apr_cpystrn(s->stage, what, MODULE_STAGE_SIZE);
}

/* ---- the file ---- */

static int module_missing(module_subject *s)
{
    apr_array_header_t *lost;
    const apr_array_header_t *missing = module_symbols_missing(&s->file, s->path, &lost, s->p);

    for (int i = 0; i < lost->nelts; i++)
        printf("  library %s: not found\n", APR_ARRAY_IDX(lost, i, const char *));
    for (int i = 0; i < missing->nelts; i++)
        printf("  missing: %s, which this version does not offer\n",
               APR_ARRAY_IDX(missing, i, const char *));
    if (missing->nelts)
        printf("  (%d missing; where another module offers them, name that one's file first)\n",
               missing->nelts);
    s->bad |= missing->nelts || lost->nelts;
    return missing->nelts;
}

static void module_duplicates(const module_subject *s)
{
    const apr_array_header_t *twice = module_symbols_twice(&s->file, s->path, s->p);

    for (int i = 0; i < twice->nelts; i++)
        printf("  duplicate: %s: the server or a module loaded before has it too; its own "
               "is not used\n",
               APR_ARRAY_IDX(twice, i, module_symbol_twice).name);
}

/* ---- module structures ---- */

static int module_structure(module_subject *s, const module_file_symbol *symbol)
{
    int version, minor;
    unsigned long magic;

    if (!module_file_is_module(symbol, &magic, &version, &minor))
        return 0;
    printf("  module %s: ", symbol->name);
    if (magic != MODULE_MAGIC_COOKIE) {
        printf("no module structure of Apache 2.x (signature %08lx and not %08lx)\n", magic,
               MODULE_MAGIC_COOKIE);
        s->bad = 1;
    } else if (version != MODULE_MAGIC_NUMBER_MAJOR) {
        printf("built for interface %d, this is %d: it cannot be loaded\n", version,
               MODULE_MAGIC_NUMBER_MAJOR);
        s->bad = 1;
    } else {
        printf("interface %d:%d, here %d:%d%s\n", version, minor, MODULE_MAGIC_NUMBER_MAJOR,
               MODULE_MAGIC_NUMBER_MINOR,
               minor > MODULE_MAGIC_NUMBER_MINOR
                   ? " (newer: it may need functions that this server lacks)"
                   : "");
    }
    if (!strncmp(symbol->name, "mpm_", 4)) {
        s->passed_over = 1;
        printf("    LoadModule does not open it: the process models are the server's own\n");
    } else if (conf_builtin_find(symbol->name)) {
        printf("    built in: LoadModule opens the file only behind \"BuiltinModule %s Off\"\n",
               symbol->name);
    }
    return 1;
}

static int module_structures(module_subject *s)
{
    int n = 0;

    for (int i = 0; i < s->file.defined->nelts; i++)
        n += module_structure(s, &APR_ARRAY_IDX(s->file.defined, i, module_file_symbol));
    if (!n) {
        printf("  no module: it defines no structure NAME_module\n");
        s->bad = 1;
    }
    return n;
}

/* ---- open ---- */

static void module_show(module_subject *s, void *handle, const char *symbol)
{
    module *m = dlsym(handle, symbol);

    if (!m || m->magic != MODULE_MAGIC_COOKIE || m->version != MODULE_MAGIC_NUMBER_MAJOR)
        return;
    BRG_ASSERT(!s->passed_over);
    printf("  %s brings\n", symbol);
    module_check_directives(m);
    module_stage(s, apr_psprintf(s->p, "in register_hooks of %s", symbol));
    module_check_hooks(s->process, m, symbol);
}

static void module_open(module_subject *s, int missing)
{
    int version, minor;
    unsigned long magic;
    void *handle;

    module_stage(s, "while it was opened (a constructor, or a library of it)");
    handle = dlopen(s->path, (missing ? RTLD_LAZY : RTLD_NOW) | RTLD_GLOBAL);
    if (!handle) {
        printf("  cannot be opened: %s\n", dlerror());
        s->bad = 1;
        return;
    }
    for (int i = 0; i < s->file.defined->nelts; i++) {
        const module_file_symbol *symbol = &APR_ARRAY_IDX(s->file.defined, i, module_file_symbol);

        if (module_file_is_module(symbol, &magic, &version, &minor))
            module_show(s, handle, symbol->name);
    }
}

/* In a process of its own. */
static int module_check_file(module_subject *s, const char *const *before)
{
    const char *error;
    int missing;

    for (; *before; before++) {
        char *path;

        if (apr_filepath_merge(&path, NULL, *before, APR_FILEPATH_TRUENAME, s->p) == APR_SUCCESS)
            (void)dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    }
    error = module_file_read(&s->file, s->path, s->p);
    if (error) {
        printf("  %s\n", error);
        return 1;
    }
    if (!module_structures(s))
        return 1;
    if (s->passed_over)
        return s->bad;
    module_stage(s, "while its libraries were opened");
    missing = module_missing(s);
    module_duplicates(s);
    module_open(s, missing);
    return s->bad;
}

static int module_check_ended(const module_subject *s, pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        printf("  no process could be started to look at it\n");
        return 1;
    }
    if (WIFSIGNALED(status))
        printf("  crashed with signal %d (%s) %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)),
               s->stage);
    else if (WEXITSTATUS(status) > 1)
        printf("  ended the process with status %d %s\n", WEXITSTATUS(status), s->stage);
    return status != 0;
}

static int module_check_one(process_rec *process, const char *const *files, int n, char *stage)
{
    module_subject s = {.process = process, .p = process->pool, .path = files[n], .stage = stage};
    const char **before = apr_pcalloc(s.p, ((apr_size_t)n + 1) * sizeof *before);
    char *path;
    pid_t pid;

    BRG_ASSERT(n >= 0 && files[n] != NULL);
    memcpy(before, files, (apr_size_t)n * sizeof *before);
    printf("%s\n", s.path);
    fflush(stdout);
    if (apr_filepath_merge(&path, NULL, s.path, APR_FILEPATH_TRUENAME, s.p) == APR_SUCCESS)
        s.path = path;
    pid = fork();
    if (pid == 0) {
        int bad;

        setvbuf(stdout, NULL, _IOLBF, 0);
        bad = module_check_file(&s, before);
        fflush(stdout);
        _exit(bad);
    }
    return module_check_ended(&s, pid);
}

int module_check(process_rec *process, int files_n, const char *const *files)
{
    char *stage =
        mmap(NULL, MODULE_STAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int bad = 0;

    if (stage == MAP_FAILED)
        return 1;
    /* A server restarts itself at the first library that needs this. Here it is done before there is output. */
    (void)brg_sms_static_tls_retry("static TLS");
    for (int i = 0; i < files_n; i++)
        bad |= module_check_one(process, files, i, stage);
    return bad;
}
