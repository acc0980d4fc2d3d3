/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the disk tier: the index, sums, purges, reading and writing. */
#include "disk_private.h"
#include "file_cached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define DISK_COUNT(d, what, by) \
    atomic_fetch_add_explicit(&(d)->shared->what, by, memory_order_relaxed)

/* ---- sums: for accidents, not for attackers, which could write any bytes */

void disk_sum_begin(disk_sum *sum)
{
    *sum = (disk_sum){0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0, 0};
}

static inline void disk_sum_word(disk_sum *sum, uint64_t w)
{
    sum->a = (sum->a ^ w) * 0xff51afd7ed558ccdull;
    sum->a ^= sum->a >> 29;
    sum->b = (sum->b << 27 | sum->b >> 37) + w;
}

void disk_sum_add(disk_sum *sum, const void *p, size_t n)
{
    const unsigned char *at = p;
    uint64_t w;

    for (; n && sum->have; n--, at++) {
        sum->word |= (uint64_t)*at << (8 * sum->have);
        if (++sum->have == 8) {
            disk_sum_word(sum, sum->word);
            sum->have = 0;
            sum->word = 0;
        }
    }
    for (; n >= 8; n -= 8, at += 8) {
        memcpy(&w, at, 8);
        disk_sum_word(sum, w);
    }
    for (; n; n--, at++)
        sum->word |= (uint64_t)*at << (8 * sum->have++);
}

uint64_t disk_sum_end(const disk_sum *sum)
{
    disk_sum last = *sum;

    disk_sum_word(&last, last.word);
    disk_sum_word(&last, last.have + 1);
    return last.a ^ last.b * 0xc4ceb9fe1a85ec53ull;
}

uint64_t disk_sum_of(const void *p, size_t n)
{
    disk_sum sum;

    disk_sum_begin(&sum);
    disk_sum_add(&sum, p, n);
    return disk_sum_end(&sum);
}

int disk_record_is(const disk *d, const disk_record *r, uint64_t at)
{
    return r->magic == DISK_RECORD && r->at == at &&
           r->sum == disk_sum_of(r, offsetof(disk_record, sum)) && !(r->bytes % DISK_UNIT) &&
           r->bytes <= d->room - disk_offset(d, at) && r->body_bytes <= r->bytes &&
           sizeof *r + r->head_bytes + r->body_bytes <= r->bytes &&
           8ull * r->marks_n + r->text_len + STORE_TERMS + r->head_len == r->head_bytes;
}

/* ---- index */

static disk_entry *disk_entry_of(const disk *d, const store_key *key, int i)
{
    return d->entry + (size_t)(key->a & (d->buckets - 1)) * DISK_BUCKET + i;
}

static uint64_t disk_tag(const store_key *key)
{
    return key->b | 1;
}

/* where: place in units 56 | file 6; bytes: units 32 | boot 16 */
static int disk_entry_place(const disk *d, const disk_entry *e, const store_key *key,
                            disk_place *place)
{
    const uint64_t tag = atomic_load(&e->tag), where = atomic_load(&e->where),
                   bytes = atomic_load(&e->bytes);

    place->file = (uint32_t)(where & 63);
    place->at = (where >> 6) * DISK_UNIT;
    place->bytes = (bytes & UINT32_MAX) * DISK_UNIT;
    place->verified = (bytes >> 32 & 0xffff) == (atomic_load(&d->shared->boots) & 0xffff);
    /* A writer clears the tag first and sets it last: a mixture of two entries has another one. */
    return tag == disk_tag(key) && tag == atomic_load(&e->tag) && place->file < d->limits.files &&
           place->bytes >= sizeof(disk_record) &&
           place->bytes <= d->room - disk_offset(d, place->at);
}

int disk_is_current(const disk *d, const disk_place *place)
{
    const uint64_t reserved = atomic_load(&d->shared->reserved[place->file]);

    return place->at < reserved && reserved - place->at <= d->room;
}

int disk_find(const disk *d, const store_key *key, disk_place *place)
{
    for (int i = 0; i < DISK_BUCKET; i++)
        if (disk_entry_place(d, disk_entry_of(d, key, i), key, place) && disk_is_current(d, place))
            return 1;
    return 0;
}

void disk_forget(disk *d, const store_key *key)
{
    for (int i = 0; i < DISK_BUCKET; i++) {
        disk_entry *e = disk_entry_of(d, key, i);
        uint64_t tag = disk_tag(key);

        atomic_compare_exchange_strong(&e->tag, &tag, 0);
    }
}

/* Into an entry that is empty or leads to an overwritten record; else into an entry that follows
 * from the place. */
void disk_index_put(disk *d, const store_key *key, uint32_t file, uint64_t at, uint64_t bytes,
                    int verified)
{
    disk_entry *to = NULL;
    const uint64_t boot = verified ? atomic_load(&d->shared->boots) & 0xffff : 0xffff;

    BRG_ASSERT(file < d->limits.files && !(at % DISK_UNIT) && !(bytes % DISK_UNIT));
    disk_forget(d, key);
    for (int i = 0; i < DISK_BUCKET && !to; i++) {
        disk_entry *e = disk_entry_of(d, key, i);
        const uint64_t where = atomic_load(&e->where);
        const disk_place old = {(uint32_t)(where & 63), 0, (where >> 6) * DISK_UNIT, 0};

        if (!atomic_load(&e->tag) || old.file >= d->limits.files || !disk_is_current(d, &old))
            to = e;
    }
    if (!to)
        to = disk_entry_of(d, key, (int)(at / DISK_UNIT % DISK_BUCKET));
    atomic_store(&to->tag, 0);
    STORE_STEP("entry empty");
    atomic_store(&to->where, at / DISK_UNIT << 6 | file);
    atomic_store(&to->bytes, bytes / DISK_UNIT | boot << 32);
    atomic_store(&to->tag, disk_tag(key));
}

/* ---- purges */

static disk_mark *disk_mark_of(const disk *d, uint64_t mark, uint32_t probe)
{
    return d->purges->mark + ((mark * 0x9e3779b97f4a7c15ull >> 40) + probe) % DISK_PURGES;
}

int disk_is_purged(const disk *d, uint64_t mark, int64_t stored)
{
    for (uint32_t i = 0; i < DISK_PROBES; i++) {
        const disk_mark *m = disk_mark_of(d, mark, i);

        if (atomic_load(&m->mark) == mark && atomic_load(&m->when) >= stored)
            return 1;
    }
    return 0;
}

static void disk_later(_Atomic int64_t *to, int64_t when)
{
    int64_t now = atomic_load(to);

    while (now < when && !atomic_compare_exchange_weak(to, &now, when))
        ;
}

/* The entry of a mark; else an empty one, or the one with the oldest purge. */
static disk_mark *disk_mark_place(const disk *d, uint64_t mark)
{
    disk_mark *oldest = disk_mark_of(d, mark, 0);

    for (uint32_t i = 0; i < DISK_PROBES; i++) {
        disk_mark *m = disk_mark_of(d, mark, i);

        if (atomic_load(&m->mark) == mark)
            return m;
        if (!atomic_load(&m->mark) ||
            (atomic_load(&oldest->mark) && atomic_load(&m->when) < atomic_load(&oldest->when)))
            oldest = m;
    }
    return oldest;
}

void disk_purge_begin(disk *d, uint64_t mark, apr_time_t when)
{
    disk_mark *m = mark ? disk_mark_place(d, mark) : NULL;
    uint64_t there = m ? atomic_load(&m->mark) : 0;

    if (there != mark) {
        if (there) /* that mark's purge is forgotten: all that is as old counts as purged */
            disk_later(&d->purges->all, atomic_load(&m->when));
        atomic_store(&m->when, 0);
        STORE_STEP("purge entry");
        if (!atomic_compare_exchange_strong(&m->mark, &there, mark))
            m = NULL;
    }
    disk_later(m ? &m->when : &d->purges->all, when);
}

apr_status_t disk_purge_wait(disk *d)
{
    return msync(d->purges, sizeof *d->purges, MS_SYNC) ? errno : APR_SUCCESS;
}

apr_status_t disk_purge(disk *d, uint64_t mark, apr_time_t when)
{
    disk_purge_begin(d, mark, when);
    return disk_purge_wait(d);
}

/* ---- reading */

apr_status_t disk_read(const disk *d, const disk_place *place, uint64_t off, void *to, size_t n,
                       int wait)
{
    const off_t from = (off_t)(disk_offset(d, place->at) + off);
    char *p = to;

    BRG_ASSERT(place->file < d->limits.files);
    if (off > place->bytes || n > place->bytes - off || !disk_is_current(d, place))
        return APR_EGENERAL;
    while (n) {
        const ssize_t got =
            wait ? pread(d->fd[place->file], p, n, from + (p - (char *)to))
                 : file_read_cached(d->fd[place->file], p, n, from + (p - (char *)to));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? errno == EAGAIN ? APR_EAGAIN : errno : APR_EGENERAL;
        p += got;
        n -= (size_t)got;
    }
    return disk_is_current(d, place) ? APR_SUCCESS : APR_EGENERAL;
}

static apr_status_t disk_damaged(disk *d, const store_key *key)
{
    DISK_COUNT(d, damaged, 1);
    disk_forget(d, key);
    return APR_EGENERAL;
}

static int disk_record_purged(const disk *d, const disk_record *r, const char *marks)
{
    if (atomic_load(&d->purges->all) >= r->stored ||
        disk_is_purged(d, r->mark ? r->mark : store_mark_of_key(&r->key), r->stored))
        return 1;
    for (uint32_t i = 0; i < r->marks_n; i++) {
        uint64_t mark;

        memcpy(&mark, marks + 8 * (size_t)i, 8);
        if (disk_is_purged(d, mark, r->stored))
            return 1;
    }
    return 0;
}

apr_status_t disk_head_read(disk *d, const store_key *key, const disk_place *place,
                            const char *bytes, size_t *n, disk_head *head)
{
    disk_record r;
    const char *p = bytes + sizeof r;

    if (*n < sizeof r) {
        *n = sizeof r;
        return APR_INCOMPLETE;
    }
    memcpy(&r, bytes, sizeof r);
    if (!disk_record_is(d, &r, place->at) || r.key.a != key->a || r.key.b != key->b ||
        r.bytes != place->bytes)
        return disk_damaged(d, key);
    if (*n < sizeof r + r.head_bytes) {
        *n = sizeof r + r.head_bytes;
        return APR_INCOMPLETE;
    }
    if (disk_sum_of(p, r.head_bytes) != r.head_sum)
        return disk_damaged(d, key);
    if (disk_record_purged(d, &r, p)) {
        disk_forget(d, key);
        return APR_EGENERAL;
    }
    *head = (disk_head){.marks = p,
                        .marks_n = r.marks_n,
                        .mark = r.mark,
                        .body = sizeof r + r.head_bytes,
                        .body_bytes = r.body_bytes,
                        .stored = r.stored,
                        .sum = r.body_sum,
                        .vary = r.vary != 0};
    head->text = p + 8 * (size_t)r.marks_n;
    head->text_len = r.text_len;
    head->terms = head->text + r.text_len;
    head->head = head->terms + STORE_TERMS;
    head->head_len = r.head_len;
    return APR_SUCCESS;
}

apr_status_t disk_body_check(disk *d, const store_key *key, const disk_place *place,
                             const disk_head *head, const disk_sum *sum)
{
    if (!disk_is_current(d, place))
        return APR_EGENERAL;
    return disk_sum_end(sum) == head->sum ? APR_SUCCESS : disk_damaged(d, key);
}

/* ---- writing */

/* A range of a file for a record. Records that lie there are given up by this, before they are overwritten. */
static uint64_t disk_reserve(disk *d, uint32_t file, uint64_t bytes)
{
    uint64_t at = atomic_load(&d->shared->reserved[file]);

    BRG_ASSERT(bytes && bytes <= d->room);
    at = (at + DISK_UNIT - 1) / DISK_UNIT * DISK_UNIT;
    if (d->room - disk_offset(d, at) < bytes)
        at += d->room - disk_offset(d, at); /* no record goes over the end */
    atomic_store(&d->shared->reserved[file], at + bytes);
    return at;
}

static apr_status_t disk_put(int fd, const char *p, size_t n, uint64_t off)
{
    while (n) {
        const ssize_t done = pwrite(fd, p, n, (off_t)off);

        STORE_STEP("bytes written");
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? errno : ENOSPC;
        p += done;
        n -= (size_t)done;
        off += (uint64_t)done;
    }
    return APR_SUCCESS;
}

/* Between processes: a lock of POSIX goes with its process. Within one: a mutex. */
static apr_status_t disk_lock(disk *d, uint32_t file, int on)
{
    struct flock lock = {.l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET};
    int rv;

    if (on)
        pthread_mutex_lock(&d->lock[file]);
    while ((rv = fcntl(d->fd[file], F_SETLKW, &lock)) && errno == EINTR)
        ;
    rv = rv ? errno : 0;
    if (!on || rv)
        pthread_mutex_unlock(&d->lock[file]);
    return rv;
}

/* The record's head, and the bytes up to the body. NULL: no memory, or it is no whole object */
static char *disk_head_make(const disk *d, const store_key *key, const store_view *view,
                            apr_time_t stored, disk_record *r)
{
    store_parts parts;
    uint64_t length;
    disk_sum sum;
    char *head;
    int variant;

    if (store_view_state(view, &length) != STORE_COMPLETE ||
        store_record_parts(view->reader->s, view->record, &parts))
        return NULL;
    variant =
        (atomic_load(&((store_record *)view->record)->word) & STORE_REC_VARIANT) && parts.marks_n;
    *r = (disk_record){.magic = DISK_RECORD,
                       .key = *key,
                       .body_bytes = length,
                       .stored = stored,
                       .head_len = view->head_len,
                       .text_len = (uint16_t)view->text_len,
                       .marks_n = (uint16_t)(parts.marks_n - (uint32_t)variant),
                       .vary = view->vary};
    if (variant)
        memcpy(&r->mark, parts.marks, 8);
    r->head_bytes = 8u * r->marks_n + r->text_len + STORE_TERMS + r->head_len;
    r->bytes = (sizeof *r + r->head_bytes + length + DISK_UNIT - 1) / DISK_UNIT * DISK_UNIT;
    if (r->bytes > d->limits.object_bytes || !(head = malloc(sizeof *r + r->head_bytes)))
        return NULL;
    memcpy(head + sizeof *r, parts.marks + 8 * variant, 8 * (size_t)r->marks_n);
    memcpy(head + sizeof *r + 8 * (size_t)r->marks_n, view->text,
           r->head_bytes - 8 * (size_t)r->marks_n);
    r->head_sum = disk_sum_of(head + sizeof *r, r->head_bytes);
    disk_sum_begin(&sum);
    for (uint64_t off = 0; off < length;) {
        const char *p;
        int lost;
        const size_t n = store_body(view, off, &p, &lost);

        if (!n) {
            free(head);
            return NULL;
        }
        disk_sum_add(&sum, p, n);
        off += n;
    }
    r->body_sum = disk_sum_end(&sum);
    return head;
}

static apr_status_t disk_write_at(disk *d, uint32_t file, disk_record *r, char *head,
                                  const store_view *view)
{
    const uint64_t off = disk_offset(d, r->at);
    const size_t head_bytes = sizeof *r + r->head_bytes;
    apr_status_t rv;

    BRG_ASSERT(off + r->bytes <= d->room);
    r->sum = disk_sum_of(r, offsetof(disk_record, sum));
    memcpy(head, r, sizeof *r);
    rv = disk_put(d->fd[file], head, head_bytes, off);
    for (uint64_t at = 0; !rv && at < r->body_bytes;) {
        const char *p;
        int lost;
        const size_t n = store_body(view, at, &p, &lost);

        rv = n ? disk_put(d->fd[file], p, n, off + head_bytes + at) : APR_EGENERAL;
        at += n;
    }
    return rv;
}

apr_status_t disk_write(disk *d, const store_key *key, const store_view *view, apr_time_t stored)
{
    const uint32_t file = (uint32_t)(key->b >> 32) % d->limits.files;
    disk_record r;
    char *head = disk_head_make(d, key, view, stored, &r);
    apr_status_t rv = head ? disk_lock(d, file, 1) : APR_EGENERAL;

    if (rv) {
        DISK_COUNT(d, failed, 1);
        free(head);
        return rv;
    }
    disk_forget(d, key);
    r.at = disk_reserve(d, file, r.bytes);
    STORE_STEP("place reserved");
    rv = disk_write_at(d, file, &r, head, view);
    STORE_STEP("record written");
    if (!rv) {
        disk_index_put(d, key, file, r.at, r.bytes, 1);
        DISK_COUNT(d, written, r.bytes);
        DISK_COUNT(d, objects_written, 1);
    } else {
        DISK_COUNT(d, failed, 1);
    }
    disk_lock(d, file, 0);
    free(head);
    return rv;
}

void disk_figures_get(const disk *d, disk_figures *figures)
{
    *figures = (disk_figures){.bytes = d->room * d->limits.files,
                              .written = d->shared->written,
                              .objects_written = d->shared->objects_written,
                              .damaged = d->shared->damaged,
                              .failed = d->shared->failed};
}
