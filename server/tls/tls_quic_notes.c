/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a step of a handshake of QUIC, and input that waits: kept in order. */
#include "tls_quic_private.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

static tls_quic_note *note_make(tls_quic_said said, tls_quic_level level, const void *data,
                                size_t len)
{
    tls_quic_note *n = malloc(sizeof *n + len);

    if (!n)
        return NULL;
    *n = (tls_quic_note){.said = said, .level = level, .len = len};
    if (len)
        memcpy(n->data, data, len);
    return n;
}

static void note_add(tls_quic_notes *to, tls_quic_note *n)
{
    BRG_ASSERT(!n->next);
    if (!to->first)
        to->tail = &to->first;
    *to->tail = n;
    to->tail = &n->next;
}

tls_quic_note *tls_quic_note_take(tls_quic_notes *from)
{
    tls_quic_note *n = from->first;

    if (n && (from->first = n->next) == NULL)
        from->tail = &from->first;
    return n;
}

void tls_quic_note_free(tls_quic_note *n)
{
    BRG_ASSERT(n->said <= TLS_QUIC_GIVEN);
    OPENSSL_cleanse(n->data, n->len);
    free(n);
}

int tls_quic_note_keep(tls_quic_notes *to, tls_quic_level level, const uint8_t *data, size_t len)
{
    tls_quic_note *n = note_make(TLS_QUIC_GIVEN, level, data, len);

    if (!n)
        return -1;
    note_add(to, n);
    return 0;
}

void tls_quic_note_drop(tls_quic_notes *of)
{
    tls_quic_note *n = tls_quic_note_take(of);

    if (n)
        tls_quic_note_free(n);
}

void tls_quic_notes_drop(tls_quic_notes *of)
{
    tls_quic_note *n;

    while ((n = tls_quic_note_take(of)) != NULL)
        tls_quic_note_free(n);
}

void tls_quic_refuse(tls_quic *q, unsigned alert)
{
    BRG_ASSERT(alert <= UINT8_MAX);
    if (q->alerted)
        return;
    q->alerted = 1;
    q->alert = (uint8_t)alert;
}

void tls_quic_say(tls_quic *q, tls_quic_said said, tls_quic_level level, const void *data,
                  size_t len)
{
    tls_quic_note *n = note_make(said, level, data, len);

    if (n)
        note_add(&q->said, n);
    else
        tls_quic_refuse(q, SSL_AD_INTERNAL_ERROR);
}
