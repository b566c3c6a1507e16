#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/explain_waits.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"
#include "support/folder.h"
#include "unit/cli/support_written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files --- */

written written_by(role of, int32_t index, recording_reason why)
{
    written w = {.head = {.version = RECORDING_VERSION, .kinds = recording_kinds(), .reason = why, .role = (int32_t)of,
                          .index = index, .indexes = {-1, -1, -1, -1}, .pid = 1, .at_us = NOW,
                          .wall_us = INT64_C(1700000000) * SECOND, .error_us = -1, .host = "one"}};
    memcpy(w.head.magic, RECORDING_MAGIC, sizeof w.head.magic);
    w.head.indexes[of] = index;
    return w;
}

void written_add(written *w, recorder_event e)
{
    bool lasts = e.took_us < 0;
    recording_event *to = lasts ? &w->in_progress[w->head.n_in_progress++] : &w->events[w->head.n_events++];
    *to = (recording_event){.at_us = NOW - e.at_us, .took_us = e.took_us, .step = e.step, .c = e.c, .a = e.a, .b = e.b,
                            .kind = (uint16_t)e.kind, .lane = (int16_t)e.lane};
}

void written_says(written *w, recorder_kind kind, wire_type type, int peer, int part, int64_t step, double ago_s)
{
    written_add(w, (recorder_event){.kind = kind, .a = (int32_t)type, .b = peer, .lane = part, .step = step,
                                    .at_us = (int64_t)(ago_s * SECOND)});
}

void written_pushes(written *w, recorder_kind kind, int peer, int part, int64_t step, uint32_t slot)
{
    written_add(w, (recorder_event){.kind = kind, .a = WIRE_PUSH, .b = peer, .lane = part, .step = step,
                                    .at_us = 9 * SECOND,
                                    .c = (int64_t)((uint64_t)slot << 43 | UINT64_C(2) << 27)});
}

void written_is_in(written *w, recorder_kind kind, int lane, int64_t step, int a, double since_s)
{
    written_add(w, (recorder_event){.kind = kind, .lane = lane, .step = step, .a = a, .took_us = -1, .c = 7,
                                    .at_us = (int64_t)(since_s * SECOND)});
}

void written_leave(written *w, const char *name)
{
    static const int all[] = {MASTER, WORKER_0, WORKER_1, PS_0, PS_1, WORKER_0_TOO, PS_0_TOO};
    buf file = BUF_INIT;
    char *path = folder_file("log/events/%s", name);
    w->head.n_peers = COUNT_OF(all);
    buf_add(&file, &w->head, sizeof w->head);
    buf_add(&file, w->in_progress, w->head.n_in_progress * sizeof w->in_progress[0]);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        buf_add(&file, &(recording_peer){.peer = (uint32_t)all[i], .role = all[i] / 100 % 10, .index = all[i] % 100},
                sizeof(recording_peer));
    buf_add(&file, w->events, w->head.n_events * sizeof w->events[0]);
    recording_head *head = (recording_head *)(void *)file.data;
    head->checksum = crc32c(crc32c(0, file.data + sizeof *head, file.size - sizeof *head), &w->head, sizeof w->head);
    assert_int_equal(fs_write_atomic(path, file.data, file.size, NULL), OK);
    buf_fini(&file);
    free(path);
}

/* --- what is told --- */

json_t *told_slots;

json_t *told_waits(void)
{
    json_t *live = json_pack("{s:[{s:s},{s:s}], s:[{s:s},{s:s}], s:O*}", "workers", "task", "worker.0", "task",
                             "worker.1", "servers", "task", "ps.0", "task", "ps.1", "slots", told_slots);
    json_t *told = NULL;
    error err = ERROR_INIT;
    if (explain_waits(folder_path(), live, &told, &err) != OK)
        fail_msg("%s", err.text);
    json_decref(live);
    return told;
}

void told_holds_up(const char *who, const char *does, int waiters)
{
    json_t *told = told_waits();
    const json_t *end = json_array_get(json_object_get(told, "held_up_by"), 0);
    if (!end)
        fail_msg("nobody holds up the others");
    assert_string_equal(json_string_value(json_object_get(end, "task")), who);
    if (!strstr(json_string_value(json_object_get(end, "does")), does))
        fail_msg("'%s' does not say '%s'", json_string_value(json_object_get(end, "does")), does);
    assert_int_equal(json_integer_value(json_object_get(end, "waiters")), waiters);
    json_decref(told);
}

static bool is_in_text(const char *what)
{
    json_t *told = told_waits();
    buf text = BUF_INIT;
    explain_waits_text(told, &text);
    bool is = strstr(text.data, what) != NULL;
    if (!is)
        print_message("%s", text.data);
    buf_fini(&text);
    json_decref(told);
    return is;
}

void told_text_says(const char *what)
{
    if (!is_in_text(what))
        fail_msg("it does not say '%s'", what);
}

void told_text_says_not(const char *what)
{
    assert_false(is_in_text(what));
}

int written_set_up(void **state)
{
    (void)state;
    char *log = folder_file("log/events");
    int failed = fs_remove_tree(log, NULL) != OK || fs_mkdirs(log, NULL) != OK;
    free(log);
    return failed;
}
