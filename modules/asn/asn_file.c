/* SPDX-License-Identifier: Apache-2.0 */
/* A file becomes a route set: all of it, or the old set stays. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "http_log.h"
#include "brigade/assert.h"
#include "asn_module.h"

extern module asn_module;
APLOG_USE_MODULE(asn);

#define LINE_ROOM 4096

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
    static const char full[] = "the table is full (ASTableSize)";
    brg_asn_prefix prefix = line->first;
    apr_status_t rv = APR_SUCCESS;
    brg_asn_ref ref;

    if (!line->origins_count)
        return NULL;
    if (hold(w, line, &ref))
        return full;
    if (!line->range)
        rv = brg_asn_announce(w, rib, &prefix, ref);
    while (!rv && asn_line_next(line, &prefix))
        rv = brg_asn_announce(w, rib, &prefix, ref);
    brg_asn_attributes_release(w, ref);
    return rv ? full : NULL;
}

/* @return NULL, or what is wrong with the line whose number is in *number */
static const char *read_lines(brg_asn_writer *w, int rib, FILE *f, int *number)
{
    char text[LINE_ROOM];
    const char *wrong;
    asn_line line;
    size_t n;

    while (fgets(text, sizeof text, f)) {
        ++*number;
        n = strlen(text);
        if (n + 1 == sizeof text && text[n - 1] != '\n')
            return "it is too long";
        if ((wrong = asn_line_parse(text, &line)) || (wrong = add_line(w, rib, &line)))
            return wrong;
    }
    return ferror(f) ? "it cannot be read" : NULL;
}

static int say(const char *path, int number, const char *wrong)
{
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL,
                 "ASTable file %s, line %d: %s; what was read before stays", path, number, wrong);
    return 0;
}

static int load(brg_asn_writer *w, int rib, const char *path, FILE *f)
{
    const char *wrong;
    int number = 0;

    if (brg_asn_rib_begin(w, rib))
        return say(path, 0, "no memory");
    wrong = read_lines(w, rib, f, &number);
    if (!wrong && !brg_asn_rib_routes(w, rib, ASN_IPV4) && !brg_asn_rib_routes(w, rib, ASN_IPV6))
        wrong = "there is no route in the file";
    if (wrong) {
        brg_asn_rib_discard(w, rib);
        return say(path, number, wrong);
    }
    brg_asn_rib_commit(w, rib);
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, NULL,
                 "ASTable file %s: %u routes of IPv4, %u of IPv6", path,
                 brg_asn_rib_routes(w, rib, ASN_IPV4), brg_asn_rib_routes(w, rib, ASN_IPV6));
    return 1;
}

int asn_file_load(brg_asn_writer *w, int rib, const char *path)
{
    FILE *f = fopen(path, "re");
    int read;

    if (!f) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, NULL,
                     "ASTable file %s cannot be opened by the user that the server runs as", path);
        return 0;
    }
    read = load(w, rib, path, f);
    fclose(f);
    return read;
}
