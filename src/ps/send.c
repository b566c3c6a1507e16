#include "ps/state.h"

#include "common/base/log.h"
#include "common/wire/hello.h"

void ps_reply(ps *s, const net_peer *to, wire_head h, span *payload)
{
    h.job_id = s->era.identity.job_id;
    h.era = s->era.identity.era;
    h.bytes = payload ? payload->bytes : 0;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    error gone = ERROR_INIT;
    /* a peer that left does not concern us: it will be back, or the master will say so */
    if (net_send(s->socket, to, head, payload, &gone) != OK)
        LOG_D("SEND", "type=%s %s", wire_type_name(h.type), gone.text);
}

void ps_reply_proto(ps *s, const net_peer *to, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    wire_pack(m, &packed);
    span payload = span_for_call(packed.data, packed.size);
    ps_reply(s, to, h, &payload);
    buf_fini(&packed);
}

void ps_refuse(ps *s, const net_peer *to, const wire_head *about, status code, const char *text)
{
    s->refused++;
    Wire__Refused m = WIRE__REFUSED__INIT;
    m.status = code;
    m.text = (char *)(uintptr_t)text;
    wire_head h = {.type = WIRE_REFUSED,
                   .part = about->part,
                   .step = about->step,
                   .node = about->node};
    wire_set_refused_server(&h, s->o->self.index);
    LOG_D("REFUSE", "type=%s part=%d step=%lld: %s", wire_type_name(about->type), about->part,
          (long long)about->step, text);
    ps_reply_proto(s, to, h, &m.base);
}
