/*
 * Overhears a TCP conversation on this host, or says it again:
 *
 *   tcp_record listen PORT FILE     prints the port to call instead of PORT, and writes what the
 * first caller says to FILE; runs until it is killed tcp_record repeat PORT FILE     says it all to
 * PORT; ends with 0 when it is hung up on, else with 1
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int open_socket(const char *port, struct sockaddr_in *at)
{
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        die("socket");
    return fd;
}

static int call(const char *port)
{
    struct sockaddr_in at;
    int fd = open_socket(port, &at);
    if (connect(fd, (struct sockaddr *)&at, sizeof at))
        die("connect");
    return fd;
}

static void write_all(int fd, const char *data, ssize_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, (size_t)bytes);
        if (n <= 0)
            return;
        data += n;
        bytes -= n;
    }
}

/* Until one of the two hangs up. */
static void pass_on(int caller, int listener, int file)
{
    struct pollfd ends[2] = {{.fd = caller, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    static char data[65536];
    for (ssize_t n = 1; n > 0;) {
        poll(ends, 2, -1);
        int from = ends[0].revents ? 0 : 1;
        n = read(ends[from].fd, data, sizeof data);
        write_all(ends[!from].fd, data, n);
        if (from == 0 && file >= 0)
            write_all(file, data, n);
    }
}

static int tcp_record(const char *port, const char *path)
{
    struct sockaddr_in at;
    socklen_t bytes = sizeof at;
    int fd = open_socket("0", &at);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 16) ||
        getsockname(fd, (struct sockaddr *)&at, &bytes))
        die("listen");
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0)
        die(path);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;; file = -1) {
        int caller = accept(fd, NULL, NULL);
        if (caller < 0)
            die("accept");
        if (fork() == 0) {
            pass_on(caller, call(port), file);
            exit(0);
        }
        close(caller);
    }
}

static int repeat(const char *port, const char *path)
{
    char data[65536];
    int file = open(path, O_RDONLY), fd = call(port);
    if (file < 0)
        die(path);
    for (ssize_t n; (n = read(file, data, sizeof data)) > 0;)
        write_all(fd, data, n);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    while (poll(&end, 1, 20000) == 1)
        if (read(fd, data, sizeof data) <= 0)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "listen") == 0)
        return tcp_record(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "repeat") == 0)
        return repeat(argv[2], argv[3]);
    fprintf(stderr, "usage: tcp_record listen|repeat PORT FILE\n");
    return 2;
}
