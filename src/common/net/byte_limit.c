#include "common/net/byte_limit.h"

#include "common/base/alloc.h"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* Offsets in a TCP header, and what a connection takes of one segment before its limit is set: the
 * first words of ZMTP, and not much for as long as that lasts. */
enum { AT_SEQUENCE = 4, AT_DATA_OFFSET = 12, SEGMENT_MAX = 1024 };
enum { IP_HEADER_MAX = 60, IP6_HEADER = 40, TCP_HEADER_MAX = 60 };

/* A and M[0] become the bytes of a segment's payload, X those of its header; the packet begins at that. */
#define PAYLOAD_LENGTH                                                                             \
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_DATA_OFFSET), BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),    \
        BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2), BPF_STMT(BPF_MISC | BPF_TAX, 0),                   \
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),             \
        BPF_STMT(BPF_ST, 0)

#define PASS BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)

/* The first A bytes of the packet: TCP takes them as a shorter segment, and asks for the rest. A segment that
 * was dropped whole would come again as long as it was, or longer, and never pass. */
#define CUT BPF_STMT(BPF_RET | BPF_A, 0)

static bool attach(int fd, struct sock_filter *code, size_t n)
{
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

bool byte_limit_keep_syns(int listening)
{
    int on = 1;
    return setsockopt(listening, IPPROTO_TCP, TCP_SAVE_SYN, &on, sizeof on) == 0;
}

bool byte_limit_prepare(int listening)
{
    struct sock_filter small_only[] = {
        PAYLOAD_LENGTH,
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SEGMENT_MAX, 1, 0),
        PASS,
        BPF_STMT(BPF_LD | BPF_IMM, SEGMENT_MAX),
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
        CUT,
    };
    return byte_limit_keep_syns(listening) && attach(listening, small_only, COUNT_OF(small_only));
}

void byte_limit_close(int listening)
{
    struct sock_filter nothing[] = {DROP};
    (void)attach(listening, nothing, COUNT_OF(nothing));
}

/* The sequence number of the peer's first byte: its SYN's and one. The kernel hands out the headers
 * of that packet, once. */
static bool first_sequence(int connection, uint32_t *ret)
{
    unsigned char syn[IP_HEADER_MAX + TCP_HEADER_MAX];
    socklen_t bytes = sizeof syn;
    if (getsockopt(connection, IPPROTO_TCP, TCP_SAVED_SYN, syn, &bytes) != 0 || !bytes)
        return false;
    size_t tcp = syn[0] >> 4 == 4 ? (size_t)(syn[0] & 15) * 4 : IP6_HEADER;
    if (bytes < tcp + AT_SEQUENCE + sizeof *ret)
        return false;
    const unsigned char *at = syn + tcp + AT_SEQUENCE;
    *ret = ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]) + 1;
    return true;
}

bool byte_limit_set(int connection, uint32_t bytes)
{
    uint32_t first;
    if (!first_sequence(connection, &first)) {
        byte_limit_lift(connection);
        return false;
    }
    /* where the segment ends, counted from the first byte; repeated ones may lie before it. X becomes
     * what of it lies beyond the limit. */
    struct sock_filter up_to[] = {
        PAYLOAD_LENGTH,
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_SEQUENCE),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, first),
        BPF_STMT(BPF_LDX | BPF_MEM, 0),
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 31, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, bytes, 1, 0),
        PASS,
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, bytes),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_MEM, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 1, 0),
        DROP,
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
        CUT,
    };
    return attach(connection, up_to, COUNT_OF(up_to));
}

void byte_limit_lift(int connection)
{
    int none = 0;
    setsockopt(connection, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none);
}

uint64_t byte_limit_received(int connection)
{
    struct tcp_info info; /* zero where an older kernel tells less */
    socklen_t bytes = sizeof info;
    memset(&info, 0, sizeof info);
    getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &bytes);
    return info.tcpi_bytes_received;
}
