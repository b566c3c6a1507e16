#include "master/books/ledger.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/store/appender.h"
#include "master/books/journal.h"
#include "master/books/tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE_EVERY = 1024 }; /* records of the journal */

struct ledger {
    ledger_options o;
    tally *tally;
    journal *journal;
    ledger_totals totals;
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

static void note_first(ledger_totals *t, double loss, int64_t examples)
{
    t->first_loss = loss;
    t->first_examples = examples;
}

/* The newest line there is: what was told last, and how long the job had taken by then. */
static void note_line(ledger *l, const json_t *line)
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
static status lines_rewind(ledger *l, const char *path, int64_t step, error *err)
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

static status events_begin(ledger *l, const char *folder, int64_t step, error *err)
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
static status files_open(ledger *l, int64_t step, error *err)
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

static void write_events(ledger *l, float rate)
{
    const ledger_totals *t = &l->totals;
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

static void write_line(ledger *l, float rate)
{
    const ledger_totals *t = &l->totals;
    json_t *line = json_pack("{sI sI sf sf sf sI}", "step", (json_int_t)t->step, "epoch",
                             (json_int_t)steps_epoch_of(&l->o.steps, t->step - 1), "learning_rate",
                             (double)rate, "examples_per_s", t->examples_per_s, "wall_s", t->wall_s,
                             "examples", (json_int_t)t->examples);
    for (size_t i = 0; i < t->last_step.n; i++) {
        const char *name = t->last_step.at[i].name;
        json_object_set_new(line, name, json_real(metric_result(&t->last_step, name)));
    }
    if (t->last_lost)
        json_object_set_new(line, "lost_slots", json_integer(t->last_lost));
    char *text = json_text(line);
    size_t n = strlen(text);
    json_decref(line);
    text[n] = '\n'; /* takes the place of the terminating zero */
    appender_put(&l->lines, text, n + 1);
    free(text);
}

static bool is_told(const ledger *l, int64_t step)
{
    return step == 1 || step % l->o.summary_steps == 0 || step % steps_per_epoch(&l->o.steps) == 0 ||
           step == l->o.total;
}

/* Of steps that come from the journal the files may tell already. */
static void tell(ledger *l)
{
    int64_t step = l->totals.step;
    float rate = schedule_rate(&l->o.schedule, step - 1);
    if (is_told(l, step) && step > l->line_told)
        write_line(l, rate);
    if (is_told(l, step) && step > l->event_told)
        write_events(l, rate);
}

/* --- steps --- */

static void update_totals(ledger *l)
{
    const tally_sums *s = tally_sums_of(l->tally);
    ledger_totals *t = &l->totals;
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
    t->last_epoch = s->epochs[(epochs + TALLY_EPOCHS - 1) % TALLY_EPOCHS];
}

static void update_speed(ledger *l)
{
    int64_t now = clock_us();
    ledger_totals *t = &l->totals;
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
static void write_base(ledger *l)
{
    journal_base(l->journal, tally_sums_of(l->tally));
    slot_report r;
    for (size_t at = 0; tally_next_open(l->tally, &at, &r);)
        journal_report(l->journal, &r);
}

/* The oldest open step enters the books. */
static void step_over(ledger *l)
{
    update_totals(l);
    update_speed(l);
    tell(l);
    size_t often = BASE_EVERY + 8 * (size_t)l->o.steps.per_step;
    if (journal_since_base(l->journal) >= often)
        write_base(l);
}

static void close_step(ledger *l)
{
    journal_closed(l->journal, l->totals.step);
    tally_advance(l->tally, true);
    step_over(l);
}

static int64_t advance(ledger *l)
{
    int64_t done = 0;
    for (; tally_advance(l->tally, false); done++)
        step_over(l);
    return done;
}

int64_t ledger_report(ledger *l, const slot_report *r)
{
    if (!tally_take(l->tally, r))
        return 0; /* computed twice, of a rolled-back step, too far ahead, or nonsense */
    journal_report(l->journal, r);
    return advance(l);
}

int64_t ledger_settle(ledger *l, int64_t until)
{
    char missing[128];
    int64_t done = 0;
    ledger_missing(l, missing, sizeof missing);
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

static status take_record(void *user, const journal_record *r, error *err)
{
    ledger *l = user;
    (void)err;
    if (r->kind == JOURNAL_BASE && !l->tally)
        l->tally = tally_create(&l->o.steps, &r->base);
    if (r->kind == JOURNAL_REPORT)
        tally_take(l->tally, &r->report);
    bool anyway = r->kind == JOURNAL_CLOSED && r->report.step == tally_sums_of(l->tally)->step;
    for (; tally_advance(l->tally, anyway); anyway = false) {
        update_totals(l);
        tell(l);
    }
    return OK;
}

/* Where the journal is gone: of the epoch under way nothing is known. */
static tally_sums sums_without(const steps *s, int64_t saved)
{
    tally_sums sums = tally_sums_at(s, saved);
    int64_t per_epoch = steps_per_epoch(s);
    for (int64_t step = saved - saved % per_epoch; step < saved; step++)
        sums.lost += steps_slots(s, step);
    return sums;
}

/* The journal as of `saved`, and what it says of the steps from there to `step`. */
static status read_journal(ledger *l, int64_t saved, int64_t step, error *err)
{
    char *path = jobdir_file(l->o.dir, "journal");
    journal_place place = {
        .path = path, .job_id = jobdir_job_id(l->o.dir), .saved = saved, .behind = l->o.behind,
        .until = step};
    tally_sums base = sums_without(&l->o.steps, saved);
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
    if (st == OK && !l->tally)
        st = FAIL(err, E_DISK, "'%s' was changed while it was read", path);
    free(path);
    if (st == OK)
        update_totals(l);
    return st;
}

status ledger_open(const ledger_options *options, int64_t saved, int64_t step, ledger **ret,
                   error *err)
{
    ledger *l = xcalloc(1, sizeof *l);
    l->o = *options;
    l->lines = (appender)APPENDER_INIT;
    l->totals.first_loss = (double)NAN;
    l->start_us = l->mark_us = clock_us();
    status st = files_open(l, step, err);
    l->totals.wall_s = l->begin_wall_s; /* of what the journal tells */
    if (st == OK)
        st = read_journal(l, saved, step, err);
    /* a checkpoint waits for its reports; so they are lost with the journal alone */
    if (st == OK && l->totals.step < saved)
        ledger_settle(l, saved);
    if (st != OK) {
        ledger_close(&l);
        return st;
    }
    l->begin_examples = l->totals.examples;
    l->totals.seen = l->mark_examples = l->begin_seen;
    l->totals.wall_s = l->begin_wall_s;
    *ret = l;
    return OK;
}

static status note_highest(void *user, const journal_record *r, error *err)
{
    (void)err;
    int64_t *highest = user;
    int64_t step = r->kind == JOURNAL_BASE ? r->base.step - 1 : r->report.step;
    *highest = step > *highest ? step : *highest;
    return OK;
}

status ledger_told(const jobdir *dir, int64_t *ret, error *err)
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

void ledger_close(ledger **l)
{
    if (!l || !*l)
        return;
    appender_close(&(*l)->lines);
    events_close(&(*l)->events);
    journal_close(&(*l)->journal);
    tally_destroy(&(*l)->tally);
    free(*l);
    *l = NULL;
}

size_t ledger_waiting(const ledger *l)
{
    return journal_waiting(l->journal) + l->lines.waiting.size + events_waiting(l->events);
}

int64_t ledger_booked(const ledger *l)
{
    int64_t waiting = journal_oldest_waiting(l->journal);
    return waiting < l->totals.step ? waiting : l->totals.step;
}

status ledger_flush(ledger *l, error *err)
{
    TRY(journal_flush(l->journal, err));
    TRY(appender_flush(&l->lines, err));
    return events_flush(l->events, err);
}

status ledger_sync(ledger *l, error *err)
{
    TRY(ledger_flush(l, err));
    return journal_sync(l->journal, err);
}

/* What the journal is about to forget must be in the other files for good: a machine may end, and a
 * mount of Cloud Storage holds on this one what nobody has asked it to write. */
status ledger_saved(ledger *l, int64_t step, error *err)
{
    TRY(ledger_flush(l, err));
    TRY(appender_sync(&l->lines, err));
    TRY(events_sync(l->events, err));
    return journal_trim(l->journal, step, err);
}

int64_t ledger_applied(const ledger *l)
{
    return tally_highest(l->tally);
}

const metric_set *ledger_epoch(const ledger *l, int64_t epoch)
{
    bool is_complete = (epoch + 1) * steps_per_epoch(&l->o.steps) <= l->totals.step;
    const tally_sums *sums = tally_sums_of(l->tally);
    return is_complete ? &sums->epochs[epoch % TALLY_EPOCHS] : &sums->epoch;
}

const ledger_totals *ledger_totals_of(const ledger *l)
{
    return &l->totals;
}

events *ledger_events(ledger *l)
{
    return l->events;
}

void ledger_missing(const ledger *l, char *ret, size_t bytes)
{
    size_t used = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < steps_slots(&l->o.steps, l->totals.step) && used + 12 < bytes; i++)
        if (!tally_has(l->tally, l->totals.step, i))
            used += (size_t)snprintf(ret + used, bytes - used, "%s%u", used ? "," : "", i);
}
