#include "common/store/history.h"

#include "common/store/jobdir_internal.h"

#include <stdlib.h>
#include <string.h>

const json_t *history_of(const jobdir *d)
{
    const json_t *list = json_object_get(d->job, "history");
    return json_array_size(list) ? list : NULL;
}

json_t *history_open_entry(const jobdir *d)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(d->job, "history"), i, entry)
        if (!json_object_get(entry, "end"))
            return entry;
    return NULL;
}

status history_complete(jobdir *d, json_t *entry, const int64_t end[2], json_t *rates, error *err)
{
    json_object_set_new(entry, "learning_rate", rates);
    json_object_set_new(entry, "end",
                        json_pack("[I, I]", (json_int_t)end[0], (json_int_t)end[1]));
    return jobdir_save(d, err);
}

/* --- for people --- */

static void add_keys(const json_t *entry, buf *ret)
{
    json_t *was = json_object_get(entry, "was"), *now;
    const char *key, *between = "";
    json_object_foreach(json_object_get(entry, "is"), key, now)
    {
        json_t *before = json_object_get(was, key);
        if (!before || json_equal(before, now))
            continue;
        char *from = json_text(before), *to = json_text(now);
        buf_addf(ret, "%s%s %s -> %s", between, key, from, to);
        between = ", ";
        free(from);
        free(to);
    }
}

/* "0.01 -> 0.02 at step 38" */
static void add_rate(const json_t *pair, const char *where, int64_t step, buf *ret)
{
    buf_addf(ret, " %.6g -> %.6g %s", json_number_value(json_array_get(pair, 0)),
             json_number_value(json_array_get(pair, 1)), where);
    if (step >= 0)
        buf_addf(ret, " %lld", (long long)step);
}

static void add_rates(const json_t *rates, int64_t step, buf *ret)
{
    const char *schedule = json_string_value(json_object_get(rates, "schedule"));
    buf_addf(ret, "; learning rate (%s)", schedule ? schedule : "");
    if (!json_is_true(json_object_get(rates, "changed"))) {
        buf_adds(ret, " unchanged");
        return;
    }
    add_rate(json_object_get(rates, "at_step"), "at step", step, ret);
    buf_adds(ret, ",");
    add_rate(json_object_get(rates, "at_end"), "at the end", -1, ret);
}

static void add_end(const json_t *end, buf *ret)
{
    int64_t was = json_integer_value(json_array_get(end, 0));
    int64_t now = json_integer_value(json_array_get(end, 1));
    if (was == now)
        buf_addf(ret, "; the end stays at step %lld", (long long)now);
    else
        buf_addf(ret, "; the end moves from step %lld to %lld", (long long)was, (long long)now);
}

void history_print(const json_t *entry, buf *ret)
{
    const json_t *end = json_object_get(entry, "end");
    const json_t *rates = json_object_get(entry, "learning_rate");
    int64_t step = json_integer_value(json_object_get(entry, "step"));
    buf_addf(ret, "from step %lld: ", (long long)step);
    add_keys(entry, ret);
    if (end)
        add_end(end, ret);
    if (rates)
        add_rates(rates, step, ret);
}

void history_print_list(const json_t *list, const char *title, buf *ret)
{
    size_t i;
    const json_t *entry;
    if (json_array_size(list))
        buf_addf(ret, "%s\n", title);
    json_array_foreach(list, i, entry)
    {
        const char *time = json_string_value(json_object_get(entry, "time"));
        buf_addf(ret, "  %s  ", time ? time : "");
        history_print(entry, ret);
        buf_adds(ret, "\n");
    }
}
