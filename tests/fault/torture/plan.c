#include "fault/torture/plan.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <string.h>

enum { BATCHES = 4 }; /* of a step */

typedef enum where { ANYWHERE, LAUNCHED, BY_HAND } where;

static const struct {
    const char *word;
    where where;
    int seconds;
    const char *what;
} kinds[KINDS] = {
#define KIND(NAME, word, where, seconds, what) [NAME] = {word, where, seconds, what},
#include "fault/torture/kinds.def"
#undef KIND
};

static const recipe recipes[] = {
#define RECIPE(name, steps, votes, fields) {name, steps, votes, fields},
#include "fault/torture/recipes.def"
#undef RECIPE
};

static const char *const modes[MODES] = {"sync", "ssp", "async"};
static const char *const primaries[PRIMARIES] = {"chief", "master", "worker.0"};
static const char *const impairments[IMPAIRMENTS] = {"stall", "break", "slow"};

const char *kind_word(kind k)
{
    return kinds[k].word;
}

const char *kind_what(kind k)
{
    return kinds[k].what;
}

int kind_seconds(kind k)
{
    return kinds[k].seconds;
}

kind kind_of(const char *word)
{
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].word, word) != 0)
        k++;
    return (kind)k;
}

bool plan_has(const plan *p, kind k)
{
    for (int i = 0; i < p->n_disturbances; i++)
        if (p->disturbances[i].kind == k)
            return true;
    return false;
}

/* --- drawing --- */

typedef struct draws {
    rng rng;
    uint64_t n;
} draws;

static int draw(draws *d, int bound)
{
    return (int)rng_below(&d->rng, d->n++, (uint64_t)bound);
}

static bool one_of(draws *d, int n)
{
    return draw(d, n) == 0;
}

static bool fits(kind k, const plan *p)
{
    return kinds[k].where == ANYWHERE || p->is_launched == (kinds[k].where == LAUNCHED);
}

static int draw_duration(draws *d, kind k)
{
    switch (k) {
    case FREEZE:
        return 50 + draw(d, HEARTBEAT_S * 1000 - 500);
    case SILENCE:
        return HEARTBEAT_S * 1000 + 500 + draw(d, 3000);
    case LAUNCHER:
        return draw(d, 1500);
    case DISK:
    case LINK:
        return 100 + draw(d, 4000);
    default:
        return 0;
    }
}

static disturbance draw_disturbance(draws *d, kind k)
{
    disturbance s = {.kind = k};
    s.per_mille = one_of(d, 5) ? 0 : draw(d, 1000);
    s.pause_ms = draw(d, s.per_mille ? 150 : 800);
    s.lasts_ms = draw_duration(d, k);
    s.choice = rng_u32(&d->rng, d->n++);
    s.how = (impairment)draw(d, IMPAIRMENTS);
    s.all = one_of(d, 2);
    s.hours = one_of(d, 2) ? 1 : -1;
    return s;
}

/* What is left out is drawn all the same, so that the rest is as it would be. */
static void draw_disturbances(draws *d, plan *p, kind only, uint32_t without)
{
    int n = only == KINDS && one_of(d, 25) ? 0 : 1 + draw(d, MOST_DISTURBANCES);
    while (n-- > 0) {
        kind k;
        do
            k = only == KINDS ? (kind)draw(d, KINDS) : only;
        while (!fits(k, p));
        disturbance s = draw_disturbance(d, k);
        if (!(without >> k & 1))
            p->disturbances[p->n_disturbances++] = s;
    }
}

static void draw_shape(draws *d, plan *p, kind only)
{
    bool launched = one_of(d, 2);
    p->is_launched =
        only == KINDS || kinds[only].where == ANYWHERE ? launched : kinds[only].where == LAUNCHED;
    p->primary = p->is_launched ? CHIEF : (primary)draw(d, PRIMARIES);
    p->workers = 1 + draw(d, 3);
    p->ps = 1 + draw(d, 3);
    if (!p->is_launched && one_of(d, 5))
        p->ps = 0; /* workers host the servers */
    if (p->is_launched && one_of(d, 15))
        p->workers = p->ps = 0; /* one process alone */
    if (p->primary == WORKER_0 && p->workers < 2)
        p->workers = 2;
    p->lanes = 1 + draw(d, 2);
    p->master_trains = p->primary == WORKER_0 ? -1 : draw(d, 3) - 1;
    p->evaluators = p->workers > 0 && one_of(d, 3);
    p->apart = !p->is_launched && one_of(d, 6);
}

plan plan_draw(uint64_t seed, kind only, uint32_t without)
{
    draws d = {.rng = rng_make(seed, RNG_TEST, 0x7041)};
    plan p = {.seed = seed};
    draw_shape(&d, &p, only);
    p.recipe = &recipes[draw(&d, COUNT_OF(recipes))];
    bool is_plain = !p.recipe->votes && p.workers > 0;
    p.mode = is_plain && one_of(&d, 3) ? (mode)(1 + draw(&d, 2)) : SYNC;
    int servers = p.ps ? p.ps : p.workers - (p.primary == WORKER_0);
    p.replicas = p.mode == SYNC && servers >= 2 && one_of(&d, 2);
    p.curve = p.workers > 0 && one_of(&d, 4);
    p.validates = p.evaluators || one_of(&d, 3);
    p.rebalances = p.workers > 1 && one_of(&d, 4);
    p.checkpoint_steps = one_of(&d, 4) ? 0 : 15 + draw(&d, 100);
    p.steps = p.recipe->steps * (1 + draw(&d, 2)) * (p.mode == SYNC ? 1 : BATCHES / 2);
    draw_disturbances(&d, &p, only, without);
    return p;
}

/* --- words --- */

static void describe_disturbance(const disturbance *s, buf *ret)
{
    buf_addf(ret, " %s", kinds[s->kind].word);
    if (s->kind == LINK)
        buf_addf(ret, "-%s%s", impairments[s->how], s->all ? "-all" : "");
    if (s->kind == CLOCK)
        buf_addf(ret, "%+dh%s", s->hours, s->all ? "-all" : "");
    if (s->kind == LEAVE && s->all)
        buf_adds(ret, "-all");
    buf_addf(ret, "@%d.%d%%+%dms", s->per_mille / 10, s->per_mille % 10, s->pause_ms);
    if (s->lasts_ms)
        buf_addf(ret, ":%dms", s->lasts_ms);
}

void plan_describe(const plan *p, buf *ret)
{
    buf_addf(ret, "%s %s %d steps, %s, %dw %dps %de %dl%s%s%s%s%s%s:", p->recipe->name,
             modes[p->mode], p->steps, p->is_launched ? "launcher" : primaries[p->primary],
             p->workers, p->ps, p->evaluators, p->lanes, p->replicas ? " replicas" : "",
             p->curve ? " curve" : "", p->apart ? " apart" : "", p->validates ? " validates" : "",
             p->rebalances ? " rebalances" : "", p->master_trains == 1 ? " master-trains" : "");
    for (int i = 0; i < p->n_disturbances; i++)
        describe_disturbance(&p->disturbances[i], ret);
    if (!p->n_disturbances)
        buf_adds(ret, " nothing");
}

/* `fields` with the data's folder in place of $DATA */
static void add_fields(const char *fields, const char *data, buf *ret)
{
    static const char name[] = "$DATA";
    for (const char *at; (at = strstr(fields, name)); fields = at + strlen(name)) {
        buf_add(ret, fields, (size_t)(at - fields));
        buf_adds(ret, data);
    }
    buf_adds(ret, fields);
}

void plan_config(const plan *p, const char *data, buf *ret)
{
    buf_addf(ret,
             "{\n"
             "    dataset_reader: { type: 'idx' },\n"
             "    train_data_path: '%s/train/images-idx3-ubyte',\n"
             "    data_loader: { batch_size: 16 },\n"
             "    trainer: { num_epochs: 1000, max_steps: %d, batches_per_step: %d,\n"
             "               save_summary_steps: 1, save_histogram_steps: 1000 },\n"
             "    distributed: { mode: '%s', staleness: %d },\n",
             data, p->steps, BATCHES, modes[p->mode], p->mode == SSP);
    if (p->validates)
        buf_addf(ret, "    validation_data_path: '%s/validation/images-idx3-ubyte',\n", data);
    buf_adds(ret, "} + {\n    ");
    add_fields(p->recipe->fields, data, ret);
    buf_adds(ret, "\n}\n");
}

void plan_overrides(const plan *p, buf *ret)
{
    buf_addf(ret,
             "{\"trainer.save_checkpoints_%s\": %d, \"trainer.keep_checkpoint_max\": 3, "
             "\"distributed.lanes\": %d, \"distributed.ps_replicas\": %d, "
             "\"distributed.heartbeat_timeout\": %d, \"distributed.hang_timeout\": %d, "
             "\"distributed.lost_timeout\": %d, \"distributed.start_timeout\": %d, "
             "\"distributed.preempt_grace\": %d, \"distributed.wait_warning\": 1, "
             "\"distributed.rebalance\": %s, \"distributed.shared_memory\": \"%s\"",
             p->checkpoint_steps ? "steps" : "secs", p->checkpoint_steps ? p->checkpoint_steps : 1,
             p->lanes, p->replicas, HEARTBEAT_S, HANG_S, LOST_S, START_S, GRACE_S,
             p->rebalances ? "true" : "false", plan_has(p, LINK) ? "off" : "auto");
    if (p->master_trains >= 0)
        buf_addf(ret, ", \"distributed.master_trains\": %s", p->master_trains ? "true" : "false");
    if (p->curve)
        buf_adds(ret, ", \"distributed.security\": \"curve\"");
    buf_adds(ret, "}");
}
