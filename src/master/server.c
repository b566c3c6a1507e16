/*
 * The connection to a server, and its silence.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/live/recorder.h"

const char *master_server_name(const master *m, int32_t s, char ret[TASK_NAME])
{
    return task_name((task){.role = ROLE_PS, .index = m->o->first_server + s}, ret);
}

void master_say_hello(master *m, server *s)
{
    if (!net_is_up(s->socket))
        return; /* NET_UP will have us say it */
    wire_head h = master_head(m, WIRE_HELLO);
    wire_set_hello_server(&h, m->o->first_server + (int32_t)(s - m->servers));
    h.bytes = m->hello.size;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    span payload = span_for_call(m->hello.data, m->hello.size);
    if (net_send(s->socket, NULL, head, &payload, NULL) != OK)
        LOG_D("SEND", "type=HELLO");
}

status master_dial(master *m, int32_t i, error *err)
{
    TRY(net_dial(m->o->net, m->o->servers[i], &m->servers[i].socket, err));
    recorder_peer(net_peer_number(m->servers[i].socket, NULL), (task){ROLE_PS, m->o->first_server + i});
    return OK;
}

status master_redial(master *m, int32_t i, error *err)
{
    server *s = &m->servers[i];
    net_close(&s->socket, 0);
    if (s->welcomed) {
        char name[TASK_NAME];
        s->left_us = clock_us();
        master_tell(m, TIMELINE_SUSPECT, master_server_name(m, i, name),
                    "its connection is gone");
    }
    s->welcomed = false;
    return master_dial(m, i, err);
}

double master_silence_s(const server *s, int64_t now_us)
{
    double silent_s = (double)(now_us - s->heard_us) / SECOND_US;
    double asked_s = (s->unanswered - 1) * BEAT_MS * 1e-3;
    return silent_s < asked_s ? silent_s : asked_s;
}

bool master_hears_servers(const master *m)
{
    return m->phase == RUN || (m->phase == SETUP && m->era.keeps);
}
