#include "unit/common/support_zmtp.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int raw_connect(const char *endpoint)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    struct timeval limit = {.tv_sec = 20};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

void raw_write(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += n;
        bytes -= (size_t)n;
    }
}

static void read_exactly(int fd, unsigned char *data, size_t bytes)
{
    for (size_t n = 0; n < bytes;) {
        ssize_t got = read(fd, data + n, bytes - n);
        assert_true(got > 0);
        n += (size_t)got;
    }
}

static size_t property(unsigned char *at, const char *name, const char *value, size_t bytes)
{
    size_t n = strlen(name);
    at[0] = (unsigned char)n;
    memcpy(at + 1, name, n);
    unsigned char *size = at + 1 + n;
    size[0] = size[1] = 0;
    size[2] = (unsigned char)(bytes >> 8);
    size[3] = (unsigned char)bytes;
    memcpy(size + 4, value, bytes);
    return 1 + n + 4 + bytes;
}

void zmtp_greet(int fd, const char *identity)
{
    unsigned char greeting[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    raw_write(fd, greeting, sizeof greeting);
    unsigned char theirs[64];
    read_exactly(fd, theirs, sizeof theirs);
    unsigned char ready[600] = {0x06, 0, 0, 0, 0, 0, 0, 0, 0, 5, 'R', 'E', 'A', 'D', 'Y'};
    size_t n = 15;
    n += property(ready + n, "Socket-Type", "DEALER", 6);
    if (identity)
        n += property(ready + n, "Identity", identity, strlen(identity));
    ready[7] = (unsigned char)((n - 9) >> 8);
    ready[8] = (unsigned char)(n - 9);
    raw_write(fd, ready, n);
    unsigned char head[2], rest[256];
    read_exactly(fd, head, 2); /* their READY, a short command */
    assert_int_equal(head[0], 0x04);
    read_exactly(fd, rest, head[1]);
}

void zmtp_claim(int fd, uint64_t bytes)
{
    unsigned char head[9] = {0x02};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(bytes >> (56 - 8 * i));
    raw_write(fd, head, sizeof head);
}

void zmtp_frame(int fd, size_t bytes, int fill, int more)
{
    assert_true(bytes < 256);
    unsigned char frame[2 + 256] = {more ? 1 : 0, (unsigned char)bytes};
    memset(frame + 2, fill, bytes);
    raw_write(fd, frame, 2 + bytes);
}

void raw_wait_closed(int fd)
{
    char waste[256];
    ssize_t n;
    while ((n = read(fd, waste, sizeof waste)) > 0)
        ;
    assert_true(n == 0 || errno == ECONNRESET); /* not that it took too long */
    close(fd);
}
