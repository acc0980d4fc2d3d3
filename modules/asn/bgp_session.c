/* SPDX-License-Identifier: Apache-2.0 */
/* States and timers of a session (RFC 4271, section 8.2). */
#include <stdio.h>
#include <stdlib.h>
#include "brigade/assert.h"
#include "bgp_session.h"

#define SECOND INT64_C(1000000)

const char *const bgp_state_names[BGP_STATES] = {"Idle",     "Connect",     "Active",
                                                 "OpenSent", "OpenConfirm", "Established"};

/* RFC 4271, section 10: timers of many routers must not beat together. */
static int64_t jittered(uint32_t seconds)
{
    return seconds * SECOND / 100 * (75 + random() % 26);
}

static void session_rest(bgp_session *s, int64_t now)
{
    s->state = BGP_IDLE;
    s->until = now + (s->conf->listens ? SECOND : jittered(s->conf->retry));
    s->keepalive = BGP_NEVER;
    s->in_n = 0;
}

static void session_end(bgp_session *s, const char *why, int64_t now)
{
    session_rest(s, now);
    s->owner->down(s->data, why);
}

static void session_put(bgp_session *s, size_t n)
{
    s->out_n += n;
    BRG_ASSERT(s->out_n <= sizeof s->out);
}

/* End with a NOTIFICATION; of a peer that reads nothing the connection ends without. */
static void session_fail(bgp_session *s, const bgp_fault *fault, int64_t now)
{
    BRG_ASSERT(s->state >= BGP_OPEN_SENT);
    if (s->out_n <= BGP_OUT) {
        session_put(s, bgp_write_notification(s->out + s->out_n, fault));
        s->last = 1;
    } else {
        s->close = 1;
    }
    session_end(s, fault->what, now);
}

static void session_fault(bgp_session *s, unsigned char code, unsigned char subcode,
                          const char *what, int64_t now)
{
    session_fail(s, &(bgp_fault){code, subcode, what, {NULL, 0}}, now);
}

/* @return 0 if the session ended: the peer read none of our bytes for many seconds */
static int session_say(bgp_session *s, size_t (*write)(unsigned char *to), int64_t now)
{
    if (s->out_n > BGP_OUT) {
        session_fault(s, BGP_HOLD_EXPIRED, 0, "the peer reads nothing", now);
        return 0;
    }
    session_put(s, write(s->out + s->out_n));
    return 1;
}

static void session_held(bgp_session *s, int64_t now)
{
    s->until = s->hold ? now + s->hold * SECOND : BGP_NEVER;
}

static void session_keepalive_later(bgp_session *s, int64_t now)
{
    s->keepalive = s->hold ? now + jittered(s->hold) / 3 : BGP_NEVER;
}

/* ---- messages of the peer ---- */

static void take_open(bgp_session *s, asn_bytes body, int64_t now)
{
    const bgp_self *self = &s->conf->self;
    bgp_fault fault;

    if (s->state != BGP_OPEN_SENT) {
        session_fault(s, BGP_BAD_STATE, 0, "the peer sent a second OPEN", now);
        return;
    }
    if (!bgp_open_parse(body, self, s->conf->peer_as, &s->peer, &fault)) {
        session_fail(s, &fault, now);
        return;
    }
    if (!(s->peer.families & self->families)) {
        session_fault(s, BGP_BAD_OPEN, 0, "the peer offers none of the families", now);
        return;
    }
    s->hold = s->peer.hold < self->hold ? s->peer.hold : self->hold;
    s->terms = (bgp_terms){.as4 = s->peer.as4,
                           .internal = s->peer.as == self->as,
                           .families = s->peer.families & self->families,
                           .peer_as = s->peer.as};
    if (!session_say(s, bgp_write_keepalive, now))
        return;
    s->state = BGP_OPEN_CONFIRM;
    session_held(s, now);
    session_keepalive_later(s, now);
}

static void take_keepalive(bgp_session *s, int64_t now)
{
    if (s->state == BGP_OPEN_SENT) {
        session_fault(s, BGP_BAD_STATE, 0, "the peer did not begin with OPEN", now);
        return;
    }
    session_held(s, now);
    if (s->state == BGP_ESTABLISHED)
        return;
    s->state = BGP_ESTABLISHED;
    s->owner->up(s->data, &s->peer);
}

static void take_update(bgp_session *s, asn_bytes body, int64_t now)
{
    static bgp_update update; /* large; one thread runs all sessions */
    bgp_fault fault;

    if (s->state != BGP_ESTABLISHED) {
        session_fault(s, BGP_BAD_STATE, 0, "the peer sent an UPDATE too early", now);
        return;
    }
    session_held(s, now);
    if (!bgp_update_parse(body, &s->terms, &update, &fault) ||
        !s->owner->update(s->data, &update, &fault))
        session_fail(s, &fault, now);
}

/* Of a text by the peer's administrator, only characters that no log or terminal could misread. */
static void copy_plain(char *to, size_t room, asn_bytes text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n && n + 1 < room; i++)
        to[n++] = text.at[i] >= ' ' && text.at[i] < 127 ? (char)text.at[i] : '?';
    to[n] = '\0';
}

static void take_notice(bgp_session *s, asn_bytes body, int64_t now)
{
    char why[400], text[256];
    bgp_notice notice;

    bgp_notice_parse(body, &notice);
    copy_plain(text, sizeof text, notice.text);
    snprintf(why, sizeof why, "the peer says: %s (%u/%u)%s%s",
             bgp_notice_name(notice.code, notice.subcode), notice.code, notice.subcode,
             *text ? ": " : "", text);
    s->close = 1;
    session_end(s, why, now);
}

static void take_message(bgp_session *s, bgp_type type, asn_bytes body, int64_t now)
{
    switch (type) {
    case BGP_OPEN:
        take_open(s, body, now);
        break;
    case BGP_UPDATE:
        take_update(s, body, now);
        break;
    case BGP_NOTIFICATION:
        take_notice(s, body, now);
        break;
    case BGP_KEEPALIVE:
        take_keepalive(s, now);
        break;
    case BGP_REFRESH: /* there is nothing that could be sent again */
        if (s->state != BGP_ESTABLISHED)
            session_fault(s, BGP_BAD_STATE, 0, "the peer sent ROUTE-REFRESH too early", now);
        break;
    }
}

void bgp_session_input(bgp_session *s, int64_t now)
{
    size_t at = 0;
    bgp_type type;
    bgp_fault fault;
    int n;

    BRG_ASSERT(s->in_n <= sizeof s->in);
    while (s->state >= BGP_OPEN_SENT) {
        n = bgp_head_parse(s->in + at, s->in_n - at, &type, &fault);
        if (n < 0) {
            session_fail(s, &fault, now);
            return;
        }
        if (!n || (size_t)n > s->in_n - at)
            break;
        take_message(s, type, (asn_bytes){s->in + at + BGP_HEADER, (size_t)n - BGP_HEADER}, now);
        at += (size_t)n;
    }
    if (s->state < BGP_OPEN_SENT)
        return;
    memmove(s->in, s->in + at, s->in_n - at);
    s->in_n -= at;
}

/* ---- events of the connection ---- */

void bgp_session_begin(bgp_session *s, const bgp_conf *conf, const bgp_owner *owner, void *data,
                       int64_t now)
{
    memset(s, 0, sizeof *s);
    s->conf = conf;
    s->owner = owner;
    s->data = data;
    s->until = now;
    s->keepalive = BGP_NEVER;
}

int bgp_session_is_due(const bgp_session *s, int64_t now)
{
    return s->state == BGP_IDLE && !s->last && !s->close && now >= s->until;
}

void bgp_session_connecting(bgp_session *s, int64_t now)
{
    BRG_ASSERT(s->state == BGP_IDLE);
    s->state = BGP_CONNECT;
    s->until = now + BGP_CONNECT_SECONDS * SECOND;
}

void bgp_session_listening(bgp_session *s)
{
    BRG_ASSERT(s->state == BGP_IDLE);
    s->state = BGP_ACTIVE;
    s->until = BGP_NEVER;
}

void bgp_session_connected(bgp_session *s, int64_t now)
{
    BRG_ASSERT(s->state < BGP_OPEN_SENT);
    s->last = s->close = 0;
    s->in_n = s->out_n = 0;
    s->state = BGP_OPEN_SENT;
    s->until = now + BGP_OPEN_SECONDS * SECOND;
    session_put(s, bgp_write_open(s->out, &s->conf->self));
}

void bgp_session_lost(bgp_session *s, const char *why, int64_t now)
{
    const int ended = s->state == BGP_IDLE;

    s->last = s->close = 0;
    s->out_n = 0;
    if (!ended)
        session_end(s, why, now);
}

void bgp_session_sent(bgp_session *s, size_t n)
{
    BRG_ASSERT(n <= s->out_n);
    memmove(s->out, s->out + n, s->out_n - n);
    s->out_n -= n;
    if (!s->out_n && s->last)
        s->close = 1;
}

static void session_expired(bgp_session *s, int64_t now)
{
    switch (s->state) {
    case BGP_CONNECT:
        s->close = 1;
        session_end(s, "the peer cannot be reached: no answer", now);
        break;
    case BGP_OPEN_SENT:
        session_fault(s, BGP_HOLD_EXPIRED, 0, "the peer did not say OPEN in time", now);
        break;
    case BGP_OPEN_CONFIRM:
    case BGP_ESTABLISHED:
        session_fault(s, BGP_HOLD_EXPIRED, 0, "nothing came for the hold time", now);
        break;
    default: /* a peer that does not take the last message; else the owner sees bgp_session_is_due() */
        s->close |= s->last;
        break;
    }
}

void bgp_session_tick(bgp_session *s, int64_t now)
{
    if (now >= s->until)
        session_expired(s, now);
    if (now >= s->keepalive && session_say(s, bgp_write_keepalive, now))
        session_keepalive_later(s, now);
}

int64_t bgp_session_deadline(const bgp_session *s)
{
    return s->keepalive < s->until ? s->keepalive : s->until;
}

void bgp_session_shut(bgp_session *s, int64_t now)
{
    enum { DECONFIGURED = 3 };

    if (s->state >= BGP_OPEN_SENT)
        session_fault(s, BGP_CEASE, DECONFIGURED, "the server ends it", now);
}

int bgp_session_gives_way(const bgp_session *s)
{
    return s->state < BGP_OPEN_SENT || (s->state == BGP_ESTABLISHED && s->peer.restart);
}
