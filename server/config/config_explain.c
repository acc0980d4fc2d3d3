/* SPDX-License-Identifier: Apache-2.0 */
/* For --explain: which lines a vector of the configuration was made of. Nothing is kept while nobody asks. */
#include "brigade/assert.h"
#include "brigade/explain.h"
#include "configuration.h"
#include "http_main.h"
#include "apr_hash.h"

brg_explain_fn *brg_explain;

static apr_hash_t *explain_sections; /* ap_conf_vector_t * -> ap_directive_t * */

void conf_explain_section(const void *vector, const ap_directive_t *lines)
{
    const void **key;

    if (!brg_explain)
        return;
    if (!explain_sections)
        explain_sections = apr_hash_make(ap_pglobal);
    BRG_ASSERT(vector != NULL);
    key = apr_palloc(ap_pglobal, sizeof *key);
    *key = vector;
    apr_hash_set(explain_sections, key, sizeof *key, lines);
}

void conf_explain_file(const void *vector, ap_directive_t *lines)
{
    ap_directive_t *file;

    if (!brg_explain || !lines)
        return;
    file = apr_pcalloc(ap_pglobal, sizeof *file);
    file->directive = file->args = "";
    file->filename = lines->filename;
    file->first_child = lines;
    conf_explain_section(vector, file);
}

const ap_directive_t *conf_explained_section(const void *vector)
{
    return explain_sections ? apr_hash_get(explain_sections, &vector, sizeof vector) : NULL;
}
