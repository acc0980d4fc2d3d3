/* SPDX-License-Identifier: Apache-2.0 */
/* The directives of the sandbox, and the steps of a process into it. */
#include "sandbox.h"
#include "brigade/assert.h"
#include "brigade/sandbox.h"

#include "http_core.h"
#include "http_log.h"

#include "apr_strings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static sandbox_conf sandbox;

/* ---- directives ---- */

void sandbox_pre_config(apr_pool_t *pconf)
{
    sandbox = (sandbox_conf){.allowed = apr_array_make(pconf, 4, sizeof(sandbox_path))};
    BRG_ASSERT(sandbox.mode == SANDBOX_OFF);
}

const char *sandbox_set(cmd_parms *cmd, void *dummy, const char *arg)
{
    static const char *const modes[] = {"Off", "On", "Required"};
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    for (int i = SANDBOX_OFF; i <= SANDBOX_REQUIRED; i++)
        if (!ap_cstr_casecmp(arg, modes[i])) {
            sandbox.mode = (sandbox_mode)i;
            return NULL;
        }
    return apr_psprintf(cmd->pool, "Sandbox takes Off, On or Required, not \"%s\"", arg);
}

const char *sandbox_allow(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    static const char *const names[] = {"read", "write", "exec"};
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    int access = SANDBOX_READ;

    if (err)
        return err;
    while (argc > 1 && access <= SANDBOX_EXEC && ap_cstr_casecmp(argv[0], names[access]))
        access++;
    if (argc < 2 || access > SANDBOX_EXEC)
        return "SandboxAllow takes read, write or exec, and paths";
    for (int i = 1; i < argc; i++) {
        const char *path = ap_server_root_relative(cmd->pool, argv[i]);

        if (!path)
            return apr_psprintf(cmd->pool, "SandboxAllow: \"%s\" is no path", argv[i]);
        APR_ARRAY_PUSH(sandbox.allowed, sandbox_path) =
            (sandbox_path){.path = path, .access = (sandbox_access)access, .why = "SandboxAllow"};
    }
    sandbox.exec |= access == SANDBOX_EXEC;
    return NULL;
}

/* ---- the supervisor ---- */

static void sandbox_log_lacks(server_rec *s, int level)
{
    if (!sandbox_landlock())
        ap_log_error(APLOG_MARK, level, 0, s,
                     "Sandbox: the kernel has no Landlock, or it is switched off: server processes "
                     "reach all "
                     "files of their user");
    if (!sandbox_has_filter())
        ap_log_error(APLOG_MARK, level, 0, s,
                     "Sandbox: there is no filter of system calls for this kind of processor");
}

int sandbox_check(server_rec *s)
{
    if (sandbox.mode != SANDBOX_REQUIRED || (sandbox_landlock() && sandbox_has_filter()))
        return OK;
    sandbox_log_lacks(s, APLOG_STARTUP | APLOG_CRIT);
    return HTTP_INTERNAL_SERVER_ERROR;
}

void sandbox_prepare(apr_pool_t *pconf, server_rec *s)
{
    if (sandbox.mode == SANDBOX_OFF)
        return;
    sandbox_log_lacks(s, APLOG_WARNING);
    sandbox_find_paths(&sandbox, pconf, s);
    BRG_ASSERT(sandbox.paths && sandbox.notes);
    for (int i = 0; i < sandbox.notes->nelts; i++)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "Sandbox: %s",
                     APR_ARRAY_IDX(sandbox.notes, i, const char *));
}

/* ---- a server process ---- */

static int sandbox_failed(server_rec *s, const char *what)
{
    ap_log_error(APLOG_MARK, APLOG_ALERT, errno, s, "Sandbox: %s", what);
    return -2;
}

int sandbox_open(server_rec *s)
{
    int fd;

    if (sandbox.mode == SANDBOX_OFF)
        return -1;
    BRG_ASSERT(sandbox.paths != NULL);
    sandbox_drop_bounding();
    if (!sandbox_landlock())
        return -1;
    fd = sandbox_rules(sandbox.paths, 0);
    return fd < 0 ? sandbox_failed(s, "the rules cannot be made") : fd;
}

static int sandbox_close_in(server_rec *s, int fd, sandbox_limits limits)
{
    const char *failed = sandbox_lock(fd, limits);

    BRG_ASSERT(sandbox.mode != SANDBOX_OFF);
    if (fd >= 0)
        close(fd);
    return failed ? sandbox_failed(s, failed) : 0;
}

int sandbox_enter(server_rec *s, int fd)
{
    if (sandbox.mode == SANDBOX_OFF)
        return 0;
    return sandbox_close_in(s, fd, (sandbox_limits){.exec = sandbox.exec});
}

/* ---- a process of a module ---- */

/* Files that the C library opens by itself. */
static const char *const own_always[] = {"/dev/urandom", "/etc/localtime", "/usr/share/zoneinfo",
                                         NULL};

static void own_paths(apr_array_header_t *paths, const char *const *read)
{
    for (; *read; read++)
        APR_ARRAY_PUSH(paths, sandbox_path) =
            (sandbox_path){.path = *read, .access = SANDBOX_READ, .why = ""};
}

BRG_DECLARE(apr_status_t) brg_sandbox_enter(server_rec *s, const brg_sandbox_needs *needs)
{
    apr_array_header_t *paths = apr_array_make(s->process->pool, 8, sizeof(sandbox_path));
    int fd = -1;

    if (sandbox.mode == SANDBOX_OFF)
        return APR_SUCCESS;
    own_paths(paths, own_always);
    own_paths(paths, needs->read);
    if (sandbox_landlock() && (fd = sandbox_rules(paths, needs->listens)) < 0) {
        apr_status_t rv = errno;

        sandbox_failed(s, "the rules cannot be made");
        return rv;
    }
    return sandbox_close_in(s, fd, (sandbox_limits){.listens = needs->listens, .own_sockets = 1})
               ? APR_EGENERAL
               : APR_SUCCESS;
}

/* ---- -D DUMP_SANDBOX ---- */

static void dump_path(const sandbox_path *path)
{
    static const char *const access[] = {"read ", "write", "exec "};
    char *target = realpath(path->path, NULL);

    BRG_ASSERT(path->access <= SANDBOX_EXEC);
    printf("  %s %s", access[path->access], path->path);
    if (!target)
        printf(" (not there)");
    else if (strcmp(target, path->path))
        printf(" -> %s", target);
    printf("  # %s\n", path->why);
    free(target);
}

void sandbox_dump(apr_pool_t *p, server_rec *s)
{
    static const char *const modes[] = {"Off", "On", "Required"};
    int landlock = sandbox_landlock();

    if (!ap_exists_config_define("DUMP_SANDBOX"))
        return;
    sandbox_find_paths(&sandbox, p, s);
    BRG_ASSERT(sandbox.mode <= SANDBOX_REQUIRED);
    printf("Sandbox %s\n", modes[sandbox.mode]);
    if (landlock)
        printf("Files, by Landlock (version %d):\n", landlock);
    else
        printf("Files (this kernel has no Landlock, so these are not held):\n");
    for (int i = 0; i < sandbox.paths->nelts; i++)
        dump_path(&APR_ARRAY_IDX(sandbox.paths, i, sandbox_path));
    printf("Programs: %s\n", sandbox.exec ? "those with exec above" : "none");
    printf("System calls: %s\n",
           sandbox_has_filter()
               ? "no ptrace, mount, namespaces, raw sockets, ports, kernel interfaces"
               : "not filtered on this kind of processor");
    if (sandbox.notes->nelts)
        printf("What will not work, or is left open:\n");
    for (int i = 0; i < sandbox.notes->nelts; i++)
        printf("  %s\n", APR_ARRAY_IDX(sandbox.notes, i, const char *));
    fflush(stdout);
}
