#include "common/net/shared.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/net/fd_pass.h"
#include "common/net/net_zmq.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>
#include <zmq.h>

enum { SECRET = 32, GUESTS = 256, TIES = 1024 };

typedef enum word_kind { ASK = 1, DOOR, KNOCK, OPEN } word_kind;

typedef struct word {
    unsigned char magic[4], kind, zero[3];
    fd_pass_name name, token; /* of DOOR */
} word;

_Static_assert(sizeof(word) != (size_t)NET_HEAD, "nobody takes one for the other");

static const unsigned char magic[4] = {'T', 'Q', 'M', 1};

/* What joins us to one peer. */
typedef struct tie {
    net_peer peer; /* listeners */
    int connection;
    segment *segment;
    bool is_open; /* the peer has it too: we may lend */
} tie;

struct shared {
    int fd_listener, watch; /* listeners; watch: on the connections of all ties */
    fd_pass_name name;
    unsigned char secret[SECRET];
    tie *ties; /* a dial has one at most */
    size_t n_ties, cap_ties;
    fd_pass_arrival guests[GUESTS]; /* came in, and did not KNOCK yet */
    size_t n_guests;
};

/* --- life --- */

/* As good as random without the secret: the socket's name, and a token for each peer. */
static void derive(const shared *s, const net_peer *about, fd_pass_name *ret)
{
    unsigned char from[SECRET + sizeof(net_peer)] = {0};
    char hex[SHA256_HEX];
    memcpy(from, s->secret, SECRET);
    from[SECRET] = about->size;
    memcpy(from + SECRET + 1, about->id, about->size);
    sha256_hex(from, sizeof from, hex);
    memcpy(ret->text, hex, FD_PASS_NAME);
}

shared *shared_dial(void)
{
    shared *s = xcalloc(1, sizeof *s);
    s->fd_listener = s->watch = -1;
    return s;
}

shared *shared_listen(void)
{
    shared *s = shared_dial();
    if (getrandom(s->secret, SECRET, 0) == SECRET) {
        derive(s, &(net_peer){.size = 0}, &s->name);
        s->fd_listener = fd_pass_listen(&s->name);
        s->watch = epoll_create1(EPOLL_CLOEXEC);
    }
    if (s->fd_listener < 0 || s->watch < 0)
        shared_end(&s);
    return s;
}

static void tie_end(tie *t)
{
    close(t->connection);
    segment_drop(&t->segment);
}

static void guest_send_away(fd_pass_arrival *g)
{
    close(g->connection);
    close(g->brought);
}

void shared_end(shared **s)
{
    if (!*s)
        return;
    while ((*s)->n_ties)
        tie_end(&(*s)->ties[--(*s)->n_ties]);
    while ((*s)->n_guests)
        guest_send_away(&(*s)->guests[--(*s)->n_guests]);
    if ((*s)->fd_listener >= 0)
        close((*s)->fd_listener);
    if ((*s)->watch >= 0)
        close((*s)->watch);
    free((*s)->ties);
    free(*s);
    *s = NULL;
}

static tie *tie_with(shared *s, const net_peer *peer)
{
    for (size_t i = 0; s && i < s->n_ties; i++)
        if (s->fd_listener < 0 || net_peer_equal(&s->ties[i].peer, peer))
            return &s->ties[i];
    return NULL;
}

static void untie(shared *s, tie *t)
{
    tie_end(t);
    *t = s->ties[--s->n_ties];
}

int shared_descriptor(const shared *s)
{
    return s ? s->watch : -1;
}

void shared_sweep(shared *s)
{
    struct epoll_event gone;
    while (s && s->watch >= 0 && epoll_wait(s->watch, &gone, 1, 0) == 1)
        for (size_t i = 0; i < s->n_ties; i++)
            if (s->ties[i].connection == gone.data.fd) {
                untie(s, &s->ties[i]);
                break;
            }
}

/* --- the words --- */

static void say(net_socket *s, const net_peer *to, const word *w)
{
    s->messages.is_drained = false;
    if (!to->size || zmq_send(s->socket, to->id, to->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        (void)zmq_send(s->socket, w, sizeof *w, ZMQ_DONTWAIT);
}

static word word_of(word_kind kind)
{
    word w = {.kind = (unsigned char)kind};
    memcpy(w.magic, magic, sizeof magic);
    return w;
}

void shared_ask(net_socket *s)
{
    word ask = word_of(ASK);
    if (s->shared)
        say(s, &(net_peer){.size = 0}, &ask);
}

/* ASK: where our socket is, and what to bring. */
static void show_listener(net_socket *s, const net_peer *to)
{
    word answer = word_of(DOOR);
    answer.name = s->shared->name;
    derive(s->shared, to, &answer.token);
    say(s, to, &answer);
}

static void tie_to(shared *s, const net_peer *peer, int connection, segment **common)
{
    GROW(s->ties, s->cap_ties, s->n_ties + 1);
    s->ties[s->n_ties++] =
        (tie){.peer = *peer, .connection = connection, .segment = *common, .is_open = s->fd_listener >= 0};
    *common = NULL;
}

/* DOOR: we bring the segment. */
static void shared_enter(net_socket *s, const net_peer *from, const word *w)
{
    segment *made = NULL;
    int memory, connection = -1;
    error why = ERROR_INIT;
    if (segment_create(&made, &memory, &why) == OK) {
        connection = fd_pass_send(&w->name, &w->token, memory);
        close(memory);
    }
    if (connection < 0) {
        LOG_D("SHARED", "not with %s: %s", s->endpoint, why.code ? why.text : "it is elsewhere");
        segment_drop(&made);
        return;
    }
    word knock = word_of(KNOCK);
    tie_to(s->shared, from, connection, &made);
    say(s, from, &knock);
}

static bool is_same(const fd_pass_name *a, const fd_pass_name *b)
{
    unsigned char differs = 0;
    for (int i = 0; i < FD_PASS_NAME; i++)
        differs |= (unsigned char)(a->text[i] ^ b->text[i]);
    return !differs;
}

/* What came in with that token. Others are kept until they KNOCK too, the newest of them. */
static bool find_guest(shared *s, const fd_pass_name *token, fd_pass_arrival *ret)
{
    for (size_t i = 0;; i++) {
        if (i == s->n_guests) {
            fd_pass_arrival next;
            if (!fd_pass_accept(s->fd_listener, &next))
                return false;
            if (s->n_guests == GUESTS) {
                guest_send_away(&s->guests[0]);
                memmove(s->guests, s->guests + 1, --s->n_guests * sizeof *s->guests);
                i--;
            }
            s->guests[s->n_guests++] = next;
        }
        if (is_same(&s->guests[i].token, token)) {
            *ret = s->guests[i];
            s->guests[i] = s->guests[--s->n_guests];
            return true;
        }
    }
}

static bool admit(shared *s, const net_peer *from, const fd_pass_arrival *g)
{
    error why = ERROR_INIT;
    segment *joined = NULL;
    struct epoll_event event = {.events = EPOLLRDHUP, .data.fd = g->connection};
    if (s->n_ties == TIES || segment_join(g->brought, &joined, &why) != OK ||
        epoll_ctl(s->watch, EPOLL_CTL_ADD, g->connection, &event) != 0) {
        LOG_D("SHARED", "not with a peer: %s", why.code ? why.text : "there are too many");
        segment_drop(&joined);
        return false;
    }
    tie_to(s, from, g->connection, &joined);
    return true;
}

/* KNOCK */
static void open_to(net_socket *s, const net_peer *from)
{
    fd_pass_name token;
    fd_pass_arrival guest;
    derive(s->shared, from, &token);
    if (!find_guest(s->shared, &token, &guest))
        return;
    bool is_in = admit(s->shared, from, &guest);
    close(guest.brought);
    if (!is_in) {
        close(guest.connection);
        return;
    }
    word open = word_of(OPEN);
    say(s, from, &open);
}

/* OPEN */
static void begin_lending(const net_socket *s, tie *t)
{
    LOG_D("SHARED", "with %s", s->endpoint);
    t->is_open = true;
    segment_watch(t->segment, &s->memory);
}

bool shared_take_word(net_socket *s, const net_peer *from, const void *frame, size_t bytes)
{
    word w;
    if (bytes != sizeof w)
        return false;
    memcpy(&w, frame, sizeof w);
    if (memcmp(w.magic, magic, sizeof magic) != 0)
        return false;
    bool listens = s->shared && s->is_listener, dials = s->shared && !s->is_listener;
    tie *t = tie_with(s->shared, from); /* one a peer, and never another */
    if (listens && w.kind == ASK)
        show_listener(s, from);
    if (listens && w.kind == KNOCK && !t)
        open_to(s, from);
    if (dials && w.kind == DOOR && !t)
        shared_enter(s, from, &w);
    if (dials && w.kind == OPEN && t)
        begin_lending(s, t);
    return true;
}

/* --- payloads --- */

bool shared_lend(shared *s, const net_peer *to, span *payload, extent *ret)
{
    tie *t = tie_with(s, to); /* `to` is NULL on a dial */
    void *data;
    if (!payload->release || payload->bytes < SHARED_BYTES_MIN || !t || !t->is_open ||
        !segment_lend(t->segment, payload->bytes, ret, &data))
        return false;
    memcpy(data, payload->data, payload->bytes);
    span_drop(payload);
    return true;
}

void shared_unlend(shared *s, const net_peer *to, const extent *lent)
{
    segment_take_back(tie_with(s, to)->segment, lent);
}

span *shared_borrow(shared *s, const net_peer *from, const extent *what)
{
    tie *t = tie_with(s, from);
    return t ? segment_borrow(t->segment, what) : NULL;
}
