#include "model/rope.h"

#include "common/base/detmath.h"

#include <string.h>

static const double pi = 3.14159265358979323846;

/* Llama 3's: frequencies whose waves are longer than what it was first trained on are divided by `factor`, short
 * ones stay, those between are between. */
static double scaled_by_waves(const config *s, double frequency)
{
    double low = config_f64(s, "low_freq_factor"), high = config_f64(s, "high_freq_factor");
    double waves = (double)config_int(s, "original_max_position_embeddings") * frequency / (2.0 * pi);
    double long_one = frequency / config_f64(s, "factor");
    if (waves < low)
        return long_one;
    if (waves > high)
        return frequency;
    double share = (waves - low) / (high - low);
    return (1.0 - share) * long_one + share * frequency;
}

/* Pair i of a head turns by this, in radians, from a position to the next; rounded as transformers rounds it. */
static float frequency_of(const config *model, int64_t i, int64_t head)
{
    const config *s = config_section(model, "rope_scaling");
    double theta = config_has(model, "rope_theta") ? config_f64(model, "rope_theta") : ROPE_THETA;
    float exponent = (float)(2 * i) / (float)head;
    float frequency = 1.0f / (float)det_pow(theta, (double)exponent);
    if (!s)
        return frequency;
    if (strcmp(config_str(s, "type"), "linear") == 0)
        return (float)((double)frequency / config_f64(s, "factor"));
    return (float)scaled_by_waves(s, (double)frequency);
}

/* [tokens, head / 2] for every example */
static status spread(net *n, const char *name, const float *table, int64_t tokens, int64_t half, graph_val *ret,
                     error *err)
{
    shape_attr all = {.shape = {3, {n->request->batch_size, tokens, half}}};
    TRY(graph_const(n->g, net_below(n, name, "table"), DT_F32, (graph_shape){3, {1, tokens, half}}, table, ret, err));
    return graph_add_1(n->g, OP_EXPAND, name, ret, 1, &all, ret, err);
}

static status check_scaling(const config *model, error *err)
{
    const config *s = config_section(model, "rope_scaling");
    if (!s || !config_has(s, "low_freq_factor") || config_f64(s, "low_freq_factor") < config_f64(s, "high_freq_factor"))
        return OK;
    return FAIL(err, E_CONFIG, "%s: low_freq_factor %g is not below high_freq_factor %g", config_path(s),
                config_f64(s, "low_freq_factor"), config_f64(s, "high_freq_factor"));
}

status rope_angles(net *n, const config *model, int64_t head, int64_t tokens, rotation *ret, error *err)
{
    int64_t half = head / 2;
    size_t bytes = (size_t)(tokens * half) * sizeof(float);
    TRY(check_scaling(model, err));
    float *cosine = arena_alloc(graph_arena(n->g), bytes), *sine = arena_alloc(graph_arena(n->g), bytes);
    for (int64_t i = 0; i < half; i++) {
        float frequency = frequency_of(model, i, head);
        for (int64_t place = 0; place < tokens; place++) {
            double turns = (double)((float)place * frequency) / pi; /* half ones */
            cosine[place * half + i] = (float)det_cos_pi(turns);
            sine[place * half + i] = (float)det_cos_pi(turns - 0.5);
        }
    }
    TRY(spread(n, "rope.cosine", cosine, tokens, half, &ret->cosine, err));
    return spread(n, "rope.sine", sine, tokens, half, &ret->sine, err);
}
