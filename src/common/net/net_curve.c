/*
 * Who may connect: CURVE with the keys of the job, and ZAP.
 *
 * CURVE (ZMTP's RFC 26) encrypts and proves each end to the other: a dial must know the listener's
 * public key to say its first word, and both keys come from the job's, so a stranger gets no
 * further than that. Behind it stands ZAP (RFC 27): libzmq asks inproc://zeromq.zap.01 about the
 * key of each dial, and the guard, a thread of the net, admits only the job's own. It is bound
 * before the first listener, for libzmq lets everybody pass whom nobody could ask about.
 */
#include "common/net/net_zmq.h"

#include "common/base/alloc.h"
#include "common/base/jobkey.h"
#include "common/base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { ZAP_FRAMES = 7 }; /* version, request, domain, address, identity, mechanism, key */

static const char zap_endpoint[] = "inproc://zeromq.zap.01";
static const char zap_domain[] = "tequio";

struct curve {
    jobkey_pair listener, dialler;
    void *zap;
    pthread_t guard;
};

static bool is_frame(zmq_msg_t *frame, const void *data, size_t bytes)
{
    return zmq_msg_size(frame) == bytes && memcmp(zmq_msg_data(frame), data, bytes) == 0;
}

static bool is_text(zmq_msg_t *frame, const char *text)
{
    return is_frame(frame, text, strlen(text));
}

static bool may_enter(const curve *c, zmq_msg_t *request, int n)
{
    return n == ZAP_FRAMES && is_text(&request[0], "1.0") && is_text(&request[2], zap_domain) &&
           is_text(&request[5], "CURVE") &&
           is_frame(&request[6], c->dialler.public, sizeof c->dialler.public);
}

static void send_text(void *socket, const char *text, int flags)
{
    zmq_send(socket, text, strlen(text), flags);
}

static void answer(const curve *c, zmq_msg_t *request, int n)
{
    bool welcome = may_enter(c, request, n);
    send_text(c->zap, "1.0", ZMQ_SNDMORE);
    zmq_send(c->zap, zmq_msg_data(&request[1]), zmq_msg_size(&request[1]), ZMQ_SNDMORE);
    send_text(c->zap, welcome ? "200" : "400", ZMQ_SNDMORE);
    send_text(c->zap, welcome ? "" : "not a key of this job", ZMQ_SNDMORE);
    send_text(c->zap, "", ZMQ_SNDMORE); /* user */
    send_text(c->zap, "", 0);           /* metadata */
}

/* The number of frames, more than ZAP_FRAMES if there are; -1 at the end of the net. */
static int read_request(void *zap, zmq_msg_t *request)
{
    int n = 0, more = 1;
    for (; more; n++) {
        zmq_msg_t *frame = &request[n < ZAP_FRAMES ? n : ZAP_FRAMES - 1];
        int got;
        while ((got = zmq_msg_recv(frame, zap, 0)) < 0 && errno == EINTR)
            ;
        if (got < 0)
            return -1;
        more = zmq_msg_more(frame);
    }
    return n;
}

/* Ends with the net: zmq_ctx_term wakes it, and waits until the socket is closed. */
static void *guard(void *arg)
{
    const curve *c = arg;
    zmq_msg_t request[ZAP_FRAMES];
    for (int i = 0; i < ZAP_FRAMES; i++)
        zmq_msg_init(&request[i]);
    for (int n; (n = read_request(c->zap, request)) >= 0;)
        answer(c, request, n);
    for (int i = 0; i < ZAP_FRAMES; i++)
        zmq_msg_close(&request[i]);
    zmq_close(c->zap);
    return NULL;
}

static status open_zap(net *n, curve *c, error *err)
{
    if (!zmq_has("curve"))
        return FAIL(err, E_CONFIG, "this host's ZeroMQ was built without CURVE");
    c->zap = zmq_socket(n->context, ZMQ_REP);
    if (!c->zap || zmq_bind(c->zap, zap_endpoint) != 0)
        return FAIL(err, E_FAIL, "open a socket: %s", zmq_strerror(errno));
    int linger = 0;
    zmq_setsockopt(c->zap, ZMQ_LINGER, &linger, sizeof linger);
    return thread_start(&c->guard, "guard", guard, c, err);
}

status net_use_key(net *n, const jobkey *key, error *err)
{
    BUG_ON(n->curve);
    curve *c = xcalloc(1, sizeof *c);
    jobkey_derive(key, JOBKEY_LISTENERS, &c->listener);
    jobkey_derive(key, JOBKEY_DIALLERS, &c->dialler);
    status st = open_zap(n, c, err);
    if (st == OK) {
        n->curve = c;
        return OK;
    }
    if (c->zap)
        zmq_close(c->zap);
    jobkey_wipe(c, sizeof *c);
    free(c);
    return st;
}

void curve_end(curve **c)
{
    if (!*c)
        return;
    pthread_join((*c)->guard, NULL);
    jobkey_wipe(*c, sizeof **c);
    free(*c);
    *c = NULL;
}

static void set(void *socket, int option, const void *value, size_t bytes)
{
    if (zmq_setsockopt(socket, option, value, bytes) != 0)
        BUG("ZeroMQ option %d: %s", option, zmq_strerror(errno));
}

void curve_apply(const curve *c, net_socket *s)
{
    s->encrypts = c && !s->is_local;
    if (!s->encrypts)
        return;
    if (s->is_listener) {
        int on = 1;
        set(s->socket, ZMQ_CURVE_SERVER, &on, sizeof on);
        set(s->socket, ZMQ_CURVE_SECRETKEY, c->listener.secret, JOBKEY_BYTES);
        set(s->socket, ZMQ_ZAP_DOMAIN, zap_domain, strlen(zap_domain));
    } else {
        set(s->socket, ZMQ_CURVE_SERVERKEY, c->listener.public, JOBKEY_BYTES);
        set(s->socket, ZMQ_CURVE_PUBLICKEY, c->dialler.public, JOBKEY_BYTES);
        set(s->socket, ZMQ_CURVE_SECRETKEY, c->dialler.secret, JOBKEY_BYTES);
    }
}

/* Somebody without the listener's key cannot be told so in words: it is hung up on. And where only
 * one end encrypts, the one that finds out first hangs up on the other. */
refusal refusal_of(const net_socket *s, int event, int value)
{
    bool hung_up = value == EPIPE || value == ECONNRESET;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        return REFUSAL_KEY;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && s->is_listener)
        return REFUSAL_BROKEN;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        return !hung_up ? REFUSAL_MUTE : s->encrypts ? REFUSAL_KEY : REFUSAL_HUNG_UP;
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
        return REFUSAL_KEY;
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        return s->encrypts ? REFUSAL_PLAIN : REFUSAL_ENCRYPTED;
    return REFUSAL_BROKEN;
}

const char *refusal_text(const net_socket *s, refusal why)
{
    static const char *const of_dials[REFUSALS] = {
        [REFUSAL_KEY] = "the listener does not have our key, does not encrypt, or has just ended",
        [REFUSAL_PLAIN] = "the listener does not encrypt, and we do",
        [REFUSAL_ENCRYPTED] = "the listener encrypts, and we do not",
        [REFUSAL_BROKEN] = "what listens there does not speak as a task does: it is another program",
        [REFUSAL_MUTE] = "the connection stands, and nobody greets: the task there is stopped, hung, "
                         "or has ended and its port is held open",
        [REFUSAL_HUNG_UP] = "the listener hung up before it had greeted: it has just ended, or it "
                            "wants a key",
    };
    static const char *const of_listeners[REFUSALS] = {
        [REFUSAL_KEY] = "it does not have our key, or repeats what it overheard",
        [REFUSAL_PLAIN] = "it does not encrypt, and we do",
        [REFUSAL_ENCRYPTED] = "it encrypts, and we do not",
        [REFUSAL_BROKEN] = "it broke off the greeting, or said nothing for too long",
        [REFUSAL_SILENT] = "it did not say in ten seconds which task it is",
        [REFUSAL_CROWD] = "too many at once that have not said which task they are",
    };
    return s->is_listener ? of_listeners[why] : of_dials[why];
}

bool refusal_note(net_socket *s, refusal why)
{
    bool is_news = !(s->refusals & 1u << why);
    atomic_fetch_add(&s->n_refused, 1);
    s->refusals |= 1u << why;
    s->refusal = why;
    return is_news;
}
