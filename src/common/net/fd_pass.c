#include "common/net/fd_pass.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 256 };

/* Room for one descriptor beside a message. */
typedef union control {
    struct cmsghdr align;
    char room[CMSG_SPACE(sizeof(int))];
} control;

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Of the abstract kind: the path begins with a zero and has a length. */
static socklen_t address_of(const fd_pass_name *name, struct sockaddr_un *ret)
{
    static const char prefix[] = "tequio-";
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path + 1, prefix, sizeof prefix - 1);
    memcpy(ret->sun_path + sizeof prefix, name->text, FD_PASS_NAME);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof prefix + FD_PASS_NAME);
}

static bool is_our_user(int connection)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           peer.uid == geteuid();
}

int fd_pass_listen(const fd_pass_name *name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int listener = open_socket();
    if (listener < 0)
        return -1;
    if (bind(listener, (struct sockaddr *)&address, bytes) == 0 && listen(listener, BACKLOG) == 0)
        return listener;
    close(listener);
    return -1;
}

static bool hand_in(int connection, const fd_pass_name *token, int brought)
{
    control c = {.room = {0}};
    struct iovec text = {(void *)(uintptr_t)token, sizeof *token};
    struct msghdr m = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof brought);
    memcpy(CMSG_DATA(h), &brought, sizeof brought);
    return sendmsg(connection, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *token;
}

int fd_pass_send(const fd_pass_name *name, const fd_pass_name *token, int brought)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int connection = open_socket();
    if (connection < 0)
        return -1;
    if (connect(connection, (struct sockaddr *)&address, bytes) == 0 && is_our_user(connection) &&
        hand_in(connection, token, brought))
        return connection;
    close(connection);
    return -1;
}

/* There is no room for more than one descriptor: the kernel closes the others. */
static bool take_in(int connection, fd_pass_arrival *ret)
{
    control c;
    struct iovec text = {&ret->token, sizeof ret->token};
    struct msghdr m = {.msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = c.room,
                       .msg_controllen = CMSG_LEN(sizeof ret->brought)};
    ssize_t n = recvmsg(connection, &m, MSG_CMSG_CLOEXEC);
    struct cmsghdr *h = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
    if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS ||
        h->cmsg_len != CMSG_LEN(sizeof ret->brought))
        return false;
    memcpy(&ret->brought, CMSG_DATA(h), sizeof ret->brought);
    if (n == (ssize_t)sizeof ret->token && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return true;
    close(ret->brought);
    return false;
}

bool fd_pass_accept(int listener, fd_pass_arrival *ret)
{
    int connection;
    while ((connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        ret->connection = connection;
        if (is_our_user(connection) && take_in(connection, ret))
            return true;
        close(connection);
    }
    return false;
}
