/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted keys, and sources of their pass phrases: earlier right ones, then a program
 * (SSLPassPhraseDialog exec:, |) or somebody at the terminal. A right one is kept as long as the
 * supervisor lives, so that reloads and exchanged keys ask nobody. It is in no core file. */
#include "tls_certificate.h"
#include "kept_secret.h"
#include "trial.h"
#include "http_log.h"
#include "apr_signal.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "brigade/assert.h"
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

APLOG_USE_MODULE(ssl);

#define PASS_MOST KEPT_SECRET_BYTES
#define PASS_WAIT (10 * APR_USEC_PER_SEC) /* for a program, once the server serves */

static int pass_serving;
static int pass_unasked; /* a start would ask for one */

/* The key that a phrase is asked for. */
typedef struct pass_asked {
    const tls_server_conf *sc;
    const char *file;
    int n; /* of the server's keys */
    apr_pool_t *p;
} pass_asked;

/* ---- known phrases ---- */

void tls_pass_serve(void)
{
    pass_serving = 1;
}

void tls_pass_child(void)
{
    kept_secret_forget();
}

int tls_pass_is_unasked(void)
{
    return pass_unasked;
}

/* ---- programs ---- */

static apr_status_t pass_start(apr_proc_t *proc, const char *const *argv, apr_pool_t *p)
{
    apr_procattr_t *attr;
    apr_status_t rv = apr_procattr_create(&attr, p);

    if (rv == APR_SUCCESS)
        rv = apr_procattr_io_set(attr, APR_FULL_BLOCK, APR_FULL_BLOCK, APR_NO_PIPE);
    if (rv == APR_SUCCESS)
        rv = apr_procattr_cmdtype_set(attr, APR_PROGRAM);
    if (rv == APR_SUCCESS)
        rv = apr_proc_create(proc, argv[0], argv, NULL, attr, p);
    if (rv == APR_SUCCESS && pass_serving)
        apr_file_pipe_timeout_set(proc->out, PASS_WAIT);
    return rv;
}

/* The first line of output. @return its length */
static int pass_read_line(apr_file_t *out, char *buf, int size, apr_status_t *rv)
{
    int n = 0;

    *rv = APR_SUCCESS;
    while (n < size - 1) {
        apr_size_t one = 1;

        if ((*rv = apr_file_read(out, buf + n, &one)) != APR_SUCCESS || buf[n] == '\n')
            break;
        n++;
    }
    while (n && (buf[n - 1] == '\r' || buf[n - 1] == '\n'))
        n--;
    BRG_ASSERT(n >= 0 && n < size);
    buf[n] = '\0';
    return n;
}

/* As mod_ssl calls it: "host:port", and by the key's number RSA, DSA, ECC, 3, ... */
static const char **pass_exec_argv(const pass_asked *asked)
{
    static const char *const types[] = {"RSA", "DSA", "ECC"};
    const server_rec *s = asked->sc->server;
    const char **argv = apr_pcalloc(asked->p, 4 * sizeof(*argv));

    BRG_ASSERT(asked->n >= 0 && !tls_settings.pass_pipe);
    argv[0] = tls_settings.pass_program;
    argv[1] = apr_psprintf(asked->p, "%s:%u", s->server_hostname ? s->server_hostname : "",
                           s->port ? s->port : 443);
    argv[2] = asked->n < 3 ? types[asked->n] : apr_itoa(asked->p, asked->n);
    return argv;
}

static const char *const *pass_argv(const pass_asked *asked)
{
    char **argv;

    if (!tls_settings.pass_pipe)
        return pass_exec_argv(asked);
    return apr_tokenize_to_argv(tls_settings.pass_program, &argv, asked->p) == APR_SUCCESS
               ? (const char *const *)argv
               : NULL;
}

/* A program that does not want to know has closed its end. */
static void pass_prompt(const pass_asked *asked, apr_file_t *in)
{
    apr_sigfunc_t *before = apr_signal(SIGPIPE, SIG_IGN);

    apr_file_printf(in, "Private key of %s (%s)\nPass phrase:\n",
                    tls_server_label(asked->sc, asked->p), asked->file);
    apr_signal(SIGPIPE, before);
}

static int pass_of_program(const pass_asked *asked, char *buf, int size)
{
    const char *const *argv = pass_argv(asked);
    apr_exit_why_e why;
    apr_proc_t proc;
    apr_status_t rv;
    int status, n;

    if (!argv || pass_start(&proc, argv, asked->p) != APR_SUCCESS)
        return 0;
    if (tls_settings.pass_pipe)
        pass_prompt(asked, proc.in);
    apr_file_close(proc.in);
    n = pass_read_line(proc.out, buf, size, &rv);
    apr_file_close(proc.out);
    if (APR_STATUS_IS_TIMEUP(rv))
        apr_proc_kill(&proc, SIGKILL);
    apr_proc_wait(&proc, &status, &why, APR_WAIT);
    return n;
}

/* ---- somebody at the terminal, before the server serves ---- */

static int pass_of_terminal(const pass_asked *asked, char *buf, int size)
{
    char prompt[PASS_MOST];
    int serving = pass_serving || trial_runs() == TRIAL_RELOAD;
    int tty = serving || trial_runs() ? -1 : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

    pass_unasked |= trial_runs() == TRIAL_START;
    if (tty < 0) {
        ap_log_error(APLOG_MARK, tls_complaints, 0, asked->sc->server,
                     APLOGNO(02578) "Init: Unable to read pass phrase of %s: %s. "
                                    "\"SSLPassPhraseDialog exec:PROGRAM\" asks a program",
                     asked->file,
                     serving ? "nobody is asked while the server runs" : "there is no terminal");
        return 0;
    }
    close(tty);
    apr_snprintf(prompt, sizeof prompt,
                 "Private key of %s (%s)\nPass phrase:", tls_server_label(asked->sc, asked->p),
                 asked->file);
    return EVP_read_pw_string(buf, size, prompt, 0) ? 0 : (int)strlen(buf);
}

static int pass_ask(const pass_asked *asked, char *buf, int size)
{
    return tls_settings.pass_program ? pass_of_program(asked, buf, size)
                                     : pass_of_terminal(asked, buf, size);
}

/* ---- keys ---- */

typedef struct pass_attempt {
    const char *phrase; /* NULL: is there one at all? */
    int encrypted;
} pass_attempt;

static int pass_give(char *buf, int size, int writing, void *data)
{
    pass_attempt *attempt = data;
    int n = attempt->phrase ? (int)strlen(attempt->phrase) : 0;

    attempt->encrypted = 1;
    if (!n || n > size)
        return -1;
    memcpy(buf, attempt->phrase, (size_t)n);
    return n;
}

static EVP_PKEY *pass_try(const char *file, pass_attempt *attempt)
{
    BIO *in = BIO_new_file(file, "r");
    EVP_PKEY *key;

    ERR_clear_error();
    key = in ? PEM_read_bio_PrivateKey(in, NULL, pass_give, attempt) : NULL;
    BIO_free(in);
    return key;
}

EVP_PKEY *tls_pass_read_key(const tls_server_conf *sc, const char *file, int n, apr_pool_t *p)
{
    pass_attempt attempt = {NULL, 0};
    pass_asked asked = {.sc = sc, .file = file, .n = n, .p = p};
    EVP_PKEY *key = pass_try(file, &attempt);
    char phrase[PASS_MOST];

    if (key || !attempt.encrypted)
        return key;
    for (int i = 0; !key && (attempt.phrase = kept_secret_get(i)) != NULL; i++)
        key = pass_try(file, &attempt);
    if (!key && pass_ask(&asked, phrase, sizeof phrase) > 0) {
        attempt.phrase = phrase;
        if ((key = pass_try(file, &attempt)) != NULL)
            kept_secret_add(phrase);
    }
    OPENSSL_cleanse(phrase, sizeof phrase);
    return key;
}
