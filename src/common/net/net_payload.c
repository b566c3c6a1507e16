/* What arrived, as ZeroMQ holds it. */
#include "common/net/net_zmq.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <zmq.h>

typedef struct arrived {
    span span;
    zmq_msg_t frame;
} arrived;

static void release(span *s)
{
    arrived *a = s->owner;
    zmq_msg_close(&a->frame);
    free(a);
}

span *payload_span(zmq_msg_t *frame)
{
    arrived *a = xmalloc(sizeof *a);
    zmq_msg_init(&a->frame);
    zmq_msg_move(&a->frame, frame);
    a->span = (span){.data = zmq_msg_data(&a->frame),
                     .bytes = zmq_msg_size(&a->frame),
                     .writable = true,
                     .refs = 1,
                     .release = release,
                     .owner = a};
    return &a->span;
}
