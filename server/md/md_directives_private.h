/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_DIRECTIVES_PRIVATE_H
#define BRIGADE_MD_DIRECTIVES_PRIVATE_H

/**
 * @file md_directives_private.h
 * Setters in md_directives.c for the table in md_directives_all.c. Threads: main. They return NULL, or a message.
 */
#include "md_conf.h"

/** The message for a directive that may not stand in <MDomainSet>. */
const char *md_directive_not_inside(cmd_parms *cmd);
/** Read on or off. */
const char *md_directive_flag(cmd_parms *cmd, const char *arg, int *to);

/** A managed domain with this name. */
md_domain *md_directive_new_domain(cmd_parms *cmd, const char *name);

/* For the table. */
const char *md_set_auto(cmd_parms *cmd, void *dummy, const char *arg, const char *more);
const char *md_set_domain(cmd_parms *cmd, void *dummy, const char *args);
const char *md_set_section(cmd_parms *cmd, void *dummy, const char *args);
const char *md_set_members(cmd_parms *cmd, void *dummy, const char *args);
const char *md_set_authority(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);
const char *md_set_text(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_protocol(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_challenges(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);
const char *md_set_proxy(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_proxy_ca(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_ca_file(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_binding(cmd_parms *cmd, void *dummy, const char *kid, const char *hmac);
const char *md_set_static_file(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_mode(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_switch(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_require(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_window(cmd_parms *cmd, void *dummy, const char *arg);
const char *md_set_keys(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);

#endif
