/*
 * The optimizers: a row each, with the states it keeps and what makes a step's constants of its settings.
 */
#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "common/store/checkpoint.h"
#include "optim/muon.h"
#include "optim/optim.h"
#include "optim/update.h"
#include "optim/whole.h"

#include <math.h>
#include <string.h>

/* When a state is kept. */
typedef enum slot_use { SLOT_ALWAYS, SLOT_OF_MOMENTUM, SLOT_OF_CENTERED } slot_use;

typedef struct optim_slot {
    const char *name;
    slot_use use;
    bool begins_filled; /* with initial_accumulator, else with 0 */
} optim_slot;

typedef struct optimizer {
    const char *name;
    optim_slot slots[UPDATE_SLOTS];
    /* Fills kind and constants; NULL: make_whole does. */
    void (*make)(const optim *o, const optim_call *call, update *u);
    bool is_decoupled; /* weight decay shrinks the weight, and is not added to the gradient */
    void (*make_whole)(const optim *o, const optim_call *call, whole_rule *r);
} optimizer;

/* What is left of a weight where decay is decoupled. */
static float kept_weight(const optim *o, const optim_call *call)
{
    return call->decay ? (float)(1.0 - (double)call->rate * o->weight_decay) : 1.0f;
}

static bool has_momentum(const optim *o)
{
    return o->momentum != 0 || o->shares_momentum;
}

static void make_sgd(const optim *o, const optim_call *call, update *u)
{
    bool first = call->step == 1;
    u->kind = has_momentum(o) ? UPDATE_SGD_MOMENTUM : UPDATE_SGD;
    u->by.sgd = (update_sgd){.rate = call->rate,
                             .momentum = (float)o->momentum,
                             .keep = first ? 0.0f : (float)o->momentum,
                             .take = first ? 1.0f : (float)(1.0 - o->dampening),
                             .nesterov = o->nesterov};
}

static update_adam moments(const optim *o)
{
    return (update_adam){.keep_weight = 1.0f,
                         .beta1 = (float)o->beta1,
                         .take1 = (float)(1.0 - o->beta1),
                         .beta2 = (float)o->beta2,
                         .take2 = (float)(1.0 - o->beta2),
                         .eps = (float)o->eps};
}

static double bias(double beta, const optim_call *call)
{
    return 1.0 - det_pow(beta, (double)call->step);
}

static void make_adam(const optim *o, const optim_call *call, update *u)
{
    u->kind = UPDATE_ADAM;
    u->by.adam = moments(o);
    u->by.adam.rate = (float)((double)call->rate / bias(o->beta1, call));
    u->by.adam.root = (float)det_sqrt(bias(o->beta2, call));
}

static void make_adamw(const optim *o, const optim_call *call, update *u)
{
    make_adam(o, call, u);
    u->by.adam.keep_weight = kept_weight(o, call);
}

static void make_huggingface_adamw(const optim *o, const optim_call *call, update *u)
{
    double rate = (double)call->rate;
    if (o->corrects_bias)
        rate = rate * det_sqrt(bias(o->beta2, call)) / bias(o->beta1, call);
    u->kind = UPDATE_HUGGINGFACE_ADAMW;
    u->by.adam = moments(o);
    u->by.adam.keep_weight = kept_weight(o, call);
    u->by.adam.rate = (float)rate;
}

static void make_adagrad(const optim *o, const optim_call *call, update *u)
{
    double rate = (double)call->rate / (1.0 + ((double)call->step - 1.0) * o->lr_decay);
    u->kind = UPDATE_ADAGRAD;
    u->by.adagrad = (update_adagrad){.rate = (float)rate, .eps = (float)o->eps};
}

static void make_rmsprop(const optim *o, const optim_call *call, update *u)
{
    if (o->centered)
        u->kind = has_momentum(o) ? UPDATE_RMSPROP_CENTERED_MOMENTUM : UPDATE_RMSPROP_CENTERED;
    else
        u->kind = has_momentum(o) ? UPDATE_RMSPROP_MOMENTUM : UPDATE_RMSPROP;
    u->by.rmsprop = (update_rmsprop){.rate = call->rate,
                                     .alpha = (float)o->alpha,
                                     .take = (float)(1.0 - o->alpha),
                                     .eps = (float)o->eps,
                                     .momentum = (float)o->momentum};
}

static void make_adadelta(const optim *o, const optim_call *call, update *u)
{
    u->kind = UPDATE_ADADELTA;
    u->by.adadelta = (update_adadelta){.rate = call->rate,
                                       .rho = (float)o->alpha,
                                       .take = (float)(1.0 - o->alpha),
                                       .eps = (float)o->eps};
}

static void make_adamax(const optim *o, const optim_call *call, update *u)
{
    u->kind = UPDATE_ADAMAX;
    u->by.adam = moments(o);
    u->by.adam.rate = (float)((double)call->rate / bias(o->beta1, call));
}

/* Decay that either goes with the gradient or shrinks the weight. */
static void decay_weight(const optim *o, const optim_call *call, update *u, update_adam *moments)
{
    if (!o->is_decoupled)
        return;
    u->gradient.decay = 0.0f;
    moments->keep_weight = kept_weight(o, call);
}

static double nadam_momentum(const optim *o, double step)
{
    return o->beta1 * (1.0 - 0.5 * det_pow(0.96, step * o->momentum_decay));
}

/* The product of all momenta until a step; below 1e-20 it is nothing beside 1. */
static double nadam_product(const optim *o, int64_t step)
{
    double product = 1.0;
    for (int64_t t = 1; t <= step && product > 1e-20; t++)
        product *= nadam_momentum(o, (double)t);
    return product;
}

static void make_nadam(const optim *o, const optim_call *call, update *u)
{
    double rate = (double)call->rate, now = nadam_momentum(o, (double)call->step);
    double next = nadam_momentum(o, (double)call->step + 1.0), product = nadam_product(o, call->step);
    u->kind = UPDATE_NADAM;
    u->by.nadam = (update_nadam){.moments = moments(o),
                                 .rate_gradient = (float)(rate * (1.0 - now) / (1.0 - product)),
                                 .rate_mean = (float)(rate * next / (1.0 - product * next))};
    u->by.nadam.moments.root = (float)det_sqrt(bias(o->beta2, call));
    decay_weight(o, call, u, &u->by.nadam.moments);
}

static void make_radam(const optim *o, const optim_call *call, update *u)
{
    double t = (double)call->step, most = 2.0 / (1.0 - o->beta2) - 1.0;
    double of_bias = bias(o->beta2, call), length = most - 2.0 * t * (1.0 - of_bias) / of_bias;
    u->kind = UPDATE_RADAM;
    u->by.radam = (update_radam){.moments = moments(o), .is_rectified = length > 5.0};
    u->by.radam.moments.rate = (float)((double)call->rate / bias(o->beta1, call));
    if (u->by.radam.is_rectified)
        u->by.radam.scale = (float)det_sqrt((length - 4.0) * (length - 2.0) * most /
                                            ((most - 4.0) * (most - 2.0) * length) * of_bias);
    decay_weight(o, call, u, &u->by.radam.moments);
}

static void make_lion(const optim *o, const optim_call *call, update *u)
{
    u->kind = UPDATE_LION;
    u->by.lion = (update_lion){.keep_weight = kept_weight(o, call),
                               .rate = call->rate,
                               .beta1 = (float)o->beta1,
                               .take1 = (float)(1.0 - o->beta1),
                               .beta2 = (float)o->beta2,
                               .take2 = (float)(1.0 - o->beta2)};
}

static void make_ftrl(const optim *o, const optim_call *call, update *u)
{
    u->kind = UPDATE_FTRL;
    u->by.ftrl = (update_ftrl){.rate = call->rate,
                               .inverse = call->rate > 0 ? (float)(1.0 / (double)call->rate) : 0.0f,
                               .l1 = (float)o->l1,
                               .l2 = (float)(2.0 * o->l2)};
}

static void make_lars(const optim *o, const optim_call *call, whole_rule *r)
{
    bool first = call->step == 1;
    r->kind = WHOLE_LARS;
    r->momentum = (float)o->momentum;
    r->keep = first ? 0.0f : (float)o->momentum;
    r->take = first ? 1.0f : (float)(1.0 - o->dampening);
    r->nesterov = o->nesterov;
    r->coefficient = o->trust_coefficient;
    r->trust_decay = call->decay ? o->weight_decay : 0.0;
    r->trust_eps = o->eps;
}

static void make_lamb(const optim *o, const optim_call *call, whole_rule *r)
{
    r->kind = WHOLE_LAMB;
    r->moments = moments(o);
    r->moments.rate = (float)(1.0 / bias(o->beta1, call));
    r->moments.root = (float)det_sqrt(bias(o->beta2, call));
    r->coefficient = 1.0;
}

/* transformers' Adafactor; `rate` is a factor of its relative step, or the rate. */
static void make_adafactor(const optim *o, const optim_call *call, whole_rule *r)
{
    const double step = (double)call->step, most = o->warmup_init ? 1e-6 * step : 1e-2;
    const double relative = 1.0 / det_sqrt(step) < most ? 1.0 / det_sqrt(step) : most;
    r->kind = WHOLE_ADAFACTOR;
    r->momentum = (float)o->momentum;
    r->take = (float)(1.0 - o->momentum);
    r->keeps_mean = has_momentum(o);
    r->step = (double)call->rate * (o->relative_step ? relative : 1.0);
    r->second_keep = 1.0 - det_pow(step, o->decay_rate);
    r->eps = o->eps;
    r->eps_scale = o->scales_parameter ? o->eps_scale : 0.0;
    r->clip_threshold = o->clip_threshold;
}

static void make_muon(const optim *o, const optim_call *call, whole_rule *r)
{
    r->kind = WHOLE_MUON;
    r->momentum = (float)o->momentum;
    r->take = (float)(1.0 - o->momentum);
    r->nesterov = o->nesterov;
    r->step = (double)call->rate;
    r->ns_steps = o->ns_steps;
    r->matches_rms = o->matches_rms;
    r->by_element = o->by_adamw;
}

static const optimizer optimizers[] = {
    [OPTIM_SGD] = {"sgd", {{"momentum", SLOT_OF_MOMENTUM}}, make_sgd},
    [OPTIM_ADAM] = {"adam", {{"exp_avg"}, {"exp_avg_sq"}}, make_adam},
    [OPTIM_ADAMW] = {"adamw", {{"exp_avg"}, {"exp_avg_sq"}}, make_adamw, true},
    [OPTIM_HUGGINGFACE_ADAMW] = {"huggingface_adamw",
                                 {{"exp_avg"}, {"exp_avg_sq"}},
                                 make_huggingface_adamw,
                                 true},
    [OPTIM_ADAGRAD] = {"adagrad", {{"sum", .begins_filled = true}}, make_adagrad},
    [OPTIM_RMSPROP] = {"rmsprop",
                       {{"square_avg"}, {"grad_avg", SLOT_OF_CENTERED}, {"momentum", SLOT_OF_MOMENTUM}},
                       make_rmsprop},
    [OPTIM_ADADELTA] = {"adadelta", {{"square_avg"}, {"acc_delta"}}, make_adadelta},
    [OPTIM_ADAMAX] = {"adamax", {{"exp_avg"}, {"exp_inf"}}, make_adamax},
    [OPTIM_NADAM] = {"nadam", {{"exp_avg"}, {"exp_avg_sq"}}, make_nadam},
    [OPTIM_RADAM] = {"radam", {{"exp_avg"}, {"exp_avg_sq"}}, make_radam},
    [OPTIM_LION] = {"lion", {{"exp_avg"}}, make_lion, true},
    [OPTIM_FTRL] = {"ftrl", {{"accumulator", .begins_filled = true}, {"linear"}}, make_ftrl},
    [OPTIM_LARS] = {"lars", {{"momentum"}}, .make_whole = make_lars},
    [OPTIM_LAMB] = {"lamb", {{"exp_avg"}, {"exp_avg_sq"}}, .make_whole = make_lamb},
    [OPTIM_ADAFACTOR] = {"adafactor", {{"exp_avg_sq"}, {"exp_avg", SLOT_OF_MOMENTUM}}, .make_whole = make_adafactor},
    [OPTIM_MUON] = {"muon", {{"exp_avg"}, {"exp_avg_sq"}}, make_adamw, true, make_muon},
};
_Static_assert(COUNT_OF(optimizers) == OPTIM_KINDS, "every optimizer has a row");

bool optim_kind_of(const char *name, optim_kind *ret)
{
    for (size_t i = 0; i < COUNT_OF(optimizers); i++)
        if (strcmp(name, optimizers[i].name) == 0) {
            *ret = (optim_kind)i;
            return true;
        }
    return false;
}

static bool slot_is_kept(const optim *o, const optim_slot *s)
{
    return s->name && (s->use == SLOT_ALWAYS || (s->use == SLOT_OF_CENTERED ? o->centered : has_momentum(o)));
}

/* The slots in their order; returns their number. */
static size_t list_slots(const optim *o, const optim_slot *ret[OPTIM_SLOTS])
{
    static const optim_slot average = {.name = CHECKPOINT_AVERAGE};
    size_t n = 0;
    for (size_t i = 0; i < UPDATE_SLOTS; i++)
        if (slot_is_kept(o, &optimizers[o->kind].slots[i]))
            ret[n++] = &optimizers[o->kind].slots[i];
    if (o->average.is_kept)
        ret[n++] = &average;
    return n;
}

size_t optim_slots(const optim *o)
{
    const optim_slot *ignored[OPTIM_SLOTS];
    return list_slots(o, ignored);
}

const char *optim_slot_name(const optim *o, size_t slot)
{
    const optim_slot *all[OPTIM_SLOTS];
    BUG_ON(slot >= list_slots(o, all));
    return all[slot]->name;
}

float optim_slot_initial(const optim *o, size_t slot)
{
    const optim_slot *all[OPTIM_SLOTS];
    BUG_ON(slot >= list_slots(o, all));
    return all[slot]->begins_filled ? (float)o->initial_accumulator : 0.0f;
}

bool optim_slot_is_average(const optim *o, size_t slot)
{
    return o->average.is_kept && slot + 1 == optim_slots(o);
}

void update_average(const optim *o, int64_t step, update_part *ret)
{
    const optim_average *a = &o->average;
    double young = (a->numerator + (double)step) / (a->denominator + (double)step);
    double keep = young < a->decay ? young : a->decay;
    ret->averages = a->is_kept;
    ret->average_keep = (float)keep;
    ret->average_take = (float)(1.0 - keep);
}

static update_gradient gradient_of(const optim_call *call, double decay)
{
    return (update_gradient){.scale = call->scale,
                             .limit = call->clip_value > 0 ? call->clip_value : INFINITY,
                             .decay = (float)decay};
}

update update_make(const optim *o, const optim_call *call)
{
    const optimizer *row = &optimizers[o->kind];
    bool adds_decay = call->decay && !row->is_decoupled;
    update u = {.gradient = gradient_of(call, adds_decay ? o->weight_decay : 0.0)};
    row->make(o, call, &u);
    return u;
}

bool optim_is_whole(const optim *o)
{
    return optimizers[o->kind].make_whole;
}

bool optim_has_elements(const optim *o)
{
    return optimizers[o->kind].make;
}

size_t optim_room(const optim *o)
{
    if (o->kind == OPTIM_MUON)
        return o->by_adamw ? 0 : MUON_ROOM;
    return o->kind == OPTIM_ADAFACTOR;
}

whole_rule whole_rule_make(const optim *o, const optim_call *call)
{
    whole_rule r = {.gradient = gradient_of(call, 0.0),
                    .room = optim_room(o),
                    .rate = call->rate,
                    .decay = call->decay ? (float)o->weight_decay : 0.0f,
                    .is_adaptive = call->decay};
    optimizers[o->kind].make_whole(o, call, &r);
    return r;
}
