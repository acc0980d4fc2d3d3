/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --advice: lists risky settings of a configuration that is correct, each with its line and how to mend it.
 *
 * It looks at lines and at files that they name: sections that other sections override are told of,
 * too. For files with secrets alone it makes requests.
 */
#include "main_parts.h"
#include "main_advice_private.h"
#include "proxy.h"
#include "brigade/assert.h"
#include "brigade/log_service.h"
#if BRIGADE_TLS
#include "tls_setup.h"
#endif

#include "http_config.h"
#include "http_core.h"
#include "http_log.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

#define ADVICE_STATUS 2      /* of the program, where there is something to say */
#define ADVICE_ENTRIES 50000 /* that are looked at below a document root */
#define ADVICE_LINKS 5       /* that are told of */

typedef struct advice {
    apr_pool_t *p;
    const server_rec *main;
    int n;
    apr_array_header_t *roots; /* char *: document roots, without links */
    int entries, links;        /* of the walk below one */
    const ap_directive_t *root;
} advice;

static int advice_asked;

/* ---- saying ---- */

static void __attribute__((format(printf, 4, 5)))
advise(advice *a, const ap_directive_t *d, const char *mend, const char *format, ...)
{
    va_list args;

    if (d)
        printf("%s:%d: ", d->filename, d->line_num);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n    %s\n", mend);
    a->n++;
}

/* ---- words of lines ---- */

static int has_word(advice *a, const ap_directive_t *d, const char *word)
{
    const char *args = d->args, *one;

    BRG_ASSERT(d->args != NULL && *word);
    while (*args) {
        one = ap_getword_conf(a->p, &args);
        if (!ap_cstr_casecmp(one, word) || (*one == '+' && !ap_cstr_casecmp(one + 1, word)))
            return 1;
    }
    return 0;
}

static const char *first_word(advice *a, const ap_directive_t *d)
{
    const char *args = d->args, *word = ap_getword_conf(a->p, &args);
    size_t len = strlen(word);

    return len && word[len - 1] == '>' ? apr_pstrmemdup(a->p, word, len - 1) : word;
}

static const char *path_of(advice *a, const ap_directive_t *d)
{
    const char *path = ap_server_root_relative(a->p, first_word(a, d));
    char *real = path ? realpath(path, NULL) : NULL;

    if (real) {
        path = apr_pstrdup(a->p, real);
        free(real);
    }
    return path;
}

static int is_named(const ap_directive_t *d, const char *name)
{
    return !ap_cstr_casecmp(d->directive, name);
}

/* The section <Directory> that d is in; NULL: none. */
static const ap_directive_t *folder_of(const ap_directive_t *d)
{
    const ap_directive_t *up = d->parent;

    BRG_ASSERT(up != d);
    while (up && !is_named(up, "<Directory"))
        up = up->parent;
    return up;
}

static int is_of_everything(advice *a, const ap_directive_t *d)
{
    const ap_directive_t *folder = folder_of(d);

    return folder && !strcmp(first_word(a, folder), "/");
}

static int is_root(const advice *a, const char *path)
{
    for (int i = 0; path && i < a->roots->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(a->roots, i, const char *), path))
            return 1;
    return 0;
}

/* A section, or one inside it, restricts access. */
static int is_guarded(const ap_directive_t *d)
{
    for (; d; d = d->next)
        if (is_named(d, "Require") || is_named(d, "Allow") || is_named(d, "Deny") ||
            (d->first_child && is_guarded(d->first_child)))
            return 1;
    return 0;
}

/* ---- lines ---- */

static void look_options(advice *a, const ap_directive_t *d)
{
    const ap_directive_t *folder = folder_of(d);

    if (!has_word(a, d, "Indexes") && !has_word(a, d, "All"))
        return;
    if (is_of_everything(a, d) || (folder && is_root(a, path_of(a, folder))))
        advise(a, d, "Options -Indexes here; Indexes in the sections of the folders that are meant",
               "folders without an index file are listed, from the root on");
}

static void look_override(advice *a, const ap_directive_t *d)
{
    if (is_of_everything(a, d) && !has_word(a, d, "None"))
        advise(a, d, "AllowOverride None here; what is needed in the sections of folders",
               "an .htaccess file anywhere on the disk changes the configuration");
}

static void look_require(advice *a, const ap_directive_t *d)
{
    if (is_of_everything(a, d) && has_word(a, d, "all") && has_word(a, d, "granted"))
        advise(a, d,
               "Require all denied here; Require all granted in the sections of document roots",
               "every file on the disk may be served, where a URL leads to it");
}

static void look_handler(advice *a, const ap_directive_t *d)
{
    static const char *const open[] = {"server-status", "server-info", "balancer-manager",
                                       "ldap-status", "md-status"};

    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (has_word(a, d, open[i]) && d->parent && !is_guarded(d->parent->first_child))
            advise(a, d, "Require local, or the clients that may see it", "%s is open to everybody",
                   open[i]);
}

static void look_protocols(advice *a, const ap_directive_t *d)
{
    static const char *const names[] = {"SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"};
    const char *args = d->args;
    unsigned on = 0;

    while (*args) {
        const char *word = ap_getword_conf(a->p, &args);
        char sign = *word == '+' || *word == '-' ? *word++ : 0;
        unsigned bits = ap_cstr_casecmp(word, "all") ? 0 : 0x1e;

        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            if (!ap_cstr_casecmp(word, names[i]))
                bits = 1u << i;
        on = sign == '-' ? on & ~bits : sign == '+' ? on | bits : bits;
    }
    if (on & 7)
        advise(a, d, "SSLProtocol -all +TLSv1.2 +TLSv1.3",
               "protocols that are broken or given up are offered:%s%s%s", on & 1 ? " SSLv3" : "",
               on & 2 ? " TLSv1" : "", on & 4 ? " TLSv1.1" : "");
}

static void look_ciphers(advice *a, const ap_directive_t *d)
{
    static const char *const weak[] = {"RC4", "3DES", "DES", "NULL",   "eNULL", "aNULL",
                                       "ADH", "EXP",  "MD5", "EXPORT", "LOW"};
    char *list = apr_pstrdup(a->p, d->args), *last;

    for (char *one = apr_strtok(list, " :,\"", &last); one; one = apr_strtok(NULL, " :,\"", &last))
        for (size_t i = 0; i < sizeof weak / sizeof *weak; i++)
            if (!ap_cstr_casecmp(*one == '+' ? one + 1 : one, weak[i]))
                advise(a, d, "take it out, or have OpenSSL's HIGH:!aNULL",
                       "weak ciphers are offered: %s", one);
}

static void look_switch(advice *a, const ap_directive_t *d)
{
    static const struct {
        const char *name, *what, *mend;
    } on[] = {
        {"TraceEnable", "TRACE answers with the request's fields, cookies included",
         "TraceEnable Off"},
        {"SSLCompression", "compression of TLS tells what is encrypted (CRIME)",
         "SSLCompression off"},
        {"SSLInsecureRenegotiation", "old renegotiation lets others put a request in front",
         "SSLInsecureRenegotiation off"},
    };

    for (size_t i = 0; i < sizeof on / sizeof *on; i++)
        if (is_named(d, on[i].name) && (has_word(a, d, "on") || has_word(a, d, "extended")))
            advise(a, d, on[i].mend, "%s", on[i].what);
}

static void look_proxy(advice *a, const ap_directive_t *d)
{
    if (has_word(a, d, "on"))
        advise(a, d,
               "ProxyRequests Off, which ProxyPass does not need; or Require in a <Proxy> section",
               "the server fetches whatever it is asked for: a forward proxy");
}

static void look_proxied(advice *a, const ap_directive_t *d)
{
    const char *what = proxy_line_doubt(a->p, d);

    if (what)
        advise(a, d, "a slash behind the host, or a pattern whose group begins with one", "%s",
               what);
}

static void look_php(advice *a, const ap_directive_t *d)
{
    const char *what = proxy_php_doubt(a->p, d);

    if (what)
        advise(a, d,
               "php.ini, or the pool of PHP-FPM; a value outside of sections, which other requests "
               "get, for a setting that is not known",
               "PHP-FPM is not told of %s: %s", first_word(a, d), what);
}

static void look_read_timeout(advice *a, const ap_directive_t *d)
{
    if (strstr(d->args, "header=0"))
        advise(a, d, "RequestReadTimeout header=20-40,MinRate=500 body=20,MinRate=500",
               "a client may take all the time it likes to send a request");
}

static void look_user(advice *a, const ap_directive_t *d)
{
    const char *name = first_word(a, d);

    if (!strcmp(name, "root") || !strcmp(name, "#0"))
        advise(a, d, "a user that owns nothing, such as www-data", "requests are answered as root");
}

/* ---- files that lines name ---- */

static void look_key(advice *a, const ap_directive_t *d)
{
    const char *path = path_of(a, d);
    struct stat st;

    if (path && !stat(path, &st) && (st.st_mode & 04))
        advise(a, d, "chmod o-r", "every user of this machine may read the private key %s", path);
}

static void look_log(advice *a, const ap_directive_t *d)
{
    const char *name = first_word(a, d), *path;
    struct stat st;
    char *slash;

    if (*name == '|' || brg_log_service_is_named(name))
        return;
    path = ap_server_root_relative(a->p, name);
    slash = path ? strrchr(path, '/') : NULL;
    if (!slash || slash == path)
        return;
    path = apr_pstrmemdup(a->p, path, (size_t)(slash - path));
    if (!stat(path, &st) && (st.st_mode & 02))
        advise(a, d, "a folder that root alone writes to",
               "every user may put a link into %s, and root writes where it leads", path);
}

/* A link below a document root that leads out of all of them. */
static void look_link(advice *a, const char *path)
{
    char real[PATH_MAX];

    BRG_ASSERT(a->root != NULL && a->links <= ADVICE_LINKS);
    if (a->links >= ADVICE_LINKS || !realpath(path, real))
        return;
    for (int i = 0; i < a->roots->nelts; i++) {
        const char *root = APR_ARRAY_IDX(a->roots, i, const char *);
        size_t len = strlen(root);

        if (!strncmp(real, root, len) && (!real[len] || real[len] == '/' || len == 1))
            return;
    }
    a->links++;
    advise(a, a->root, "Options -FollowSymLinks or SymLinksIfOwnerMatch, or an Alias that says so",
           "%s is a link that leads out of the document root, to %s", path, real);
}

static void look_below(advice *a, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;

    while (dir && (e = readdir(dir)) != NULL && a->entries < ADVICE_ENTRIES) {
        const char *path = apr_pstrcat(a->p, folder, "/", e->d_name, NULL);
        struct stat st;

        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || lstat(path, &st))
            continue;
        a->entries++;
        if (S_ISLNK(st.st_mode))
            look_link(a, path);
        else if (S_ISDIR(st.st_mode))
            look_below(a, path);
    }
    if (dir)
        closedir(dir);
}

static void look_hidden(advice *a, const ap_directive_t *d, const char *path)
{
    static const char *const names[] = {"/.git", "/.svn", "/.hg", "/.env", "/.htpasswd.bak"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *served = main_advice_served(a->p, a->main, d, path, names[i]);

        if (served)
            advise(a, d,
                   "RedirectMatch 404 \"/\\.(?!well-known/)\" outside of sections, or keep it "
                   "elsewhere",
                   "%s is served, from %s", served, path);
    }
}

static void look_root(advice *a, const ap_directive_t *d)
{
    const char *path = path_of(a, d);
    struct stat st;

    if (!path || stat(path, &st))
        return;
    if (st.st_mode & 02)
        advise(a, d, "chmod o-w", "every user of this machine may write to the document root %s",
               path);
    look_hidden(a, d, path);
    a->root = d;
    a->entries = a->links = 0;
    look_below(a, path);
}

/* ---- TLS ---- */

/* Told of once: other servers have it from the same line, or from none, as a rule. */
static void look_tls(advice *a, const server_rec *s)
{
#if BRIGADE_TLS
    const char *suite = NULL;

    for (; s && !suite; s = suite ? s : s->next)
        suite = tls_suite_of_cbc(s);
    if (suite) {
        const ap_directive_t of = {.filename = s->defn_name, .line_num = (int)s->defn_line_number};

        advise(a, s->defn_name ? &of : NULL, "SSLCipherSuite ECDHE+AESGCM:ECDHE+CHACHA20",
               "suites in CBC mode are offered to clients of TLS 1.2, as %s: attacks on padding "
               "(Lucky Thirteen) look for them",
               suite);
    }
#endif
}

/* ---- all of it ---- */

static const struct {
    const char *name;
    void (*look)(advice *a, const ap_directive_t *d);
} advice_of[] = {
    {"Options", look_options},
    {"AllowOverride", look_override},
    {"Require", look_require},
    {"SetHandler", look_handler},
    {"SSLProtocol", look_protocols},
    {"SSLCipherSuite", look_ciphers},
    {"TraceEnable", look_switch},
    {"SSLCompression", look_switch},
    {"SSLInsecureRenegotiation", look_switch},
    {"ProxyRequests", look_proxy},
    {"ProxyPass", look_proxied},
    {"ProxyPassMatch", look_proxied},
    {"RewriteRule", look_proxied},
    {"RequestReadTimeout", look_read_timeout},
    {"php_value", look_php},
    {"php_flag", look_php},
    {"php_admin_value", look_php},
    {"php_admin_flag", look_php},
    {"User", look_user},
    {"SSLCertificateKeyFile", look_key},
    {"ErrorLog", look_log},
    {"CustomLog", look_log},
    {"TransferLog", look_log},
    {"DocumentRoot", look_root},
};

static void find_roots(advice *a, const ap_directive_t *d)
{
    for (; d; d = d->next) {
        if (is_named(d, "DocumentRoot"))
            APR_ARRAY_PUSH(a->roots, const char *) = path_of(a, d);
        find_roots(a, d->first_child);
    }
}

static void look_all(advice *a, const ap_directive_t *d)
{
    for (; d; d = d->next) {
        for (size_t i = 0; i < sizeof advice_of / sizeof *advice_of; i++)
            if (is_named(d, advice_of[i].name))
                advice_of[i].look(a, d);
        look_all(a, d->first_child);
    }
}

int main_advice_is_asked(void)
{
    return advice_asked;
}

void main_advice_report(apr_pool_t *p, server_rec *s)
{
    advice a = {.p = p, .main = s, .roots = apr_array_make(p, 4, sizeof(const char *))};

    if (!advice_asked)
        return;
    BRG_ASSERT(ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST);
    find_roots(&a, ap_conftree);
    look_all(&a, ap_conftree);
    look_tls(&a, s);
    a.n += main_advice_http3(p, s);
    if (!ap_find_linked_module("mod_reqtimeout.c"))
        advise(&a, NULL, "LoadModule reqtimeout_module modules/mod_reqtimeout.so",
               "a client may take all the time it likes to send a request: mod_reqtimeout is not "
               "loaded");
    main_advice_keeps(p, s);
    printf("%d %s\n", a.n, a.n == 1 ? "piece of advice" : "pieces of advice");
    fflush(stdout);
    if (a.n)
        mpm_process_exit(s->process, ADVICE_STATUS);
}

void main_advice(process_rec *process)
{
    const char **argv =
        apr_pmemdup(process->pool, process->argv, ((apr_size_t)process->argc + 1) * sizeof *argv);

    for (int i = 1; i < process->argc; i++)
        if (!strcmp(argv[i], "--advice")) {
            argv[i] = "-t";
            advice_asked = 1;
        }
    process->argv = argv;
    main_advice_arguments(process->argc, argv);
}
