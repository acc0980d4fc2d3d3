/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that are part of the program: BUILTIN rows of hooks/module_rows.def. The core is the first; the others
 * stand in the order in which Apache's default configuration loads them, on which the order of hooks of equal rank
 * depends. */
#include "httpd.h"
#include "http_config.h"

/* Structures that Apache exports too are EXPORTED. Of the others, the binary of the same module
 * (BuiltinModule NAME Off) would take our structure for its own; one hidden reference is enough for
 * the linker to hide a symbol. */
#define BUILTIN_HIDDEN __attribute__((visibility("hidden")))
#define BUILTIN_EXPORTED AP_MODULE_DECLARE_DATA

#define MODULE(id, ...)
#define BUILTIN(id, linkage, ...) extern module BUILTIN_##linkage id##_module;
#include "module_rows.def"
#undef BUILTIN

#define BUILTIN(id, ...) &id##_module,
AP_DECLARE_DATA module *ap_prelinked_modules[] = {
#include "module_rows.def"
    NULL};
AP_DECLARE_DATA module *ap_preloaded_modules[] = {
#include "module_rows.def"
    NULL};
#undef BUILTIN

#define BUILTIN(id, ...) {#id "_module", &id##_module},
AP_DECLARE_DATA ap_module_symbol_t ap_prelinked_module_symbols[] = {
#include "module_rows.def"
    {NULL, NULL}};
