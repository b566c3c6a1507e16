#include "kv/state.h"

#include "common/base/log.h"

status kv_send(kv *k, int32_t server, const wire_head *h, span *payload, error *err)
{
    unsigned char head[NET_HEAD];
    wire_head_encode(h, head);
    error gone = ERROR_INIT;
    status st = net_send(k->sockets[server], NULL, head, payload, &gone);
    if (st == E_LOST)
        LOG_D("SEND", "type=%s server=%s %s", wire_type_name(h->type),
              k->servers[server].endpoint, gone.text);
    return st == OK || st == E_LOST ? OK : FAIL(err, st, "%s", gone.text);
}
