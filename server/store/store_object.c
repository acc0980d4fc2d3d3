/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as readers see them. Each value is read from the memory once, compared with its bounds, and used as it was read. */
#include "store_private.h"

#include <string.h>

/* May the memory of this link be read? The caller has its segment pinned, or owns it. */
static int store_link_holds(const store *s, uint64_t link)
{
    const uint32_t segment = store_link_segment(link);
    uint32_t state;

    if (segment >= s->segments)
        return 0;
    state = atomic_load(&s->segment[segment].state);
    return (state == STORE_SEG_OPEN || state == STORE_SEG_SEALED || state == STORE_SEG_SWEEPING) &&
           (atomic_load(&s->segment[segment].generation) & 0x1ff) == (link >> 34 & 0x1ff);
}

store_record *store_record_at(const store *s, uint64_t link)
{
    const uint32_t segment = store_link_segment(link), granule = (uint32_t)link & 0xffff;
    store_record *r =
        (void *)(s->data + (size_t)segment * STORE_SEGMENT + (size_t)granule * STORE_GRANULE);
    uint32_t granules;

    if (segment >= s->segments || granule + 3 > STORE_GRANULES)
        return NULL;
    granules = atomic_load_explicit(&r->size, memory_order_acquire) & 0x1ffff;
    return granules < 3 || granules > STORE_GRANULES - granule ? NULL : r;
}

int store_record_parts(const store *s, const store_record *r, store_parts *parts)
{
    const uint32_t size = atomic_load(&r->size), word = atomic_load(&r->word);
    const uint32_t bytes = (size & 0x1ffff) * STORE_GRANULE, head = r->head_len;
    const char *p = (const char *)(r + 1);
    uint32_t at = sizeof *r;
    uint16_t text_len;

    if (bytes > STORE_SEGMENT - store_granule_of(s, r) * STORE_GRANULE)
        return -1;
    *parts = (store_parts){.marks_n = size >> 17 & 0x7f};
    if (word & STORE_REC_LINKED) {
        if (at + 8 > bytes)
            return -1;
        /* The link of a piece that is still being filled may be written at this moment. */
        parts->link = atomic_load_explicit(store_record_link((store_record *)(uintptr_t)r),
                                           memory_order_relaxed);
        p += 8;
        at += 8;
    }
    parts->marks = p;
    if (head > bytes || at + parts->marks_n * 8 + head > bytes)
        return -1;
    at += parts->marks_n * 8 + head;
    p += parts->marks_n * 8;
    parts->body = p + head;
    parts->body_room = bytes - at;
    if (word & STORE_REC_PIECE)
        return 0;
    if (head < 2 + STORE_TERMS)
        return -1;
    memcpy(&text_len, p, 2);
    if ((uint32_t)text_len + 2 + STORE_TERMS > head)
        return -1;
    parts->text = p + 2;
    parts->text_len = text_len;
    parts->terms = parts->text + text_len;
    parts->head = parts->terms + STORE_TERMS;
    parts->head_len = head - 2 - text_len - STORE_TERMS;
    return 0;
}

/* The body of another record. Its segment is pinned, too, where it is not the head's own (store_hold(), store_release()). */
static int store_view_borrow(store_reader *reader, store_record *r, const store_parts *parts,
                             store_view *view)
{
    store *s = reader->s;
    const uint32_t segment = store_link_segment(parts->link);
    store_record *body;

    if (segment >= s->segments)
        return 0;
    if (segment != view->segment)
        store_pin(reader, segment);
    if (store_link_holds(s, parts->link) && (body = store_record_at(s, parts->link)) &&
        body->key.a == r->key.a && body->key.b == r->key.b &&
        (atomic_load(&body->word) & STORE_REC_STATE) == STORE_REC_COMPLETE) {
        view->body = body;
        view->body_segment = segment;
        return 1;
    }
    if (segment != view->segment)
        store_unpin(reader, segment);
    return 0;
}

/* The view of a record with these parts. 0: it is none of its own, or borrows a body that is gone */
static int store_view_of(store_reader *reader, store_record *r, const store_parts *parts,
                         store_view *view)
{
    const uint32_t word = atomic_load(&r->word), segment = store_segment_of(reader->s, r);

    if (word & STORE_REC_PIECE)
        return 0;
    *view = (store_view){.reader = reader,
                         .record = r,
                         .segment = segment,
                         .body_segment = segment,
                         .body = r,
                         .bytes = word & STORE_REC_BORROWS ? NULL : parts->body,
                         .bytes_n = parts->body_room,
                         .text = parts->text,
                         .terms = parts->terms,
                         .head = parts->head,
                         .text_len = parts->text_len,
                         .head_len = parts->head_len,
                         .soft = (word & STORE_REC_SOFT) != 0,
                         .vary = (word & STORE_REC_VARY) != 0};
    if ((word & STORE_REC_BORROWS) && !store_view_borrow(reader, r, parts, view)) {
        view->reader = NULL;
        return 0;
    }
    return 1;
}

int store_view_make(store_reader *reader, store_record *r, store_view *view)
{
    store_parts parts;

    return !store_record_parts(reader->s, r, &parts) && store_view_of(reader, r, &parts, view);
}

void store_object_gone(store *s, uint64_t slot)
{
    const store_record *r = store_record_at(s, store_slot_link(slot));
    store_parts parts;
    uint64_t mark;

    atomic_fetch_sub(&s->shared->objects, 1);
    if (!r || !(atomic_load(&r->word) & STORE_REC_VARIANT) || store_record_parts(s, r, &parts) ||
        !parts.marks_n)
        return;
    memcpy(&mark, parts.marks, 8);
    store_variants_add(s, mark, -1);
}

void store_object_forget(store *s, const store_key *key, uint64_t slot)
{
    _Atomic uint64_t *at = store_slot_find(s, key, slot);

    if (at && atomic_compare_exchange_strong(at, &slot, 0))
        store_object_gone(s, slot);
}

store_record *store_slot_pin(store_reader *reader, const store_key *key, _Atomic uint64_t *at,
                             uint64_t slot, store_parts *parts)
{
    const store *s = reader->s;
    const uint64_t link = store_slot_link(slot);
    const uint32_t segment = store_link_segment(link);
    store_record *r;

    if (segment >= s->segments)
        return NULL;
    store_pin(reader, segment);
    /* The slot is read once more: whoever takes the object away looks for pins after that. */
    if (store_link_holds(s, link) && store_slot_link(atomic_load(at)) == link &&
        (r = store_record_at(s, link)) && (!key || (r->key.a == key->a && r->key.b == key->b)) &&
        (atomic_load(&r->word) & STORE_REC_STATE) == STORE_REC_COMPLETE &&
        !store_record_parts(s, r, parts))
        return r;
    store_unpin(reader, segment);
    return NULL;
}

/* An object's slot of the right tag: the view is open, unless it is another key's. */
static void store_find_object(store_reader *reader, const store_key *key, _Atomic uint64_t *at,
                              uint64_t slot, store_found *found)
{
    store *s = reader->s;
    const uint32_t segment = store_link_segment(store_slot_link(slot)), epoch = store_epoch(s);
    store_view *view = &found->view;
    store_parts parts;
    store_record *r = store_slot_pin(reader, key, at, slot, &parts);
    int purged;

    if (!r)
        return;
    BRG_ASSERT(segment < s->segments);
    purged = store_is_purged(s, r, &parts);
    if (purged == 2 || !store_view_of(reader, r, &parts, view)) {
        store_object_forget(s, key, slot);
        store_unpin(reader, segment);
        return;
    }
    view->soft |= purged == 1;
    view->hits = store_slot_hits(slot);
    found->place = (store_place){at, slot & ~STORE_SLOT_HITS, epoch, *key};
    if (view->hits < 7)
        atomic_compare_exchange_strong(at, &slot, slot + STORE_SLOT_HIT);
}

/* The flight of a slot of the right tag. 0: it is another key's, or over */
static uint32_t store_find_flight(store_reader *reader, const store_key *key, uint64_t slot)
{
    const uint64_t link = store_slot_link(slot);
    const uint32_t flight = (uint32_t)(link >> 16 & 0xffff) << 16 | (uint32_t)(link & 0xffff);

    return store_flight_look(reader, flight, key, NULL) <= STORE_FLIGHT_GROWS ? flight : 0;
}

/* A slot of the right tag. */
static void store_find_in(store_reader *reader, const store_key *key, _Atomic uint64_t *at,
                          uint64_t slot, apr_time_t now, store_found *found)
{
    uint32_t flight;

    switch (store_slot_kind(slot)) {
    case STORE_SLOT_OBJECT:
        if (!found->view.reader)
            store_find_object(reader, key, at, slot, found);
        break;
    case STORE_SLOT_FLIGHT:
        if ((flight = store_find_flight(reader, key, slot)) != 0)
            found->flight = flight;
        break;
    case STORE_SLOT_PASS:
        found->pass |= (uint8_t)store_slot_passes(key, slot, now);
        break;
    default:
        break;
    }
}

int store_find(store_reader *reader, const store_key *key, apr_time_t now, store_found *found)
{
    const uint16_t tag = (uint16_t)key->b;

    BRG_ASSERT(reader->row < reader->s->limits.readers);
    *found = (store_found){0};
    for (int i = 0; i < STORE_SLOTS; i += STORE_BUCKET) {
        _Atomic uint64_t *at = store_slot_at(reader->s, key, i);

        for (const _Atomic uint64_t *end = at + STORE_BUCKET; at < end; at++) {
            const uint64_t slot = atomic_load(at);

            if ((uint16_t)slot == tag)
                store_find_in(reader, key, at, slot, now, found);
        }
    }
    return found->view.reader || found->flight || found->pass;
}

void store_hold(store_view *to, const store_view *from)
{
    BRG_ASSERT(from->reader);
    *to = *from;
    store_pin(to->reader, to->segment);
    if (to->body_segment != to->segment)
        store_pin(to->reader, to->body_segment);
}

void store_release(store_view *view)
{
    if (!view->reader)
        return;
    store_unpin(view->reader, view->segment);
    if (view->body_segment != view->segment)
        store_unpin(view->reader, view->body_segment);
    view->reader = NULL;
}

store_state store_view_state(const store_view *view, uint64_t *length)
{
    const store_record *r = view->body;
    const uint32_t word = atomic_load(&r->word);
    const store *s = view->reader->s;
    /* Read after the state, so that all bytes are seen that came before the end. */
    const uint64_t len = atomic_load_explicit(&r->length, memory_order_acquire);

    BRG_ASSERT(r && view->segment < s->segments);
    if (length)
        *length = len;
    switch (word & STORE_REC_STATE) {
    case STORE_REC_COMPLETE:
        return STORE_COMPLETE;
    case STORE_REC_WRITING:
        return store_owner_lives(s, word >> STORE_REC_OWNER) ? STORE_WRITING : STORE_ORPHAN;
    default:
        return STORE_BROKEN;
    }
}

store_key store_view_key(const store_view *view)
{
    return ((const store_record *)view->record)->key;
}

int store_view_has_mark(const store_view *view, uint64_t mark)
{
    store_parts parts;

    if (store_record_parts(view->reader->s, view->record, &parts))
        return 0;
    for (uint32_t i = 0; i < parts.marks_n; i++)
        if (!memcmp(parts.marks + 8 * (size_t)i, &mark, 8))
            return 1;
    return 0;
}

uint32_t store_view_marks(const store_view *view, uint64_t *marks)
{
    store_parts parts;

    if (store_record_parts(view->reader->s, view->record, &parts) ||
        parts.marks_n > STORE_MARKS_MOST)
        return 0;
    if (parts.marks_n)
        memcpy(marks, parts.marks, 8 * (size_t)parts.marks_n);
    return parts.marks_n;
}

int store_view_is_purged(const store_view *view, uint32_t epoch)
{
    store_record *r = view->record;
    store *s = view->reader->s;
    store_parts parts;

    return atomic_load(&r->stamp) < epoch &&
           (store_record_parts(s, r, &parts) || store_is_purged(s, r, &parts));
}

/* How many bytes of a piece are there, when len bytes of the whole body are. */
static uint64_t store_piece_has(uint64_t begin, uint64_t room, uint64_t len)
{
    return len <= begin ? 0 : len - begin < room ? len - begin : room;
}

size_t store_body(const store_view *view, uint64_t off, const char **p, int *lost)
{
    const store *s = view->reader->s;
    const store_record *r = view->body;
    const uint64_t len = atomic_load_explicit(&r->length, memory_order_acquire);
    uint64_t begin = 0;
    store_parts parts;

    BRG_ASSERT(r && view->body_segment < s->segments);
    *lost = 0;
    if (view->bytes && off < len && off < view->bytes_n) {
        *p = view->bytes + off;
        return (size_t)((len < view->bytes_n ? len : view->bytes_n) - off);
    }
    for (uint32_t pieces = 0; off < len && pieces <= s->segments; pieces++) {
        uint64_t has;

        if (store_record_parts(s, r, &parts))
            break;
        has = store_piece_has(begin, parts.body_room, len);
        if (off - begin < has) {
            *p = parts.body + (off - begin);
            return (size_t)(has - (off - begin));
        }
        begin += has;
        if (!parts.link || !store_link_holds(s, parts.link) ||
            !(r = store_record_at(s, parts.link)) || !(atomic_load(&r->word) & STORE_REC_PIECE))
            break;
    }
    *lost = off < len;
    return 0;
}

/* The object of a slot, as a look-up would find it. 0: free */
static int store_each_view(store_reader *reader, _Atomic uint64_t *at, store_view *view)
{
    const uint64_t slot = atomic_load(at);
    store_parts parts;
    store_record *r = store_slot_kind(slot) == STORE_SLOT_OBJECT
                          ? store_slot_pin(reader, NULL, at, slot, &parts)
                          : NULL;
    const int purged = r ? store_is_purged(reader->s, r, &parts) : 0;

    if (!r)
        return 0;
    if (purged == 2 || !store_view_of(reader, r, &parts, view)) {
        store_unpin(reader, store_link_segment(store_slot_link(slot)));
        return 0;
    }
    view->soft |= purged == 1;
    view->hits = store_slot_hits(slot);
    return 1;
}

void store_each(store_reader *reader, store_each_fn *fn, void *data)
{
    const store *s = reader->s;
    store_view view;
    int more = 1;

    for (uint64_t i = 0; more && i < (uint64_t)s->buckets * STORE_BUCKET; i++) {
        if (!store_each_view(reader, s->slot + i, &view))
            continue;
        more = fn(data, &view, atomic_load(&((store_record *)view.body)->length));
        store_release(&view);
    }
}

static void store_count_held(const store *s, store_figures *f)
{
    for (uint32_t row = 0; row < s->limits.readers; row++)
        for (uint32_t i = 0; atomic_load(&s->row[row].state) == STORE_ROW_LIVE && i < s->segments;
             i++)
            f->held +=
                atomic_load_explicit(&s->pin[(size_t)row * s->segments + i], memory_order_relaxed);
    for (uint32_t i = 1; f->flights && i <= s->limits.flights; i++)
        if (store_flight_lasts(s->flight + i))
            for (int k = 0; k < STORE_WAIT_WORDS; k++)
                f->waiting += (unsigned)__builtin_popcountll(atomic_load(&s->flight[i].waits[k]));
}

void store_figures_get(const store *s, store_figures *f)
{
    const store_shared *h = s->shared;

    *f = (store_figures){.objects = h->objects,
                         .objects_most = s->limits.objects_most
                                             ? s->limits.objects_most
                                             : (uint64_t)s->buckets * STORE_BUCKET,
                         .flights = h->flights,
                         .flight_bytes = h->flight_bytes,
                         .stored = h->stored,
                         .evicted = h->evicted,
                         .promoted = h->promoted,
                         .refused = h->refused,
                         .purges = h->purges,
                         .broken = h->broken,
                         .orphans = h->orphans,
                         .collapsed = h->collapsed,
                         .segments = s->segments};
    f->bytes = store_bytes_used(s, &f->segments_free);
    store_count_held(s, f);
}
