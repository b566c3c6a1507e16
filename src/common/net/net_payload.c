/* What arrived, as ZeroMQ holds it. */
#include "common/net/net_zmq.h"

#include <zmq.h>

_Static_assert(sizeof(zmq_msg_t) <= sizeof(net_payload), "a payload holds a zmq_msg_t");

zmq_msg_t *payload_msg(const net_payload *p)
{
    return (zmq_msg_t *)(void *)(uintptr_t)p->opaque;
}

const void *net_payload_data(const net_payload *p)
{
    return zmq_msg_data(payload_msg(p));
}

size_t net_payload_bytes(const net_payload *p)
{
    return zmq_msg_size(payload_msg(p));
}

void net_payload_close(net_payload *p)
{
    zmq_msg_close(payload_msg(p));
    zmq_msg_init(payload_msg(p));
}

void net_payload_move(net_payload *to, net_payload *from)
{
    zmq_msg_init(payload_msg(to));
    zmq_msg_move(payload_msg(to), payload_msg(from));
}
