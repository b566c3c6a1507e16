#include "cli/roles/rendezvous/meeting.h"

#include "cli/roles/endpoints.h"
#include "cli/run/meeting_place.h"
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "job/ports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

status meeting_split(const meeting *m, char ret_host[MEETING_HOST], int *ret_port, error *err)
{
    const char *place = meeting_place(m->o->config, m->o->cluster);
    ret_host[0] = '\0';
    *ret_port = 0;
    return place[0] == '@' ? OK : address_split(place, ret_host, MEETING_HOST, ret_port, err);
}

status meeting_listen_at(const meeting *m, const char *host, int port, char **ret, error *err)
{
    char own[MEETING_HOST];
    bool is_hidden = !host_is_loopback(host) &&
                     endpoint_own_host(host, own, sizeof own, NULL) == OK && host_is_loopback(own);
    return endpoint_listen_at(m->o->config, is_hidden ? "*" : host, port, m->o->encrypts, ret, err);
}

static char *address_text(const char *host, int port)
{
    return xasprintf(strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
}

void meeting_close_listener(meeting *m)
{
    if (m->seen.listen_fd >= 0)
        close(m->seen.listen_fd);
    free(m->listen);
    free(m->address);
    m->listen = m->address = NULL;
    m->seen.listen_fd = -1;
}

/* "tcp://host:0" as endpoint_listen_at makes it: NULL in *ret_host is every address. */
static const char *host_of_endpoint(char *endpoint)
{
    char *host = endpoint + strlen("tcp://");
    *strrchr(host, ':') = '\0';
    if (strcmp(host, "*") == 0)
        return NULL;
    host[strlen(host) - (host[0] == '[')] = '\0';
    return host[0] == '[' ? host + 1 : host;
}

status meeting_open(meeting *m, const char *host, int port, error *err)
{
    char *asked = NULL;
    int got = 0;
    meeting_close_listener(m);
    TRY(meeting_listen_at(m, host, 0, &asked, err));
    const char *at = host_of_endpoint(asked);
    status st = port_open(at, port, &m->seen.listen_fd, &got, err);
    if (st == OK) {
        char *own = at ? address_text(at, got) : xasprintf("*:%d", got);
        m->listen = xasprintf("tcp://%s", own);
        m->address =
            address_text(at && config_has(m->o->config, "distributed.bind") ? at : host, got);
        m->seen.listen = m->listen;
        free(own);
    }
    free(asked);
    return st;
}

status meeting_settle(meeting *m, const char *const *addresses, error *err)
{
    TRY(cluster_from_ranks(&m->o->cluster->world, m->rank, m->size, addresses, &m->cluster, err));
    m->seen.cluster = m->cluster;
    return OK;
}

void meeting_say(net_socket *s, const net_peer *to, wire_type type, const buf *packed)
{
    unsigned char head[NET_HEAD];
    wire_head_encode(&(wire_head){.type = type, .bytes = packed->size}, head);
    span payload = span_for_call(packed->data, packed->size);
    error gone = ERROR_INIT;
    if (net_send(s, to, head, &payload, &gone) != OK)
        LOG_D("SEND", "type=%s %s", wire_type_name(type), gone.text);
}
