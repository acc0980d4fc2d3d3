/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were probably meant: those reached with the fewest letters left out, put in, replaced
 * or swapped. */
#include "brigade/directive.h"
#include "brigade/assert.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "httpd.h"

#define NEAREST_LONGEST 48 /* characters of a word */
#define NEAREST_MOST 3     /* that may be wrong */

static int nearest_least(int a, int b)
{
    return a < b ? a : b;
}

/* Rows of the table of distances between beginnings of both: a swap needs two rows above. */
static int nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int rows[3][NEAREST_LONGEST + 1];

    BRG_ASSERT(a_len <= NEAREST_LONGEST && b_len <= NEAREST_LONGEST);
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_len; i++) {
        const int *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        int *row = rows[i % 3];

        row[0] = (int)i;
        for (size_t j = 1; j <= b_len; j++) {
            const int same = apr_tolower(a[i - 1]) == apr_tolower(b[j - 1]);

            row[j] = nearest_least(nearest_least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && apr_tolower(a[i - 1]) == apr_tolower(b[j - 2]) &&
                apr_tolower(a[i - 2]) == apr_tolower(b[j - 1]))
                row[j] = nearest_least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

/* So many letters may be wrong: one of four. */
static int nearest_most(size_t len)
{
    return len < 4 ? 1 : nearest_least((int)len / 4, NEAREST_MOST);
}

BRG_DECLARE(void) brg_nearest_offer(brg_nearest *nearest, const char *name)
{
    size_t word_len = strlen(nearest->word), len = name ? strlen(name) : 0;
    int distance;

    if (word_len < 2 || len < 2 || word_len > NEAREST_LONGEST || len > NEAREST_LONGEST)
        return;
    if ((word_len > len ? word_len - len : len - word_len) > NEAREST_MOST)
        return;
    /* A name of which the end is missing counts as one letter. */
    distance = word_len > 3 && word_len < len && !ap_cstr_casecmpn(nearest->word, name, word_len)
                   ? 1
                   : nearest_distance(nearest->word, word_len, name, len);
    if (distance > nearest_most(word_len < len ? word_len : len) ||
        (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = distance;
}

BRG_DECLARE(const char *) brg_nearest_question(apr_pool_t *p, const brg_nearest *nearest)
{
    return nearest->name ? apr_pstrcat(p, "; did you mean '", nearest->name, "'?", NULL) : "";
}
