/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stock APR's pools against ours. The program does random things with pools and writes down all
 * that can be observed; it is run once as it is and once with a library preloaded that has our
 * pools, and the two texts must be the same.
 *
 *     pool_diff compare LIBRARY FIRST_SEED SEEDS STEPS    runs both, reports the first difference
 *     pool_diff run SEED STEPS                            writes the text
 */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <apr_thread_proc.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOLS 24
#define BLOCKS 64
#define CLEANUPS 64

typedef struct diff_pool {
    apr_pool_t *p;
    int parent; /* index; -1: none of ours */
} diff_pool;

typedef struct diff_block {
    unsigned char *at;
    apr_size_t n;
    int pool; /* -1: gone */
    unsigned char fill;
} diff_block;

typedef struct diff_cleanup {
    int pool; /* -1: not registered, as far as the driver knows */
    int does; /* what else it does */
    int number;
} diff_cleanup;

static diff_pool pools[POOLS];
static diff_block blocks[BLOCKS];
static diff_cleanup cleanups[CLEANUPS];
static int cleanups_made;
static unsigned long long state;

static unsigned diff_random(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static int diff_abort(int code)
{
    printf("abort %d\n", code == APR_ENOMEM);
    return 0;
}

static int diff_abort_2(int code)
{
    printf("abort2 %d\n", code == APR_ENOMEM);
    return 0;
}

/* ---- bookkeeping ---- */

static void pools_forget_below(int i)
{
    int k;

    for (k = 0; k < POOLS; k++)
        if (pools[k].p != NULL && pools[k].parent == i) {
            pools_forget_below(k);
            pools[k].p = NULL;
        }
    for (k = 0; k < BLOCKS; k++)
        if (blocks[k].pool == i)
            blocks[k].pool = -1;
}

static int pool_any(void)
{
    int i = (int)diff_random(POOLS), n;

    for (n = 0; n < POOLS; n++, i = (i + 1) % POOLS)
        if (pools[i].p != NULL)
            return i;
    return -1;
}

static apr_size_t size_any(void)
{
    switch (diff_random(12)) {
    case 0:
        return diff_random(9000);
    case 1:
        return 4000 + diff_random(200) * 41;
    case 2:
        return diff_random(40) == 0 ? diff_random(400000) : 8;
    case 3:
        return diff_random(3);
    default:
        return 1 + diff_random(400);
    }
}

static void block_keep(int pool, unsigned char *at, apr_size_t n)
{
    diff_block *b = &blocks[diff_random(BLOCKS)];

    b->at = at;
    b->n = n;
    b->pool = pool;
    b->fill = (unsigned char)diff_random(256);
    memset(at, b->fill, n);
}

static void blocks_check(void)
{
    apr_size_t i;
    int k, whole = 0;

    for (k = 0; k < BLOCKS; k++) {
        if (blocks[k].pool < 0)
            continue;
        for (i = 0; i < blocks[k].n; i++)
            if (blocks[k].at[i] != blocks[k].fill) {
                printf("block %d broken at %lu\n", k, (unsigned long)i);
                return;
            }
        whole++;
    }
    printf("blocks whole %d\n", whole);
}

/* ---- cleanups ---- */

static apr_status_t clean_plain(void *data);

static apr_status_t clean_small(void *data)
{
    printf("small %d\n", *(int *)data);
    return APR_SUCCESS;
}

static apr_status_t clean_child(void *data)
{
    printf("child %d\n", ((diff_cleanup *)data)->number);
    return APR_SUCCESS;
}

static apr_status_t clean_child_2(void *data)
{
    printf("child2 %d\n", ((diff_cleanup *)data)->number);
    return APR_SUCCESS;
}

/* A cleanup is one of `cleanups`; some use the pool that is being cleaned up. */
static apr_status_t clean_plain(void *data)
{
    diff_cleanup *c = data;
    apr_pool_t *p = c->pool >= 0 ? pools[c->pool].p : NULL;
    apr_pool_t *sub;
    int *number;

    printf("plain %d\n", c->number);
    c->pool = -1;
    if (p == NULL)
        return APR_EGENERAL;
    if (c->does == 1) {
        memset(apr_palloc(p, 300), 1, 300);
    } else if (c->does == 2) {
        number = apr_palloc(p, sizeof(*number));
        *number = c->number;
        apr_pool_cleanup_register(p, number, clean_small, apr_pool_cleanup_null);
        printf("registered\n");
    } else if (c->does == 3 && apr_pool_create(&sub, p) == APR_SUCCESS) {
        number = apr_palloc(sub, sizeof(*number));
        *number = -c->number;
        apr_pool_cleanup_register(sub, number, clean_small, apr_pool_cleanup_null);
        apr_pool_destroy(sub);
    } else if (c->does == 4) {
        printf("%s\n", apr_psprintf(p, "%d %s", c->number, "text"));
    } else if (c->does == 5) {
        diff_cleanup *other = &cleanups[c->number % CLEANUPS];

        if (other != c) {
            apr_pool_cleanup_kill(p, other, clean_plain);
            printf("kills %d\n", other->number);
        }
    }
    return APR_EGENERAL;
}

static diff_cleanup *cleanup_any(void)
{
    return &cleanups[diff_random(CLEANUPS)];
}

static void do_cleanup_register(int i)
{
    diff_cleanup *c = cleanup_any();
    int pre = diff_random(5) == 0;

    if (c->pool >= 0 && diff_random(4) != 0)
        return;
    if (c->pool != i && c->pool >= 0)
        return;
    c->pool = i;
    c->does = (int)diff_random(8);
    c->number = ++cleanups_made;
    printf("register %d pre %d\n", c->number, pre);
    if (pre)
        apr_pool_pre_cleanup_register(pools[i].p, c, clean_plain);
    else
        apr_pool_cleanup_register(pools[i].p, c, clean_plain,
                                  diff_random(2) ? clean_child : apr_pool_cleanup_null);
}

static void do_cleanup_change(int i)
{
    diff_cleanup *c = cleanup_any();
    apr_pool_t *p = c->pool >= 0 ? pools[c->pool].p : pools[i].p;

    if (c->pool >= 0 && p == NULL) {
        c->pool = -1;
        return;
    }
    switch (diff_random(3)) {
    case 0:
        printf("kill %d\n", c->number);
        apr_pool_cleanup_kill(p, c, clean_plain);
        break;
    case 1:
        printf("run %d\n", c->number);
        printf("-> %d\n", apr_pool_cleanup_run(p, c, clean_plain) == APR_EGENERAL);
        break;
    default:
        printf("child set %d\n", c->number);
        apr_pool_child_cleanup_set(p, c, clean_plain, clean_child_2);
    }
}

/* In a child, so that this process goes on with its cleanups. */
static void do_for_exec(void)
{
    pid_t pid;
    int status;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        apr_pool_cleanup_for_exec();
        printf("exec done\n");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("exec %d\n", status);
}

/* ---- what is done ---- */

static void do_create(void)
{
    int parent = diff_random(4) == 0 ? -1 : pool_any();
    apr_pool_t *above = parent >= 0 ? pools[parent].p : NULL;
    apr_allocator_t *allocator = NULL;
    apr_status_t status;
    int i, kind = (int)diff_random(8);

    for (i = 0; i < POOLS && pools[i].p != NULL; i++)
        ;
    if (i == POOLS)
        return;
    if (kind < 2)
        apr_allocator_create(&allocator);
    if (kind == 2) {
        status = apr_pool_create_unmanaged_ex(&pools[i].p, diff_abort, NULL);
        parent = -1;
    } else {
        status = apr_pool_create_ex(&pools[i].p, above, kind == 3 ? diff_abort_2 : NULL, allocator);
    }
    if (allocator != NULL) {
        apr_allocator_owner_set(allocator, pools[i].p);
        if (kind == 1)
            apr_allocator_max_free_set(allocator, diff_random(100000));
    }
    pools[i].parent = parent;
    printf("create %d kind %d parent %d: %d, above %d, own allocator %d, abort %d%d\n", i, kind,
           parent, status, apr_pool_parent_get(pools[i].p) == above,
           apr_allocator_owner_get(apr_pool_allocator_get(pools[i].p)) == pools[i].p,
           apr_pool_abort_get(pools[i].p) == diff_abort,
           apr_pool_abort_get(pools[i].p) == diff_abort_2);
}

static void do_end(int i, int destroy)
{
    printf("%s %d\n", destroy ? "destroy" : "clear", i);
    if (destroy)
        apr_pool_destroy(pools[i].p);
    else
        apr_pool_clear(pools[i].p);
    pools_forget_below(i);
    if (destroy)
        pools[i].p = NULL;
    printf("ended\n");
}

static volatile apr_size_t size_largest = (apr_size_t)-1;

static void do_allocate(int i)
{
    apr_size_t n = size_any(), k;
    unsigned char *at;

    if (diff_random(200) == 0) {
        apr_abortfunc_t before = apr_pool_abort_get(pools[i].p);

        apr_pool_abort_set(diff_abort, pools[i].p);
        printf("huge %d\n", apr_palloc(pools[i].p, size_largest - diff_random(5000)) == NULL);
        apr_pool_abort_set(before, pools[i].p);
        return;
    }
    if (diff_random(4) != 0) {
        at = apr_palloc(pools[i].p, n);
        printf("palloc %lu %d %d\n", (unsigned long)n, at != NULL, (int)((apr_uintptr_t)at % 8));
    } else {
        at = apr_pcalloc_debug(pools[i].p, n, "here");
        for (k = 0; k < n && at[k] == 0; k++)
            ;
        printf("pcalloc %lu zeroed %d\n", (unsigned long)n, k == n);
    }
    block_keep(i, at, n);
}

static void do_text(int i)
{
    static const char filler[] = "the quick brown fox jumps over the lazy dog and so on ";
    int n = (int)diff_random(6) == 0 ? (int)diff_random(20000) : (int)diff_random(120);
    char *text = apr_psprintf(pools[i].p, "%*d|%.*s|%s|%pp", n, i, (int)diff_random(50), filler,
                              filler, (void *)0);
    apr_size_t length = strlen(text), k;
    unsigned sum = 0;

    for (k = 0; k < length; k++)
        sum = sum * 31 + (unsigned char)text[k];
    printf("text %lu %u\n", (unsigned long)length, sum);
    block_keep(i, (unsigned char *)text, length + 1);
    text = apr_pstrcat(pools[i].p, filler, apr_itoa(pools[i].p, n), NULL);
    printf("%s %s\n", text, apr_pstrndup(pools[i].p, filler, diff_random(20)));
}

static void do_userdata(int i)
{
    char key[16];
    diff_cleanup *c = cleanup_any();
    void *data = NULL;
    unsigned k = diff_random(6), how = diff_random(5);
    static const char *const fixed[6] = {"key0", "key1", "key2", "key3", "key4", "key5"};

    sprintf(key, "key%u", k);
    if (how == 0) {
        apr_pool_userdata_set(fixed[k], key, NULL, pools[i].p);
    } else if (how == 1) {
        apr_pool_userdata_setn(fixed[(k + 1) % 6], fixed[k], NULL, pools[i].p);
    } else if (how == 2 && c->pool < 0) {
        c->pool = i;
        c->does = 0;
        c->number = ++cleanups_made;
        apr_pool_userdata_set(c, key, clean_plain, pools[i].p);
        printf("userdata with %d\n", c->number);
    } else if (how == 3) {
        apr_pool_userdata_set(NULL, key, NULL, pools[i].p);
    }
    how = (unsigned)apr_pool_userdata_get(&data, key, pools[i].p);
    for (k = 0; k < 6 && data != fixed[k]; k++)
        ;
    printf("userdata %d %s: %s\n", (int)how, key,
           data == NULL ? "none"
           : k < 6      ? fixed[k]
                        : "cleanup");
}

static void do_ask(int i)
{
    int k = pool_any(), up;
    apr_pool_t *p;

    printf("ancestor %d %d: %d %d %d\n", i, k, apr_pool_is_ancestor(pools[i].p, pools[k].p),
           apr_pool_is_ancestor(pools[k].p, pools[i].p), apr_pool_is_ancestor(NULL, pools[i].p));
    for (p = pools[i].p, up = 0; p != NULL; p = apr_pool_parent_get(p))
        up++;
    printf("depth %d, shares %d\n", up,
           apr_pool_allocator_get(pools[i].p) == apr_pool_allocator_get(pools[k].p));
    apr_pool_tag(pools[i].p, "tag");
}

static void do_node(int i)
{
    apr_allocator_t *a = apr_pool_allocator_get(pools[i].p);
    apr_size_t n = size_any();
    apr_memnode_t *node = apr_allocator_alloc(a, n);

    printf("node %d %d next %d, %lu\n", (apr_size_t)(node->endp - node->first_avail) >= n,
           (int)(node->first_avail - (char *)node), node->next != NULL,
           (unsigned long)apr_allocator_align(a, n));
    memset(node->first_avail, 0xee, (apr_size_t)(node->endp - node->first_avail));
    apr_allocator_free(a, node);
}

static void do_process(int i)
{
    static const apr_kill_conditions_e how[] = {
        APR_KILL_NEVER, APR_KILL_ALWAYS, APR_KILL_AFTER_TIMEOUT, APR_JUST_WAIT, APR_KILL_ONLY_ONCE};
    unsigned k = diff_random(5);
    apr_pool_t *p;
    apr_proc_t proc;
    int status = -1;
    siginfo_t ended;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        if (k == 0 || k == 3)
            _exit(3);
        for (;;)
            pause();
    }
    if (k == 0 || k == 3)
        waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT);
    memset(&proc, 0, sizeof(proc));
    proc.pid = pid;
    apr_pool_create(&p, pools[i].p);
    apr_pool_note_subprocess(p, &proc, how[k]);
    apr_pool_clear(p);
    apr_pool_destroy(p);
    pid = waitpid(pid, &status, 0);
    printf("process %u: %s\n", k, pid > 0 ? "left to us" : errno == ECHILD ? "collected" : "?");
}

static void diff_step(void)
{
    unsigned what = diff_random(1000);
    int i;

    if (what < 90) {
        do_create();
        return;
    }
    i = pool_any();
    if (i < 0)
        return;
    if (what < 115)
        do_end(i, 0);
    else if (what < 155)
        do_end(i, 1);
    else if (what < 280)
        do_cleanup_register(i);
    else if (what < 330)
        do_cleanup_change(i);
    else if (what < 390)
        do_userdata(i);
    else if (what < 450)
        do_ask(i);
    else if (what < 520)
        do_text(i);
    else if (what < 560)
        do_node(i);
    else if (what < 564)
        do_for_exec();
    else if (what < 567)
        do_process(i);
    else if (what < 600)
        blocks_check();
    else
        do_allocate(i);
}

static int diff_run(unsigned long seed, long steps)
{
    int i;

    state = seed * 2654435761u + 1;
    for (i = 0; i < BLOCKS; i++)
        blocks[i].pool = -1;
    for (i = 0; i < CLEANUPS; i++)
        cleanups[i].pool = -1;
    if (apr_initialize() != APR_SUCCESS)
        return 1;
    while (steps-- > 0)
        diff_step();
    blocks_check();
    printf("terminate\n");
    apr_terminate();
    printf("end\n");
    return 0;
}

/* ---- the comparison ---- */

static FILE *diff_start(const char *self, const char *library, unsigned long seed, long steps)
{
    char command[4096];

    snprintf(command, sizeof(command), "%s%s%s '%s' run %lu %ld",
             library != NULL ? "LD_PRELOAD='" : "", library != NULL ? library : "",
             library != NULL ? "'" : "", self, seed, steps);
    return popen(command, "r");
}

static int diff_compare(const char *self, const char *library, unsigned long seed, long steps)
{
    FILE *stock = diff_start(self, NULL, seed, steps),
         *ours = diff_start(self, library, seed, steps);
    char a[30000], b[30000], *got_a, *got_b;
    long line = 0;
    int differ = 0;

    do {
        got_a = fgets(a, sizeof(a), stock);
        got_b = fgets(b, sizeof(b), ours);
        line++;
        differ = (got_a == NULL) != (got_b == NULL) || (got_a != NULL && strcmp(a, b) != 0);
    } while (!differ && got_a != NULL);
    if (differ)
        printf("seed %lu, line %ld:\n  stock: %s  ours:  %s", seed, line, got_a ? a : "(end)\n",
               got_b ? b : "(end)\n");
    while (fgets(a, sizeof(a), stock) != NULL || fgets(b, sizeof(b), ours) != NULL)
        ;
    if (pclose(stock) != 0) {
        printf("seed %lu: the run with stock APR failed\n", seed);
        differ = 1;
    }
    if (pclose(ours) != 0) {
        printf("seed %lu: the run with ours failed\n", seed);
        differ = 1;
    }
    return differ;
}

int main(int argc, char **argv)
{
    unsigned long seed, end;
    int differ = 0;

    if (argc == 4 && strcmp(argv[1], "run") == 0)
        return diff_run(strtoul(argv[2], NULL, 10), atol(argv[3]));
    if (argc != 6 || strcmp(argv[1], "compare") != 0) {
        fprintf(stderr, "usage: %s compare LIBRARY FIRST_SEED SEEDS STEPS\n", argv[0]);
        return 2;
    }
    seed = strtoul(argv[3], NULL, 10);
    for (end = seed + strtoul(argv[4], NULL, 10); seed < end && !differ; seed++)
        differ = diff_compare(argv[0], argv[2], seed, atol(argv[5]));
    if (!differ)
        printf("the same\n");
    return differ;
}
