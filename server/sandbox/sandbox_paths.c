/* SPDX-License-Identifier: Apache-2.0 */
/* Which files server processes need, as the lines of the configuration tell, those of modules that are not built in included. */
#include "sandbox.h"
#include "brigade/assert.h"
#include "mpm_settings.h"

#include "http_core.h"

#include "apr_file_info.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

typedef struct finder {
    sandbox_conf *conf;
    apr_pool_t *p;
    const server_rec *s;
} finder;

/* ---- needs of every server process ---- */

static const sandbox_path paths_always[] = {
    {"/usr/lib", SANDBOX_READ, "libraries"},
    {"/usr/lib64", SANDBOX_READ, "libraries"},
    {"/usr/local/lib", SANDBOX_READ, "libraries"},
    {"/lib", SANDBOX_READ, "libraries"},
    {"/lib64", SANDBOX_READ, "libraries"},
    {"/etc/ld.so.cache", SANDBOX_READ, "libraries"},
    {"/usr/share/zoneinfo", SANDBOX_READ, "time zones"},
    {"/etc/localtime", SANDBOX_READ, "time zones"},
    {"/etc/resolv.conf", SANDBOX_READ, "names of hosts"},
    {"/run/systemd/resolve", SANDBOX_READ, "names of hosts"},
    {"/etc/hosts", SANDBOX_READ, "names of hosts"},
    {"/etc/host.conf", SANDBOX_READ, "names of hosts"},
    {"/etc/nsswitch.conf", SANDBOX_READ, "names of hosts"},
    {"/etc/gai.conf", SANDBOX_READ, "names of hosts"},
    {"/etc/services", SANDBOX_READ, "names of hosts"},
    {"/etc/protocols", SANDBOX_READ, "names of hosts"},
    {"/etc/ssl/certs", SANDBOX_READ, "certificates of authorities"},
    {"/usr/share/ca-certificates", SANDBOX_READ, "certificates of authorities"},
    {"/etc/ssl/openssl.cnf", SANDBOX_READ, "OpenSSL"},
    {"/dev/null", SANDBOX_WRITE, "devices"},
    {"/dev/zero", SANDBOX_READ, "devices"},
    {"/dev/random", SANDBOX_READ, "devices"},
    {"/dev/urandom", SANDBOX_READ, "devices"},
    {"/dev/shm", SANDBOX_WRITE, "shared memory of modules"},
    {"/proc/self", SANDBOX_READ, "figures of the process"},
    {"/proc/stat", SANDBOX_READ, "figures of the machine"},
    {"/proc/cpuinfo", SANDBOX_READ, "figures of the machine"},
    {"/proc/meminfo", SANDBOX_READ, "figures of the machine"},
    {"/proc/loadavg", SANDBOX_READ, "figures of the machine"},
    {"/proc/uptime", SANDBOX_READ, "figures of the machine"},
    {"/sys/devices/system/cpu", SANDBOX_READ, "figures of the machine"},
    {"/sys/fs/cgroup", SANDBOX_READ, "figures of the machine"},
};

static void paths_add(const finder *f, const char *path, sandbox_access access, const char *why)
{
    for (int i = 0; i < f->conf->paths->nelts; i++) {
        const sandbox_path *known = &APR_ARRAY_IDX(f->conf->paths, i, sandbox_path);

        if (known->access == access && !strcmp(known->path, path))
            return;
    }
    BRG_ASSERT(*path == '/');
    APR_ARRAY_PUSH(f->conf->paths, sandbox_path) =
        (sandbox_path){.path = path, .access = access, .why = why};
}

static void paths_note(const finder *f, const ap_directive_t *d, const char *what)
{
    APR_ARRAY_PUSH(f->conf->notes, const char *) =
        apr_psprintf(f->p, "%s (line %d of %s): %s", d->directive, d->line_num, d->filename, what);
}

/* ---- directives that name files ---- */

typedef enum {
    NAMES_PATH,    /* a file or a folder */
    NAMES_FIRST,   /* a file or a folder, the first argument */
    NAMES_FILE,    /* a file that comes and goes: its folder */
    NAMES_PATTERN, /* the folder before the first variable part */
    NAMES_MAP,     /* type:path */
    NAMES_NONE     /* of URLs, or of files that server processes do not open */
} paths_kind;

/*
 * The last argument, but for sections and NAMES_FIRST, which have the path first. Every directive of the manual whose syntax has a path
 * has a row, NAMES_NONE where server processes need nothing of it: build/tools/manual.py --check holds that.
 */
static const struct {
    const char *directive;
    paths_kind kind;
    sandbox_access access;
} paths_of[] = {
    {"DocumentRoot", NAMES_PATH, SANDBOX_READ},
    {"<Directory", NAMES_PATTERN, SANDBOX_READ},
    {"Alias", NAMES_PATH, SANDBOX_READ},
    {"ScriptAlias", NAMES_PATH, SANDBOX_READ},
    {"WSGIScriptAlias", NAMES_PATH, SANDBOX_READ},
    {"AliasMatch", NAMES_PATTERN, SANDBOX_READ},
    {"ScriptAliasMatch", NAMES_PATTERN, SANDBOX_READ},
    {"VirtualDocumentRoot", NAMES_PATTERN, SANDBOX_READ},
    {"VirtualScriptAlias", NAMES_PATTERN, SANDBOX_READ},
    {"VirtualDocumentRootIP", NAMES_PATTERN, SANDBOX_READ},
    {"VirtualScriptAliasIP", NAMES_PATTERN, SANDBOX_READ},
    {"XSendFilePath", NAMES_PATH, SANDBOX_READ},
    {"LuaRoot", NAMES_PATH, SANDBOX_READ},
    {"MimeMagicFile", NAMES_PATH, SANDBOX_READ},
    {"TypesConfig", NAMES_PATH, SANDBOX_READ},
    {"AuthUserFile", NAMES_FILE, SANDBOX_READ},
    {"AuthGroupFile", NAMES_FILE, SANDBOX_READ},
    {"AuthDBMUserFile", NAMES_FILE, SANDBOX_READ},
    {"AuthDBMGroupFile", NAMES_FILE, SANDBOX_READ},
    {"RewriteMap", NAMES_MAP, SANDBOX_READ},
    {"SSLCACertificatePath", NAMES_PATH, SANDBOX_READ}, /* OpenSSL looks there when it is asked */
    {"SSLCARevocationPath", NAMES_PATH, SANDBOX_READ},
    {"SSLProxyCACertificateFile", NAMES_PATH, SANDBOX_READ},
    {"SSLProxyCACertificatePath", NAMES_PATH, SANDBOX_READ},
    {"SSLProxyCARevocationFile", NAMES_PATH, SANDBOX_READ},
    {"SSLProxyCARevocationPath", NAMES_PATH, SANDBOX_READ},
    {"DefaultStateDir", NAMES_PATH, SANDBOX_WRITE},
    {"CacheRoot", NAMES_PATH, SANDBOX_WRITE},
    {"CacheLockPath", NAMES_PATH, SANDBOX_WRITE},
    {"CoreDumpDirectory", NAMES_PATH, SANDBOX_WRITE},
    {"H3QLog", NAMES_FIRST, SANDBOX_WRITE},
    {"MDStoreDir", NAMES_PATH, SANDBOX_WRITE},
    {"DavLockDB", NAMES_FILE, SANDBOX_WRITE},
    {"DAVLockDB", NAMES_FILE, SANDBOX_WRITE},
    {"ScriptLog", NAMES_FILE, SANDBOX_WRITE},
    {"Mutex", NAMES_MAP, SANDBOX_WRITE},
    /* opened by the supervisor, before there are server processes */
    {"Include", NAMES_NONE, SANDBOX_READ},
    {"IncludeOptional", NAMES_NONE, SANDBOX_READ},
    {"<IfFile", NAMES_NONE, SANDBOX_READ},
    {"LoadModule", NAMES_NONE, SANDBOX_READ},
    {"LoadFile", NAMES_NONE, SANDBOX_READ},
    {"ServerRoot", NAMES_NONE, SANDBOX_READ},
    {"ErrorLog", NAMES_NONE, SANDBOX_READ},
    {"CustomLog", NAMES_NONE, SANDBOX_READ},
    {"GlobalLog", NAMES_NONE, SANDBOX_READ},
    {"TransferLog", NAMES_NONE, SANDBOX_READ},
    {"MemoryTrace", NAMES_NONE, SANDBOX_READ},
    {"SSLCertificateFile", NAMES_NONE, SANDBOX_READ},
    {"SSLCertificateKeyFile", NAMES_NONE, SANDBOX_READ},
    {"SSLCertificateChainFile", NAMES_NONE, SANDBOX_READ},
    {"SSLSessionTicketKeyFile", NAMES_NONE, SANDBOX_READ},
    {"SSLCACertificateFile", NAMES_NONE, SANDBOX_READ},
    {"SSLCARevocationFile", NAMES_NONE, SANDBOX_READ},
    {"SSLCADNRequestFile", NAMES_NONE, SANDBOX_READ},
    {"MDCertificateFile", NAMES_NONE, SANDBOX_READ},
    {"MDCertificateKeyFile", NAMES_NONE, SANDBOX_READ},
    {"MDCACertificateFile", NAMES_NONE, SANDBOX_READ},
    {"MDExternalAccountBinding", NAMES_NONE, SANDBOX_READ},
    {"MDChallengeDns01", NAMES_NONE, SANDBOX_READ},
    {"MDMessageCmd", NAMES_NONE, SANDBOX_READ},
    {"MDNotifyCmd", NAMES_NONE, SANDBOX_READ},
    {"MDCertificateAuthority", NAMES_NONE, SANDBOX_READ},
    {"MDCertificateAgreement", NAMES_NONE, SANDBOX_READ},
    {"MDHttpProxy", NAMES_NONE, SANDBOX_READ},
    {"SSLCADNRequestPath", NAMES_NONE, SANDBOX_READ},
    {"SSLOCSPResponderCertificateFile", NAMES_NONE, SANDBOX_READ},
    {"SSLProxyMachineCertificateFile", NAMES_NONE, SANDBOX_READ},
    {"SSLProxyMachineCertificatePath", NAMES_NONE, SANDBOX_READ},
    {"SSLProxyMachineCertificateChainFile", NAMES_NONE, SANDBOX_READ},
    {"RemoteIPTrustedProxyList", NAMES_NONE, SANDBOX_READ},
    {"RemoteIPInternalProxyList", NAMES_NONE, SANDBOX_READ},
    /* of a process of its own */
    {"ASTable", NAMES_NONE, SANDBOX_READ},
    /* names of memory, and missing features */
    {"PidFile", NAMES_NONE, SANDBOX_READ},
    {"ScoreBoardFile", NAMES_NONE, SANDBOX_READ},
    {"SSLSessionCache", NAMES_NONE, SANDBOX_READ},
    {"SSLStaplingCache", NAMES_NONE, SANDBOX_READ},
    {"SSLSRPVerifierFile", NAMES_NONE, SANDBOX_READ},
    {"SSLLog", NAMES_NONE, SANDBOX_READ},
    {"ChrootDir", NAMES_NONE, SANDBOX_READ},
    /* paths of URLs */
    {"<Location", NAMES_NONE, SANDBOX_READ},
    {"ErrorDocument", NAMES_NONE, SANDBOX_READ},
    {"Action", NAMES_NONE, SANDBOX_READ},
    {"Script", NAMES_NONE, SANDBOX_READ},
    {"ScriptSock", NAMES_NONE, SANDBOX_READ},
    {"UserDir", NAMES_NONE, SANDBOX_READ}, /* paths_note() says so */
    {"ServerPath", NAMES_NONE, SANDBOX_READ},
    {"Redirect", NAMES_NONE, SANDBOX_READ},
    {"RedirectTemp", NAMES_NONE, SANDBOX_READ},
    {"RedirectPermanent", NAMES_NONE, SANDBOX_READ},
    {"FallbackResource", NAMES_NONE, SANDBOX_READ},
    {"HeaderName", NAMES_NONE, SANDBOX_READ},
    {"ReadmeName", NAMES_NONE, SANDBOX_READ},
    /* with code of their own */
    {"DefaultRuntimeDir", NAMES_NONE, SANDBOX_READ},
    {"OutputSpoolDir", NAMES_NONE, SANDBOX_READ},
    {"SandboxAllow", NAMES_NONE, SANDBOX_READ},
};

/* Of an argument with "$1", "%0", "*" and the like: the folder before that. NULL: only the root. */
static const char *paths_before_pattern(apr_pool_t *p, const char *arg)
{
    size_t len = strcspn(arg, "$%*?[(\\^");

    if (arg[len])
        while (len && arg[len - 1] != '/')
            len--;
    while (len && arg[len - 1] == '/')
        len--;
    return len ? apr_pstrmemdup(p, arg, len) : NULL;
}

/* "txt:/path", "dbm=db:/path", "file:/path". NULL: no file, or a file for the supervisor alone. */
static const char *paths_of_map(apr_pool_t *p, const char *arg)
{
    const char *path = strchr(arg, ':');

    if (!path || !strncmp(arg, "int:", 4) || !strncmp(arg, "prg:", 4) || strstr(arg, "dbd:") ||
        !path[1])
        return NULL;
    if (!strncmp(arg, "dbm", 3))
        return ap_make_dirstr_parent(p, path + 1);
    return path + 1;
}

static const char *paths_argument(const finder *f, paths_kind kind, const char *arg)
{
    const char *path = arg;

    BRG_ASSERT(kind != NAMES_NONE);
    if (kind == NAMES_PATTERN)
        path = paths_before_pattern(f->p, arg);
    else if (kind == NAMES_MAP)
        path = paths_of_map(f->p, arg);
    if (!path || !*path || !(path = ap_server_root_relative(f->p, path)))
        return NULL;
    return kind == NAMES_FILE ? ap_make_dirstr_parent(f->p, path) : path;
}

static const char *paths_first_word(apr_pool_t *p, const char *args)
{
    const char *word = ap_getword_conf(p, &args);

    return *word ? word : NULL;
}

static const char *paths_last_word(apr_pool_t *p, const char *args)
{
    const char *word = NULL;

    while (*args)
        word = ap_getword_conf(p, &args);
    return word && *word ? word : NULL;
}

/* The path of a section; without quotes the bracket that ends it is part of the word. NULL: a regular expression. */
static const char *paths_section_word(apr_pool_t *p, const char *args)
{
    char *word = ap_getword_conf(p, &args);
    size_t len = strlen(word);

    if (len && word[len - 1] == '>')
        word[len - 1] = '\0';
    return *word && strcmp(word, "~") ? word : NULL;
}

/* The store of the built-in mod_md is its daemon's: keys are in it. */
static int paths_is_store_of_daemon(const ap_directive_t *d)
{
    const module *m = ap_find_linked_module("mod_md.c");

    return !ap_cstr_casecmp(d->directive, "MDStoreDir") && m && !m->dynamic_load_handle;
}

static void paths_of_directive(const finder *f, const ap_directive_t *d)
{
    for (size_t i = 0; i < sizeof paths_of / sizeof *paths_of; i++) {
        const char *word, *path;

        if (ap_cstr_casecmp(d->directive, paths_of[i].directive))
            continue;
        if (paths_of[i].kind == NAMES_NONE || paths_is_store_of_daemon(d))
            return;
        word = *d->directive == '<'              ? paths_section_word(f->p, d->args)
               : paths_of[i].kind == NAMES_FIRST ? paths_first_word(f->p, d->args)
                                                 : paths_last_word(f->p, d->args);
        if (!word)
            return;
        path = paths_argument(f, paths_of[i].kind, word);
        if (path && strcmp(path, "/"))
            paths_add(f, path, paths_of[i].access, d->directive);
        return;
    }
}

/* ---- lines that will not work ---- */

/* Apache's mod_cgi has the server process itself start scripts; the daemon of others is outside. */
static int paths_scripts_are_ours(void)
{
    const module *cgi = ap_find_linked_module("mod_cgi.c");

    return !ap_find_linked_module("mod_cgid.c") && cgi && cgi->dynamic_load_handle;
}

static int paths_has_word(const finder *f, const char *args, const char *wanted)
{
    while (*args) {
        const char *word = ap_getword_conf(f->p, &args);

        if (!ap_cstr_casecmp(word + (*word == '+'), wanted))
            return 1;
    }
    return 0;
}

static void paths_note_programs(const finder *f, const ap_directive_t *d)
{
    static const char scripts[] =
        "CGI scripts are not started; allow them by \"SandboxAllow exec FOLDER...\" with the "
        "folders of scripts and interpreters";

    if (f->conf->exec)
        return;
    if (!ap_cstr_casecmpn(d->directive, "ScriptAlias", 11) && paths_scripts_are_ours())
        paths_note(f, d, scripts);
    else if ((!ap_cstr_casecmp(d->directive, "SetHandler") ||
              !ap_cstr_casecmp(d->directive, "AddHandler")) &&
             paths_has_word(f, d->args, "cgi-script") && paths_scripts_are_ours())
        paths_note(f, d, scripts);
    else if (!ap_cstr_casecmp(d->directive, "Options") && paths_has_word(f, d->args, "Includes"))
        paths_note(f, d,
                   "\"exec cmd\" in pages starts no program; allow it by \"SandboxAllow exec "
                   "FOLDER...\"");
    else if (!ap_cstr_casecmp(d->directive, "ExtFilterDefine"))
        paths_note(f, d, "the program is not started; allow it by \"SandboxAllow exec FOLDER...\"");
}

static void paths_note_modules(const finder *f, const ap_directive_t *d)
{
    static const char *const languages[] = {"php",  "perl", "lua",      "python",
                                            "wsgi", "ruby", "passenger"};

    if (ap_cstr_casecmp(d->directive, "LoadModule"))
        return;
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (ap_strcasestr(d->args, languages[i]))
            paths_note(
                f, d,
                "programs of this language reach no files but those of this configuration; allow "
                "theirs by \"SandboxAllow read|write PATH...\"");
}

/* Dav On in <Directory PATH> */
static void paths_of_dav(const finder *f, const ap_directive_t *d)
{
    const char *word;

    if (ap_cstr_casecmp(d->directive, "Dav") || !ap_cstr_casecmp(d->args, "off"))
        return;
    word = d->parent && !ap_cstr_casecmp(d->parent->directive, "<Directory")
               ? paths_section_word(f->p, d->parent->args)
               : NULL;
    word = word ? paths_argument(f, NAMES_PATTERN, word) : NULL;
    if (word && strcmp(word, "/"))
        paths_add(f, word, SANDBOX_WRITE, "Dav");
    else
        paths_note(f, d,
                   "files cannot be written; name their folder by \"SandboxAllow write PATH\"");
}

static void paths_note_users(const finder *f, const ap_directive_t *d)
{
    if (!ap_cstr_casecmp(d->directive, "UserDir") && ap_cstr_casecmpn(d->args, "disabled", 8) &&
        d->args[0] != '/')
        paths_note(f, d,
                   "folders of users are not reached; allow them by \"SandboxAllow read /home\"");
}

/* ---- folders with logs ---- */

/* A user who may write to a folder can read and replace its files. @return 1 if the file is to lie
 * in it or below */
static int paths_holds(const finder *f, const char *folder, const char *file)
{
    char *a = realpath(folder, NULL), *b = realpath(ap_make_dirstr_parent(f->p, file), NULL);
    size_t len = a ? strlen(a) : 0;
    int holds = a && b && !strncmp(a, b, len) && (b[len] == '/' || !b[len]);

    free(a);
    free(b);
    return holds;
}

/* The log of the tree that lies in a folder, or NULL. */
static const char *paths_log_in(const finder *f, const char *folder, const ap_directive_t *d)
{
    static const char *const names[] = {"ErrorLog", "CustomLog", "GlobalLog", "TransferLog",
                                        "ForensicLog"};
    const char *found;

    for (; d; d = d->next) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const char *args = d->args, *log;

            if (ap_cstr_casecmp(d->directive, names[i]))
                continue;
            log = ap_getword_conf(f->p, &args);
            if (*log != '|' && (log = ap_server_root_relative(f->p, log)) &&
                paths_holds(f, folder, log))
                return log;
        }
        if ((found = paths_log_in(f, folder, d->first_child)))
            return found;
    }
    return NULL;
}

/* Without a line for it. */
static const char *paths_error_log_in(const finder *f, const char *folder)
{
    const char *log = ap_server_root_relative(f->p, f->s->error_fname);

    return log && paths_holds(f, folder, log) ? log : NULL;
}

/* Modules find their folder beside the logs in an old layout: then they do without. */
static void paths_of_runtime(const finder *f)
{
    const char *folder = ap_runtime_dir_relative(f->p, ""),
               *log = paths_log_in(f, folder, ap_conftree);

    if (!log && f->s->error_fname && *f->s->error_fname != '|')
        log = paths_error_log_in(f, folder);
    if (log)
        APR_ARRAY_PUSH(f->conf->notes, const char *) = apr_psprintf(
            f->p,
            "DefaultRuntimeDir %s: modules cannot write files there, since logs are in it (%s)",
            folder, log);
    else
        paths_add(f, folder, SANDBOX_WRITE, "files of modules while the server runs");
}

static void paths_note_logs(const finder *f)
{
    BRG_ASSERT(f->conf->notes && f->conf->paths);
    for (int i = 0; i < f->conf->paths->nelts; i++) {
        const sandbox_path *path = &APR_ARRAY_IDX(f->conf->paths, i, sandbox_path);
        const char *log =
            path->access == SANDBOX_WRITE ? paths_log_in(f, path->path, ap_conftree) : NULL;

        if (log)
            APR_ARRAY_PUSH(f->conf->notes, const char *) =
                apr_psprintf(f->p, "%s %s: server processes can read and replace logs there (%s)",
                             path->why, path->path, log);
    }
}

/* ---- all ---- */

static void paths_of_tree(const finder *f, const ap_directive_t *d)
{
    for (; d; d = d->next) {
        paths_of_directive(f, d);
        paths_of_dav(f, d);
        paths_note_programs(f, d);
        paths_note_modules(f, d);
        paths_note_users(f, d);
        paths_of_tree(f, d->first_child);
    }
}

/* Programs need the dynamic linker. */
static void paths_for_exec(const finder *f)
{
    static const char *const loaders[] = {"/lib64/ld-linux-x86-64.so.2",
                                          "/lib/ld-linux-aarch64.so.1"};

    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
        paths_add(f, loaders[i], SANDBOX_EXEC, "libraries of programs");
}

void sandbox_find_paths(sandbox_conf *conf, apr_pool_t *p, server_rec *s)
{
    finder f = {.conf = conf, .p = p, .s = s};
    const char *temp;

    BRG_ASSERT(conf->allowed && !s->is_virtual);
    conf->paths = apr_array_make(p, 64, sizeof(sandbox_path));
    conf->notes = apr_array_make(p, 4, sizeof(const char *));
    for (size_t i = 0; i < sizeof paths_always / sizeof *paths_always; i++)
        paths_add(&f, paths_always[i].path, paths_always[i].access, paths_always[i].why);
    if (apr_temp_dir_get(&temp, p) == APR_SUCCESS && *temp == '/')
        paths_add(&f, temp, SANDBOX_WRITE, "files without a name");
    paths_add(&f, mpm_settings.spool_dir, SANDBOX_WRITE, "OutputSpoolDir");
    paths_of_runtime(&f);
    for (server_rec *v = s; v; v = v->next) {
        const core_server_config *core = ap_get_core_module_config(v->module_config);

        if (core->ap_document_root && *core->ap_document_root == '/')
            paths_add(&f, core->ap_document_root, SANDBOX_READ, "DocumentRoot");
    }
    paths_of_tree(&f, ap_conftree);
    if (conf->exec)
        paths_for_exec(&f);
    for (int i = 0; i < conf->allowed->nelts; i++) {
        const sandbox_path *a = &APR_ARRAY_IDX(conf->allowed, i, sandbox_path);

        paths_add(&f, a->path, a->access, a->why);
    }
    paths_note_logs(&f);
}
