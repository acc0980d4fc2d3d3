/* SPDX-License-Identifier: Apache-2.0 */
/* Words that help where a line is refused: for mistakes of people from another server, or from
 * another part of this one's language. They stand behind Apache's message, which scripts read. */
#include "httpd.h"
#include "http_config.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "configuration.h"

#include <stdlib.h>

typedef struct mend {
    apr_pool_t *p;
    const ap_directive_t *d;
    const char *args, *error;
} mend;

static int mend_is(const mend *m, const char *name)
{
    return !ap_cstr_casecmp(m->d->directive, name);
}

static const char *mend_word(const mend *m, int n)
{
    const char *args = m->args, *word = "";

    while (n-- >= 0)
        word = ap_getword_conf(m->p, &args);
    return word;
}

/* ---- numbers ---- */

/* "10M" where a number of bytes is wanted, "5m" where a time is. */
static const char *mend_number(const mend *m)
{
    static const char units[] = "kmgt";
    const char *word = mend_word(m, 0);
    char *end;
    const apr_int64_t n = apr_strtoi64(word, &end, 10);
    const char *unit = *end ? strchr(units, apr_tolower(*end)) : NULL;

    if (end == word || n < 0 || !*end)
        return NULL;
    if (ap_strcasestr(m->d->directive, "Time") && !strcmp(end, "m"))
        return apr_psprintf(m->p,
                            "write %s %smi for minutes (ms, s, mi and h are known), or a number "
                            "of seconds",
                            m->d->directive, apr_pstrmemdup(m->p, word, (apr_size_t)(end - word)));
    if (strncmp(m->d->directive, "Limit", 5) || !unit || n >> (63 - 10 * (unit - units + 1)))
        return NULL;
    return apr_psprintf(m->p, "write %s %" APR_INT64_T_FMT ": a number of bytes, without a unit",
                        m->d->directive, n << (10 * (unit - units + 1)));
}

/* ---- words in the wrong place, or of another form ---- */

static const char *mend_flags(const mend *m)
{
    const char *open = ap_strchr_c(m->args, '[');
    const char *word = open;
    char *flags;

    for (const char *next = open; next; next = ap_strchr_c(next + 1, '['))
        if (apr_isspace(next[-(next > m->args)]))
            word = next;
    if (!word || !ap_strchr_c(word, ']'))
        return "write flags as one word in brackets, with commas: [R=301,L]";
    flags = apr_pstrdup(m->p, word);
    for (char *at = flags; *at; at++)
        if (apr_isspace(*at))
            *at = at[-1] == ',' || at[1] == ',' || at[1] == ']' ? '\0' : ',';
    return strlen(flags) == strlen(word)
               ? apr_psprintf(m->p, "write %s: flags are one word, with commas", flags)
               : "write flags as one word in brackets, with commas: [R=301,L]";
}

static const char *mend_protocol(const mend *m)
{
    static const char *const names[] = {"TLSv1.2", "TLSv1.3", "TLSv1.1", "TLSv1"};
    const char *args = m->args;

    while (*args) {
        const char *word = ap_getword_conf(m->p, &args), *number;

        word += *word == '+' || *word == '-';
        number = word + strcspn(word, "0123456789");
        for (size_t i = 0; *number && i < sizeof names / sizeof *names; i++)
            if (!strcmp(names[i] + strlen("TLSv"), number) && ap_strcasestr(word, "tls") &&
                strcmp(names[i], word))
                return apr_psprintf(m->p, "write %s", names[i]);
    }
    return "write TLSv1.2, TLSv1.3 or all, with + and - in front";
}

static const char *mend_filter(const mend *m)
{
    static const char *const other[][2] = {{"GZIP", "DEFLATE"},
                                           {"BR", "BROTLI_COMPRESS"},
                                           {"BROTLI", "BROTLI_COMPRESS"},
                                           {"ZSTD", "ZSTD_COMPRESS"},
                                           {"SSI", "INCLUDES"}};
    const char *at = ap_strstr_c(m->error, "provider ") + strlen("provider ");

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!ap_cstr_casecmp(at, other[i][0]))
            return apr_psprintf(m->p, "write %s", other[i][1]);
    if (!ap_cstr_casecmp(at, "ZSTD_COMPRESS") || !ap_cstr_casecmp(at, "BROTLI_COMPRESS"))
        return "write it where a module has it: this program was built without its library, or "
               "the module is not active (brigade -M, BuiltinModule)";
    return NULL;
}

static const char *mend_redirect(const mend *m)
{
    const char *last = mend_word(m, 2);

    if (*mend_word(m, 0) != '/')
        return NULL;
    return apr_psprintf(m->p, "write %s %s %s %s: the status comes first", m->d->directive, last,
                        mend_word(m, 0), mend_word(m, 1));
}

static const char *mend_memory(const mend *m)
{
    static const char *const modules[] = {"jemalloc", "mimalloc"};

    for (size_t i = 0; i < 2; i++)
        if (ap_strstr_c(m->error, apr_psprintf(m->p, "memory system \"%s\"", modules[i])))
            return apr_psprintf(m->p,
                                "write LoadModule sms_%s_module modules/sms_%s.so further up: it "
                                "is in a module",
                                modules[i], modules[i]);
    return NULL;
}

static const struct {
    const char *directive; /* NULL: any */
    const char *error;     /* a part of the message */
    const char *(*mend)(const mend *m);
    const char *text;
} mend_errors[] = {
    {NULL, "integer", mend_number, NULL},
    {NULL, "wrong format", mend_number, NULL},
    {NULL, "bad flag delimiters", mend_flags, NULL},
    {"SSLProtocol", "Illegal protocol", mend_protocol, NULL},
    {"SSLProxyProtocol", "Illegal protocol", mend_protocol, NULL},
    {NULL, "Unknown filter provider ", mend_filter, NULL},
    {"Redirect", "invalid first argument", mend_redirect, NULL},
    {NULL, "unknown memory system", mend_memory, NULL},
    {"<If", "Cannot parse condition", NULL,
     "write texts in quotes, and == to compare: <If \"%{HTTP_HOST} == 'example.org'\">"},
    {"<ElseIf", "Cannot parse condition", NULL, "write texts in quotes, and == to compare"},
    {"Header", "Unknown parameter", NULL, "write Header set FIELD \"VALUE\", without = in between"},
    {"ProxyPass", "must be absolute", NULL, "write http:// in front of it, and a slash behind it"},
    {"AllowOverride", "not allowed here", NULL, "write it into a section <Directory>"},
    {"Require", "not allowed here", NULL, "write it into a section <Directory> or <Location>"},
};

/* ---- directives of others ---- */

#define MEND_PHP                                                                              \
    "write SetHandler \"proxy:unix:/run/php/php-fpm.sock|fcgi://localhost\" for scripts, or " \
    "PHPDirectives On: it is a setting of PHP; or write it into .user.ini beside the scripts"

static const struct {
    const char *name, *text;
} mend_others[] = {
    {"php_value", MEND_PHP},
    {"php_flag", MEND_PHP},
    {"php_admin_value", MEND_PHP},
    {"php_admin_flag", MEND_PHP},
    {"server", "write <VirtualHost *:80>: this is a word of nginx"},
    {"server_name", "write ServerName and ServerAlias: this is a word of nginx"},
    {"location", "write <Location \"/path\"> or <LocationMatch>: this is a word of nginx"},
    {"root", "write DocumentRoot: this is a word of nginx and Caddy"},
    {"index", "write DirectoryIndex: this is a word of nginx"},
    {"try_files", "write FallbackResource /index.html: this is a word of nginx and Caddy"},
    {"proxy_pass", "write ProxyPass \"/\" \"http://HOST:PORT/\": this is a word of nginx"},
    {"reverse_proxy", "write ProxyPass \"/\" \"http://HOST:PORT/\": this is a word of Caddy"},
    {"proxy_set_header", "write RequestHeader set: this is a word of nginx"},
    {"add_header", "write Header set: this is a word of nginx"},
    {"rewrite", "write RewriteEngine On and RewriteRule: this is a word of nginx"},
    {"return", "write Redirect: this is a word of nginx"},
    {"redir", "write Redirect: this is a word of Caddy"},
    {"error_page", "write ErrorDocument: this is a word of nginx"},
    {"access_log", "write CustomLog: this is a word of nginx"},
    {"error_log", "write ErrorLog: this is a word of nginx"},
    {"client_max_body_size", "write LimitRequestBody BYTES: this is a word of nginx"},
    {"upstream", "write <Proxy \"balancer://NAME\"> and BalancerMember: this is a word of nginx"},
    {"ssl_certificate", "write SSLCertificateFile: this is a word of nginx"},
    {"ssl_certificate_key", "write SSLCertificateKeyFile: this is a word of nginx"},
    {"gzip", "write AddOutputFilterByType DEFLATE text/html ...: this is a word of nginx"},
    {"encode",
     "write AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html ...: this is a word of Caddy"},
    {"expires",
     "write ExpiresActive On and ExpiresDefault \"access plus 30 days\": this is a word of nginx"},
    {"autoindex", "write Options +Indexes: this is a word of nginx"},
    {"file_server", "write DocumentRoot, which serves files by itself: this is a word of Caddy"},
    {"worker_processes", "leave it out, or write MaxRequestWorkers: this is a word of nginx"},
    {"deny", "write Require not ip inside <RequireAll>: this is a word of nginx"},
};

static const char *mend_of_others(const mend *m)
{
    if (!ap_strstr_c(m->error, "Invalid command '"))
        return NULL;
    for (size_t i = 0; i < sizeof mend_others / sizeof *mend_others; i++)
        if (mend_is(m, mend_others[i].name))
            return mend_others[i].text;
    return NULL;
}

const char *conf_mend(apr_pool_t *p, const ap_directive_t *d, const char *error)
{
    const mend m = {p, d, d->args ? d->args : "", error};
    const char *text = mend_of_others(&m);

    for (size_t i = 0; !text && i < sizeof mend_errors / sizeof *mend_errors; i++)
        if ((!mend_errors[i].directive || mend_is(&m, mend_errors[i].directive)) &&
            ap_strstr_c(error, mend_errors[i].error))
            text = mend_errors[i].mend ? mend_errors[i].mend(&m) : mend_errors[i].text;
    if (!text)
        return error;
    /* In place of a question for a near name, or of a hint at a module. */
    if (ap_strstr_c(error, "Invalid command '"))
        error = apr_psprintf(p,
                             "Invalid command '%s', perhaps misspelled or defined by a module not "
                             "included in the server configuration",
                             d->directive);
    return ap_strstr_c(error, "; write ") ? error : apr_pstrcat(p, error, "; ", text, NULL);
}
