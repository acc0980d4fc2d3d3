/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of SSL directives: a line each, of which those that name files and programs are left out. A configuration is
 * taken or refused with a message; settings that were taken make contexts, or are refused by OpenSSL.
 * Covers: server/tls/tls_directives.c server/tls/tls_directives_global.c server/tls/tls_directives_clients.c
 *     server/tls/tls_options.c
 */
#include "tls_context_private.h"
#include "test_config.h"
#include "apr_strings.h"
#include <openssl/err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Those of one line that may be tried. */
static int line_is_tried(const char *line)
{
    static const char *const not [] = {"File", "Path", "Dialog", "RandomSeed"};

    if (strncasecmp(line, "SSL", 3) != 0)
        return 0;
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (ap_strcasestr(line, not [i]))
            return 0;
    return 1;
}

static const char *lines_tried(apr_pool_t *p, const char *text)
{
    const char *all = "";
    char *line, *state, *copy = apr_pstrdup(p, text);
    int n = 0;

    for (line = apr_strtok(copy, "\n", &state); line && n < 20;
         line = apr_strtok(NULL, "\n", &state))
        if (line_is_tried(line)) {
            size_t len = strlen(line);

            while (len && line[len - 1] == '\\') /* the next line may not be tried */
                line[--len] = '\0';
            all = apr_pstrcat(p, all, line, "\n", NULL);
            n++;
        }
    return all;
}

static void try_settings(void)
{
    const tls_server_conf *sc = tls_conf_of(ap_server_conf);
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (sc->protocols != TLS_UNSET) {
        if (sc->protocols < 0 || sc->protocols > TLS_V_ALL)
            abort();
        if (sc->protocols) /* else a server that speaks TLS is refused */
            tls_context_protocols(ctx, sc->protocols);
    }
    if (sc->verify != TLS_UNSET)
        (void)tls_verify_mode(sc->verify);
    SSL_CTX_free(ctx);
    ERR_clear_error();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *p;
    const char *text;

    if (!test_process && test_config_setup(NULL))
        abort();
    apr_pool_create(&p, test_process->pool);
    text = lines_tried(p, apr_pstrmemdup(p, (const char *)data, size));
    if (data && size && data[0] == '<')
        text = apr_pstrcat(p, "<Location />\n", text, "</Location>\n", NULL);
    if (test_config_read(text))
        try_settings();
    else if (!*test_messages)
        abort(); /* refused without a reason */
    apr_pool_destroy(p);
    return 0;
}
