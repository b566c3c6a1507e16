#include "fault/scene.h"

#include "common/base/alloc.h"

#include <stddef.h>

typedef enum scene_id {
    PLAIN,
    SLOW,
    DECLARING,
    LAGGING,
    LATE,
    APART,
    STRANGE_WORKER,
    STRANGE_TO_MASTER,
    STRANGE_TO_SERVERS,
    STRANGE_CHIEF,
    FAILING_WORKER,
    FAILING_SERVER,
    LEAVING_WORKER,
    LEAVING_SERVER,
    LEASING,
    STANDBY,
    BACKING,
    OUTLIVED,
    TRACED,
} scene_id;

#define NOTHING  "{}"
#define NO_VOTE  "\"trainer.grad_norm\": null, \"trainer.loss_scale\": null"
#define STANDBYS "{\"distributed.ps_replicas\": 1}"

/* A task whose first life has another configuration. */
#define STRANGE_SET "TEQUIO_SET=" PROCESS_CLUSTER_SETTINGS "\ntrainer.grad_norm=2.0"
#define STRANGE_WORKER_1                                                                           \
    {                                                                                              \
        .task = "worker.1", .first_set = STRANGE_SET                                               \
    }

static const scene scenes[] = {
    [PLAIN] = {.name = "plain", .overrides = NOTHING, .faults = ""},
    /* long enough for heartbeats */
    [SLOW] = {.name = "slow",
              .overrides = NOTHING,
              .faults = ",delay=worker.0:80ms,delay=worker.1:80ms"},
    /* worker.1 comes first, so it is asked */
    [DECLARING] = {.name = "declaring", .overrides = NOTHING, .faults = ",delay=worker.0:100ms"},
    /* worker.1 sleeps while the other one goes on without it, in a job that is longer than its sleep */
    [LAGGING] = {.name = "lagging",
                 .overrides = "{\"trainer.num_epochs\": 12}",
                 .faults = ",delay=worker.0:60ms,freeze=worker.1@push>:8:2500ms"},
    /* cuts by the clock reach the servers when they are past them */
    [LATE] = {.name = "late",
              .overrides = "{\"validation_data_path\": null, \"trainer.save_checkpoints_steps\": "
                           "null, \"trainer.save_checkpoints_secs\": 0.05, " NO_VOTE
                           ", \"trainer.num_epochs\": 40}",
              .faults = ",delay=master.0:500ms"},
    /* ps.1 does not see the job dir, and ps.0 dies when there is a checkpoint to return to: it says
     * six times that a shard is written, or more often where the master asks again */
    [APART] = {.name = "apart",
               .overrides = NOTHING,
               .faults = ",kill=ps.0@cut_done>:6",
               .oddity = {.task = "ps.1", .job_dir = "elsewhere"},
               .is_own = true},
    /* of another configuration; it is killed when it is told so */
    [STRANGE_WORKER] = {.name = "strange worker",
                        .overrides = NOTHING,
                        .faults = "",
                        .oddity = STRANGE_WORKER_1,
                        .is_own = true},
    /* the others sleep until who shall say so has said it; and the worker dies before it complains
     */
    [STRANGE_TO_MASTER] = {.name = "strange to the master",
                           .overrides = NOTHING,
                           .faults = ",freeze=ps.0@hello<:1:2s,freeze=ps.1@hello<:1:2s,"
                                     "kill=worker.1@failed>:1",
                           .oddity = STRANGE_WORKER_1,
                           .is_own = true},
    [STRANGE_TO_SERVERS] = {.name = "strange to the servers",
                            .overrides = NOTHING,
                            .faults = ",freeze=master.0@hello<:1:2s,freeze=ps.1@hello<:1:2s,"
                                      "kill=worker.1@failed>:1",
                            .oddity = STRANGE_WORKER_1,
                            .is_own = true},
    /* the workers come when it is gone, or it would turn them away */
    [STRANGE_CHIEF] = {.name = "strange chief",
                       .overrides = NOTHING,
                       .faults = ",freeze=worker.0@hello>:1:1500ms,freeze=worker.1@hello>:1:1500ms",
                       .oddity = {.task = "master.0",
                                  .job_dir = "elsewhere",
                                  .first_dir = true,
                                  .first_set = STRANGE_SET},
                       .is_own = true},
    [FAILING_WORKER] = {.name = "failing worker",
                        .overrides = NOTHING,
                        .faults = "",
                        .oddity = {.task = "worker.1",
                                   .first_set = "TEQUIO_SET=" PROCESS_CLUSTER_SETTINGS
                                                "\ntrain_data_path=\"/nowhere\""},
                        .is_own = true},
    [FAILING_SERVER] = {.name = "failing server",
                        .overrides = NOTHING,
                        .faults = "",
                        .oddity = {.task = "ps.1",
                                   .job_dir = "elsewhere",
                                   .first_set = "TMPDIR=/nowhere"},
                        .is_own = true},
    [LEAVING_WORKER] = {.name = "leaving worker",
                        .overrides = NOTHING,
                        .faults = ",delay=worker.0:80ms",
                        .terminate = "worker.1",
                        .is_own = true,
                        .may_leave = true},
    [LEAVING_SERVER] = {.name = "leaving server",
                        .overrides = NOTHING,
                        .faults = ",delay=worker.0:80ms",
                        .terminate = "ps.1",
                        .is_own = true,
                        .may_leave = true},
    [LEASING] = {.name = "leasing",
                 .overrides = "{\"distributed.mode\": \"async\", " NO_VOTE "}",
                 .faults = "",
                 .any_weights = true},
    [TRACED] = {.name = "traced", .overrides = "{\"distributed.profile\": \"2:4\"}", .faults = ""},
    [STANDBY] = {.name = "standby", .overrides = STANDBYS, .faults = ""},
    /* ps.1 comes again, and gets copies of what it held */
    [BACKING] = {.name = "backing",
                 .overrides = STANDBYS,
                 .faults = ",kill=ps.1@push<:8,delay=worker.0:40ms,delay=worker.1:40ms"},
    /* ps.0 sleeps while ps.2 dies and an era begins in which its copies go elsewhere */
    [OUTLIVED] = {.name = "outlived",
                  .overrides = STANDBYS,
                  .faults = ",freeze=ps.0@push>:4:3s,kill=ps.2@push<:5",
                  .is_own = true,
                  .servers = 3},
};

/* Messages that do not pass in every job, and how many of a message pass at least. */
static const struct {
    wire_type message;
    scene_id scene;
    int n_sure;
} rows[] = {
    {WIRE_HEARTBEAT, SLOW, 1},
    {WIRE_ALIVE, SLOW, 1},
    {WIRE_DECLARE, DECLARING, 1},
    {WIRE_GONE, LAGGING, 1},
    {WIRE_CUT_LATE, LATE, 1},
    {WIRE_SHARD, APART, 2},
    {WIRE_LOAD, APART, 2},
    {WIRE_LOADED, APART, 2},
    {WIRE_REFUSED, STRANGE_WORKER, 1},
    {WIRE_FAILED, FAILING_WORKER, 1},
    {WIRE_PREEMPT, LEAVING_WORKER, 1},
    {WIRE_LEASE, LEASING, 8},
    {WIRE_STATE, BACKING, 2},
    {WIRE_BACKED, BACKING, 1},
    {WIRE_PUSH, PLAIN, 8},
    {WIRE_PUSHED, PLAIN, 8},
    {WIRE_PULL, PLAIN, 8},
    {WIRE_PART, PLAIN, 8},
    {WIRE_REPORT, PLAIN, 8},
    {WIRE_NORM, PLAIN, 10},
    {WIRE_VERDICT, PLAIN, 8},
    {WIRE_CUT, PLAIN, 3},
    {WIRE_CUT_DONE, PLAIN, 3},
    {WIRE_HISTOGRAM, SLOW, 2},
    {WIRE_LIMIT, PLAIN, 3},
    {WIRE_TRACE, TRACED, 1},
};

static scene_id scene_for(wire_type message, role who, bool is_sent, scene_id usual)
{
    if (message == WIRE_REFUSED && who == ROLE_MASTER)
        return is_sent ? STRANGE_TO_MASTER : STRANGE_CHIEF;
    if (message == WIRE_REFUSED && who == ROLE_PS)
        return is_sent ? STRANGE_TO_SERVERS : OUTLIVED;
    if (message == WIRE_FAILED && who == ROLE_PS)
        return FAILING_SERVER;
    if (message == WIRE_PREEMPT && who == ROLE_PS)
        return LEAVING_SERVER;
    if (who == ROLE_PS && is_sent && message == WIRE_REPORT)
        return LEASING;
    if (who == ROLE_PS && is_sent && (message == WIRE_HELLO || message == WIRE_PUSH))
        return STANDBY;
    if (who == ROLE_PS && !is_sent && (message == WIRE_WELCOME || message == WIRE_PUSHED))
        return STANDBY;
    return usual;
}

static const char *victim_of(scene_id id, wire_type message, role who)
{
    if (who == ROLE_PS && message == WIRE_REPORT)
        return "ps.1"; /* the last live part is there */
    switch (who) {
    case ROLE_MASTER:
        return "master.0";
    case ROLE_WORKER:
        return "worker.1";
    default: /* whoever is not part of the scene's own mishap, or is what it is about */
        return id == APART || id == FAILING_SERVER || id == LEAVING_SERVER ? "ps.1" : "ps.0";
    }
}

bool scene_is_common(const scene *s)
{
    return s == &scenes[PLAIN];
}

scene_cell scene_of(wire_type message, role who, bool is_sent)
{
    scene_id id = PLAIN;
    int n_sure = 1;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].message == message) {
            id = rows[i].scene;
            n_sure = rows[i].n_sure;
        }
    id = scene_for(message, who, is_sent, id);
    /* who gets copies is who came again */
    bool is_second = id == BACKING && message == WIRE_STATE && !is_sent;
    return (scene_cell){.scene = &scenes[id],
                        .victim = is_second ? "ps.1" : victim_of(id, message, who),
                        .life = is_second ? 2 : 1,
                        .n_sure = n_sure};
}
