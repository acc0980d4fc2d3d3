/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that outlive a program (kept_secret.h): a pipe carries them through exec. */
#include "kept_secret.h"
#include "brigade/assert.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECRET_ALL (KEPT_SECRET_MOST * KEPT_SECRET_BYTES)

static char (*secrets)[KEPT_SECRET_BYTES];
static unsigned secrets_n; /* all that ever came */

static int secrets_open(void)
{
    void *memory;

    if (secrets)
        return 1;
    memory = mmap(NULL, SECRET_ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    (void)madvise(memory, SECRET_ALL, MADV_DONTDUMP);
    secrets = memory;
    return 1;
}

void kept_secret_add(const char *secret)
{
    const char *known;

    for (int i = 0; (known = kept_secret_get(i)) != NULL; i++)
        if (!strcmp(known, secret))
            return;
    if (!*secret || strlen(secret) >= KEPT_SECRET_BYTES || !secrets_open())
        return;
    strcpy(secrets[secrets_n++ % KEPT_SECRET_MOST], secret);
}

const char *kept_secret_get(int i)
{
    BRG_ASSERT(i >= 0);
    return i < KEPT_SECRET_MOST && (unsigned)i < secrets_n ? secrets[i] : NULL;
}

void kept_secret_forget(void)
{
    if (secrets)
        explicit_bzero(secrets, SECRET_ALL);
    secrets_n = 0;
}

/* A pipe: it has room for all of them, and reading empties it. */
int kept_secret_give(void)
{
    int ends[2];
    ssize_t n;

    _Static_assert(SECRET_ALL <= PIPE_BUF, "it is written at once");
    if (!secrets_n || pipe(ends))
        return -1;
    n = write(ends[1], secrets, SECRET_ALL);
    close(ends[1]);
    if (n == SECRET_ALL)
        return ends[0];
    close(ends[0]);
    return -1;
}

void kept_secret_take(int fd)
{
    char all[KEPT_SECRET_MOST][KEPT_SECRET_BYTES];

    if (read(fd, all, SECRET_ALL) == SECRET_ALL)
        for (int i = 0; i < KEPT_SECRET_MOST; i++) {
            all[i][KEPT_SECRET_BYTES - 1] = '\0';
            kept_secret_add(all[i]);
        }
    explicit_bzero(all, sizeof all);
    close(fd);
}
