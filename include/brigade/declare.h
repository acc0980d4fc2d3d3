/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_DECLARE_H
#define BRIGADE_DECLARE_H

/** Marks a function that the program offers to modules. Everything else is hidden by the build. */
#define BRG_DECLARE(type) __attribute__((visibility("default"))) type
#define BRG_DECLARE_NONSTD(type) BRG_DECLARE(type)
#define BRG_DECLARE_DATA __attribute__((visibility("default")))

#endif
