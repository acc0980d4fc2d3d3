/* SPDX-License-Identifier: Apache-2.0 */
/* A file becomes a route set: all of it, or the old set stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "http_log.h"
#include "http_main.h"
#include "brigade/assert.h"
#include "asn_mmdb.h"
#include "asn_module.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

#define LINE_ROOM 4096
#define PARTS 4096 /* lines or records between two calls of meanwhile() */
#define FULL "the table is full (ASTableSize)"

typedef struct reading {
    brg_asn_writer *w;
    int rib, number; /* of the line or record */
    int error;       /* errno of the system: the file's content is not to blame */
    int told;        /* that of the last try, which is not said again */
    void (*meanwhile)(void *data);
    void *data;
} reading;

static void next_part(reading *r)
{
    if (++r->number % PARTS == 0)
        r->meanwhile(r->data);
}

/* Several origins are an AS_SET, one is a path of its own. */
static apr_status_t hold(brg_asn_writer *w, const asn_line *line, brg_asn_ref *ref)
{
    unsigned char path[2 + 4 * sizeof line->origins / sizeof *line->origins];
    brg_asn_attributes a = {.origin = line->origins[0], .path = path};

    BRG_ASSERT(line->origins_count > 0);
    path[0] = line->origins_count > 1 ? 1 : 2;
    path[1] = (unsigned char)line->origins_count;
    for (int i = 0; i < line->origins_count; i++)
        for (int b = 0; b < 4; b++)
            path[2 + 4 * i + b] = (unsigned char)(line->origins[i] >> (24 - 8 * b));
    a.path_bytes = 2 + 4 * (size_t)line->origins_count;
    return brg_asn_attributes_hold(w, &a, ref);
}

static const char *add_line(brg_asn_writer *w, int rib, asn_line *line)
{
    brg_asn_prefix prefix = line->first;
    apr_status_t rv = APR_SUCCESS;
    brg_asn_ref ref;

    if (!line->origins_count)
        return NULL;
    if (hold(w, line, &ref))
        return FULL;
    if (!line->range)
        rv = brg_asn_announce(w, rib, &prefix, ref);
    while (!rv && asn_line_next(line, &prefix))
        rv = brg_asn_announce(w, rib, &prefix, ref);
    brg_asn_attributes_release(w, ref);
    return rv ? FULL : NULL;
}

/* @return NULL, or the error in line r->number */
static const char *read_lines(reading *r, FILE *f)
{
    char text[LINE_ROOM];
    const char *wrong;
    asn_line line;
    size_t n;

    while (fgets(text, sizeof text, f)) {
        next_part(r);
        n = strlen(text);
        if (n + 1 == sizeof text && text[n - 1] != '\n')
            return "it is too long";
        if ((wrong = asn_line_parse(text, &line)) || (wrong = add_line(r->w, r->rib, &line)))
            return wrong;
    }
    return ferror(f) ? "it cannot be read" : NULL;
}

/* ---- MRT: a head of 12 bytes before each record ---- */

#define MRT_HEAD 12
#define MRT_TABLE_DUMP_V2 13
#define MRT_LONGEST (1u << 20)
enum { MRT_RIB_IPV4 = 2, MRT_RIB_IPV6 = 4 };

static unsigned mrt_number(const unsigned char *at, int n)
{
    unsigned value = 0;

    while (n--)
        value = value << 8 | *at++;
    return value;
}

static const char *add_record(brg_asn_writer *w, int rib, const unsigned char *head,
                              const unsigned char *body, size_t n)
{
    static asn_mrt_route route; /* one thread reads */
    unsigned kind = mrt_number(head + 6, 2);
    const char *wrong;
    brg_asn_ref ref;
    apr_status_t rv;

    if (mrt_number(head + 4, 2) != MRT_TABLE_DUMP_V2 ||
        (kind != MRT_RIB_IPV4 && kind != MRT_RIB_IPV6))
        return NULL;
    if ((wrong = asn_mrt_parse(body, n, kind == MRT_RIB_IPV4 ? ASN_IPV4 : ASN_IPV6, &route)))
        return wrong;
    if ((rv = brg_asn_attributes_hold(w, &route.attributes, &ref)) == APR_SUCCESS) {
        rv = brg_asn_announce(w, rib, &route.prefix, ref);
        brg_asn_attributes_release(w, ref);
    }
    return rv ? FULL : NULL;
}

static const char *read_records_into(reading *r, FILE *f, unsigned char *body)
{
    unsigned char head[MRT_HEAD];
    const char *wrong;
    size_t n;

    while ((n = fread(head, 1, sizeof head, f))) {
        next_part(r);
        if (n < sizeof head || (n = mrt_number(head + 8, 4)) > MRT_LONGEST ||
            fread(body, 1, n, f) < n)
            return "the file ends before it, or it is no record";
        if ((wrong = add_record(r->w, r->rib, head, body, n)))
            return wrong;
    }
    return ferror(f) ? "it cannot be read" : NULL;
}

static const char *no_memory(reading *r)
{
    r->error = ENOMEM;
    return "no memory";
}

static const char *read_records(reading *r, FILE *f)
{
    unsigned char *body = malloc(MRT_LONGEST);
    const char *wrong = body ? read_records_into(r, f, body) : no_memory(r);

    free(body);
    return wrong;
}

/* ---- MaxMind's ---- */

static const char *add_network(void *data, const brg_asn_prefix *prefix, uint32_t as)
{
    reading *r = data;
    asn_line line = {.first = *prefix, .origins = {as}, .origins_count = 1};

    next_part(r);
    return add_line(r->w, r->rib, &line);
}

static const char *read_networks(reading *r, FILE *f)
{
    return asn_mmdb_read(fileno(f), add_network, r, &r->error);
}

/* ---- all ---- */

typedef struct file_format {
    const char *part; /* its parts */
    const char *(*read)(reading *r, FILE *f);
} file_format;

static const char *refuse(reading *r, FILE *f)
{
    return "the file is compressed: unpack it";
}

static file_format format_of(FILE *f)
{
    unsigned char begin[6] = {0};
    size_t n = fread(begin, 1, sizeof begin, f);

    rewind(f);
    if (n > 2 && ((begin[0] == 0x1f && begin[1] == 0x8b) || !memcmp(begin, "BZh", 3)))
        return (file_format){"record", refuse};
    if (n == sizeof begin && !begin[4] && begin[5] == MRT_TABLE_DUMP_V2)
        return (file_format){"record", read_records};
    if (asn_mmdb_is(fileno(f)))
        return (file_format){"network", read_networks};
    return (file_format){"line", read_lines};
}

static int say(const reading *r, const char *path, const char *part, const char *wrong)
{
    if (!r->error || r->error != r->told)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "ASTable file %s, %s %d: %s; the networks read before stay in use", path, part,
                     r->number, wrong);
    return 0;
}

static int load(reading *r, const char *path, FILE *f)
{
    file_format format = format_of(f);
    const char *wrong;

    if (brg_asn_rib_begin(r->w, r->rib))
        return say(r, path, format.part, no_memory(r));
    wrong = format.read(r, f);
    if (ferror(f))
        r->error = EIO;
    if (!wrong && !brg_asn_rib_routes(r->w, r->rib, ASN_IPV4) &&
        !brg_asn_rib_routes(r->w, r->rib, ASN_IPV6))
        wrong = "there is no route in the file";
    if (wrong) {
        brg_asn_rib_discard(r->w, r->rib);
        return say(r, path, format.part, wrong);
    }
    brg_asn_rib_commit(r->w, r->rib);
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                 "ASTable file %s: %u routes of IPv4, %u of IPv6", path,
                 brg_asn_rib_routes(r->w, r->rib, ASN_IPV4),
                 brg_asn_rib_routes(r->w, r->rib, ASN_IPV6));
    return 1;
}

/* Sessions would wait for whoever writes to a pipe. */
static FILE *open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;
    struct stat st;
    FILE *f;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st)) {
        error = errno;
    } else if (!S_ISREG(st.st_mode)) {
        error = EINVAL;
    } else {
        if ((f = fdopen(fd, "r")))
            return f;
        error = errno;
    }
    close(fd);
    errno = error;
    return NULL;
}

int asn_file_load(brg_asn_writer *w, int rib, const char *path, void (*meanwhile)(void *data),
                  void *data, int *error)
{
    reading r = {.w = w, .rib = rib, .told = *error, .meanwhile = meanwhile, .data = data};
    FILE *f = open_regular(path);
    int read;

    if (!f) {
        r.error = errno;
        if (r.error != r.told)
            ap_log_error(APLOG_MARK, APLOG_ERR, r.error, ap_server_conf,
                         "ASTable file %s cannot be opened by the user that the server runs as, or "
                         "is not a regular file",
                         path);
        *error = r.error == EINVAL ? 0 : r.error; /* not a regular file: it will not become one */
        return 0;
    }
    read = load(&r, path, f);
    *error = r.error;
    fclose(f);
    return read;
}
