/* SPDX-License-Identifier: Apache-2.0 */
/* The file is a tree of bits, whose leaves lead to data; IPv4 lies in ::/96, and some networks of IPv6 lead there again. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "asn_mmdb.h"

#define MARKER "\xab\xcd\xefMaxMind.com"
#define MARKER_BYTES (sizeof MARKER - 1)
#define MARKER_WITHIN (128 * 1024) /* of the end */

int asn_mmdb_is(int fd)
{
    struct stat st;
    char *end;
    off_t from;
    ssize_t n;
    int found;

    if (fstat(fd, &st) || !(end = malloc(MARKER_WITHIN)))
        return 0;
    from = st.st_size > MARKER_WITHIN ? st.st_size - MARKER_WITHIN : 0;
    n = pread(fd, end, MARKER_WITHIN, from);
    found = n > 0 && memmem(end, (size_t)n, MARKER, MARKER_BYTES) != NULL;
    free(end);
    return found;
}

#if !BRIGADE_HAS_MAXMINDDB

const char *asn_mmdb_read(int fd, asn_mmdb_route *route, void *data, int *error)
{
    return "it is of MaxMind's format, which this program was built without (libmaxminddb)";
}

#else
#include <errno.h>
#include <maxminddb.h>
#include <stdio.h>
#include "brigade/assert.h"

#define V4_BITS 96 /* of an IPv6 address, in front of an IPv4 one */

typedef struct walk {
    MMDB_s db;
    asn_mmdb_route *route;
    void *data;
    uint32_t visits;
    unsigned char address[16];
} walk;

static int is_v4(const walk *w, unsigned depth)
{
    static const unsigned char zeros[V4_BITS / 8];

    if (w->db.metadata.ip_version == 4)
        return 1;
    return depth >= V4_BITS && !memcmp(w->address, zeros, sizeof zeros);
}

static const char *walk_leaf(walk *w, MMDB_entry_s *entry, unsigned depth)
{
    const char *const path[] = {"autonomous_system_number", NULL};
    brg_asn_prefix prefix = {.family = ASN_IPV6, .length = (unsigned char)depth};
    MMDB_entry_data_s as;
    unsigned from = 0;
    int status = MMDB_aget_value(entry, &as, path);

    if (status == MMDB_LOOKUP_PATH_DOES_NOT_MATCH_DATA_ERROR || (!status && !as.has_data))
        return NULL;
    if (status)
        return MMDB_strerror(status);
    if (as.type != MMDB_DATA_TYPE_UINT32)
        return "a network's autonomous_system_number is no number of 32 bits";
    if (is_v4(w, depth)) {
        from = w->db.metadata.ip_version == 4 ? 0 : V4_BITS;
        prefix.family = ASN_IPV4;
        prefix.length = (unsigned char)(depth - from);
    }
    memcpy(prefix.address, w->address + from / 8, sizeof w->address - from / 8);
    return as.uint32 ? w->route(w->data, &prefix, as.uint32) : NULL;
}

static const char *walk_node(walk *w, uint32_t number, unsigned depth);

static const char *walk_record(walk *w, unsigned kind, uint64_t value, MMDB_entry_s *entry,
                               unsigned depth)
{
    switch (kind) {
    case MMDB_RECORD_TYPE_EMPTY:
        return NULL;
    case MMDB_RECORD_TYPE_DATA:
        return walk_leaf(w, entry, depth);
    case MMDB_RECORD_TYPE_SEARCH_NODE:
        return walk_node(w, (uint32_t)value, depth);
    default:
        return "a record of its tree leads nowhere";
    }
}

/* A tree that is walked once has no more nodes than it says: a loop, or two ways to one node except
 * the known ways to IPv4, would be walked without end. */
static const char *walk_node(walk *w, uint32_t number, unsigned depth)
{
    const unsigned bits = w->db.metadata.ip_version == 4 ? 32 : 128;
    MMDB_search_node_s node;
    const char *wrong;
    int status;

    if (depth && bits == 128 && number == w->db.ipv4_start_node.node_value && !is_v4(w, depth))
        return NULL;
    if (depth >= bits || ++w->visits > w->db.metadata.node_count)
        return "its search tree is invalid";
    if ((status = MMDB_read_node(&w->db, number, &node)))
        return MMDB_strerror(status);
    if ((wrong = walk_record(w, node.left_record_type, node.left_record, &node.left_record_entry,
                             depth + 1)))
        return wrong;
    w->address[depth / 8] |= (unsigned char)(0x80 >> depth % 8);
    wrong = walk_record(w, node.right_record_type, node.right_record, &node.right_record_entry,
                        depth + 1);
    w->address[depth / 8] &= (unsigned char)~(0x80 >> depth % 8);
    return wrong;
}

/* Which descriptor or memory was missing the library does not tell. */
static int error_of(int status)
{
    switch (status) {
    case MMDB_FILE_OPEN_ERROR:
    case MMDB_IO_ERROR:
        return EIO;
    case MMDB_OUT_OF_MEMORY_ERROR:
        return ENOMEM;
    default:
        return 0;
    }
}

const char *asn_mmdb_read(int fd, asn_mmdb_route *route, void *data, int *error)
{
    walk w = {.route = route, .data = data};
    char path[64];
    const char *wrong;
    int status;

    BRG_ASSERT(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the file that was looked at */
    if ((status = MMDB_open(path, MMDB_MODE_MMAP, &w.db))) {
        *error = error_of(status);
        return MMDB_strerror(status);
    }
    wrong = walk_node(&w, 0, 0);
    MMDB_close(&w.db);
    return wrong;
}
#endif
