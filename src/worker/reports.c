/*
 * What slots measured, said to the master and kept until it has it in its journal.
 */
#include "worker/state.h"

status worker_say_report(void *user, int64_t step, uint32_t slot, const ProtobufCMessage *m, error *err)
{
    wire_head h = {.type = WIRE_REPORT, .step = step};
    wire_set_report_slot(&h, slot);
    return worker_say_proto(user, h, m, err);
}

status worker_report_all(worker *w, error *err)
{
    return reports_say_all(w->reports, worker_say_report, w, err);
}
