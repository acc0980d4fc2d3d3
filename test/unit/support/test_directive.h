/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_DIRECTIVE_H
#define BRIGADE_TEST_DIRECTIVE_H

/**
 * @file test_directive.h
 * Give a module one line of configuration, without the core around it.
 */
#include <apr_strings.h>
#include <http_config.h>
#include <httpd.h>
#include <string.h>

/** Slots of the configuration vector that test_config_vector makes. */
#define TEST_MODULE_SLOTS 64

/** A configuration vector with @a conf in the slot of module @a m, which gets an index if it has
 * none. */
static inline ap_conf_vector_t *test_config_vector(apr_pool_t *p, module *m, void *conf)
{
    void **vector = apr_pcalloc(p, TEST_MODULE_SLOTS * sizeof(void *));

    if (m->module_index < 0)
        m->module_index = TEST_MODULE_SLOTS - 1;
    vector[m->module_index] = conf;
    return (ap_conf_vector_t *)vector;
}

static inline const char *test_directive_iterate(const command_rec *c, cmd_parms *cmd, void *conf,
                                                 const char *line)
{
    const char *first = c->args_how == ITERATE2 ? ap_getword_conf(cmd->pool, &line) : NULL;
    const char *error = NULL;

    while (*line && error == NULL) {
        const char *word = ap_getword_conf(cmd->pool, &line);

        error = first ? c->func.take2(cmd, conf, first, word) : c->func.take1(cmd, conf, word);
    }
    return error;
}

static inline const char *test_directive_argv(const command_rec *c, cmd_parms *cmd, void *conf,
                                              const char *line)
{
    char *words[16] = {NULL};
    int n = 0;

    while (*line && n < 15)
        words[n++] = ap_getword_conf(cmd->pool, &line);
    switch (c->args_how) {
    case TAKE_ARGV:
        return c->func.take_argv(cmd, conf, n, words);
    case TAKE1:
        return c->func.take1(cmd, conf, words[0]);
    case TAKE2:
    case TAKE12:
        return c->func.take2(cmd, conf, words[0], words[1]);
    case FLAG:
        return c->func.flag(cmd, conf, strcasecmp(words[0], "on") == 0);
    default:
        return c->func.take3(cmd, conf, words[0], words[1], words[2]);
    }
}

/**
 * Run "NAME ARGUMENT..." with the setter that @a m has for NAME.
 * @param conf  what the setter gets as its context's configuration
 * @param path  the section's path; NULL outside of sections
 * @return what the setter returned
 */
static inline const char *test_directive(apr_pool_t *p, module *m, server_rec *s, void *conf,
                                         const char *path, const char *line)
{
    const char *name = ap_getword_white(p, &line);
    cmd_parms cmd = {.pool = p, .temp_pool = p, .server = s, .path = (char *)path, .limited = -1};
    const command_rec *c;

    for (c = m->cmds; c->name; c++) {
        if (strcasecmp(c->name, name) == 0) {
            cmd.cmd = c;
            cmd.info = c->cmd_data;
            if (c->args_how == RAW_ARGS)
                return c->func.raw_args(&cmd, conf, line);
            return c->args_how == ITERATE || c->args_how == ITERATE2
                       ? test_directive_iterate(c, &cmd, conf, line)
                       : test_directive_argv(c, &cmd, conf, line);
        }
    }
    return "no such directive";
}

#endif
