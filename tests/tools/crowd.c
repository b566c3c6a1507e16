/*
 * Strangers that never say who they are, many at once, over ZMTP spoken by hand.
 *
 *   crowd HOST:PORT COUNT SECONDS HOW...
 *
 * Each HOW is a way to cost a listener memory; they are dealt to the strangers in turn:
 *   silent     connects and says nothing
 *   half       says half a greeting
 *   greeted    greets, and then nothing
 *   dribble    greets, begins a frame, and sends a byte now and then
 *   claim      claims a frame of 1 GB
 *   frames     a frame of 60 MB
 *   parts      one message of frames without content that never ends
 *   pieces     the same of small frames, one to a segment
 *   properties a READY of many properties
 *   command    the first command of CURVE's handshake, claimed to be of 60 MB
 *   deaf       says heartbeats and reads no answer
 *   churn      comes and goes
 * Whoever is hung up on comes again. After SECONDS it prints how often they came and how many bytes
 * were taken from them, and holds on to all it has until its standard input ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { GREETING = 64, HEAD = 64, HEARTBEAT = 22, MORE = 1, LARGE = 2, COMMAND = 4, BLOCK = 65536 };
enum { TICK_MS = 20, VISIT_TICKS = 2 };

typedef enum manner {
    SILENT,
    HALF,
    GREETED,
    DRIBBLE,
    CLAIM,
    FRAMES,
    PARTS,
    PIECES,
    PROPERTIES,
    HANDSHAKE,
    DEAF,
    CHURN,
    MANNERS
} manner;

static const char *const manners[MANNERS] = {"silent",     "half",    "greeted", "dribble",
                                             "claim",      "frames",  "parts",   "pieces",
                                             "properties", "command", "deaf",    "churn"};

typedef struct stranger {
    manner how;
    int fd;
    size_t said; /* of its speech, which repeats its last block */
    size_t heard;
    int ticks;
} stranger;

/* What one manner says: a beginning, and a block that is said again and again. */
typedef struct speech {
    unsigned char begin[256], block[BLOCK];
    size_t n_begin, n_block;
    size_t at_once; /* bytes in one segment */
    int paced;      /* a segment a tick */
    int in_turn;    /* the block only when the other end has said READY */
} speech;

static struct sockaddr_storage where;
static socklen_t where_bytes;
static speech speeches[MANNERS];
static long came;
static long long taken;

static void stop(const char *what)
{
    fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- what they say --- */

static void begin_with(speech *s, const void *data, size_t bytes)
{
    memcpy(s->begin + s->n_begin, data, bytes);
    s->n_begin += bytes;
}

static void greet(speech *s, const char *mechanism)
{
    static const char ready[] = "\4\x1c\5READY\vSocket-Type\0\0\0\6DEALER";
    unsigned char greeting[GREETING] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0};
    memcpy(greeting + 12, mechanism, strlen(mechanism));
    begin_with(s, greeting, sizeof greeting);
    if (strcmp(mechanism, "NULL") != 0)
        return;
    begin_with(s, ready, sizeof ready - 1);
    s->in_turn = 1;
}

static void claim(speech *s, int flags, uint64_t bytes)
{
    unsigned char head[9] = {(unsigned char)flags};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(bytes >> (56 - 8 * i));
    begin_with(s, head, sizeof head);
}

/* Copies of a piece, as many as the block holds. */
static void go_on_with(speech *s, const void *piece, size_t bytes)
{
    for (s->n_block = 0; s->n_block + bytes <= BLOCK; s->n_block += bytes)
        memcpy(s->block + s->n_block, piece, bytes);
}

static void prepare_handshakes(void)
{
    static const unsigned char other[GREETING] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0};
    speech *s = &speeches[HALF];
    begin_with(s, other, 20);
    s = &speeches[PROPERTIES];
    begin_with(s, other, 12);
    begin_with(s, "NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    s->n_begin = GREETING;
    claim(s, COMMAND | LARGE, 60 << 20);
    begin_with(s, "\5READY", 6);
    for (int i = 0; i < BLOCK / 8; i++) {
        unsigned char property[8] = {3, (unsigned char)('a' + i % 26),
                                     (unsigned char)('a' + i / 26 % 26),
                                     (unsigned char)('a' + i / 676 % 26)};
        memcpy(s->block + s->n_block, property, sizeof property);
        s->n_block += sizeof property;
    }
    s->at_once = 512;
    s = &speeches[HANDSHAKE];
    greet(s, "CURVE");
    claim(s, COMMAND | LARGE, 60 << 20);
    begin_with(s, "\5HELLO", 6);
    go_on_with(s, "x", 1);
}

static void prepare_messages(void)
{
    unsigned char piece[2 + HEAD] = {MORE, 34}, heartbeat[2 + HEAD] = {0, HEAD, 'T', 'Q', '1'};
    speech *s = &speeches[FRAMES];
    greet(s, "NULL");
    claim(s, LARGE, 60 << 20);
    go_on_with(s, "x", 1);
    s = &speeches[CLAIM];
    greet(s, "NULL");
    claim(s, LARGE, 1 << 30);
    s = &speeches[PARTS];
    greet(s, "NULL");
    go_on_with(s, "\1", 2);
    s->at_once = 512;
    s = &speeches[PIECES];
    greet(s, "NULL");
    go_on_with(s, piece, 36);
    s->at_once = 36;
    s = &speeches[DRIBBLE];
    greet(s, "NULL");
    claim(s, LARGE, 60 << 20);
    go_on_with(s, "x", 1);
    s->at_once = s->paced = 1;
    s = &speeches[DEAF];
    greet(s, "NULL");
    heartbeat[6] = HEARTBEAT;
    go_on_with(s, heartbeat, sizeof heartbeat);
    greet(&speeches[GREETED], "NULL");
}

/* --- being there --- */

static void come(stranger *one)
{
    int small = 4096, on = 1;
    one->fd = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (one->fd < 0)
        stop("open a socket");
    if (one->how == DEAF)
        setsockopt(one->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    setsockopt(one->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(one->fd, (struct sockaddr *)&where, where_bytes) != 0 && errno != EINPROGRESS)
        stop("connect");
    one->said = one->heard = 0;
    one->ticks = 0;
    came++;
}

static void come_again(stranger *one)
{
    close(one->fd);
    come(one);
}

/* One segment; 0: not now. */
static ssize_t say_some(stranger *one)
{
    const speech *s = &speeches[one->how];
    const unsigned char *from = s->begin + one->said;
    size_t n = s->n_begin - one->said;
    if (one->said >= s->n_begin) {
        if (!s->n_block || (s->in_turn && one->heard <= GREETING))
            return 0;
        size_t at = (one->said - s->n_begin) % s->n_block;
        from = s->block + at;
        n = s->n_block - at;
        n = s->at_once && s->at_once < n ? s->at_once : n;
    }
    ssize_t sent = send(one->fd, from, n, MSG_NOSIGNAL);
    if (sent > 0) {
        one->said += (size_t)sent;
        taken += sent;
    }
    return sent;
}

static void read_some(stranger *one)
{
    char waste[4096];
    if (one->how == DEAF && one->heard > GREETING)
        return;
    ssize_t n = recv(one->fd, waste, sizeof waste, 0);
    if (n > 0)
        one->heard += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != ENOTCONN))
        come_again(one);
}

static void turn(stranger *one, short ready)
{
    enum { TURN = 64 };
    if (ready & (POLLERR | POLLHUP)) {
        come_again(one);
        return;
    }
    if (ready & POLLIN)
        read_some(one);
    if (ready & POLLOUT)
        for (int i = 0; i < (speeches[one->how].paced ? 1 : TURN) && say_some(one) > 0; i++)
            ;
    if (one->how == CHURN && one->ticks++ > VISIT_TICKS)
        come_again(one);
}

static void play(stranger *all, nfds_t n, int64_t until_ms)
{
    struct pollfd *fds = calloc(n, sizeof *fds);
    for (int64_t next = 0; now_ms() < until_ms;) {
        for (nfds_t i = 0; i < n; i++)
            fds[i] = (struct pollfd){.fd = all[i].fd, .events = POLLIN | POLLOUT};
        poll(fds, n, TICK_MS);
        for (nfds_t i = 0; i < n; i++)
            turn(&all[i], fds[i].revents);
        int64_t pause = next - now_ms();
        if (pause > 0)
            poll(NULL, 0, (int)pause);
        next = now_ms() + 1;
    }
    free(fds);
}

static void find(const char *address)
{
    char host[64];
    const char *port = strrchr(address, ':');
    if (!port)
        stop("HOST:PORT");
    snprintf(host, sizeof host, "%.*s", (int)(port - address), address);
    struct sockaddr_in *at = (struct sockaddr_in *)&where;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port + 1))};
    where_bytes = sizeof *at;
    if (inet_pton(AF_INET, host, &at->sin_addr) != 1)
        stop(address);
}

static manner manner_of(const char *name)
{
    for (size_t i = 0; i < MANNERS; i++)
        if (strcmp(manners[i], name) == 0)
            return (manner)i;
    stop(name);
    return SILENT;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    find(argv[1]);
    prepare_handshakes();
    prepare_messages();
    nfds_t n = (nfds_t)atoi(argv[2]), kinds = (nfds_t)argc - 4;
    stranger *all = calloc(n, sizeof *all);
    for (nfds_t i = 0; i < n; i++) {
        all[i].how = manner_of(argv[4 + i % kinds]);
        come(&all[i]);
    }
    play(all, n, now_ms() + 1000 * (int64_t)atoi(argv[3]));
    printf("came %ld times, %lld bytes taken\n", came, taken);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
