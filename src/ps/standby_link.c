#include "ps/standby_link.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/live/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { REST_MAX = 64 }; /* in units of the first one */

void standby_link_fini(standby_link *l)
{
    net_close(&l->socket, 0);
    free(l->endpoint);
    l->endpoint = NULL;
}

static status standby_link_dial(standby_link *l, error *err)
{
    TRY(net_dial(l->net, l->endpoint, &l->socket, err));
    recorder_peer(net_peer_number(l->socket, NULL), (task){ROLE_PS, l->index});
    return OK;
}

status standby_link_begin(standby_link *l, bool is_needed, const char *endpoint, error *err)
{
    l->is_open = false;
    l->answered_us = clock_us();
    if (!is_needed || (l->socket && strcmp(l->endpoint, endpoint) != 0))
        net_close(&l->socket, 0);
    if (is_needed && l->socket)
        standby_link_say_hello(l);
    if (!is_needed || l->socket)
        return OK;
    free(l->endpoint);
    l->endpoint = xstrdup(endpoint);
    return standby_link_dial(l, err);
}

status standby_link_redial(standby_link *l, error *err)
{
    LOG_D("REDIAL", "standby=%s", l->endpoint);
    net_close(&l->socket, 0);
    return standby_link_dial(l, err);
}

void standby_link_say(const standby_link *l, wire_head h, span *payload)
{
    h.job_id = l->identity.job_id;
    h.era = l->identity.era;
    h.bytes = payload->bytes;
    h.flags = payload->release && net_is_local(l->socket) ? WIRE_LENT : 0;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    error gone = ERROR_INIT;
    /* it comes back, or the master says that it is gone */
    if (net_send(l->socket, NULL, head, payload, &gone) != OK)
        LOG_D("SEND", "type=%s standby=%s %s", wire_type_name(h.type), l->endpoint, gone.text);
}

void standby_link_say_proto(const standby_link *l, wire_head h, const ProtobufCMessage *m)
{
    buf packed = BUF_INIT;
    wire_pack(m, &packed);
    span payload = span_for_call(packed.data, packed.size);
    standby_link_say(l, h, &payload);
    buf_fini(&packed);
}

void standby_link_say_hello(const standby_link *l)
{
    if (standby_link_rests(l) || !net_is_up(l->socket))
        return;
    span payload = span_for_call(l->hello->data, l->hello->size);
    standby_link_say(l, (wire_head){.type = WIRE_HELLO}, &payload);
}

void standby_link_answered(standby_link *l)
{
    l->answered_us = clock_us();
}

bool standby_link_is_stuck(standby_link *l, bool owes, int64_t limit_us, int64_t now_us)
{
    if (!owes)
        l->answered_us = now_us;
    if (now_us - l->answered_us < limit_us)
        return false;
    l->answered_us = now_us;
    l->rest_us = 2 * l->rest_us < REST_MAX * limit_us ? 2 * l->rest_us : REST_MAX * limit_us;
    if (!l->rest_us)
        l->rest_us = limit_us;
    l->rest_until_us = now_us + l->rest_us;
    return true;
}

bool standby_link_rests(const standby_link *l)
{
    return clock_us() < l->rest_until_us;
}

void standby_link_trust(standby_link *l)
{
    l->rest_us = l->rest_until_us = 0;
}
