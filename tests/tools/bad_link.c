/*
 * A bad link between two network namespaces, in user space: a network device in each, and every
 * packet that goes from one to the other may be lost, said twice, or come late, after others.
 *
 *   bad_link NAMESPACE NAMESPACE DEVICE LOSS% TWICE% DELAY_MS SEED
 *
 * Each packet is held for a random time of up to twice DELAY_MS, which puts them out of order.
 * Prints "ready" when both devices are there, and goes on until its standard input ends; then it
 * prints what became of the packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET = 2048, HELD = 4096 };

typedef struct packet {
    int to; /* -1: the place is free */
    int64_t due_us;
    size_t bytes;
    unsigned char data[PACKET];
} packet;

static packet held[HELD];
static uint64_t dice;
static long passed, lost, doubled;

static void stop(const char *what)
{
    fprintf(stderr, "bad_link: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* xorshift64, below `n` */
static unsigned draw(unsigned n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)((dice >> 11) % n);
}

static int open_device(const char *namespace, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    if (there < 0 || setns(there, CLONE_NEWNET) != 0)
        stop(path);
    close(there);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0)
        stop("/dev/net/tun");
    return fd;
}

static void hold(int to, const unsigned char *data, size_t bytes, int delay_ms)
{
    for (int i = 0; i < HELD; i++) {
        packet *p = &held[i];
        if (p->to >= 0)
            continue;
        p->to = to;
        p->bytes = bytes;
        p->due_us = now_us() + (delay_ms ? (int64_t)draw((unsigned)delay_ms * 2000) : 0);
        memcpy(p->data, data, bytes);
        return;
    }
    lost++; /* as of a queue that is full */
}

static void send_due(void)
{
    int64_t now = now_us();
    for (int i = 0; i < HELD; i++) {
        packet *p = &held[i];
        if (p->to < 0 || p->due_us > now)
            continue;
        if (write(p->to, p->data, p->bytes) > 0)
            passed++;
        p->to = -1;
    }
}

int main(int argc, char **argv)
{
    if (argc != 8)
        return 2;
    unsigned loss = (unsigned)atoi(argv[4]), twice = (unsigned)atoi(argv[5]);
    int delay_ms = atoi(argv[6]);
    int ends[2] = {open_device(argv[1], argv[3]), open_device(argv[2], argv[3])};
    dice = 88172645463325252u + (uint64_t)atoi(argv[7]);
    for (int i = 0; i < HELD; i++)
        held[i].to = -1;
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd fds[3] = {{.fd = ends[0], .events = POLLIN},
                                {.fd = ends[1], .events = POLLIN},
                                {.fd = 0, .events = POLLIN}};
        char waste[64];
        poll(fds, 3, 1);
        if (fds[2].revents && read(0, waste, sizeof waste) <= 0)
            break;
        for (int from = 0; from < 2; from++) {
            unsigned char data[PACKET];
            for (ssize_t n; (n = read(ends[from], data, sizeof data)) > 0;) {
                if (draw(100) < loss) {
                    lost++;
                    continue;
                }
                hold(ends[!from], data, (size_t)n, delay_ms);
                if (draw(100) < twice) {
                    doubled++;
                    hold(ends[!from], data, (size_t)n, delay_ms);
                }
            }
        }
        send_due();
    }
    printf("%ld packets passed, %ld lost, %ld said twice\n", passed, lost, doubled);
    return 0;
}
