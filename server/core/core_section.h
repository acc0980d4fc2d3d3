/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CORE_CORE_SECTION_H
#define BRIGADE_CORE_CORE_SECTION_H

/**
 * @file core_section.h
 * Arguments of "<Name args>", whose raw text ends with the bracket.
 */
#include "http_config.h"

/** Cut the text before the last '>' off @a arg. @return NULL, or a message: no bracket, nothing
 * before it */
const char *core_section_text(const cmd_parms *cmd, const char *arg, const char **text);

const char *core_section_missing_gt(const cmd_parms *cmd);
const char *core_section_no_args(const cmd_parms *cmd);

#endif
