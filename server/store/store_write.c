/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are written in place. The table leads to a record only when that is complete; a flight leads to it before. */
#include "store_private.h"
#include "brigade/memory.h"

#include <stdlib.h>
#include <string.h>

/* an object of unknown length moves out of its own segment if it has no more than this */
#define STORE_COMPACT (256u * 1024)

static uint32_t store_head_bytes(const store_head *head, int linked)
{
    const uint32_t variant = head->mark != 0;

    return (uint32_t)sizeof(store_record) + (linked ? 8 : 0) + 8 * (head->marks_n + variant) + 2 +
           head->text_len + STORE_TERMS + head->head_len;
}

/* Fill a record in; its word last. */
static void store_record_fill(store_record *r, const store_head *head, uint32_t flags,
                              uint64_t link)
{
    const uint32_t variant = head->mark != 0;
    const uint16_t text_len = (uint16_t)head->text_len;
    char *p = (char *)(r + 1);

    BRG_ASSERT(head->text_len <= UINT16_MAX && head->marks_n < 127);
    BRG_ASSERT(head->worth <= STORE_WORTH_MOST);
    r->key = head->key;
    atomic_store(&r->stamp, head->epoch);
    r->head_len = 2 + head->text_len + STORE_TERMS + head->head_len;
    atomic_store(&r->length, 0);
    atomic_fetch_or(&r->size, (head->marks_n + variant) << 17 | (uint32_t)head->worth << 24);
    if (flags & STORE_REC_LINKED) {
        memcpy(p, &link, 8);
        p += 8;
    }
    if (variant) {
        memcpy(p, &head->mark, 8);
        p += 8;
    }
    if (head->marks_n)
        memcpy(p, head->marks, 8 * (size_t)head->marks_n);
    p += 8 * (size_t)head->marks_n;
    memcpy(p, &text_len, 2);
    p += 2;
    memcpy(p, head->text, head->text_len);
    p += head->text_len;
    memcpy(p, head->terms, STORE_TERMS);
    p += STORE_TERMS;
    if (head->head_len)
        memcpy(p, head->head, head->head_len);
    STORE_STEP("record filled");
    atomic_store(&r->word,
                 flags | (variant ? STORE_REC_VARIANT : 0) | (head->vary ? STORE_REC_VARY : 0));
}

static const char *store_head_refused(store *s, const store_head *head)
{
    if (head->text_len > UINT16_MAX ||
        (uint64_t)head->text_len + head->head_len > STORE_HEAD_MOST - 4096)
        return "its key and head are too long";
    if (head->marks_n > s->limits.marks)
        return "it has too many tags";
    if (head->length != STORE_LENGTH_UNKNOWN && head->length > s->limits.object_bytes)
        return "its body is too long";
    if (head->mark && s->limits.variants && store_variants(s, head->mark) >= s->limits.variants)
        return "its URL has too many variants";
    if (atomic_load(&s->shared->flight_bytes) > s->limits.flight_bytes)
        return "too many bytes are on their way";
    return NULL;
}

/* A record that has a segment for itself. */
static store_record *store_alloc_own(store_reader *reader, uint32_t *segment)
{
    store *s = reader->s;
    int64_t own;
    store_record *r;

    if (store_make_room(reader, STORE_SEGMENT / 4) ||
        (own = store_segment_own(reader, STORE_CLASS_LARGE)) < 0)
        return NULL;
    *segment = (uint32_t)own;
    r = (void *)(s->data + (size_t)own * STORE_SEGMENT);
    atomic_store(&r->size, STORE_GRANULES);
    atomic_store(&s->segment[own].used, STORE_GRANULES);
    return r;
}

static void store_charge(store_writer *w)
{
    store_segment *g = w->reader->s->segment + w->piece_segment;
    const uint32_t used = (uint32_t)((char *)w->piece - w->reader->s->data) % STORE_SEGMENT +
                          (STORE_SEGMENT - w->piece_room) + w->piece_used;

    if (w->own)
        atomic_store_explicit(&g->counted, (used + 65535) & ~65535u, memory_order_relaxed);
}

/* An object that comes again soon after it was evicted goes to the main class at once. */
static int store_class_of(const store *s, const store_key *key)
{
    return store_slot_has_ghost(s, key) ? STORE_CLASS_MAIN : STORE_CLASS_SMALL;
}

store_writer *store_write_begin(store_reader *reader, const store_head *head, uint32_t flight,
                                const char **why)
{
    store *s = reader->s;
    const uint32_t plain = store_head_bytes(head, 0);
    const int own =
        head->length == STORE_LENGTH_UNKNOWN || head->length + plain > STORE_SHARED_MOST;
    const uint32_t flags = STORE_REC_WRITING | store_owner(reader->row, reader->incarnation)
                                                   << STORE_REC_OWNER;
    store_writer *w;
    store_parts parts;

    BRG_ASSERT(head->terms && head->text_len);
    *why = store_head_refused(s, head);
    w = *why ? NULL : calloc(1, sizeof *w);
    if (!w)
        goto refused;
    w->reader = reader;
    w->own = (uint32_t)own;
    w->record = own ? store_alloc_own(reader, &w->segment)
                    : store_alloc(reader, store_class_of(s, &head->key), 1,
                                  plain + (uint32_t)head->length, &w->segment);
    if (!w->record) {
        *why = "no memory is free now";
        goto refused;
    }
    store_pin(reader, w->segment);
    store_record_fill(w->record, head, flags | (own ? STORE_REC_LINKED : 0), 0);
    if (store_record_parts(s, w->record, &parts)) { /* somebody wrote over it */
        store_unpin(reader, w->segment);
        *why = "the memory was spoilt";
        goto refused;
    }
    w->key = head->key;
    w->mark = head->mark;
    w->asked = head->length;
    w->flight = flight;
    w->piece = w->record;
    w->piece_segment = w->segment;
    w->piece_room = own ? parts.body_room : (uint32_t)head->length;
    store_charge(w);
    if (flight) {
        store_flight *f = store_flight_of(s, flight);
        uint32_t word = (flight & 0xffff0000u) | (STORE_FLIGHT_WAITS + 1);

        BRG_ASSERT(f);
        atomic_store(&f->link, store_link_of(s, w->record) | STORE_LINK_SET);
        STORE_STEP("flight linked");
        atomic_compare_exchange_strong(&f->state, &word,
                                       (flight & 0xffff0000u) | (STORE_FLIGHT_GROWS + 1));
    }
    return w;
refused:
    STORE_COUNT(s, refused);
    free(w);
    return NULL;
}

/* The next piece of a long body: a segment of its own, which goes with that of the record. */
static int store_write_next(store_writer *w)
{
    store *s = w->reader->s;
    uint32_t segment;
    store_record *piece;
    uint64_t link;

    if (!w->own || !(piece = store_alloc_own(w->reader, &segment)))
        return 0;
    atomic_store(&s->segment[segment].anchor_generation,
                 atomic_load(&s->segment[w->segment].generation));
    atomic_store(&s->segment[segment].anchor, w->segment);
    piece->key = w->key;
    atomic_store_explicit(store_record_link(piece), 0, memory_order_relaxed);
    atomic_store(&piece->word, STORE_REC_COMPLETE | STORE_REC_PIECE | STORE_REC_LINKED);
    STORE_STEP("piece begun");
    link = store_link_of(s, piece) | STORE_LINK_SET;
    /* Readers follow a link only when the length says that more lies behind it. */
    atomic_store_explicit(store_record_link(w->piece), link, memory_order_relaxed);
    if (w->piece_segment != w->segment)
        store_segment_seal(s, w->piece_segment);
    w->piece = piece;
    w->piece_segment = segment;
    w->piece_room = STORE_SEGMENT - (uint32_t)sizeof *piece - 8;
    w->piece_used = 0;
    return 1;
}

size_t store_write_room(store_writer *w, char **p)
{
    store_parts parts;
    uint64_t left = w->reader->s->limits.object_bytes;

    BRG_ASSERT(w->piece_used <= w->piece_room);
    left = left > w->total ? left - w->total : 0;
    if (w->asked != STORE_LENGTH_UNKNOWN && left > w->asked - w->total)
        left = w->asked - w->total;
    if (!left || (w->piece_used == w->piece_room && !store_write_next(w)))
        return 0;
    if (store_record_parts(w->reader->s, w->piece, &parts))
        return 0;
    *p = (char *)(uintptr_t)parts.body + w->piece_used;
    return left < w->piece_room - w->piece_used ? (size_t)left : w->piece_room - w->piece_used;
}

void store_write_commit(store_writer *w, size_t n)
{
    store *s = w->reader->s;
    store_flight *f = w->flight ? store_flight_of(s, w->flight) : NULL;

    BRG_ASSERT(n <= w->piece_room - w->piece_used);
    w->piece_used += (uint32_t)n;
    w->total += n;
    store_charge(w);
    STORE_STEP("before the length");
    atomic_store_explicit(&w->record->length, w->total, memory_order_release);
    if (f) {
        atomic_fetch_add(&f->bytes, n);
        atomic_fetch_add(&s->shared->flight_bytes, n);
    }
}

int store_write(store_writer *w, const char *p, size_t n)
{
    brg_buffer_copied(n);
    while (n) {
        char *to;
        size_t room = store_write_room(w, &to);

        if (!room)
            return -1;
        if (room > n)
            room = n;
        memcpy(to, p, room);
        store_write_commit(w, room);
        p += room;
        n -= room;
    }
    return 0;
}

int store_write_view(const store_writer *w, store_view *view)
{
    store_pin(w->reader, w->segment);
    if (store_view_make(w->reader, w->record, view))
        return 1;
    store_unpin(w->reader, w->segment);
    return 0;
}

/* The other objects of this key leave the table. */
static void store_replace(store *s, const store_key *key, uint64_t by)
{
    for (int i = 0; i < STORE_SLOTS; i++) {
        _Atomic uint64_t *at = store_slot_at(s, key, i);
        uint64_t slot = atomic_load(at);
        store_record *r;

        if (store_slot_kind(slot) == STORE_SLOT_PASS && store_slot_is_pass(key, slot))
            atomic_compare_exchange_strong(at, &slot, 0);
        if (store_slot_kind(slot) != STORE_SLOT_OBJECT || (slot & 0xffff) != (key->b & 0xffff) ||
            store_slot_link(slot) == store_slot_link(by))
            continue;
        /* If the record is freed meanwhile, it is gone anyway. */
        r = store_record_at(s, store_slot_link(slot));
        if (r && r->key.a == key->a && r->key.b == key->b &&
            atomic_compare_exchange_strong(at, &slot, 0))
            store_object_gone(s, slot);
    }
}

/* It was asked for again if it is among the survivors: then its cost counts. */
static uint32_t store_worth_now(store *s, const store_record *r)
{
    const uint32_t segment = store_segment_of(s, r);

    return atomic_load(&s->segment[segment].kind) == STORE_CLASS_MAIN ? store_worth(r) : 0;
}

/* A record that is complete gets its slot. */
static apr_status_t store_publish(store_reader *reader, store_record *r, const store_key *key)
{
    store *s = reader->s;
    const uint64_t slot =
        store_slot_make(STORE_SLOT_OBJECT, store_worth_now(s, r), store_link_of(s, r), key);
    const _Atomic uint64_t *at;

    STORE_STEP("before the slot");
    at = store_slot_put(s, key, slot);
    if (!at)
        return APR_ENOMEM;
    STORE_STEP("behind the slot");
    atomic_fetch_add(&s->shared->objects, 1);
    store_replace(s, key, slot);
    STORE_COUNT(s, stored);
    store_slot_trim(reader, at);
    return APR_SUCCESS;
}

static void store_word_state(store_record *r, uint32_t state)
{
    const uint32_t word = atomic_load(&r->word);

    atomic_store(&r->word, (word & ~STORE_REC_STATE) | state);
}

/* Move a short object from its own segment to a shared one. NULL: it stays */
static store_record *store_compact(store_writer *w)
{
    store *s = w->reader->s;
    const store_record *r = w->record;
    store_parts parts;
    uint32_t head, segment, bytes;
    store_record *to;

    if (!w->own || w->piece != r || w->total > STORE_COMPACT || store_record_parts(s, r, &parts))
        return NULL;
    head = (uint32_t)(parts.body - parts.marks);
    bytes = (uint32_t)sizeof *r + head + (uint32_t)w->total;
    to = store_alloc(w->reader, store_class_of(s, &r->key), 1, bytes, &segment);
    if (!to)
        return NULL;
    to->key = r->key;
    atomic_store(&to->stamp, atomic_load(&r->stamp));
    to->head_len = r->head_len;
    atomic_fetch_or(&to->size, parts.marks_n << 17 | store_worth(r) << 24);
    memcpy(to + 1, parts.marks, head + (size_t)w->total);
    brg_buffer_copied((size_t)w->total);
    atomic_store(&to->length, w->total);
    STORE_STEP("compacted");
    atomic_store(&to->word,
                 (atomic_load(&r->word) & ~(uint32_t)STORE_REC_LINKED & ~STORE_REC_STATE) |
                     STORE_REC_COMPLETE);
    return to;
}

/* A writer is done: its pin and its segments are let go. @param drop  the content of its own
 * segments is of no use */
static void store_write_over(store_writer **writer, int drop)
{
    store_writer *w = *writer;
    store *s = w->reader->s;

    BRG_ASSERT(w->segment < s->segments && w->piece_segment < s->segments);
    if (w->own) {
        store_segment_seal(s, w->piece_segment);
        store_segment_seal(s, w->segment);
        if (drop)
            store_segment_drop(s, w->segment);
    }
    store_unpin(w->reader, w->segment);
    free(w);
    *writer = NULL;
}

apr_status_t store_write_end(store_writer **writer)
{
    store_writer *w = *writer;
    store *s = w->reader->s;
    store_record *compact;
    apr_status_t rv;

    if (w->asked != STORE_LENGTH_UNKNOWN && w->total != w->asked) {
        store_write_give_up(writer);
        return APR_EGENERAL;
    }
    BRG_ASSERT(w->asked == STORE_LENGTH_UNKNOWN || w->total == w->asked);
    compact = store_compact(w);
    STORE_STEP("before the end");
    store_word_state(w->record, STORE_REC_COMPLETE);
    rv = store_publish(w->reader, compact ? compact : w->record, &w->key);
    if (!rv && w->mark)
        store_variants_add(s, w->mark, 1);
    if (w->flight)
        store_flight_finish(s, w->flight, STORE_FLIGHT_DONE);
    store_write_over(writer, compact != NULL || rv);
    return rv;
}

void store_write_give_up(store_writer **writer)
{
    store_writer *w = *writer;

    BRG_ASSERT(w && w->record);
    store_word_state(w->record, STORE_REC_BROKEN);
    STORE_COUNT(w->reader->s, broken);
    if (w->flight)
        store_flight_finish(w->reader->s, w->flight, STORE_FLIGHT_FAILED);
    store_write_over(writer, 1);
}

apr_status_t store_write_refreshed(store_reader *reader, const store_head *head,
                                   const store_view *body, uint32_t flight)
{
    store *s = reader->s;
    store_record *r, *from = body->body;
    uint32_t segment;
    const uint32_t flags = STORE_REC_WRITING | STORE_REC_LINKED | STORE_REC_BORROWS |
                           store_owner(reader->row, reader->incarnation) << STORE_REC_OWNER;
    apr_status_t rv;

    if ((atomic_load(&from->word) & STORE_REC_STATE) != STORE_REC_COMPLETE ||
        from->key.a != head->key.a || from->key.b != head->key.b)
        return APR_EGENERAL;
    if (store_head_refused(s, head) ||
        !(r = store_alloc(reader, STORE_CLASS_SMALL, 1, store_head_bytes(head, 1), &segment))) {
        STORE_COUNT(s, refused);
        return APR_ENOMEM;
    }
    store_record_fill(r, head, flags, store_link_of(s, from) | STORE_LINK_SET);
    atomic_fetch_or(&r->size, store_worth(from) << 24); /* a 304 cost less than its object */
    atomic_store(&r->length, atomic_load(&from->length));
    store_word_state(r, STORE_REC_COMPLETE);
    rv = store_publish(reader, r, &head->key);
    if (flight)
        store_flight_finish(s, flight, rv ? STORE_FLIGHT_FAILED : STORE_FLIGHT_DONE);
    return rv;
}
