/*
 * Payloads in shared memory between processes of one host: they arrive as over the connection, take
 * it where there is no room or no sharing, and survive whoever dies with them in hand.
 *
 * CTest labels: smoke
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jobkey.h"
#include "common/net/fd_pass.h"
#include "common/net/segment.h"
#include "unit/common/support_net.h"
#include "unit/common/support_zmtp.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 1 << 20 };

/* A megabyte of one value, and how often it came back. */
typedef struct loan {
    atomic_int n_back;
    unsigned char bytes[PART];
} loan;

static void give_back(span *s)
{
    loan *l = s->owner;
    assert_ptr_equal(s->data, l->bytes);
    free(s);
    l->n_back++;
}

static loan *loan_make(int value)
{
    loan *l = xcalloc(1, sizeof *l);
    memset(l->bytes, value, PART);
    return l;
}

/* What goes over a connection another thread gives back. */
static void await_back(loan *l, int n)
{
    int64_t until = clock_us() + LIMIT_MS * 1000;
    while (l->n_back < n)
        assert_true(clock_us() < until);
}

static void send_part(net_socket *s, const net_peer *to, loan *l)
{
    span *part = xmalloc(sizeof *part);
    *part = (span){.data = l->bytes, .bytes = PART, .refs = 1, .release = give_back, .owner = l};
    assert_int_equal(net_send(s, to, head_of('p'), part, NULL), OK);
}

static void send_empty(net_socket *s, const net_peer *to)
{
    assert_int_equal(net_send(s, to, head_of('e'), NULL, NULL), OK);
}

/* Does it lie in a mapping of a segment? */
static bool is_shared(const void *p)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        found = strstr(line, "memfd:tequio") && sscanf(line, "%lx-%lx", &begin, &end) == 2 &&
                (uintptr_t)p >= begin && (uintptr_t)p < end;
    }
    fclose(maps);
    return found;
}

static int n_segments(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;
    while (fgets(line, sizeof line, maps))
        n += strstr(line, "memfd:tequio") != NULL;
    fclose(maps);
    return n;
}

static void check_part(const span *p, int value, bool shared)
{
    const unsigned char *data = span_data(p);
    assert_int_equal(span_bytes(p), PART);
    for (size_t i = 0; i < PART; i += 1023)
        assert_int_equal(data[i], value);
    assert_int_equal(is_shared(data), shared);
}

/* Both are up and have said what they say to each other; the peer as the listener knows it. */
static net_peer meet(net_socket *listener, net_socket *dial)
{
    net_message m;
    wait_event(dial, NET_UP);
    send_empty(dial, NULL);
    wait_message(listener, &m);
    net_peer peer = m.from;
    for (int i = 0; i < 3; i++) { /* each way takes along what was said before */
        send_empty(listener, &peer);
        wait_message(dial, &m);
        send_empty(dial, NULL);
        wait_message(listener, &m);
    }
    return peer;
}

static net *net_of(bool shares, const jobkey *key)
{
    net *n = NULL;
    assert_int_equal(net_create(&n, NULL), OK);
    if (shares)
        net_share_memory(n);
    if (key)
        assert_int_equal(net_use_key(n, key, NULL), OK);
    return n;
}

static pair pair_of(bool shares)
{
    pair p = {.net = net_of(shares, NULL)};
    p.listener = listen_on(p.net, "tcp://127.0.0.1:0");
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    return p;
}

/* --- there and back --- */

static void check_both_ways(net_socket *listener, net_socket *dial, bool shared)
{
    net_peer peer = meet(listener, dial);
    loan *l = loan_make('a');
    net_message m;
    for (int i = 1; i <= 4; i++) {
        bool up = i % 2;
        send_part(up ? dial : listener, up ? NULL : &peer, l);
        if (shared)
            assert_int_equal(l->n_back, i); /* at once: it is free for the next */
        wait_message(up ? listener : dial, &m);
        assert_memory_equal(m.head, head_of('p'), NET_HEAD);
        check_part(m.payload, 'a', shared);
        memset(m.payload->data, 'x', PART); /* ours to write */
        span_drop(m.payload);
    }
    assert_int_equal(net_dropped(listener) + net_dropped(dial), 0);
    net_close(&dial, 0);
    net_close(&listener, 0);
    assert_int_equal(n_segments(), 0);
    assert_int_equal(l->bytes[7], 'a');
    await_back(l, 4);
    free(l);
}

static void both_ends_share(void **state)
{
    (void)state;
    pair p = pair_of(true);
    check_both_ways(p.listener, p.dial, true);
    net_destroy(&p.net);
}

static void encrypted_ends_share(void **state)
{
    (void)state;
    jobkey key;
    assert_int_equal(jobkey_make(&key, NULL), OK);
    pair p = {.net = net_of(true, &key)};
    p.listener = listen_on(p.net, "tcp://127.0.0.1:0");
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    check_both_ways(p.listener, p.dial, true);
    net_destroy(&p.net);
}

static void one_end_alone_does_not(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        net *listens = net_of(side == 0, NULL), *dials = net_of(side == 1, NULL);
        net_socket *listener = listen_on(listens, "tcp://127.0.0.1:0");
        net_socket *dial = dial_to(dials, net_endpoint(listener));
        check_both_ways(listener, dial, false);
        net_destroy(&listens);
        net_destroy(&dials);
    }
}

/* --- room --- */

/* What is read slowly fills the segment; the rest takes the connection, in order. */
static void the_rest_takes_the_connection(void **state)
{
    (void)state;
    enum { FITS = SEGMENT_HALF / PART, ALL = FITS + 3 };
    pair p = pair_of(true);
    net_message *all = xcalloc(ALL, sizeof *all);
    meet(p.listener, p.dial);
    loan *l = loan_make(0);
    for (int i = 0; i < ALL; i++) {
        if (i < FITS)
            memset(l->bytes, i, PART);
        send_part(p.dial, NULL, l);
    }
    for (int i = 0; i < ALL; i++) {
        wait_message(p.listener, &all[i]);
        check_part(all[i].payload, i < FITS ? i : FITS - 1, i < FITS);
    }
    for (int i = 0; i < ALL; i++)
        span_drop(all[i].payload);
    await_back(l, ALL);
    net_message m;
    send_part(p.dial, NULL, l);
    wait_message(p.listener, &m);
    check_part(m.payload, FITS - 1, true);
    span_drop(m.payload);
    pair_fini(&p);
    free(l);
    free(all);
}

/* --- who is gone --- */

/* A process that dials, has the listener's part in hand and sends one; then it sleeps. */
static pid_t start_dialler(const char *endpoint)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    net *n = net_of(true, NULL);
    net_socket *dial = dial_to(n, endpoint);
    net_message m;
    wait_event(dial, NET_UP);
    send_empty(dial, NULL);
    do
        wait_message(dial, &m);
    while (!span_bytes(m.payload));
    check_part(m.payload, 'd', true);
    send_part(dial, NULL, loan_make('u'));
    for (;;)
        pause();
}

static void wait_segments(net_socket *listener, int n)
{
    int64_t until = clock_us() + LIMIT_MS * 1000;
    net_message m;
    net_event event;
    while (n_segments() != n) {
        assert_int_equal(net_poll(&listener, 1, NULL, 100, NULL), OK);
        while (net_next_event(listener, &event))
            ;
        assert_false(net_receive(listener, &m));
        assert_true(clock_us() < until);
    }
}

static void a_dialler_dies_with_both_in_hand(void **state)
{
    (void)state;
    char endpoint[64]; /* our net begins after the fork */
    net *n = net_of(true, NULL);
    net_socket *listener = listen_on(n, "tcp://127.0.0.1:0");
    snprintf(endpoint, sizeof endpoint, "%s", net_endpoint(listener));
    pid_t pid = start_dialler(endpoint);
    net_message m;
    wait_message(listener, &m);
    net_peer peer = m.from;
    int64_t until = clock_us() + LIMIT_MS * 1000;
    while (n_segments() == 0) {
        assert_false(net_receive(listener, &m));
        assert_int_equal(net_poll(&listener, 1, NULL, 100, NULL), OK);
        assert_true(clock_us() < until);
    }
    loan *l = loan_make('d');
    send_part(listener, &peer, l);
    wait_message(listener, &m);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    check_part(m.payload, 'u', true);
    net_message none;
    int64_t rest = clock_us() + 200000;
    while (clock_us() < rest) { /* it is noticed meanwhile */
        assert_false(net_receive(listener, &none));
        assert_int_equal(net_poll(&listener, 1, NULL, 10, NULL), OK);
    }
    check_part(m.payload, 'u', true);
    span_drop(m.payload);
    wait_segments(listener, 0);
    net_close(&listener, 0);
    net_destroy(&n);
    free(l);
}

/* A dial that is closed and opened anew: what the old one lent stays what it was. */
static void a_new_dial_lends_anew(void **state)
{
    (void)state;
    pair p = pair_of(true);
    meet(p.listener, p.dial);
    loan *l = loan_make('1');
    net_message old, new;
    send_part(p.dial, NULL, l);
    wait_message(p.listener, &old);
    net_close(&p.dial, 0);
    p.dial = dial_to(p.net, net_endpoint(p.listener));
    meet(p.listener, p.dial);
    memset(l->bytes, '2', PART);
    send_part(p.dial, NULL, l);
    wait_message(p.listener, &new);
    check_part(old.payload, '1', true);
    check_part(new.payload, '2', true);
    span_drop(old.payload);
    span_drop(new.payload);
    pair_fini(&p);
    free(l);
}

/* --- who watches --- */

typedef struct watcher {
    const char *begin, *end;
    int n_mapped, n_unmapped;
} watcher;

static void on_mapped(void *user, void *p, size_t bytes)
{
    watcher *w = user;
    w->begin = p;
    w->end = w->begin + bytes;
    w->n_mapped++;
}

static void on_unmapped(void *user, void *p)
{
    watcher *w = user;
    assert_ptr_equal(p, w->begin);
    w->n_unmapped++;
}

/* What it receives lies in what it was told of, until it has closed it, connection or not. */
static void a_dial_hears_of_the_memory(void **state)
{
    (void)state;
    watcher w = {.n_mapped = 0};
    pair p = pair_of(true);
    net_watch_memory(p.dial, &(net_memory){on_mapped, on_unmapped, &w});
    net_peer peer = meet(p.listener, p.dial);
    assert_int_equal(w.n_mapped, 1);
    loan *l = loan_make('m');
    net_message m;
    send_part(p.listener, &peer, l);
    wait_message(p.dial, &m);
    const char *at = span_data(m.payload);
    assert_true(at >= w.begin && at + PART <= w.end);
    span *kept = span_move(&m.payload);
    net_close(&p.dial, 0);
    check_part(kept, 'm', true);
    assert_int_equal(w.n_unmapped, 0);
    span_drop(kept);
    assert_int_equal(w.n_unmapped, 1);
    pair_fini(&p);
    free(l);
}

/* --- strangers --- */

static void extents_of_strangers_are_dropped(void **state)
{
    (void)state;
    pair p = pair_of(true);
    net_message m;
    int fd = raw_connect(net_endpoint(p.listener));
    zmtp_greet(fd, NULL);
    zmtp_frame(fd, NET_HEAD, 'h', 1);
    zmtp_frame(fd, 0, 0, 1);
    zmtp_frame(fd, sizeof(extent), 0, 0); /* from nobody we share with */
    zmtp_frame(fd, NET_HEAD, 'h', 1);
    zmtp_frame(fd, 0, 0, 1);
    zmtp_frame(fd, sizeof(extent), 0, 1);
    zmtp_frame(fd, 1, 0, 0);
    zmtp_frame(fd, NET_HEAD, 'g', 0);
    wait_message(p.listener, &m);
    assert_memory_equal(m.head, head_of('g'), NET_HEAD);
    assert_int_equal(net_dropped(p.listener), 2);
    close(fd);
    pair_fini(&p);
}

static fd_pass_name text_of(int fill)
{
    fd_pass_name t;
    memset(t.text, fill, sizeof t.text);
    return t;
}

static int n_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Somebody who finds the door and brings two descriptors, or none, is sent away with them. */
static void bring(const fd_pass_name *name, int fd, size_t n)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0tequio-"};
    memcpy(address.sun_path + 8, name->text, FD_PASS_NAME);
    int in = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_int_equal(connect(in, (struct sockaddr *)&address,
                             offsetof(struct sockaddr_un, sun_path) + 8 + FD_PASS_NAME),
                     0);
    int fds[2] = {fd, fd};
    fd_pass_name token = {.text = "t"};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {0};
    struct iovec text = {&token, sizeof token};
    struct msghdr m = {.msg_iov = &text, .msg_iovlen = 1};
    if (n) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(n * sizeof *fds);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        *h = (struct cmsghdr){CMSG_LEN(n * sizeof *fds), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(h), fds, n * sizeof *fds);
    }
    assert_int_equal(sendmsg(in, &m, 0), sizeof token);
    close(in);
}

static void only_our_user_comes_in(void **state)
{
    (void)state;
    char name[FD_PASS_NAME + 1]; /* no two tests at once have the same */
    snprintf(name, sizeof name, "test-%027d", (int)getpid());
    fd_pass_name door_name, token = text_of('t');
    memcpy(door_name.text, name, FD_PASS_NAME);
    int door = fd_pass_listen(&door_name), brought = open("/dev/null", O_RDONLY);
    assert_true(door >= 0 && brought >= 0);
    fd_pass_arrival g;
    assert_false(fd_pass_accept(door, &g));
    fd_pass_name nowhere = text_of('n');
    assert_int_equal(fd_pass_send(&nowhere, &token, brought), -1);
    int in = fd_pass_send(&door_name, &token, brought);
    assert_true(in >= 0);
    assert_true(fd_pass_accept(door, &g));
    assert_memory_equal(g.token.text, token.text, FD_PASS_NAME);
    close(g.connection);
    close(g.brought);
    close(in);
    int before = n_descriptors();
    bring(&door_name, brought, 0);
    bring(&door_name, brought, 2);
    assert_false(fd_pass_accept(door, &g));
    assert_int_equal(n_descriptors(), before);
    if (geteuid() == 0) { /* who may become another user does */
        pid_t pid = fork();
        if (pid == 0)
            _exit(setuid(65534) == 0 && fd_pass_send(&door_name, &token, brought) < 0 ? 0 : 1);
        int how;
        assert_int_equal(waitpid(pid, &how, 0), pid);
        assert_int_equal(how, 0);
        assert_false(fd_pass_accept(door, &g));
    }
    close(door);
    close(brought);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_share),
        cmocka_unit_test(encrypted_ends_share),
        cmocka_unit_test(one_end_alone_does_not),
        cmocka_unit_test(the_rest_takes_the_connection),
        cmocka_unit_test(a_dialler_dies_with_both_in_hand),
        cmocka_unit_test(a_new_dial_lends_anew),
        cmocka_unit_test(a_dial_hears_of_the_memory),
        cmocka_unit_test(extents_of_strangers_are_dropped),
        cmocka_unit_test(only_our_user_comes_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
