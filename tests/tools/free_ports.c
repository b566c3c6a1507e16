/*
 * Prints N ports of the loopback interface that are free, one a line, all different.
 *
 *   free_ports N
 *
 * Nobody holds them when they are used, so they lie below those that the kernel gives to whoever
 * asks for any, and programs that run at the same time look in different places.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOWEST = 10000, COUNT = 20000, STRIDE = 40 };

static bool is_free(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool free = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0)
        close(fd);
    return free;
}

int main(int argc, char **argv)
{
    int wanted = argc > 1 ? atoi(argv[1]) : 1;
    int first = (int)((long)getpid() * STRIDE % COUNT);
    for (int i = 0; i < COUNT && wanted > 0; i++) {
        int port = LOWEST + (first + i) % COUNT;
        if (is_free(port)) {
            printf("%d\n", port);
            wanted--;
        }
    }
    if (wanted > 0)
        fprintf(stderr, "free_ports: not enough ports are free\n");
    return wanted > 0;
}
