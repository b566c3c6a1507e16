/*
 * What slots measured, said to the master and kept until it has it in its journal.
 */
#include "worker/state.h"

status worker_say_report(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *m, error *err)
{
    tree_node leaf = {.level = 0, .index = slot};
    return worker_say_proto(user, WIRE_REPORT, step, leaf, m, err);
}

status worker_report_all(worker *w, error *err)
{
    return reports_say_all(w->reports, worker_say_report, w, err);
}
