/*
 * Prints N ports of the loopback interface that are free, one a line, all different.
 *
 *   free_ports N
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* held until the end, so that the next one differs */
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) ||
        getsockname(fd, (struct sockaddr *)&at, &bytes))
        return -1;
    return ntohs(at.sin_port);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < n; i++) {
        int port = free_port();
        if (port < 0) {
            perror("free_ports");
            return 1;
        }
        printf("%d\n", port);
    }
    return 0;
}
