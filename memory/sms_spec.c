/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specifications: `limit(16M) arena(chunk=64k)`, outermost first.
 *
 * A specification is read into a plan without allocating anything but the plan, since pools do not
 * exist yet when the preloaded layer reads its own.
 */
#include "sms_private.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_LONGEST 511
#define SPEC_WORDS 8
#define SPEC_PARAMS 32

typedef struct spec_word {
    const sms_kind *kind;
    int first, params_n;
    int shared;
    int one_thread; /* known after a trial */
} spec_word;

struct brg_sms_plan {
    char text[SPEC_LONGEST + 1]; /* params point into it */
    int words_n, params_n;
    spec_word words[SPEC_WORDS];
    brg_sms_param params[SPEC_PARAMS];
};

/* Reading. */

static char *spec_skip(char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static char *spec_name_end(char *at)
{
    while (isalnum((unsigned char)*at) || *at == '_' || *at == '-' || *at == '.')
        at++;
    return at;
}

/* One parameter, ended by a comma, a space or the parenthesis at *at, which is left there. */
static const char *spec_read_param(brg_sms_plan *plan, spec_word *word, char **at, apr_pool_t *p)
{
    brg_sms_param param = {NULL, *at};
    char *end = spec_name_end(*at), *start = *at;

    if (*start == '\0')
        return "\")\" is missing";
    if (end == start)
        return brg_sms_message(p, "\"%.32s\": expected a parameter", start);
    if (*end == '=') {
        *end = '\0';
        param.name = start;
        start = end + 1;
        end = spec_name_end(start);
        param.value = start;
        if (end == start)
            return brg_sms_message(p, "%.32s= has no value", param.name);
    }
    *at = end;
    if (param.name == NULL && (size_t)(end - start) == strlen("shared") &&
        memcmp(start, "shared", 6) == 0)
        return word->shared++ ? "\"shared\" is there twice" : NULL;
    if (plan->params_n == SPEC_PARAMS)
        return "too many parameters";
    plan->params[plan->params_n++] = param;
    word->params_n++;
    return NULL;
}

/* The last parameter that was read, against those before it. */
static const char *spec_refuse_twice(const brg_sms_plan *plan, const spec_word *word, apr_pool_t *p)
{
    const brg_sms_param *last = &plan->params[plan->params_n - 1];
    int i;

    for (i = word->first; i < plan->params_n - 1; i++) {
        const brg_sms_param *other = &plan->params[i];

        if (last->name != NULL ? other->name != NULL && strcmp(other->name, last->name) == 0
                               : other->name == NULL && strcmp(other->value, last->value) == 0)
            return brg_sms_message(p, "\"%.32s\" is there twice",
                                   last->name != NULL ? last->name : last->value);
    }
    return NULL;
}

/* Behind the opening parenthesis up to behind the closing one. */
static const char *spec_read_params(brg_sms_plan *plan, spec_word *word, char **at, apr_pool_t *p)
{
    const char *message;
    char *c = *at, stop;

    for (;;) {
        c = spec_skip(c);
        if (*c == ')' && word->params_n == 0 && !word->shared)
            break;
        message = spec_read_param(plan, word, &c, p);
        if (message != NULL)
            return message;
        stop = *c;
        if (stop != '\0')
            *c = '\0'; /* the value ends here */
        message = word->params_n > 0 ? spec_refuse_twice(plan, word, p) : NULL;
        if (message != NULL)
            return message;
        if (isspace((unsigned char)stop)) {
            c = spec_skip(c + 1);
            stop = *c;
            if (stop != ',' && stop != ')')
                continue;
        }
        if (stop == ')')
            break;
        if (stop != ',')
            return stop == '\0' ? "\")\" is missing"
                                : brg_sms_message(p, "\"%c\" is not expected in a parameter", stop);
        c++;
    }
    *at = c + 1;
    return NULL;
}

static const char *spec_read_word(brg_sms_plan *plan, char **at, apr_pool_t *p)
{
    char *name = *at, *end = spec_name_end(name), stop = *end;
    spec_word *word = &plan->words[plan->words_n];

    if (end == name)
        return brg_sms_message(p, "\"%.32s\": expected the name of a memory system", name);
    if (plan->words_n == SPEC_WORDS)
        return "too many memory systems on top of each other";
    if (stop != '\0' && stop != '(' && !isspace((unsigned char)stop))
        return brg_sms_message(p, "\"%c\" is not expected after \"%.*s\"", stop, (int)(end - name),
                               name);
    *end = '\0';
    word->kind = sms_kind_find(name);
    word->first = plan->params_n;
    if (word->kind == NULL)
        return brg_sms_message(p, "unknown memory system \"%.32s\"", name);
    plan->words_n++;
    *at = stop != '\0' ? end + 1 : end;
    return stop == '(' ? spec_read_params(plan, word, at, p) : NULL;
}

static const char *spec_read_words(brg_sms_plan *plan, const char *spec, apr_pool_t *p)
{
    const char *message;
    char *at = plan->text;

    memset(plan, 0, sizeof(*plan));
    if (strlen(spec) > SPEC_LONGEST)
        return "the specification of a memory system is too long";
    memcpy(plan->text, spec, strlen(spec));
    for (at = spec_skip(at); *at != '\0'; at = spec_skip(at)) {
        message = spec_read_word(plan, &at, p);
        if (message != NULL)
            return message;
    }
    return plan->words_n > 0 ? NULL : "the specification of a memory system is empty";
}

static const char *spec_read(brg_sms_plan *plan, const char *spec, apr_pool_t *p)
{
    const char *message = spec_read_words(plan, spec, p);

    return message != NULL ? sms_kinds_told(message, p) : NULL;
}

/* Building. */

/* With the parameters that would do. */
static const char *spec_refuse(const sms_kind *kind, const char *message, apr_pool_t *p)
{
    return brg_sms_message(p, "%s: %s; it takes %s", kind->name, message, kind->help);
}

static const char *spec_build_word(brg_sms **out, const brg_sms_plan *plan, const spec_word *word,
                                   brg_sms *parent, apr_pool_t *p)
{
    const char *message =
        word->kind->create(out, parent, &plan->params[word->first], word->params_n, p);

    if (message != NULL)
        return spec_refuse(word->kind, message, p);
    message = sms_check_ops((*out)->ops);
    if (message == NULL && word->shared) {
        if ((*out)->ops->threads == BRG_SMS_ONE_THREAD)
            sms_counts_share(*out);
        else
            message = "any thread may use it as it is, \"shared\" would change nothing";
    }
    if (message != NULL)
        brg_sms_destroy(out, parent);
    return message != NULL ? spec_refuse(word->kind, message, p) : NULL;
}

BRG_DECLARE(const char *)
brg_sms_plan_build(brg_sms **out, const brg_sms_plan *plan, int first, int end, brg_sms *parent,
                   apr_pool_t *p)
{
    brg_sms *base = parent != NULL ? parent : brg_sms_os(), *top = base, *made;
    const char *message;
    int i;

    *out = NULL;
    for (i = end - 1; i >= first; i--) {
        made = NULL;
        message = spec_build_word(&made, plan, &plan->words[i], top, p);
        if (message != NULL) {
            brg_sms_destroy(&top, base);
            return message;
        }
        top = made;
    }
    *out = top;
    return NULL;
}

/* Build once and learn from it which kinds are for one thread. */
static const char *spec_try(brg_sms_plan *plan, apr_pool_t *p)
{
    brg_sms *top, *s;
    const char *message = brg_sms_plan_build(&top, plan, 0, plan->words_n, NULL, p);
    int i;

    if (message != NULL)
        return message;
    for (i = 0, s = top; i < plan->words_n; i++, s = s->parent)
        plan->words[i].one_thread =
            s->ops->threads == BRG_SMS_ONE_THREAD && !(s->flags & SMS_SHARED);
    brg_sms_destroy(&top, NULL);
    return NULL;
}

BRG_DECLARE(const char *)
brg_sms_plan_make(const brg_sms_plan **plan, const char *spec, apr_pool_t *p)
{
    brg_sms_plan *made = p != NULL ? apr_palloc(p, sizeof(*made)) : malloc(sizeof(*made));
    const char *message = made != NULL ? spec_read(made, spec, p) : "out of memory";

    if (message == NULL)
        message = spec_try(made, p);
    *plan = message == NULL ? made : NULL;
    if (message != NULL && p == NULL)
        free(made);
    return message;
}

BRG_DECLARE(int) brg_sms_plan_private(const brg_sms_plan *plan)
{
    int i;

    for (i = plan->words_n; i > 0; i--)
        if (plan->words[i - 1].one_thread)
            break;
    return i;
}

int sms_plan_builtin(const brg_sms_plan *plan)
{
    int i;

    for (i = 0; i < plan->words_n; i++)
        if (!sms_kind_builtin(plan->words[i].kind))
            return 0;
    return 1;
}

BRG_DECLARE(int) brg_sms_plan_length(const brg_sms_plan *plan)
{
    return plan->words_n;
}

BRG_DECLARE(const char *)
brg_sms_create(brg_sms **out, const char *spec, brg_sms *parent, apr_pool_t *p)
{
    brg_sms_plan plan;
    const char *message = spec_read(&plan, spec, p);

    *out = NULL;
    return message != NULL ? message : brg_sms_plan_build(out, &plan, 0, plan.words_n, parent, p);
}

BRG_DECLARE(const char *) brg_sms_check(const char *spec, apr_pool_t *p)
{
    brg_sms *s;
    const char *message = brg_sms_create(&s, spec, NULL, p);

    if (message == NULL)
        brg_sms_destroy(&s, NULL);
    return message;
}

static size_t spec_describe_one(const brg_sms *s, char *out, size_t n)
{
    char params[128] = "";
    int written;

    if (s->ops->describe != NULL)
        s->ops->describe(s, params, sizeof(params));
    if (s->flags & SMS_SHARED)
        strncat(params, params[0] != '\0' ? ",shared" : "shared",
                sizeof(params) - strlen(params) - 1);
    written = snprintf(out, n, params[0] != '\0' ? "%s(%s)" : "%s", s->ops->kind, params);
    return written > 0 ? (size_t)written : 0;
}

BRG_DECLARE(const char *) brg_sms_describe(const brg_sms *s, apr_pool_t *p)
{
    char text[SPEC_LONGEST + 1];
    size_t used = 0;

    text[0] = '\0';
    for (; s != NULL && used + 2 < sizeof(text); s = s->parent) {
        if ((s->flags & SMS_ROOT) && used > 0)
            break; /* the operating system, which is below every stack, is not named */
        if (used > 0)
            text[used++] = ' ';
        used += spec_describe_one(s, text + used, sizeof(text) - used);
    }
    return brg_sms_message(p, "%s", text);
}
