/*
 * A peer that means no good, over ZMTP spoken by hand.
 *
 *   stranger HOST:PORT
 *
 * Claims frames of 1 GB, and larger parts of smaller ones than it sends; comes and goes a thousand
 * times; says a hundred thousand heartbeats and reads no answer; opens connections and says
 * nothing. Then it prints "done" and holds on to all it has until its standard input ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD = 64, VISITS = 1000, HALVES = 20, MUTES = 4, HEARTBEATS = 100000, SILENT = 50 };
enum { HEARTBEAT = 22, LARGE = 2 };

static struct sockaddr_in where;

static void stop(const char *what)
{
    fprintf(stderr, "stranger: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int come(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
    struct timeval limit = {.tv_sec = 20};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        connect(fd, (struct sockaddr *)&where, sizeof where) != 0)
        stop("connect");
    return fd;
}

/* What the other side closed meanwhile is not said. */
static void say(int fd, const void *data, size_t bytes)
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

static void hear(int fd, size_t bytes)
{
    char waste[256];
    while (bytes) {
        ssize_t n = recv(fd, waste, bytes < sizeof waste ? bytes : sizeof waste, 0);
        if (n <= 0)
            stop("no greeting came back");
        bytes -= (size_t)n;
    }
}

static int come_greeting(void)
{
    static const unsigned char greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                               0,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    static const char ready[] = "\4\x1c\5READY\vSocket-Type\0\0\0\6DEALER";
    int fd = come();
    say(fd, greeting, sizeof greeting);
    hear(fd, 64);
    say(fd, ready, sizeof ready - 1);
    unsigned char theirs[2];
    if (recv(fd, theirs, 2, MSG_WAITALL) != 2)
        stop("no READY came back");
    hear(fd, theirs[1]);
    return fd;
}

static void claim(int fd, uint64_t bytes)
{
    unsigned char head[9] = {LARGE};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(bytes >> (56 - 8 * i));
    say(fd, head, sizeof head);
}

/* The frame of 1 GB must cost its sender the connection. */
static void claim_too_much(void)
{
    int fd = come_greeting();
    char waste[256];
    claim(fd, (uint64_t)1 << 30);
    while (recv(fd, waste, sizeof waste, 0) > 0)
        ;
    if (errno == EAGAIN)
        stop("a frame of 1 GB is waited for");
    close(fd);
}

static void claim_and_send_less(void)
{
    static char some[64 << 10];
    int fd = come_greeting();
    claim(fd, (uint64_t)64 << 20);
    say(fd, some, sizeof some);
}

static void ask_and_never_read(void)
{
    unsigned char frames[1000][2 + HEAD];
    memset(frames, 0, sizeof frames);
    for (int i = 0; i < 1000; i++) {
        frames[i][1] = HEAD;
        memcpy(frames[i] + 2, "TQ1\0", 4);
        frames[i][6] = HEARTBEAT;
    }
    int fd = come_greeting();
    for (int i = 0; i < HEARTBEATS; i += 1000)
        say(fd, frames, sizeof frames);
}

int main(int argc, char **argv)
{
    char *port = argc == 2 ? strrchr(argv[1], ':') : NULL;
    if (!port)
        return 2;
    *port = '\0';
    where =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port + 1))};
    inet_pton(AF_INET, argv[1], &where.sin_addr);
    for (int i = 0; i < 3; i++)
        claim_too_much();
    for (int i = 0; i < VISITS; i++) {
        int fd = i % 2 ? come() : come_greeting();
        say(fd, "\1\377nonsense", 10);
        close(fd);
    }
    for (int i = 0; i < HALVES; i++)
        claim_and_send_less();
    for (int i = 0; i < MUTES; i++)
        ask_and_never_read();
    for (int i = 0; i < SILENT; i++)
        (void)come();
    puts("done");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
