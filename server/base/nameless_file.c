/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory without a name. */
#include "nameless_file.h"
#include <errno.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* C libraries before 2.38 do not name it */
#endif

int nameless_file(const char *name, unsigned flags)
{
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

    return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}
