#include "master/ledger.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPEN_STEPS = 4,                 /* reports of at most this many steps overlap */
    EPOCHS_KEPT = 8,                /* a checkpoint is fewer epochs behind the reports */
};

typedef struct open_step {
    uint32_t reported;
    bool *is_in;                    /* [per_step] */
    metric_set *metrics;
    int64_t examples;
} open_step;

struct ledger {
    ledger_options o;
    open_step open[OPEN_STEPS];     /* [step % OPEN_STEPS] */
    ledger_totals totals;
    metric_set epochs[EPOCHS_KEPT]; /* [epoch % EPOCHS_KEPT] */
    events *events;
    FILE *lines;
    char *lines_path;
    int64_t start_us, mark_us, mark_examples;
};

static void open_step_clear(const ledger *l, int64_t step)
{
    const open_step *s = &l->open[step % OPEN_STEPS];
    memset(s->is_in, 0, (size_t)l->o.steps.per_step * sizeof *s->is_in);
    ((open_step *)(uintptr_t)s)->reported = 0;
    ((open_step *)(uintptr_t)s)->examples = 0;
}

/* Keeps the lines of steps up to `step`; a line that is not ours ends the file. */
static status lines_rewind(const char *path, int64_t step, error *err)
{
    if (!fs_exists(path))
        return OK;
    buf text = BUF_INIT, kept = BUF_INIT;
    status st = fs_read(path, (size_t)1 << 32, &text, err);
    for (char *line = text.data, *end; st == OK && line && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            break;
        json_t *value = NULL;
        if (json_parse(line, (size_t)(end - line), path, E_DATA, &value, NULL) != OK)
            break;
        bool keep = json_integer_value(json_object_get(value, "step")) <= step;
        json_decref(value);
        if (keep)
            buf_add(&kept, line, (size_t)(end - line) + 1);
    }
    if (st == OK)
        st = fs_write_atomic(path, kept.data ? kept.data : "", kept.size, err);
    buf_fini(&text);
    buf_fini(&kept);
    return st;
}

static status lines_open(ledger *l, int64_t step, error *err)
{
    if (l->lines)
        fclose(l->lines);
    l->lines = NULL;
    TRY(lines_rewind(l->lines_path, step, err));
    l->lines = fopen(l->lines_path, "ae");
    if (!l->lines)
        return FAIL(err, E_IO, "open '%s': %s", l->lines_path, strerror(errno));
    return OK;
}

status ledger_open(const ledger_options *options, int64_t step, ledger **ret, error *err)
{
    ledger *l = xcalloc(1, sizeof *l);
    l->o = *options;
    l->lines_path = jobdir_file(options->dir, "metrics.jsonl");
    for (int i = 0; i < OPEN_STEPS; i++) {
        l->open[i].is_in = xcalloc((size_t)options->steps.per_step, sizeof(bool));
        l->open[i].metrics = xcalloc((size_t)options->steps.per_step, sizeof(metric_set));
    }
    status st = ledger_rewind(l, step, err);
    if (st == OK)
        st = events_open(jobdir_path(options->dir), &l->events, err);
    if (st != OK)
        ledger_close(&l);
    else
        *ret = l;
    return st;
}

void ledger_close(ledger **l)
{
    if (!l || !*l)
        return;
    for (int i = 0; i < OPEN_STEPS; i++) {
        free((*l)->open[i].is_in);
        free((*l)->open[i].metrics);
    }
    if ((*l)->lines)
        fclose((*l)->lines);
    events_close(&(*l)->events);
    free((*l)->lines_path);
    free(*l);
    *l = NULL;
}

static int64_t examples_until(const steps *s, int64_t step)
{
    int64_t per_epoch = steps_per_epoch(s), epochs = step / per_epoch, sum = 0;
    for (int64_t t = epochs * per_epoch; t < step; t++)
        sum += steps_examples(s, t);
    int64_t epoch_examples = 0;
    if (epochs)
        epoch_examples = s->drop_last ? s->examples / s->batch_size * s->batch_size : s->examples;
    return epochs * epoch_examples + sum;
}

status ledger_rewind(ledger *l, int64_t step, error *err)
{
    TRY(lines_open(l, step, err));
    l->totals = (ledger_totals){.step = step, .examples = examples_until(&l->o.steps, step)};
    l->start_us = l->mark_us = clock_us();
    l->mark_examples = 0;
    for (int64_t i = 0; i < OPEN_STEPS; i++)
        open_step_clear(l, i);
    return OK;
}

static void update_speed(ledger *l)
{
    int64_t now = clock_us();
    ledger_totals *t = &l->totals;
    t->wall_s = (double)(now - l->start_us) * 1e-6;
    double since = (double)(now - l->mark_us) * 1e-6;
    if (since < 1 && t->examples_per_s > 0)
        return;
    double speed = (double)(t->seen - l->mark_examples) / (since > 1e-6 ? since : 1e-6);
    t->examples_per_s = t->examples_per_s > 0 ? 0.5 * t->examples_per_s + 0.5 * speed : speed;
    l->mark_us = now;
    l->mark_examples = t->seen;
}

static status write_line(ledger *l, error *err)
{
    const ledger_totals *t = &l->totals;
    float rate = schedule_rate(&l->o.schedule, t->step - 1);
    json_t *line = json_pack("{sI sI sf sf sf sI}", "step", (json_int_t)t->step, "epoch",
                             (json_int_t)steps_epoch_of(&l->o.steps, t->step - 1), "learning_rate",
                             (double)rate, "examples_per_s", t->examples_per_s, "wall_s", t->wall_s,
                             "examples", (json_int_t)t->examples);
    for (size_t i = 0; i < t->last_step.n; i++) {
        const char *name = t->last_step.at[i].name;
        double value = metric_result(&t->last_step, name);
        json_object_set_new(line, name, json_real(value));
        char tag[64];
        snprintf(tag, sizeof tag, "training/%s", name);
        status st = events_scalar(l->events, t->step, tag, (float)value, err);
        if (st != OK) {
            json_decref(line);
            return st;
        }
    }
    char *text = json_text(line);
    json_decref(line);
    int n = fprintf(l->lines, "%s\n", text);
    free(text);
    if (n < 0 || fflush(l->lines) != 0)
        return FAIL(err, E_IO, "write '%s': %s", l->lines_path, strerror(errno));
    TRY(events_scalar(l->events, t->step, "training/learning_rate", rate, err));
    TRY(events_scalar(l->events, t->step, "training/examples_per_s", (float)t->examples_per_s, err));
    return events_flush(l->events, err);
}

static status step_complete(ledger *l, error *err)
{
    ledger_totals *t = &l->totals;
    open_step *s = &l->open[t->step % OPEN_STEPS];
    uint32_t n = steps_slots(&l->o.steps, t->step);
    metric_reset(&t->last_step);
    for (uint32_t i = 0; i < n; i++)
        metric_merge(&t->last_step, &s->metrics[i]);
    metric_merge(&t->epoch, &t->last_step);
    t->examples += s->examples;
    t->seen += s->examples;
    open_step_clear(l, t->step);
    t->step++;
    update_speed(l);
    bool epoch_end = t->step % steps_per_epoch(&l->o.steps) == 0;
    if (epoch_end) {
        t->last_epoch = t->epoch;
        l->epochs[steps_epoch_of(&l->o.steps, t->step - 1) % EPOCHS_KEPT] = t->epoch;
        metric_reset(&t->epoch);
    }
    return epoch_end || t->step % l->o.summary_steps == 0 ? write_line(l, err) : OK;
}

/* Nobody is four steps ahead of another: what is still missing was lost with its worker. The batches
 * count all the same, for the weights have them. */
static status step_forgotten(ledger *l, error *err)
{
    l->open[l->totals.step % OPEN_STEPS].examples = steps_examples(&l->o.steps, l->totals.step);
    return step_complete(l, err);
}

status ledger_report(ledger *l, int64_t step, uint32_t slot, const metric_set *m, int64_t examples,
                     int64_t *ret_steps, error *err)
{
    *ret_steps = 0;
    int64_t ahead = step - l->totals.step;
    if (ahead < 0 || ahead >= 2 * OPEN_STEPS || slot >= steps_slots(&l->o.steps, step))
        return OK;                  /* computed twice, of a rolled-back step, or nonsense */
    for (; ahead >= OPEN_STEPS; ahead--, ++*ret_steps)
        TRY(step_forgotten(l, err));
    open_step *s = &l->open[step % OPEN_STEPS];
    if (s->is_in[slot])
        return OK;
    s->is_in[slot] = true;
    s->metrics[slot] = *m;
    s->examples += examples;
    s->reported++;
    while (l->open[l->totals.step % OPEN_STEPS].reported == steps_slots(&l->o.steps, l->totals.step)) {
        TRY(step_complete(l, err));
        ++*ret_steps;
    }
    return OK;
}

const metric_set *ledger_epoch(const ledger *l, int64_t epoch)
{
    bool is_complete = (epoch + 1) * steps_per_epoch(&l->o.steps) <= l->totals.step;
    return is_complete ? &l->epochs[epoch % EPOCHS_KEPT] : &l->totals.epoch;
}

const ledger_totals *ledger_totals_of(const ledger *l)
{
    return &l->totals;
}

events *ledger_events(ledger *l)
{
    return l->events;
}

const bool *ledger_open_step(const ledger *l)
{
    return l->open[l->totals.step % OPEN_STEPS].is_in;
}

bool ledger_has(const ledger *l, int64_t step, uint32_t slot)
{
    int64_t ahead = step - l->totals.step;
    if (slot >= (uint32_t)l->o.steps.per_step)
        return true;
    return ahead < 0 || (ahead < OPEN_STEPS && l->open[step % OPEN_STEPS].is_in[slot]);
}

void ledger_missing(const ledger *l, char *ret, size_t bytes)
{
    const open_step *s = &l->open[l->totals.step % OPEN_STEPS];
    size_t used = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < steps_slots(&l->o.steps, l->totals.step) && used + 12 < bytes; i++)
        if (!s->is_in[i])
            used += (size_t)snprintf(ret + used, bytes - used, "%s%u", used ? "," : "", i);
}
