/* SPDX-License-Identifier: Apache-2.0 */
/* brigade/status.h: the scoreboard summed up for status pages. */
#include "figures.h"
#include "scores.h"

#include "ap_mpm.h"
#include "http_core.h"
#include "brigade/status.h"
#include "brigade/assert.h"

#include <string.h>

static void status_read(brg_status_counts *out, const struct loop_score *score)
{
    out->accesses = loop_score_get(&score->accesses);
    out->bytes = loop_score_get(&score->bytes);
    out->accepted = loop_score_get(&score->accepted);
    out->connections = loop_score_get(&score->connections);
    out->reading = loop_score_get(&score->reading);
    out->writing = loop_score_get(&score->writing);
    out->keepalive = loop_score_get(&score->keepalive);
    out->lingering = loop_score_get(&score->lingering);
    out->busy = loop_score_get(&score->busy);
    out->http2 = loop_score_get(&score->http2);
    out->streams = loop_score_get(&score->streams);
    out->turns = loop_score_get(&score->turns);
}

/* The struct is nothing but counters of one type. */
static void status_add(brg_status_counts *sum, const brg_status_counts *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;

    _Static_assert(sizeof *sum % sizeof *to == 0, "counters only");
    BRG_ASSERT(sum != more);
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

BRG_DECLARE(int) brg_status_loop_get(int slot, int loop, brg_status_counts *out)
{
    const struct loop_score *score = scoreboard_loop_if(slot, loop);
    process_score *ps = ap_get_scoreboard_process(slot);

    if (!score || !ps || !ps->pid)
        return 0;
    status_read(out, score);
    out->duration_us = figures_duration_us(figures_of_loop(slot, loop));
    return 1;
}

BRG_DECLARE(int) brg_status_process_get(int slot, brg_status_process *out)
{
    process_score *ps = ap_get_scoreboard_process(slot);
    brg_status_counts one;

    if (!ps)
        return -1;
    if (!ps->pid)
        return 0;
    memset(out, 0, sizeof *out);
    out->slot = slot;
    out->pid = ps->pid;
    out->generation = ps->generation;
    out->quiescing = ps->quiescing != 0;
    out->loops_n = scoreboard_loops();
    out->threads_n = scoreboard_threads();
    for (int i = 0; brg_status_loop_get(slot, i, &one); i++)
        status_add(&out->counts, &one);
    return 1;
}

BRG_DECLARE(int) brg_status_http2_get(int slot, int loop, int n, brg_status_http2 *out)
{
    http2_score *score = n < HTTP2_SCORES ? scoreboard_http2(slot, loop) : NULL;
    uint64_t client[6];

    _Static_assert(sizeof client == sizeof out->client, "an address as text");
    if (!score || n < 0)
        return -1;
    score += n;
    out->since = score_held((apr_time_t)loop_score_get(&score->since));
    for (int i = 0; i < 6; i++)
        client[i] = loop_score_get(&score->client[i]);
    memcpy(out->client, client, sizeof client);
    out->client[sizeof out->client - 1] = '\0';
    out->tls = loop_score_get(&score->tls) != 0;
    out->open = loop_score_get(&score->open);
    out->streams = loop_score_get(&score->streams);
    return out->since && out->since == (apr_time_t)loop_score_get(&score->since);
}

static int status_is_busy(int status)
{
    return status >= SERVER_BUSY_READ && status <= SERVER_GRACEFUL;
}

static void status_count_workers(brg_status_totals *out, const brg_status_process *process)
{
    BRG_ASSERT(process->loops_n >= 0 && process->slot >= 0);
    for (int i = process->loops_n; i < process->threads_n; i++) {
        worker_score *ws = ap_get_scoreboard_worker_from_indexes(process->slot, i);
        if (ws && status_is_busy(__atomic_load_n(&ws->status, __ATOMIC_RELAXED)))
            out->workers_busy_n++;
        else if (!process->quiescing)
            out->workers_idle_n++;
    }
}

BRG_DECLARE(int) brg_status_sum(brg_status_totals *out)
{
    global_score *global = ap_get_scoreboard_global();
    brg_status_process process;
    int found;

    memset(out, 0, sizeof *out);
    if (!global)
        return -1;
    out->restart_time = score_held(global->restart_time);
    out->start_time = score_held(scoreboard_started());
    out->config_generation = ap_state_query(AP_SQ_CONFIG_GEN);
    ap_mpm_query(AP_MPMQ_GENERATION, &out->mpm_generation);
    out->log_lines_lost = scoreboard_log_lines_lost(0);
    scoreboard_ended_totals(&out->counts.accesses, &out->counts.bytes);
    out->counts.duration_us = figures_duration_ended_us();
    for (int i = 0; (found = brg_status_process_get(i, &process)) >= 0; i++) {
        if (!found)
            continue;
        out->processes_n++;
        out->stopping_n += process.quiescing != 0;
        if (!scoreboard_counts(process.generation))
            process.counts.accesses = process.counts.bytes = process.counts.duration_us = 0;
        status_add(&out->counts, &process.counts);
        status_count_workers(out, &process);
    }
    return 0;
}

BRG_DECLARE(void) brg_status_log_lines_lost(uint64_t lines)
{
    scoreboard_log_lines_lost(lines);
}

BRG_DECLARE(char) brg_status_letter(int status)
{
    static const char letters[SERVER_NUM_STATUS] = {
        [SERVER_DEAD] = '.',      [SERVER_STARTING] = 'S',   [SERVER_READY] = '_',
        [SERVER_BUSY_READ] = 'R', [SERVER_BUSY_WRITE] = 'W', [SERVER_BUSY_KEEPALIVE] = 'K',
        [SERVER_BUSY_LOG] = 'L',  [SERVER_BUSY_DNS] = 'D',   [SERVER_CLOSING] = 'C',
        [SERVER_GRACEFUL] = 'G',  [SERVER_IDLE_KILL] = 'I',
    };
    return status >= 0 && status < SERVER_NUM_STATUS ? letters[status] : '?';
}
