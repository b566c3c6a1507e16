#include "common/config/training.h"

#include "common/base/byte_size.h"
#include "common/parts/tree.h"

#include <string.h>

schedule training_schedule(const config *c)
{
    const char *mode = config_str(c, "distributed.mode");
    bool is_bounded = strcmp(mode, "ssp") == 0;
    return (schedule){
        .in_order = strcmp(mode, "sync") == 0,
        .staleness = is_bounded ? config_int(c, "distributed.staleness") : -1,
    };
}

int64_t training_batches_per_step(const config *c, int64_t n_lanes)
{
    if (config_has(c, "trainer.batches_per_step"))
        return config_int(c, "trainer.batches_per_step");
    return n_lanes * config_int(c, "trainer.num_gradient_accumulation_steps");
}

steps training_steps(const config *c, int64_t examples, const steps_kinds *kinds, int64_t batches_per_step)
{
    schedule paced = training_schedule(c);
    return (steps){
        .examples = examples,
        .batch_size = config_int(c, "data_loader.batch_size"),
        .per_step = schedule_unit_batches(&paced, batches_per_step),
        .drop_last = config_bool(c, "data_loader.drop_last"),
        .kinds = *kinds,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .shuffle = config_bool(c, "data_loader.shuffle"),
    };
}

int64_t training_end(const steps *s, const json_t *end)
{
    int64_t total, epochs = json_integer_value(json_object_get(end, "trainer.num_epochs"));
    const json_t *most = json_object_get(end, "trainer.max_steps");
    if (__builtin_mul_overflow(epochs, steps_per_epoch(s), &total))
        total = INT64_MAX;
    bool is_earlier = json_is_integer(most) && json_integer_value(most) < total;
    return is_earlier ? json_integer_value(most) : total;
}

int64_t training_total(const steps *s, const config *c)
{
    json_t *end = config_end(c);
    int64_t total = training_end(s, end);
    json_decref(end);
    return total;
}

uint8_t training_sum_level(const config *c, int64_t n_lanes)
{
    schedule paced = training_schedule(c);
    int64_t k = training_batches_per_step(c, n_lanes), slots = schedule_unit_batches(&paced, k);
    int64_t of_a_lane = (slots + n_lanes - 1) / n_lanes;
    return tree_root_level((uint32_t)of_a_lane);
}

size_t training_memory(const config *c)
{
    const json_t *value = config_json(c, "trainer.memory");
    size_t bytes = 0;
    if (json_is_integer(value))
        bytes = (size_t)json_integer_value(value);
    else if (json_is_string(value))
        BUG_ON(!byte_size_parse(json_string_value(value), &bytes));
    return bytes;
}
