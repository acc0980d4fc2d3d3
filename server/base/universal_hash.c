/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of universal_hash.h, and keys that are too long for it. */
#include "universal_hash.h"
#include "keyed_hash.h"
#include "brigade/assert.h"
#include <pthread.h>

universal_hash_secret universal_hash_key;

/* SipHash under the key of the process: random words to everybody else. */
static void secret_once(void)
{
    uint64_t *word = (uint64_t *)(void *)&universal_hash_key;

    keyed_hash_seed();
    for (uint64_t i = 0; i < sizeof universal_hash_key / sizeof *word; i++)
        word[i] = keyed_hash_of(0x756e6976657273ull, (const char *)&i, sizeof i);
}

void universal_hash_seed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, secret_once);
    BRG_ASSERT(universal_hash_key.word[0] || universal_hash_key.word[1]);
}

uint64_t universal_hash_long(uint64_t number, const char *a, size_t a_len, const char *b,
                             size_t b_len)
{
    keyed_hash h;

    keyed_hash_begin(&h);
    keyed_hash_number(&h, number);
    keyed_hash_bytes(&h, a, a_len);
    keyed_hash_bytes(&h, b, b_len);
    return keyed_hash_end(&h);
}
