#include "cli/run/meeting_place.h"

const char *meeting_place(const config *c, const cluster *k)
{
    const char *named = config_str(c, "distributed.rendezvous");
    return named ? named : k->world.meeting;
}

status meeting_place_check(const config *c, const cluster *k, error *err)
{
    const char *place = meeting_place(c, k);
    char host[256];
    int port;
    if (!place)
        return FAIL(err, E_CONFIG,
                    "%s: this is rank %d of %d, but where they meet is not said: give --rendezvous "
                    "HOST:PORT, rank 0's host and a port that is free there, or set MASTER_ADDR "
                    "and MASTER_PORT",
                    k->world.by, (int)k->task.index, (int)k->jobs[ROLE_WORKER].n);
    if (place[0] == '@')
        return OK;
    TRYF(address_split(place, host, sizeof host, &port, err), err, "rendezvous");
    return OK;
}
