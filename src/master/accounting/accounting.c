#include "master/accounting/accounting.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/store/appender.h"
#include "master/accounting/journal.h"
#include "master/accounting/metric_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_EVERY = 1024 }; /* records of the journal */

struct accounting {
    accounting_options o;
    metric_sums *metric_sums;
    training_metrics *training; /* until the sums have it */
    journal *journal;
    accounting_totals totals;
    events *events;
    appender lines; /* metrics.jsonl */
    int64_t line_told, event_told; /* these files tell of no later step yet */
    double begin_wall_s;           /* spent before we began, as metrics.jsonl tells, */
    int64_t begin_seen;            /* on so many examples */
    int64_t begin_examples;        /* over the job, when we began */
    int64_t start_us, mark_us, mark_examples;
};

/* The last thing of a step that goes into the event file. */
static const char last_tag[] = "training/examples_per_s";

/* --- files --- */

static void note_first(accounting_totals *t, double loss, int64_t examples)
{
    t->first_loss = loss;
    t->first_examples = examples;
}

/* The newest line there is: what was told last, and how long the job had taken by then. */
static void note_line(accounting *l, const json_t *line)
{
    const json_t *loss = json_object_get(line, "loss");
    if (json_integer_value(json_object_get(line, "step")) == 1 && json_is_number(loss))
        note_first(&l->totals, json_number_value(loss),
                   json_integer_value(json_object_get(line, "examples")));
    l->line_told = json_integer_value(json_object_get(line, "step"));
    l->begin_seen = json_integer_value(json_object_get(line, "examples"));
    l->begin_wall_s = json_number_value(json_object_get(line, "wall_s"));
}

/* Keeps the lines of steps up to `step`; a line that is not ours ends the file, which is a new one:
 * a frozen master that thaws writes into the old. */
static status lines_rewind(accounting *l, const char *path, int64_t step, error *err)
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
        bool stays = json_integer_value(json_object_get(value, "step")) <= step;
        if (stays)
            note_line(l, value);
        json_decref(value);
        if (stays)
            buf_add(&kept, line, (size_t)(end - line) + 1);
    }
    if (st == OK)
        st = fs_write_atomic(path, kept.data ? kept.data : "", kept.size, err);
    buf_fini(&text);
    buf_fini(&kept);
    return st;
}

static status events_begin(accounting *l, const char *folder, int64_t step, error *err)
{
    TRY(fs_mkdirs(folder, err));
    TRY(events_last_step(folder, last_tag, &l->event_told, err));
    if (l->event_told > step)
        l->event_told = step;
    TRY(events_rewind(folder, &(events_bounds){.scalars = l->event_told, .others = step}, err));
    return events_open(folder, &l->events, err);
}

/* Neither file may tell of steps beyond `step`, nor tell half of one. eval/ needs no going back:
 * evaluators read committed checkpoints only, and where nobody can go back to the newest of those it is
 * computed again. */
static status files_open(accounting *l, int64_t step, error *err)
{
    char *path = jobdir_file(l->o.dir, "metrics.jsonl");
    status st = lines_rewind(l, path, step, err);
    if (st == OK)
        st = appender_open(&l->lines, path, false, err);
    free(path);
    TRY(st);
    char *folder = jobdir_events(l->o.dir, NULL);
    st = events_begin(l, folder, step, err);
    free(folder);
    return st;
}

/* One that is called as a mean of the step is that step's. */
static bool is_told_number(const accounting *l, const metric_figure *f)
{
    for (size_t i = 0; i < l->totals.last_step.n; i++)
        if (strcmp(l->totals.last_step.at[i].name, f->name) == 0)
            return false;
    return f->rows == 0 && isfinite(f->values[0]);
}

/* Numbers of the metrics of training, where the step ends an epoch: over all of it. */
static void epoch_figures(accounting *l, metric_figures *ret)
{
    int64_t per_epoch = steps_per_epoch(&l->o.steps);
    if (l->totals.step % per_epoch == 0)
        (void)metric_sums_figures(l->metric_sums, l->totals.step / per_epoch - 1, ret); /* else there are none */
}

static void accounting_write_events(accounting *l, float rate, const metric_figures *figures)
{
    const accounting_totals *t = &l->totals;
    for (size_t i = 0; i < figures->n; i++) {
        char *tag = xasprintf("training/%s", figures->at[i].name);
        if (is_told_number(l, &figures->at[i]))
            events_scalar(l->events, t->step, tag, (float)figures->at[i].values[0]);
        free(tag);
    }
    for (size_t i = 0; i < t->last_step.n; i++) {
        const char *name = t->last_step.at[i].name;
        char tag[64];
        snprintf(tag, sizeof tag, "training/%s", name);
        events_scalar(l->events, t->step, tag, (float)metric_result(&t->last_step, name));
    }
    events_scalar(l->events, t->step, "training/learning_rate", rate);
    events_scalar(l->events, t->step, last_tag, (float)t->examples_per_s);
    events_put(l->events);
}

static void write_line(accounting *l, float rate, const metric_figures *figures)
{
    const accounting_totals *t = &l->totals;
    json_t *line = json_pack("{sI sI sf sf sf sI}", "step", (json_int_t)t->step, "epoch",
                             (json_int_t)steps_epoch_of(&l->o.steps, t->step - 1), "learning_rate",
                             (double)rate, "examples_per_s", t->examples_per_s, "wall_s", t->wall_s,
                             "examples", (json_int_t)t->examples);
    for (size_t i = 0; i < t->last_step.n; i++) {
        const char *name = t->last_step.at[i].name;
        json_object_set_new(line, name, json_real(metric_result(&t->last_step, name)));
    }
    for (size_t i = 0; i < figures->n; i++)
        if (is_told_number(l, &figures->at[i]))
            json_object_set_new(line, figures->at[i].name, json_real(figures->at[i].values[0]));
    if (t->last_lost)
        json_object_set_new(line, "lost_slots", json_integer(t->last_lost));
    char *text = json_text(line);
    size_t n = strlen(text);
    json_decref(line);
    text[n] = '\n'; /* takes the place of the terminating zero */
    appender_put(&l->lines, text, n + 1);
    free(text);
}

static bool is_told(const accounting *l, int64_t step)
{
    return step == 1 || step % l->o.summary_steps == 0 || step % steps_per_epoch(&l->o.steps) == 0 ||
           step == l->o.total;
}

double accounting_rate(const accounting *l)
{
    int64_t step = l->totals.step > 0 ? l->totals.step - 1 : 0;
    uint32_t reductions = l->o.reductions ? l->o.reductions(l->o.reductions_of, step) : 0;
    return (double)lr_sequence_rate(&l->o.rates, step, reductions);
}

/* Of steps that come from the journal the files may tell already. */
static void accounting_tell(accounting *l)
{
    int64_t step = l->totals.step;
    float rate = (float)accounting_rate(l);
    metric_figures figures = {.n = 0};
    epoch_figures(l, &figures);
    if (is_told(l, step) && step > l->line_told)
        write_line(l, rate, &figures);
    if (is_told(l, step) && step > l->event_told)
        accounting_write_events(l, rate, &figures);
    metric_figures_fini(&figures);
}

/* --- steps --- */

static void update_totals(accounting *l)
{
    const completed_steps *s = metric_sums_completed(l->metric_sums);
    accounting_totals *t = &l->totals;
    t->step = s->step;
    t->examples = s->examples;
    t->seen = l->begin_seen + s->examples - l->begin_examples;
    t->lost = s->lost;
    t->last_lost = s->last_lost;
    t->last_step = s->last_step;
    t->epoch = s->epoch;
    double loss = metric_result(&t->last_step, "loss");
    if (s->step == 1 && isfinite(loss))
        note_first(t, loss, t->examples);
    int64_t epochs = s->step / steps_per_epoch(&l->o.steps);
    t->last_epoch = s->epochs[(epochs + METRIC_SUMS_EPOCHS - 1) % METRIC_SUMS_EPOCHS];
}

static void update_speed(accounting *l)
{
    int64_t now = clock_us();
    accounting_totals *t = &l->totals;
    t->wall_s = l->begin_wall_s + (double)(now - l->start_us) * 1e-6;
    double since = (double)(now - l->mark_us) * 1e-6;
    if (since < 1 && t->examples_per_s > 0)
        return;
    double speed = (double)(t->seen - l->mark_examples) / (since > 1e-6 ? since : 1e-6);
    t->examples_per_s = t->examples_per_s > 0 ? 0.5 * t->examples_per_s + 0.5 * speed : speed;
    l->mark_us = now;
    l->mark_examples = t->seen;
}

/* The sums now, and behind them once more what they do not hold yet: reading may begin here. */
static void write_base(accounting *l)
{
    journal_base(l->journal, metric_sums_base(l->metric_sums));
    slot_report r;
    for (size_t at = 0; metric_sums_next_open(l->metric_sums, &at, &r);)
        journal_report(l->journal, &r);
}

/* The oldest open step enters the accounts. */
static void step_over(accounting *l)
{
    update_totals(l);
    update_speed(l);
    accounting_tell(l);
    size_t often = BASE_EVERY + 8 * (size_t)l->o.steps.per_step;
    if (journal_since_base(l->journal) >= often)
        write_base(l);
}

static void close_step(accounting *l)
{
    journal_closed(l->journal, l->totals.step);
    metric_sums_advance(l->metric_sums, true);
    step_over(l);
}

static int64_t advance(accounting *l)
{
    int64_t done = 0;
    for (; metric_sums_advance(l->metric_sums, false); done++)
        step_over(l);
    return done;
}

int64_t accounting_report(accounting *l, const slot_report *r)
{
    if (!metric_sums_take(l->metric_sums, r))
        return 0; /* computed twice, of a rolled-back step, too far ahead, or nonsense */
    journal_report(l->journal, r);
    return advance(l);
}

int64_t accounting_settle(accounting *l, int64_t until)
{
    char missing[128];
    int64_t done = 0;
    accounting_missing(l, missing, sizeof missing);
    if (l->totals.step < until)
        LOG_W("REPORTS_LOST", "step=%lld slots=%s%s: the weights have them, the metrics do not",
              (long long)l->totals.step, missing,
              l->totals.step + 1 < until ? ", and some of the steps that follow" : "");
    while (l->totals.step < until) {
        close_step(l);
        done += 1 + advance(l);
    }
    return done;
}

/* --- life --- */

static training_metrics *move_training(accounting *l)
{
    training_metrics *training = l->training;
    l->training = NULL;
    return training;
}

static void take_record(void *user, const journal_record *r)
{
    accounting *l = user;
    if (r->kind == JOURNAL_BASE && !l->metric_sums)
        l->metric_sums = metric_sums_create(&l->o.steps, &r->base, move_training(l));
    if (r->kind == JOURNAL_REPORT)
        metric_sums_take(l->metric_sums, &r->report);
    bool anyway = r->kind == JOURNAL_CLOSED && r->report.step == metric_sums_completed(l->metric_sums)->step;
    for (; metric_sums_advance(l->metric_sums, anyway); anyway = false) {
        update_totals(l);
        accounting_tell(l);
    }
}

/* Where the journal is gone: of the epoch under way nothing is known. */
static completed_steps sums_without(const steps *s, int64_t saved)
{
    completed_steps sums = completed_steps_at(s, saved);
    int64_t per_epoch = steps_per_epoch(s);
    for (int64_t step = saved - saved % per_epoch; step < saved; step++)
        sums.lost += steps_slots(s, step);
    return sums;
}

/* The journal as of `saved`, and what it says of the steps from there to `step`. */
static status read_journal(accounting *l, int64_t saved, int64_t step, error *err)
{
    char *path = jobdir_file(l->o.dir, "journal");
    journal_place place = {
        .path = path, .job_id = jobdir_job_id(l->o.dir), .saved = saved, .behind = l->o.behind,
        .until = step};
    completed_steps base = sums_without(&l->o.steps, saved);
    bool found = false;
    size_t end = 0;
    status st = journal_open(&place, &base, &l->journal, &found, err);
    if (st == OK && !found && saved > 0)
        LOG_W("NO_JOURNAL",
              "'%s' does not reach back to the checkpoint of step %lld: metrics of its epoch begin "
              "there",
              path, (long long)saved);
    if (st == OK)
        st = journal_read(path, place.job_id, take_record, l, &end, err);
    if (st == OK && !l->metric_sums)
        st = FAIL(err, E_DISK, "'%s' was changed while it was read", path);
    free(path);
    if (st == OK)
        update_totals(l);
    return st;
}

status accounting_open(const accounting_options *options, int64_t saved, int64_t step, accounting **ret,
                       error *err)
{
    accounting *l = xcalloc(1, sizeof *l);
    l->o = *options;
    l->lines = (appender)APPENDER_INIT;
    l->totals.first_loss = (double)NAN;
    l->start_us = l->mark_us = clock_us();
    status st = options->recipe_bytes
                    ? training_metrics_open(options->recipe, options->recipe_bytes, &l->training, err)
                    : OK;
    if (st == OK)
        st = files_open(l, step, err);
    l->totals.wall_s = l->begin_wall_s; /* of what the journal tells */
    if (st == OK)
        st = read_journal(l, saved, step, err);
    /* a checkpoint waits for its reports; so they are lost with the journal alone */
    if (st == OK && l->totals.step < saved)
        accounting_settle(l, saved);
    if (st != OK) {
        accounting_close(&l);
        return st;
    }
    l->begin_examples = l->totals.examples;
    l->totals.seen = l->mark_examples = l->begin_seen;
    l->totals.wall_s = l->begin_wall_s;
    *ret = l;
    return OK;
}

static void note_highest(void *user, const journal_record *r)
{
    int64_t *highest = user;
    int64_t step = r->kind == JOURNAL_BASE ? r->base.step - 1 : r->report.step;
    *highest = step > *highest ? step : *highest;
}

status accounting_told(const jobdir *dir, int64_t *ret, error *err)
{
    char *path = jobdir_file(dir, "journal");
    int64_t highest = -1;
    size_t end;
    status st = journal_read(path, jobdir_job_id(dir), note_highest, &highest, &end, err);
    free(path);
    TRY(st);
    *ret = highest;
    return OK;
}

void accounting_close(accounting **l)
{
    if (!l || !*l)
        return;
    appender_close(&(*l)->lines);
    events_close(&(*l)->events);
    journal_close(&(*l)->journal);
    metric_sums_destroy(&(*l)->metric_sums);
    training_metrics_close(&(*l)->training);
    free(*l);
    *l = NULL;
}

size_t accounting_waiting(const accounting *l)
{
    return journal_waiting(l->journal) + l->lines.waiting.size + events_waiting(l->events);
}

int64_t accounting_recorded(const accounting *l)
{
    int64_t waiting = journal_oldest_waiting(l->journal);
    return waiting < l->totals.step ? waiting : l->totals.step;
}

status accounting_flush(accounting *l, error *err)
{
    TRY(journal_flush(l->journal, err));
    TRY(appender_flush(&l->lines, err));
    return events_flush(l->events, err);
}

status accounting_sync(accounting *l, error *err)
{
    TRY(accounting_flush(l, err));
    return journal_sync(l->journal, err);
}

/* What the journal is about to forget must be in the other files for good: a machine may end, and a
 * mount of Cloud Storage holds on this one what nobody has asked it to write. */
status accounting_saved(accounting *l, int64_t step, error *err)
{
    TRY(accounting_flush(l, err));
    TRY(appender_sync(&l->lines, err));
    TRY(events_sync(l->events, err));
    return journal_trim(l->journal, step, err);
}

int64_t accounting_applied(const accounting *l)
{
    return metric_sums_highest(l->metric_sums);
}

const metric_set *accounting_epoch(const accounting *l, int64_t epoch)
{
    bool is_complete = (epoch + 1) * steps_per_epoch(&l->o.steps) <= l->totals.step;
    const completed_steps *sums = metric_sums_completed(l->metric_sums);
    return is_complete ? &sums->epochs[epoch % METRIC_SUMS_EPOCHS] : &sums->epoch;
}

bool accounting_epoch_figures(accounting *l, int64_t epoch, metric_figures *ret)
{
    return metric_sums_figures(l->metric_sums, epoch, ret);
}

const accounting_totals *accounting_totals_of(const accounting *l)
{
    return &l->totals;
}

events *accounting_events(accounting *l)
{
    return l->events;
}

void accounting_missing(const accounting *l, char *ret, size_t bytes)
{
    size_t used = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < steps_slots(&l->o.steps, l->totals.step) && used + 12 < bytes; i++)
        if (!metric_sums_has(l->metric_sums, l->totals.step, i))
            used += (size_t)snprintf(ret + used, bytes - used, "%s%u", used ? "," : "", i);
}
