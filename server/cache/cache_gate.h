/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_GATE_H
#define BRIGADE_CACHE_CACHE_GATE_H

/**
 * @file cache_gate.h
 * A gate stands before a stored answer: each request that it would answer is asked for first. Limits count requests there.
 */
#include "conn.h"
#include "http_head.h"
#include "response_cache.h"
#include <string.h>

/** A request that @a entry would answer. */
typedef struct cache_visit {
    brg_conn *bc; /**< where it came in; over HTTP/2 the connection of the stream */
    const http_head *head;
    const cache_entry *entry;
    apr_off_t len;  /**< bytes of the body that would be sent */
    int only_looks; /**< nothing is counted yet: another gate is asked after this one */
} cache_visit;

/**
 * May the request be answered from memory?
 * @param data, fixed  as given to cache_gate()
 * @return 1; 0: it takes the full way, where the same limit decides what becomes of it
 * Threads: the loop's. Blocking: must not.
 */
typedef int cache_gate_fn(const void *data, uint64_t fixed, const cache_visit *visit);

/** The answer to @a r is sent from memory to those that @a fn lets pass. @param data  lives as long as the configuration
 * Threads: the request's. Blocking: no. */
void cache_gate(request_rec *r, cache_gate_fn *fn, const void *data, uint64_t fixed);

/** cache_visit_field() for a name that is not as it was given. */
int cache_visit_is_named(const char *a, const char *b, size_t len);

/* Most clients write a name as the configuration has it. */
static inline int cache_visit_names(const char *a, const char *b, size_t len)
{
    uint64_t x[4];

    if (len < sizeof *x || len > 2 * sizeof *x)
        return cache_visit_is_named(a, b, len);
    memcpy(&x[0], a, sizeof *x);
    memcpy(&x[1], b, sizeof *x);
    memcpy(&x[2], a + len - sizeof *x, sizeof *x);
    memcpy(&x[3], b + len - sizeof *x, sizeof *x);
    return (x[0] == x[1] && x[2] == x[3]) || cache_visit_is_named(a, b, len);
}

/** The value of a request field; NULL: there is none. @param id  http_field_id_of() */
static inline const char *cache_visit_field(const cache_visit *visit, int id, const char *name,
                                            size_t name_len, size_t *len)
{
    const http_head *h = visit->head;
    const http_field *f = NULL;

    if (id != HTTP_F_OTHER)
        f = h->known[id] >= 0 ? &h->field[h->known[id]] : NULL;
    for (int i = 0; id == HTTP_F_OTHER && i < h->n_fields && !f; i++)
        if (h->field[i].name_len == name_len && cache_visit_names(h->field[i].name, name, name_len))
            f = &h->field[i];
    *len = f ? f->value_len : 0;
    return f ? f->value : NULL;
}

/** 1: more than one line has that name. On the full way they are one value. @param id  http_field_id_of() */
static inline int cache_visit_is_repeated(const cache_visit *visit, int id, const char *name,
                                          size_t name_len)
{
    const http_head *h = visit->head;
    int n = 0;

    if (id != HTTP_F_OTHER)
        return h->repeated;
    for (int i = 0; i < h->n_fields; i++)
        n +=
            h->field[i].name_len == name_len && cache_visit_names(h->field[i].name, name, name_len);
    return n > 1;
}

/** Who sent it, in @a out (BRG_CACHE_USER_ROOM bytes); NULL: the answer is for all. */
const char *cache_visit_user(const cache_visit *visit, char *out);

/** 1 if the request has a field by which a module changes what is known of its client. */
int cache_visit_is_changed(const cache_visit *visit);

#endif
