#include "common/config/training.h"

#include "common/config/mode.h"

steps training_steps(const config *c, int64_t examples, int64_t batches_per_step)
{
    return (steps){
        .examples = examples,
        .batch_size = config_int(c, "data_loader.batch_size"),
        .per_step = mode_settings(c).unordered ? 1 : batches_per_step,
        .drop_last = config_bool(c, "data_loader.drop_last"),
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
