/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link between two network namespaces, for machines whose kernel has no netem: a TUN device in each, and between them a rate, a queue,
 * a delay and faults that all packets meet alike, TCP's and UDP's. links.py makes the namespaces and gives the devices (link0) their
 * addresses.
 *
 *     link_simulator SERVER_NAMESPACE CLIENT_NAMESPACE [NAME=VALUE ...]        namespaces by path: /run/netns/NAME
 *
 *     rate=MBIT          of each direction; 0: as fast as this program is
 *     queue=PACKETS      that wait for the rate; more are dropped (1000)
 *     delay=MS           one way; jitter=MS is added by chance, without changing the order
 *     loss=PERCENT       by chance, before the queue
 *     reorder=PERCENT    these are sent on without the delay
 *     twice=PERCENT      these come twice
 *     corrupt=PERCENT    a byte of a UDP datagram is another one, with a checksum that fits
 *     drop=FIRST,LAST    these packets to the server are lost, by their number from 1 on
 *     hole=FROM,FOR      milliseconds from the first packet on: all are lost for so long
 *     rebind=FROM,port   the client of UDP has another port from then on, as behind a NAT that forgot it
 *     rebind=FROM,addr   another address too (the last byte of an IPv4 address)
 *     seed=N
 *
 * Prints "ready", and at its end (SIGTERM) for each direction, to the server first: packets, bytes, lost by chance, dropped by the
 * queue, with ECT or CE, and how late this program was with a packet, on average and at most, in microseconds: above some hundred on average, or a
 * rate of packets that is not reached, the figures say more of this program than of the link. On one core some 150,000 packets a second.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MOST 1600
#define HELD_MOST 65536 /* packets of a direction that are under way */
#define READ_TURN 64

typedef struct held {
    int64_t due, seq;
    uint16_t len;
    uint8_t *data;
} held;

typedef struct direction {
    int from, to;
    held *heap; /* by due, then seq */
    uint32_t held_n;
    int64_t seq, free_at, last_due;
    int64_t leaves[HELD_MOST]; /* a ring: when the packets of the queue have left it */
    uint32_t leaves_first, leaves_n;
    uint64_t packets, bytes, lost, dropped, ecn, late_sum;
    int64_t late_most;
} direction;

static struct {
    double rate, delay, jitter, loss, reorder, twice, corrupt;
    long queue, hole_from, hole_for, rebind_from, drop_first, drop_last;
    int rebind_addr;
} link_is = {.queue = 1000};
static direction way[2]; /* to the server, to the client */
static uint8_t *free_data[2 * HELD_MOST];
static uint32_t free_n;
static uint64_t random_state = 88172645463325252ull;
static int64_t begun; /* nanoseconds: the first packet */
static volatile sig_atomic_t stopped;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static double chance(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / (double)(1ull << 53);
}

/* ---- packets under way ---- */

static int is_before(const held *a, const held *b)
{
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static void heap_add(direction *w, held h)
{
    uint32_t i = w->held_n++;

    for (; i && is_before(&h, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = h;
}

static held heap_take(direction *w)
{
    const held first = w->heap[0], last = w->heap[--w->held_n];
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < w->held_n) {
        if (child + 1 < w->held_n && is_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!is_before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return first;
}

/* When a packet that comes now has left the queue; -1: there is no room in it. */
static int64_t queue_leave(direction *w, int64_t now, size_t len)
{
    while (w->leaves_n && w->leaves[w->leaves_first] <= now) {
        w->leaves_first = (w->leaves_first + 1) % HELD_MOST;
        w->leaves_n--;
    }
    if (!(link_is.rate > 0))
        return now;
    if (w->leaves_n >= link_is.queue)
        return -1;
    w->free_at = (w->free_at > now ? w->free_at : now) + (int64_t)((double)len * 8e3 / link_is.rate);
    w->leaves[(w->leaves_first + w->leaves_n++) % HELD_MOST] = w->free_at;
    return w->free_at;
}

static void hold(direction *w, const uint8_t *data, size_t len, int64_t left)
{
    int64_t due = left;

    if (!free_n || w->held_n == HELD_MOST) {
        w->dropped++;
        return;
    }
    if (!(chance() * 100 < link_is.reorder)) {
        due += (int64_t)((link_is.delay + chance() * link_is.jitter) * 1e6);
        due = due < w->last_due ? w->last_due : due;
        w->last_due = due;
    }
    held h = {.due = due, .seq = w->seq++, .len = (uint16_t)len, .data = free_data[--free_n]};

    memcpy(h.data, data, len);
    heap_add(w, h);
}

/* ---- what happens to datagrams of UDP ---- */

static uint32_t sum_bytes(const uint8_t *p, size_t len, uint32_t sum)
{
    for (; len > 1; p += 2, len -= 2)
        sum += (uint32_t)p[0] << 8 | p[1];
    return len ? sum + ((uint32_t)p[0] << 8) : sum;
}

static void put_sum(uint8_t *at, uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum & 0xffff;
    at[0] = (uint8_t)(sum >> 8);
    at[1] = (uint8_t)sum;
}

/* Where its UDP head begins; 0: it has none. */
static size_t udp_at(const uint8_t *p, size_t len)
{
    const size_t head = p[0] >> 4 == 4 ? (size_t)(p[0] & 15) * 4 : 40;
    const uint8_t protocol = p[0] >> 4 == 4 ? p[9] : p[6];

    return protocol == IPPROTO_UDP && len > head + 8 ? head : 0;
}

static void udp_sum(uint8_t *p, size_t len, size_t udp)
{
    const size_t addresses = p[0] >> 4 == 4 ? 12 : 8;

    p[udp + 6] = p[udp + 7] = 0;
    put_sum(p + udp + 6, sum_bytes(p + addresses, len - addresses, IPPROTO_UDP + (uint32_t)(len - udp)));
    if (!p[udp + 6] && !p[udp + 7])
        p[udp + 6] = p[udp + 7] = 0xff;
    if (p[0] >> 4 == 4) {
        p[10] = p[11] = 0;
        put_sum(p + 10, sum_bytes(p, udp, 0));
    }
}

/* As a NAT that forgot the client: what it sends has another source; what is for the old one does not come through. links.py has the
 * ports of clients below 49152, so that bit 14 tells the two apart. @return 0: it is lost */
static int udp_rebind(uint8_t *p, size_t len, size_t udp, int to_client, int64_t now)
{
    uint8_t *port = p + udp + (to_client ? 2 : 0), *last = p + (to_client ? 19 : 15);

    if (!link_is.rebind_from || now < begun + link_is.rebind_from * 1000000ll)
        return 1;
    if (to_client && !(port[0] & 0x40))
        return 0;
    port[0] ^= 0x40;
    if (link_is.rebind_addr && p[0] >> 4 == 4)
        *last ^= 0x40;
    udp_sum(p, len, udp);
    return 1;
}

static void udp_corrupt(uint8_t *p, size_t len, size_t udp)
{
    p[udp + 8 + (size_t)(chance() * (double)(len - udp - 8))] ^= (uint8_t)(1 + chance() * 255);
    udp_sum(p, len, udp);
}

/* ---- the link ---- */

/* 1: faults of the link take this packet. */
static int is_lost(const direction *w, uint8_t *p, size_t len, size_t udp, int64_t now)
{
    const int64_t after = (now - begun) / 1000000;

    if (after >= link_is.hole_from && after < link_is.hole_from + link_is.hole_for)
        return 1;
    if (w == &way[0] && (long)w->packets >= link_is.drop_first && (long)w->packets <= link_is.drop_last)
        return 1;
    return chance() * 100 < link_is.loss || (udp && !udp_rebind(p, len, udp, w == &way[1], now));
}

static void packet_came(direction *w, uint8_t *p, size_t len)
{
    const int64_t now = now_ns();
    const size_t udp = udp_at(p, len);
    int64_t left;

    if (!begun)
        begun = now;
    w->packets++;
    w->bytes += len;
    w->ecn += (p[0] >> 4 == 4 ? p[1] & 3 : p[1] >> 4 & 3) != 0;
    if (is_lost(w, p, len, udp, now)) {
        w->lost++;
        return;
    }
    if (udp && chance() * 100 < link_is.corrupt)
        udp_corrupt(p, len, udp);
    if ((left = queue_leave(w, now, len)) < 0) {
        w->dropped++;
        return;
    }
    hold(w, p, len, left);
    if (chance() * 100 < link_is.twice)
        hold(w, p, len, left);
}

static void read_turn(direction *w)
{
    uint8_t packet[PACKET_MOST];

    for (int i = 0; i < READ_TURN; i++) {
        const ssize_t n = read(w->from, packet, sizeof packet);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            die("read");
        if (n < 20)
            return;
        packet_came(w, packet, (size_t)n);
    }
}

/* @return when the next one is due; INT64_MAX: none is under way */
static int64_t send_due(direction *w)
{
    while (w->held_n) {
        const int64_t late = now_ns() - w->heap[0].due;
        held h;

        if (late < 0)
            return w->heap[0].due;
        h = heap_take(w);
        if (write(w->to, h.data, h.len) < 0)
            w->dropped++;
        free_data[free_n++] = h.data;
        w->late_sum += (uint64_t)late / 1000;
        w->late_most = late / 1000 > w->late_most ? late / 1000 : w->late_most;
    }
    return INT64_MAX;
}

static void run(void)
{
    struct pollfd fds[2] = {{way[0].from, POLLIN, 0}, {way[1].from, POLLIN, 0}};

    while (!stopped) {
        const int64_t a = send_due(&way[0]), b = send_due(&way[1]), due = a < b ? a : b;
        const int64_t wait = due == INT64_MAX ? 1000000000 : due - now_ns();
        const struct timespec t = {0, wait < 0 ? 0 : wait < 1000000000 ? wait : 999999999};

        if (ppoll(fds, 2, &t, NULL) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (fds[i].revents)
                read_turn(&way[i]);
    }
}

/* ---- the beginning ---- */

static int device(const char *namespace)
{
    struct ifreq r = {.ifr_name = "link0", .ifr_flags = IFF_TUN | IFF_NO_PI};
    const int ns = open(namespace, O_RDONLY);
    int fd;

    if (ns < 0 || setns(ns, CLONE_NEWNET))
        die(namespace);
    if ((fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0 || ioctl(fd, TUNSETIFF, &r))
        die("/dev/net/tun");
    close(ns);
    return fd;
}

static void setting(char *word)
{
    static const struct {
        const char *name;
        double *to;
    } numbers[] = {{"rate", &link_is.rate},       {"delay", &link_is.delay},     {"jitter", &link_is.jitter},
                   {"loss", &link_is.loss},       {"reorder", &link_is.reorder}, {"twice", &link_is.twice},
                   {"corrupt", &link_is.corrupt}};
    char *value = strchr(word, '='), *more;

    if (!value)
        die(word);
    *value++ = '\0';
    if ((more = strchr(value, ',')) != NULL)
        *more++ = '\0';
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(word, numbers[i].name)) {
            *numbers[i].to = atof(value);
            return;
        }
    if (!strcmp(word, "queue")) {
        link_is.queue = atol(value) < HELD_MOST ? atol(value) : HELD_MOST - 1;
    } else if (!strcmp(word, "seed")) {
        random_state ^= (uint64_t)atoll(value) * 0x9e3779b97f4a7c15ull;
    } else if (!strcmp(word, "hole") && more) {
        link_is.hole_from = atol(value);
        link_is.hole_for = atol(more);
    } else if (!strcmp(word, "drop") && more) {
        link_is.drop_first = atol(value);
        link_is.drop_last = atol(more);
    } else if (!strcmp(word, "rebind") && more) {
        link_is.rebind_from = atol(value);
        link_is.rebind_addr = !strcmp(more, "addr");
    } else {
        fprintf(stderr, "link_simulator: %s is no setting\n", word);
        exit(2);
    }
}

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: link_simulator SERVER_NAMESPACE CLIENT_NAMESPACE [NAME=VALUE ...]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++)
        setting(argv[i]);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1}); /* if it may: other programs' turns are no part of a link */
    way[1].from = way[0].to = device(argv[1]);
    way[0].from = way[1].to = device(argv[2]);
    for (int i = 0; i < 2; i++)
        if (!(way[i].heap = malloc(sizeof *way[i].heap * HELD_MOST)))
            die("malloc");
    while (free_n < 2 * HELD_MOST && (free_data[free_n] = malloc(PACKET_MOST)) != NULL)
        free_n++;
    puts("ready");
    fflush(stdout);
    run();
    for (int i = 0; i < 2; i++)
        printf("%llu %llu %llu %llu %llu %llu %lld\n", (unsigned long long)way[i].packets, (unsigned long long)way[i].bytes,
               (unsigned long long)way[i].lost, (unsigned long long)way[i].dropped, (unsigned long long)way[i].ecn,
               (unsigned long long)(way[i].packets ? way[i].late_sum / way[i].packets : 0), (long long)way[i].late_most);
    return 0;
}
