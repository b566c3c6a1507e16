/* What is known of a ZeroMQ socket: without looking (watch), and of the message that is being read. */
#include "common/net/net_zmq.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <zmq.h>

void watch_begin(watch *w, void *socket)
{
    size_t bytes = sizeof w->fd;
    *w = (watch){.socket = socket};
    if (zmq_getsockopt(socket, ZMQ_FD, &w->fd, &bytes) != 0)
        BUG("a ZeroMQ socket without a descriptor: %s", zmq_strerror(errno));
}

bool watch_spares_look(watch *w)
{
    bool is_quiet = w->is_quiet;
    w->is_quiet = false;
    return is_quiet;
}

bool socket_has_more(void *socket)
{
    int more = 0;
    size_t bytes = sizeof more;
    zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &bytes);
    return more;
}
