/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_NAMELESS_FILE_H
#define BRIGADE_BASE_NAMELESS_FILE_H

/**
 * @file nameless_file.h
 * Files in memory that have no name (memfd_create).
 */

/**
 * Make one. Nobody can execute it where the kernel can see to that (Linux 6.3; with vm.memfd_noexec=2 it makes no other).
 * @param name   shown in /proc
 * @param flags  of memfd_create: MFD_CLOEXEC, MFD_ALLOW_SEALING or 0
 * @return its descriptor, the caller's to close; -1 with errno
 * Threads: any. Blocking: no.
 */
int nameless_file(const char *name, unsigned flags);

#endif
