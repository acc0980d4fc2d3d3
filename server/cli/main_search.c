/* SPDX-License-Identifier: Apache-2.0 */
/* -L WORDS: which directives, modules and guides answer a question. Guides and the words that people have for a thing are in the
 * program as they stand in docs/guides and docs/manual/html/synonyms.txt; the pages of the manual search likewise (search.js). */
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "main_parts.h"
#include "manual.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char search_guides[] = {
#include "guides.inc"
};
static const char search_synonyms[] = {
#include "synonyms.inc"
};

enum { SEARCH_WORDS = 12, SEARCH_SHOWN = 5, SEARCH_WIDTH = 78 };

/* Of questions, these say nothing of their subject. */
static const char search_small[] = " a an and any are as at be but by can do does for from get "
                                   "give has have how i if in into is it its let make me my of "
                                   "on only or our per put set should so some than that the their "
                                   "them there these this to turn up use using want we what when "
                                   "where which who why will with without you your ";
static const char *const search_endings[] = {"ations", "ation", "ions", "ion", "ing", "ies",
                                             "ed",     "es",    "e",    "s",   "y"};

typedef struct search_row {
    const char *name;  /* as -L takes it */
    const char *about; /* the part that a line shows */
    const char *text;  /* the rest of the searched text, up to text_end */
    const char *text_end;
    int guide;
    int named; /* how well names that people have for it fit */
    int score;
} search_row;

typedef struct search_words {
    const char *whole; /* the question in lower case, its words a space apart */
    const char *stems[SEARCH_WORDS];
    int n;
} search_words;

/* The lines of a text are as in manual.h. */
static const char *search_line(apr_pool_t *p, const char *line)
{
    return apr_pstrndup(p, line, strcspn(line, "\n"));
}

/* "caching" and "cached" are found where "cache" stands. */
static const char *search_stem(apr_pool_t *p, const char *word)
{
    const size_t len = strlen(word);

    for (size_t i = 0; i < sizeof search_endings / sizeof *search_endings; i++) {
        const size_t end = strlen(search_endings[i]);

        if (len >= end + 4 && !strcmp(word + len - end, search_endings[i]))
            return apr_pstrndup(p, word, len - end);
    }
    return word;
}

static int search_is_small(const char *word)
{
    const char *at = strstr(search_small, word);

    return at && at[-1] == ' ' && at[strlen(word)] == ' ';
}

static void search_read(apr_pool_t *p, search_words *words, const char *text, int all)
{
    char *rest = NULL, *copy = apr_pstrdup(p, text);

    words->n = 0;
    words->whole = "";
    for (char *c = copy; *c; c++)
        *c = *c == '<' || *c == '>' || *c == '?' ? ' ' : (char)apr_tolower(*c);
    for (char *word = apr_strtok(copy, " \t\n", &rest); word;
         word = apr_strtok(NULL, " \t\n", &rest)) {
        words->whole = apr_pstrcat(p, words->whole, *words->whole ? " " : "", word, NULL);
        if (words->n < SEARCH_WORDS && (all || !search_is_small(word)))
            words->stems[words->n++] = search_stem(p, word);
    }
    if (!words->n && !all)
        search_read(p, words, text, 1);
}

/* 1 if a word of the text begins so. */
static int search_has(const char *text, const char *end, const char *stem)
{
    const size_t len = strlen(stem);

    for (const char *at = text; at + len <= end; at++)
        if (!ap_cstr_casecmpn(at, stem, len) && (at == text || !apr_isalnum(at[-1])))
            return 1;
    return 0;
}

/* The stems in common if all of the phrase's are in the question, else 0. */
static int search_common(const search_words *words, const search_words *phrase)
{
    for (int i = 0; i < phrase->n; i++) {
        int found = 0;

        for (int j = 0; j < words->n && !found; j++)
            found = !strcmp(words->stems[j], phrase->stems[i]);
        if (!found)
            return 0;
    }
    return phrase->n;
}

/* The best of a line's names, "NAME, NAME". */
static int search_names(apr_pool_t *p, const search_words *words, char *names)
{
    char *rest = NULL;
    int best = 0;

    for (char *name = apr_strtok(names, ",", &rest); name; name = apr_strtok(NULL, ",", &rest)) {
        search_words phrase;
        int common, score;

        search_read(p, &phrase, name, 0);
        common = search_common(words, &phrase);
        score = common * (450 + 50 * common) / (words->n ? words->n : 1);
        if (!strcmp(phrase.whole, words->whole))
            score = 1000;
        best = score > best ? score : best;
    }
    return best;
}

static void search_name_targets(apr_array_header_t *rows, char *targets, int score)
{
    char *rest = NULL;

    for (char *target = apr_strtok(targets, " <>", &rest); target && score > 0;
         target = apr_strtok(NULL, " <>", &rest), score -= score / 8)
        for (int i = 0; i < rows->nelts; i++) {
            search_row *row = &APR_ARRAY_IDX(rows, i, search_row);

            if (!ap_cstr_casecmp(row->name, target))
                row->named += score;
        }
}

static void search_synonyms_of(apr_pool_t *p, const search_words *words, apr_array_header_t *rows)
{
    for (const char *line = search_synonyms; *line; line = manual_next_line(line)) {
        char *names = apr_pstrndup(p, line, strcspn(line, "\n")), *targets = strrchr(names, ':');

        if (*names == '#' || !targets)
            continue;
        *targets = '\0';
        search_name_targets(rows, targets + 1, search_names(p, words, names));
    }
}

/* ---- entries of the manual ---- */

/* The first sentence of an entry, or as much as a line shows, behind its fields. */
static const char *search_about(apr_pool_t *p, const char *line)
{
    while (*line == '=' || !strncmp(line, "Syntax: ", 8) || !strncmp(line, "Default: ", 9) ||
           !strncmp(line, "Context: ", 9) || !strncmp(line, "Override: ", 10) ||
           (line[0] == '#' && line[1] == ' '))
        line = manual_next_line(line);
    return search_line(p, line);
}

static void search_add_entries(apr_pool_t *p, apr_array_header_t *rows)
{
    search_row *last = NULL;
    size_t len;

    for (const char *line = manual_text(); *line; line = manual_next_line(line)) {
        const char *name = manual_name(line, &len);
        const int of_module = line[0] == '#' && line[1] == ' ';

        if (!len && !of_module)
            continue;
        if (last)
            last->text_end = line;
        last = apr_array_push(rows);
        *last = (search_row){.name = of_module ? apr_pstrndup(p, line + 2, strcspn(line + 2, ".\n"))
                                               : apr_pstrndup(p, name, len),
                             .about = search_about(p, line),
                             .text = line,
                             .text_end = line + strlen(line)};
    }
}

/* Where the guide of this title begins in the text of all. */
static const char *search_guide_text(apr_pool_t *p, const char *title)
{
    const char *head = apr_pstrcat(p, "\n# ", title, "\n", NULL), *at = strstr(search_guides, head);

    return at ? at + 1 : NULL;
}

/* A line "- [TITLE](NN-NAME.md): ABOUT" of the list of guides, with which their text begins. */
static void search_add_guide(apr_pool_t *p, apr_array_header_t *rows, const char *line)
{
    const char *all = search_line(p, line), *paren = strstr(all, "]("),
               *dot = paren ? strstr(paren, ".md): ") : NULL;
    const char *name = paren ? strchr(paren, '-') : NULL, *title;
    search_row *row;

    if (strncmp(all, "- [", 3) != 0 || !dot || !name)
        return;
    title = apr_pstrmemdup(p, all + 3, (size_t)(paren - all - 3));
    row = apr_array_push(rows);
    *row = (search_row){.name = apr_pstrmemdup(p, name + 1, (size_t)(dot - name - 1)),
                        .about = apr_pstrcat(p, title, ": ", dot + 6, NULL),
                        .text = search_guide_text(p, title),
                        .guide = 1};
    if (!row->text)
        apr_array_pop(rows);
}

/* Each ends where the next one begins. */
static void search_end_guides(apr_array_header_t *rows)
{
    for (int i = 0; i < rows->nelts; i++) {
        search_row *row = &APR_ARRAY_IDX(rows, i, search_row);

        if (!row->guide)
            continue;
        row->text_end = search_guides + sizeof search_guides - 1;
        for (int j = 0; j < rows->nelts; j++) {
            const search_row *other = &APR_ARRAY_IDX(rows, j, search_row);

            if (other->guide && other->text > row->text && other->text < row->text_end)
                row->text_end = other->text;
        }
        BRG_ASSERT(row->text < row->text_end);
    }
}

static apr_array_header_t *search_rows(apr_pool_t *p)
{
    apr_array_header_t *rows = apr_array_make(p, 800, sizeof(search_row));

    BRG_ASSERT(!strncmp(search_guides, "# Guides\n", 9));
    search_add_entries(p, rows);
    for (const char *line = search_guides; *line; line = manual_next_line(line))
        if (!strncmp(line, "- [", 3))
            search_add_guide(p, rows, line);
    search_end_guides(rows);
    return rows;
}

/* ---- which of it answers ---- */

static int search_word_score(const search_row *row, const char *stem)
{
    if (!ap_cstr_casecmp(row->name, stem))
        return 100;
    if (!ap_cstr_casecmpn(row->name, stem, strlen(stem)))
        return 40;
    if (ap_strcasestr(row->name, stem))
        return 30;
    if (search_has(row->about, row->about + strlen(row->about), stem))
        return 20;
    return search_has(row->text, row->text_end, stem) ? 3 : 0;
}

static int search_score(const search_row *row, const search_words *words)
{
    int sum = 0, has = 0;

    for (int i = 0; i < words->n; i++) {
        const int one = search_word_score(row, words->stems[i]);

        sum += one;
        has += one > 0;
    }
    return !row->named && has * 2 < words->n ? 0
                                             : row->named + sum * has * has / (words->n * words->n);
}

static int search_order(const void *a, const void *b)
{
    const search_row *x = a, *y = b;

    return x->score != y->score ? y->score - x->score : (int)strlen(x->name) - (int)strlen(y->name);
}

/* So much of a text as a line shows, in whole words. */
static int search_width(const char *text)
{
    int len = (int)strlen(text);

    if (len <= SEARCH_WIDTH)
        return len;
    for (len = SEARCH_WIDTH; len > 0 && text[len] != ' '; len--)
        ;
    return len;
}

/* Those of a kind that are no more than a tenth as good as the best. */
static int search_show(const apr_array_header_t *rows, int guide)
{
    int shown = 0, best = 0;

    for (int i = 0; i < rows->nelts && shown < SEARCH_SHOWN; i++) {
        const search_row *row = &APR_ARRAY_IDX(rows, i, search_row);

        if (row->guide != guide || row->score == 0 || row->score * 10 < best)
            continue;
        if (!shown++) {
            best = row->score;
            puts(guide ? "Guides:" : "Directives and modules:");
        }
        printf("  %-24s %.*s%s\n", row->name, search_width(row->about), row->about,
               row->about[search_width(row->about)] ? " ..." : "");
    }
    return shown;
}

int main_print_guide(apr_pool_t *p, const char *name)
{
    const apr_array_header_t *rows = search_rows(p);

    for (int i = 0; i < rows->nelts; i++) {
        const search_row *row = &APR_ARRAY_IDX(rows, i, search_row);

        if (row->guide && !ap_cstr_casecmp(row->name, name)) {
            fwrite(row->text, 1, (size_t)(row->text_end - row->text), stdout);
            return 1;
        }
    }
    return 0;
}

int main_search_manual(apr_pool_t *p, const char *question)
{
    apr_array_header_t *rows = search_rows(p);
    search_words words;
    int shown;

    search_read(p, &words, question, 0);
    search_synonyms_of(p, &words, rows);
    for (int i = 0; i < rows->nelts; i++) {
        search_row *row = &APR_ARRAY_IDX(rows, i, search_row);

        row->score = search_score(row, &words);
    }
    qsort(rows->elts, (size_t)rows->nelts, sizeof(search_row), search_order);
    shown = search_show(rows, 0);
    shown += search_show(rows, 1);
    if (shown)
        puts("brigade -L NAME prints one of them.");
    return shown;
}
