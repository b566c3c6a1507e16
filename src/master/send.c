#include "master/state.h"

#include "common/base/log.h"

double master_option(const master *m, const char *key)
{
    return config_f64(m->o->config, key);
}

wire_head master_head(const master *m, wire_type type)
{
    return era_head(&m->era, type);
}

void master_send(net_socket *s, const net_peer *to, wire_head h, const ProtobufCMessage *message)
{
    buf packed = BUF_INIT;
    if (message)
        wire_pack(message, &packed);
    span payload = span_for_call(packed.data, packed.size);
    h.bytes = packed.size;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    error gone = ERROR_INIT;
    /* a peer that left comes back by itself or is declared lost by its silence */
    if (net_send(s, to, head, &payload, &gone) != OK)
        LOG_D("SEND", "type=%s %s", wire_type_name(h.type), gone.text);
    buf_fini(&packed);
}

void master_send_servers(master *m, wire_head h, const ProtobufCMessage *message)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        master_send(m->servers[i].socket, NULL, h, message);
}

void master_send_workers(master *m, wire_head h, const ProtobufCMessage *message)
{
    for (size_t i = 0; i < m->members.n; i++)
        if (m->members.at[i].alive)
            master_send(m->listener, &m->members.at[i].peer, h, message);
}
