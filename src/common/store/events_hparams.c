#include "common/store/events_hparams.h"

#include "common/base/alloc.h"
#include "proto/hparams.pb-c.h"

#include <stdlib.h>

typedef Tequio__Hparams__SessionStartInfo__Entry Entry;
typedef Tequio__Hparams__Value Value;

static void add_data(events *e, const char *tag, const Tequio__Hparams__HParamsPluginData *data)
{
    size_t bytes = tequio__hparams__hparams_plugin_data__get_packed_size(data);
    unsigned char *content = xmalloc(bytes + 1);
    tequio__hparams__hparams_plugin_data__pack(data, content);
    events_plugin_data(e, tag, "hparams", content, bytes);
    free(content);
}

static void set_entry(const events_hparam *from, Entry *ret, Value *value)
{
    tequio__hparams__session_start_info__entry__init(ret);
    tequio__hparams__value__init(value);
    ret->key = (char *)(uintptr_t)from->name;
    ret->value = value;
    if (from->word) {
        value->kind_case = TEQUIO__HPARAMS__VALUE__KIND_STRING_VALUE;
        value->string_value = (char *)(uintptr_t)from->word;
    } else {
        value->kind_case = TEQUIO__HPARAMS__VALUE__KIND_NUMBER_VALUE;
        value->number_value = from->number;
    }
}

void events_hparams_begin(events *e, const events_hparam *values, size_t n)
{
    Entry *entries = xcalloc(n + 1, sizeof *entries), **at = xcalloc(n + 1, sizeof(Entry *));
    Value *kept = xcalloc(n + 1, sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        set_entry(&values[i], &entries[i], &kept[i]);
        at[i] = &entries[i];
    }
    Tequio__Hparams__SessionStartInfo start = TEQUIO__HPARAMS__SESSION_START_INFO__INIT;
    start.n_hparams = n;
    start.hparams = at;
    Tequio__Hparams__HParamsPluginData data = TEQUIO__HPARAMS__HPARAMS_PLUGIN_DATA__INIT;
    data.data_case = TEQUIO__HPARAMS__HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO;
    data.session_start_info = &start;
    add_data(e, "_hparams_/session_start_info", &data);
    free(kept);
    free(at);
    free(entries);
}

void events_hparams_end(events *e, events_session how)
{
    static const Tequio__Hparams__Status words[] = {
        [EVENTS_SESSION_RUNNING] = TEQUIO__HPARAMS__STATUS__STATUS_RUNNING,
        [EVENTS_SESSION_DONE] = TEQUIO__HPARAMS__STATUS__STATUS_SUCCESS,
        [EVENTS_SESSION_FAILED] = TEQUIO__HPARAMS__STATUS__STATUS_FAILURE,
    };
    Tequio__Hparams__SessionEndInfo end = TEQUIO__HPARAMS__SESSION_END_INFO__INIT;
    end.status = words[how];
    Tequio__Hparams__HParamsPluginData data = TEQUIO__HPARAMS__HPARAMS_PLUGIN_DATA__INIT;
    data.data_case = TEQUIO__HPARAMS__HPARAMS_PLUGIN_DATA__DATA_SESSION_END_INFO;
    data.session_end_info = &end;
    add_data(e, "_hparams_/session_end_info", &data);
}
