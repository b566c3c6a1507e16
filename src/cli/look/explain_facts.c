#include "cli/look/explain_facts.h"

#include "cli/inspect/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A worker that takes so many times as long as the others for a slot is late; what is less may be chance. */
#define CLEARLY_SLOWER 1.1

/* --- documents --- */

static const json_t *at_path(const json_t *o, const char *path)
{
    char key[128];
    while (o && *path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        o = json_object_get(o, key);
        path += n + (path[n] == '.');
    }
    return o;
}

double explain_option(const explain_facts *f, const char *path, double if_absent)
{
    const json_t *value = at_path(f->config, path);
    return json_is_number(value) ? json_number_value(value) : if_absent;
}

bool explain_has_option(const explain_facts *f, const char *path)
{
    const json_t *value = at_path(f->config, path);
    return value && !json_is_null(value) && !json_is_false(value);
}

const json_t *explain_worker(const explain_facts *f, size_t i)
{
    return json_array_get(json_object_get(f->live, "workers"), i);
}

const json_t *explain_server(const explain_facts *f, size_t i)
{
    return json_array_get(json_object_get(f->live, "servers"), i);
}

static const json_t *figures_of(const json_t *o)
{
    return json_object_get(o, "figures");
}

explain_facts explain_facts_of(const json_t *job, const json_t *live, const json_t *config)
{
    explain_facts f = {.live = live, .config = config, .batches_per_step = inspect_int(job, "batches_per_step")};
    const json_t *o, *mode = at_path(config, "distributed.mode");
    time_shares_of_job(live, &f.shares);
    f.sums = time_sums_of(live);
    time_shares_round(&f.shares, f.tenths);
    f.is_in_steps = !json_is_string(mode) || strcmp(json_string_value(mode), "sync") == 0;
    for (size_t i = 0; (o = explain_worker(&f, i)); i++) {
        f.workers++;
        f.lanes += inspect_int(o, "lanes");
        f.slots += time_figure(figures_of(o), COUNTER_WORKER_SLOTS);
    }
    for (size_t i = 0; explain_server(&f, i); i++)
        f.servers++;
    f.wall_s = json_number_value(json_object_get(live, "wall_s"));
    return f;
}

/* --- tasks --- */

time_shares explain_worker_shares(const explain_facts *f, const json_t *worker)
{
    time_shares t;
    time_shares_among(figures_of(worker), figures_of(json_object_get(f->live, "master")), &f->sums, &t);
    return t;
}

time_shares explain_worker_own(const explain_facts *f, const json_t *worker)
{
    time_shares t;
    time_shares_of_worker(figures_of(worker), figures_of(json_object_get(f->live, "master")), &t);
    return t;
}

double explain_slot_s(const json_t *worker)
{
    const json_t *figures = figures_of(worker);
    double slots = time_figure(figures, COUNTER_WORKER_SLOTS);
    return slots > 0 ? time_figure(figures, COUNTER_WORKER_COMPUTING) / slots : 0;
}

double explain_busy_s(const json_t *worker)
{
    const json_t *figures = figures_of(worker);
    double slots = time_figure(figures, COUNTER_WORKER_SLOTS);
    return explain_slot_s(worker) + (slots > 0 ? time_figure(figures, COUNTER_WORKER_LOADING) / slots : 0);
}

/* Who waits least for others, of those that compute. */
static const json_t *least_waiting(const explain_facts *f)
{
    const json_t *found = NULL, *o;
    double least = 1;
    for (size_t i = 0; f->workers > 1 && (o = explain_worker(f, i)); i++) {
        time_shares t = explain_worker_own(f, o);
        double waits = time_share_of(&t, SHARE_STRAGGLERS);
        if (explain_slot_s(o) <= 0 || waits >= least)
            continue;
        least = waits;
        found = o;
    }
    return found;
}

const json_t *explain_late_worker(const explain_facts *f, double *ret_slower)
{
    const json_t *late = least_waiting(f);
    time_sums others = time_sums_but(&f->sums, figures_of(late));
    double usual = others.slots > 0 ? (others.computing_s + others.loading_s) / others.slots : 0;
    *ret_slower = usual > 0 ? explain_busy_s(late) / usual : 1;
    return *ret_slower >= CLEARLY_SLOWER ? late : NULL;
}

double explain_busiest_server(const explain_facts *f, const char **ret_task)
{
    double most = 0;
    const json_t *o;
    *ret_task = "";
    for (size_t i = 0; (o = explain_server(f, i)); i++) {
        double busy_s = time_figure(figures_of(o), COUNTER_PS_BUSY);
        if (f->wall_s > 0 && busy_s / f->wall_s > most) {
            most = busy_s / f->wall_s;
            *ret_task = inspect_str(o, "task");
        }
    }
    return most < 1 ? most : 1;
}
