/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for more fields than an http_head holds itself, for servers whose LimitRequestFields allows
 * that many: one array per thread, made at the first request for such a server. Memory that no
 * request fills is never touched.
 */
#include "h1_parse.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t fields_key;
static pthread_once_t fields_once = PTHREAD_ONCE_INIT;
static int fields_key_ok;

static void fields_make_key(void)
{
    fields_key_ok = pthread_key_create(&fields_key, free) == 0;
}

void h1_fields_room(h1_limits *limits)
{
    http_field *room;

    BRG_ASSERT(limits->line > 0 && limits->field_size > 0);
    limits->room = NULL;
    if (limits->fields && limits->fields <= HTTP_HEAD_OWN_FIELDS)
        return;
    pthread_once(&fields_once, fields_make_key);
    if (!fields_key_ok)
        return;
    room = pthread_getspecific(fields_key);
    if (!room && (room = malloc(HTTP_HEAD_MAX_FIELDS * sizeof(*room))) != NULL &&
        pthread_setspecific(fields_key, room)) {
        free(room);
        room = NULL;
    }
    limits->room = room;
}
