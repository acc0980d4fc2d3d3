/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by name that outlives a program (kept_memory.h): files without a name, whose descriptors
 * are handed on. */
#include "kept_memory.h"
#include "nameless_file.h"
#include "brigade/assert.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static kept_memory kept[KEPT_MEMORY_MOST];
static int kept_n;

const kept_memory *kept_memory_get(int i)
{
    BRG_ASSERT(i >= 0);
    return i < kept_n ? kept + i : NULL;
}

static kept_memory *kept_find(const char *name)
{
    for (int i = 0; i < kept_n; i++)
        if (!strcmp(kept[i].name, name))
            return kept + i;
    return NULL;
}

void kept_memory_take(const char *name, size_t bytes, int fd)
{
    kept_memory *k = kept + kept_n;

    BRG_ASSERT(fd >= 0);
    if (kept_n == KEPT_MEMORY_MOST || strlen(name) >= sizeof k->name || kept_find(name)) {
        close(fd);
        return;
    }
    strcpy(k->name, name);
    k->bytes = bytes;
    k->fd = fd;
    k->used = 0;
    kept_n++;
}

/* Of another size: its user cannot go on with it. */
static void kept_drop(kept_memory *k)
{
    BRG_ASSERT(k >= kept && k < kept + kept_n);
    close(k->fd);
    *k = kept[--kept_n];
}

void kept_memory_forget(const char *name)
{
    kept_memory *k = kept_find(name);

    if (k)
        kept_drop(k);
}

static int kept_open(const char *name, size_t bytes)
{
    kept_memory *k = kept_find(name);
    int fd;

    if (k && k->bytes == bytes)
        return k->fd;
    if (k)
        kept_drop(k);
    fd = nameless_file(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    /* Whoever could make it shorter could end all processes that use it. */
    if (ftruncate(fd, (off_t)bytes) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        close(fd);
        return -1;
    }
    kept_memory_take(name, bytes, fd);
    k = kept_find(name);
    return k ? k->fd : -1;
}

void *kept_memory_map_left(const char *name, size_t *bytes)
{
    const kept_memory *k = kept_find(name);

    if (!k || !k->bytes)
        return NULL;
    *bytes = k->bytes;
    return kept_memory_map(name, k->bytes);
}

void kept_memory_drop_unused(void)
{
    for (int i = kept_n; i-- > 0;)
        if (!kept[i].used)
            kept_drop(kept + i);
}

void kept_memory_leave(void)
{
    while (kept_n > 0)
        kept_drop(kept + kept_n - 1);
}

void *kept_memory_map(const char *name, size_t bytes)
{
    int fd = kept_open(name, bytes);
    kept_memory *k = kept_find(name);
    void *memory;

    BRG_ASSERT(bytes > 0);
    /* Without files in memory it is shared by this program's processes alone. */
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (k)
        k->used = 1;
    (void)madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}
