/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries such as jemalloc keep thread variables where the C library has room for few when a
 * library is opened late
 * ("cannot allocate memory in static TLS block"). The room is decided when a program begins, by a
 * variable of the environment: so the program begins anew with it, once.
 */
#include "sms_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TLS_VARIABLE "GLIBC_TUNABLES"
#define TLS_TUNABLE "glibc.rtld.optional_static_tls"
#define TLS_BYTES "8192"
#define TLS_ARGUMENTS 256
#define TLS_COMMAND_LINE 65536

/* The words of the command line; each ends with a NUL. 0, or -1 where it cannot be had whole. */
static int tls_arguments(char *line, size_t room, char **argv, int argv_room)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t n = file != NULL ? fread(line, 1, room - 1, file) : 0;
    char *at;
    int argc = 0;

    if (file != NULL)
        fclose(file);
    if (n == 0 || n == room - 1)
        return -1;
    line[n] = '\0';
    for (at = line; at < line + n; at += strlen(at) + 1) {
        if (argc == argv_room - 1)
            return -1;
        argv[argc++] = at;
    }
    argv[argc] = NULL;
    return 0;
}

BRG_DECLARE(int) brg_sms_static_tls_retry(const char *error)
{
    static char line[TLS_COMMAND_LINE];
    char *argv[TLS_ARGUMENTS], set[512];
    const char *former = getenv(TLS_VARIABLE);
    int n;

    if (error == NULL || strstr(error, "static TLS") == NULL)
        return -1;
    if (former != NULL && strstr(former, TLS_TUNABLE) != NULL)
        return -1; /* tried, or the administrator's wish */
    n = snprintf(set, sizeof(set), "%s%s" TLS_TUNABLE "=" TLS_BYTES, former != NULL ? former : "",
                 former != NULL && former[0] != '\0' ? ":" : "");
    if (n < 0 || n >= (int)sizeof(set) ||
        tls_arguments(line, sizeof(line), argv, TLS_ARGUMENTS) != 0)
        return -1;
    if (setenv(TLS_VARIABLE, set, 1) != 0)
        return -1;
    execv("/proc/self/exe", argv);
    unsetenv(TLS_VARIABLE);
    return -1;
}
