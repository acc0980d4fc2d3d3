/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of sessions, whose memory another process may have damaged: sessions come, are asked for and go, and
 * bytes of the memory change in between. As long as none did, a session that is found is the one that was put.
 * Covers: server/tls/tls_sessions.c
 */
#include "tls_context_private.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SESSIONS 32

static SSL_CTX *ctx;
static SSL *asker; /* the connection that asks */
static tls_conn conn = {.tag = TLS_CONN_TAG};
static SSL_SESSION *session[SESSIONS];
static unsigned char *memory;
static size_t memory_len;
static int damaged;

static void check(int right)
{
    if (!right)
        abort();
}

static void session_id(unsigned n, unsigned char id[32])
{
    memset(id, (int)n, 32);
    id[0] = (unsigned char)(n / 8); /* several to a group of places */
}

static SSL_SESSION *session_make(unsigned n)
{
    static const unsigned char cipher[2] = {0xc0, 0x2f};
    unsigned char id[32], master[48] = {1};
    SSL *ssl = SSL_new(ctx);
    SSL_SESSION *s = SSL_SESSION_new();

    session_id(n, id);
    check(SSL_SESSION_set_protocol_version(s, TLS1_2_VERSION) && SSL_SESSION_set1_id(s, id, 32) &&
          SSL_SESSION_set1_master_key(s, master, sizeof master) &&
          SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, cipher)) &&
          SSL_SESSION_set_timeout(s, 300 + n));
    SSL_free(ssl);
    return s;
}

/* The mapping of the cache is the only one of its kind that is new. */
static int memory_find(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[512];
    int n = 0;

    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "/memfd:") && sscanf(line, "%lx-%lx rw-s", &from, &to) == 2) {
            memory = (unsigned char *)from;
            memory_len = to - from;
            n++;
        }
    if (maps)
        fclose(maps);
    return n;
}

static void begin_once(void)
{
    if (ctx)
        return;
    check(!memory_find());
    tls_settings.cache_bytes = 32768;
    check(!tls_sessions_begin(tls_settings.cache_bytes) && memory_find() == 1);
    ctx = SSL_CTX_new(TLS_server_method());
    asker = SSL_new(ctx);
    SSL_set_app_data(asker, &conn);
    tls_sessions_use(ctx);
    for (unsigned i = 0; i < SESSIONS; i++)
        session[i] = session_make(i);
}

static void get(unsigned n)
{
    unsigned char id[32];
    unsigned len;
    int copy = 1;
    SSL_SESSION *s;

    session_id(n, id);
    s = SSL_CTX_sess_get_get_cb(ctx)(asker, id, 32, &copy);
    check(!copy);
    if (s && !damaged)
        check(!memcmp(SSL_SESSION_get_id(s, &len), id, 32) &&
              SSL_SESSION_get_timeout(s) == 300 + (long)n);
    SSL_SESSION_free(s);
}

static void damage(const uint8_t *step, const uint8_t *with, size_t len)
{
    size_t at = ((size_t)step[1] << 8 | step[2]) % memory_len;

    damaged = 1;
    memcpy(memory + at, with, len < memory_len - at ? len : memory_len - at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin_once();
    memset(memory, 0, memory_len);
    damaged = 0;
    while (size >= 4) {
        unsigned n = data[1] % SESSIONS;
        size_t len = 0;

        if (data[0] % 4 == 0)
            check(!SSL_CTX_sess_get_new_cb(ctx)(NULL, session[n]));
        else if (data[0] % 4 == 1)
            get(n);
        else if (data[0] % 4 == 2)
            SSL_CTX_sess_get_remove_cb(ctx)(ctx, session[n]);
        else
            damage(data, data + 4, len = data[3] < size - 4 ? data[3] : size - 4);
        data += 4 + len;
        size -= 4 + len;
    }
    return 0;
}
