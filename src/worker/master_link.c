#include "worker/master_link.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/live/recorder.h"

#include <stdlib.h>

status master_link_dial(master_link *l, const char *endpoint, error *err)
{
    net_close(&l->socket, 0);
    if (endpoint != l->endpoint) {
        free(l->endpoint);
        l->endpoint = xstrdup(endpoint);
    }
    l->welcomed = l->is_up = false;
    l->clock = (clock_offset){.n = 0};
    clock_master_learn(&(clock_estimate){.error_us = 0}); /* it may be another's */
    TRY(net_dial(l->net, l->endpoint, &l->socket, err));
    recorder_peer(net_peer_number(l->socket, NULL), (task){ROLE_MASTER, 0});
    return OK;
}

void master_link_fini(master_link *l, int linger_ms)
{
    net_close(&l->socket, linger_ms);
    free(l->endpoint);
    buf_fini(&l->hello);
    buf_fini(&l->packed);
}

static status master_link_send_head(master_link *l, wire_head h, span *payload, error *err)
{
    h.job_id = l->identity.job_id;
    h.era = l->identity.era;
    h.incarnation = l->identity.incarnation;
    h.bytes = payload ? payload->bytes : 0;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    error gone = ERROR_INIT;
    status st = net_send(l->socket, NULL, head, payload, &gone);
    if (st == E_LOST) {
        LOG_D("SEND", "type=%s %s", wire_type_name(h.type), gone.text);
        return OK;
    }
    return st == OK ? OK : FAIL(err, st, "%s", gone.text);
}

status master_link_say(master_link *l, wire_head h, const ProtobufCMessage *m, error *err)
{
    if (!m)
        return master_link_send_head(l, h, NULL, err);
    wire_pack(m, &l->packed);
    span payload = span_for_call(l->packed.data, l->packed.size);
    return master_link_send_head(l, h, &payload, err);
}

status master_link_say_hello(master_link *l, error *err)
{
    if (!net_is_up(l->socket))
        return OK; /* NET_UP will have us say it */
    span payload = span_for_call(l->hello.data, l->hello.size);
    return master_link_send_head(l, (wire_head){.type = WIRE_HELLO}, &payload, err);
}

status master_link_say_alive(master_link *l, wire_head h, error *err)
{
    Wire__Heartbeat m = WIRE__HEARTBEAT__INIT;
    h.type = WIRE_HEARTBEAT;
    m.clock_us = clock_us();
    return master_link_say(l, h, &m.base, err);
}

void master_link_take_alive(master_link *l, const net_message *m)
{
    ProtobufCMessage *p = NULL;
    int64_t now = clock_us();
    clock_estimate e;
    if (wire_unpack(WIRE_ALIVE, span_data(m->payload), span_bytes(m->payload), &p, NULL) != OK)
        return;
    const Wire__Alive *alive = (const Wire__Alive *)p;
    if (alive->asked_us && alive->clock_us)
        clock_offset_add(&l->clock, alive->asked_us, alive->clock_us, now);
    wire_free(p);
    if (clock_offset_now(&l->clock, now, &e))
        clock_master_learn(&e);
}

status master_link_report(void *link, int64_t step, uint32_t slot, const ProtobufCMessage *m, error *err)
{
    wire_head h = {.type = WIRE_REPORT, .step = step};
    wire_set_report_slot(&h, slot);
    return master_link_say(link, h, m, err);
}

double master_link_silence_s(const master_link *l)
{
    return (double)(clock_us() - l->heard_us) / 1e6;
}
