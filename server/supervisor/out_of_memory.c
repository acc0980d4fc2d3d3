/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a process that is out of memory. It is no crash: nothing is broken, so there is a message
 * and an exit status, and no core file. The supervisor replaces a server process that ends so.
 *
 * Nothing may be allocated here, so no log function and no stdio.
 */
#include "httpd.h"
#include "brigade/assert.h"
#include "out_of_memory.h"
#include "memory_out.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ap_malloc
#undef ap_calloc
#undef ap_realloc

#define OOM_LINE_BYTES 512

static int oom_status = 1;

void oom_set_status(int status)
{
    BRG_ASSERT(status > 0);
    oom_status = status;
}

static void (*oom_last_act)(void);

void oom_last_resort(void (*act)(void))
{
    oom_last_act = act;
}

static void oom_put(char *line, const char *text)
{
    size_t used = strlen(line);

    while (*text != '\0' && used < OOM_LINE_BYTES - 2)
        line[used++] = *text++;
    line[used] = '\0';
}

static void oom_put_number(char *line, size_t number)
{
    char digits[24];
    size_t i = sizeof(digits) - 1;

    digits[i] = '\0';
    do
        digits[--i] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    oom_put(line, digits + i);
}

static __attribute__((noreturn)) void oom_end(char *line)
{
    size_t n = strlen(line);

    BRG_ASSERT(n < OOM_LINE_BYTES);
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        _exit(oom_status);
    if (oom_last_act)
        oom_last_act();
    _exit(oom_status);
}

AP_DECLARE(void) ap_abort_on_oom(void)
{
    char line[OOM_LINE_BYTES] = "[crit] Memory allocation failed, the process ends: out of memory";

    oom_end(line);
}

int oom_of_pool(int rv)
{
    char line[OOM_LINE_BYTES] = "[crit] Memory allocation failed, the process ends: out of memory";
    memory_refused last = memory_refused_last();

    if (last.scope != NULL) {
        oom_put(line, " in scope ");
        oom_put(line, last.scope);
        oom_put(line, ", memory system \"");
        oom_put(line, last.system);
        oom_put(line, "\", ");
        oom_put_number(line, last.bytes);
        oom_put(line, " bytes refused");
    }
    oom_end(line);
}

AP_DECLARE(void *) ap_malloc(size_t size)
{
    void *mem = malloc(size);

    if (!mem && size)
        ap_abort_on_oom();
    return mem;
}

AP_DECLARE(void *) ap_calloc(size_t nelem, size_t size)
{
    void *mem = calloc(nelem, size);

    if (!mem && nelem && size)
        ap_abort_on_oom();
    return mem;
}

AP_DECLARE(void *) ap_realloc(void *ptr, size_t size)
{
    void *mem = realloc(ptr, size);

    if (!mem && size)
        ap_abort_on_oom();
    return mem;
}
