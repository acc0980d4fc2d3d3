/* SPDX-License-Identifier: Apache-2.0 */
/* brigade-filter-test: runs one filter of a module over an input, cut in many ways, and checks what
 * comes out and whether the filter keeps to the rules. See brigade-filter-test(1). */
#include "filter_test.h"
#include "main_parts.h"
#include <stdio.h>
#include <string.h>

int main(int argc, const char *const *argv)
{
    process_rec *process = main_process_create(argc, argv);
    ft_options options = {.seed = 1};
    ap_filter_rec_t *filter;
    ft_input input;

    ft_options_read(process, &options);
    ft_server_start(process, &options);
    filter = ft_filter_find(&options);
    ft_ends_register();
    filter_check_to(ft_check_told);
    ft_input_read(process, &input);
    printf("%s filter %s of %s: %" APR_SIZE_T_FMT " bytes of input, seed %llu\n",
           options.input ? "input" : "output", options.filter,
           strcmp(options.module, "builtin") ? options.module : "the server", input.len,
           (unsigned long long)options.seed);
    fflush(stdout);
    mpm_process_exit(process, ft_groups_run(&options, &input, filter));
}
