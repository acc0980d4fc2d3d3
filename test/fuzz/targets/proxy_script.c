/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of SCGI and uwsgi backends: a script's head, and a body up to the end. The first byte chooses which, the second in what
 * pieces the answer arrives. The cuts change nothing.
 * Covers: server/proxy/proxy_scgi.c server/proxy/proxy_script.c
 */
#include "test_exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *outcome(apr_pool_t *p, const uint8_t *data, size_t size, size_t step, int scgi)
{
    proxy_exchange *x = scgi ? exchange_make(p, &proxy_scgi_codec, PROXY_SCHEME_SCGI, "scgi", 0)
                             : exchange_make(p, &proxy_uwsgi_codec, PROXY_SCHEME_UWSGI, "uwsgi", 0);
    const char *text = exchange_run(x, data, size, step);

    exchange_free(x);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *p;
    const char *whole;
    int scgi;

    if (size < 3 || size > 80000)
        return 0;
    exchange_server();
    apr_pool_create(&p, test_process->pool);
    scgi = data[0] & 1;
    whole = outcome(p, data + 2, size - 2, size, scgi);
    exchange_check(!strcmp(whole, outcome(p, data + 2, size - 2, (size_t)data[1] + 1, scgi)));
    apr_pool_destroy(p);
    return 0;
}
