/*
 * A worker that pulls and does not read: it gets as many parts as may be on their way, no more, and
 * the rest when it reads. Others are served all the while.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "ps/outbox.h"
#include "unit/common/support_zmtp.h"
#include "unit/ps/support_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PART_BYTES = PART_MIN * 4, PULLS = 1000, ROOM = OUTBOX_LIMIT / PART_BYTES };
/* what the kernel takes of a connection nobody reads counts as read */
enum { KERNELS = (16 << 20) / PART_BYTES };

/* A server of a few parts of the smallest size. */
static server *server_of_parts(void)
{
    server *s = server_start(NULL);
    const tensor_decl tensor = {.name = "w", .rank = 1, .dim = {2 * PART_MIN}};
    shape_fini(&s->shape);
    assert_int_equal(flat_create(&tensor, 1, &s->shape.flat, NULL), OK);
    assert_int_equal(s->shape.flat->n_parts, 2);
    return s;
}

static void say_raw(int fd, wire_head h, const void *data, size_t bytes)
{
    unsigned char frame[2 + NET_HEAD] = {bytes ? 1 : 0, NET_HEAD};
    h.bytes = bytes;
    wire_head_encode(&h, frame + 2);
    raw_write(fd, frame, sizeof frame);
    if (!bytes)
        return;
    zmtp_claim(fd, bytes);
    raw_write(fd, data, bytes);
}

static void read_raw(int fd, unsigned char *data, size_t bytes)
{
    assert_int_equal(recv(fd, data, bytes, MSG_WAITALL), bytes);
}

/* Type and step of the next message. */
static wire_head hear_raw(int fd)
{
    unsigned char head[NET_HEAD], size[9];
    static unsigned char waste[PART_BYTES];
    wire_head h;
    read_raw(fd, size, 2);
    assert_int_equal(size[1], NET_HEAD);
    read_raw(fd, head, NET_HEAD);
    if (size[0] & 1) {
        read_raw(fd, size, 9);
        read_raw(fd, waste, PART_BYTES);
        assert_int_equal(wire_head_decode(head, PART_BYTES, &h, NULL), OK);
    } else {
        assert_int_equal(wire_head_decode(head, 0, &h, NULL), OK);
    }
    return h;
}

static void test_a_worker_that_does_not_read(void **state)
{
    (void)state;
    server *s = server_of_parts();
    peer master, worker;
    server_set_up(s, &master, &worker);
    int fd = raw_connect(s->tcp);
    zmtp_greet(fd, NULL);
    for (int i = 0; i < PULLS; i++)
        say_raw(fd, head_of(WIRE_PULL, 0, 0), NULL, 0);
    say_raw(fd, head_of(WIRE_PULL, 1, 0), NULL, 0);
    /* once its push is applied, all its pulls were heard */
    void *zeros = xcalloc(1, PART_BYTES);
    wire_head root = head_of(WIRE_PUSH, 0, 0);
    root.slots = 4;
    root.node = (tree_node){2, 0};
    say_raw(fd, root, zeros, PART_BYTES);
    free(zeros);
    say(&worker, head_of(WIRE_PULL, 0, 1), NULL, 0);
    hear(&worker, WIRE_PART);

    int parts = 0;
    bool pushed = false, last = false; /* of the wishes that were left, this one comes for sure */
    while (!pushed || !last) {
        wire_head h = hear_raw(fd);
        pushed |= h.type == WIRE_PUSHED;
        if (h.type != WIRE_PART)
            continue;
        assert_int_equal(h.step, 0);
        last |= h.part == 1;
        parts++;
    }
    assert_in_range(parts, ROOM, ROOM + KERNELS);
    say_raw(fd, (wire_head){.type = WIRE_HEARTBEAT}, NULL, 0);
    while (hear_raw(fd).type != WIRE_ALIVE)
        ;
    close(fd);
    end_well(s, &master, &worker);
}

static int be_quiet(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_worker_that_does_not_read),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
