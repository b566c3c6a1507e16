#include "unit/common/support_relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "unit/common/support_zmtp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void note_words(relay *r, const unsigned char *data, size_t bytes)
{
    r->said = xrealloc(r->said, r->n_said + bytes);
    memcpy(r->said + r->n_said, data, bytes);
    r->n_said += bytes;
}

static void note_answer(relay *r)
{
    bool spoke = !r->n_turns || r->turns[r->n_turns - 1] != r->n_said;
    if (spoke && r->n_turns < RELAY_TURNS)
        r->turns[r->n_turns++] = r->n_said;
}

static void *pass_on(void *arg)
{
    relay *r = arg;
    int caller = accept(r->listen_fd, NULL, NULL);
    int listener = raw_connect(r->to);
    struct pollfd ends[2] = {{.fd = caller, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    static unsigned char data[65536];
    for (ssize_t n = 1; n > 0;) {
        poll(ends, 2, -1);
        int from = ends[0].revents ? 0 : 1;
        n = read(ends[from].fd, data, sizeof data);
        if (n > 0 && from == 0)
            note_words(r, data, (size_t)n);
        if (n > 0 && from == 1)
            note_answer(r);
        if (n > 0)
            raw_write(ends[!from].fd, data, (size_t)n);
    }
    close(caller);
    close(listener);
    return NULL;
}

void relay_start(relay *r, const char *to)
{
    *r = (relay){.to = to};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    r->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(r->listen_fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(r->listen_fd, 1), 0);
    assert_int_equal(getsockname(r->listen_fd, (struct sockaddr *)&at, &bytes), 0);
    snprintf(r->endpoint, sizeof r->endpoint, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&r->thread, NULL, pass_on, r), 0);
}

void relay_wait(relay *r)
{
    pthread_join(r->thread, NULL);
}

void relay_replay(const relay *r, const char *to, bool in_turns)
{
    int fd = raw_connect(to);
    size_t said = 0;
    for (int i = 0; in_turns && i < r->n_turns; i++) {
        raw_write(fd, r->said + said, r->turns[i] - said);
        said = r->turns[i];
        char answer[4096];
        if (read(fd, answer, sizeof answer) <= 0)
            break;
    }
    raw_write(fd, r->said + said, r->n_said - said);
    raw_wait_closed(fd);
}

void relay_fini(relay *r)
{
    close(r->listen_fd);
    free(r->said);
}
