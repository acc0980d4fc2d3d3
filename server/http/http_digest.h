/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_DIGEST_H
#define BRIGADE_HTTP_HTTP_DIGEST_H

/**
 * @file http_digest.h
 * Digests of files for FileETag Digest: computed once per version of a file and process.
 */
#include "apr_sha1.h"
#include "file_identity.h"

/**
 * Look a digest up that http_digest_keep() was given for the same state of the same file.
 * @return 1; 0: it is not known
 * Threads: any. Blocking: no, also where others write.
 */
int http_digest_find(const file_identity *id, unsigned char digest[APR_SHA1_DIGESTSIZE]);

/** Keep one. May drive another out, or be left where another thread writes at that place. Threads: any. Blocking: no. */
void http_digest_keep(const file_identity *id, const unsigned char digest[APR_SHA1_DIGESTSIZE]);

/**
 * The digest of the open file @a fd: a known one, or by reading all of it. Its position stays as it is.
 *
 * @param now  microseconds: the digest is kept unless the file changed within a second before
 * @return 1; 0: it cannot be read (errno), or changed whenever it was read (errno is 0)
 * Threads: any. Blocking: reads the file, unless the digest is known.
 */
int http_digest_of(int fd, int64_t now, unsigned char digest[APR_SHA1_DIGESTSIZE]);

#endif
