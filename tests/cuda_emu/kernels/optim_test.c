/* Updates on the device have the servers' bits. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/optim.h"
#include "optim/optim.h"
#include "optim/update.h"

#include <string.h>

enum { MOST = 9000 };

static float grad[MOST], weight[MOST], state_of[OPTIM_SLOTS][MOST];
static float want[MOST], want_state[OPTIM_SLOTS][MOST], got[MOST];

static const optim optims[] = {
    {.kind = OPTIM_SGD},
    {.kind = OPTIM_SGD, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01},
    {.kind = OPTIM_SGD, .momentum = 0.9, .nesterov = true},
    {.kind = OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01},
    {.kind = OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1},
    {.kind = OPTIM_ADAGRAD, .eps = 1e-10, .lr_decay = 0.01},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .momentum = 0.9},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .centered = true},
    {.kind = OPTIM_RMSPROP, .alpha = 0.99, .eps = 1e-8, .centered = true, .momentum = 0.9},
};

static void step(const optim *o, const optim_call *call, size_t n, size_t shift, bool in_place)
{
    const float *in[OPTIM_SLOTS], *host_in[OPTIM_SLOTS];
    float *out[OPTIM_SLOTS], *host_out[OPTIM_SLOTS];
    size_t bytes = (n + shift) * sizeof(float), slots = optim_slots(o);
    for (size_t k = 0; k < OPTIM_SLOTS; k++) {
        host_in[k] = state_of[k] + shift;
        host_out[k] = want_state[k];
        float *place = on_device(state_of[k], bytes);
        in[k] = place + shift;
        out[k] = (in_place ? place : (float *)device_room(bytes)) + shift;
    }
    optim_apply(o, call, n, grad + shift, weight + shift, want, host_in, host_out);
    float *w = on_device(weight, bytes), *to = in_place ? w : device_room(bytes);
    float *g = on_device(grad, bytes);
    update u = update_make(o, call);
    launch_update(kernel_test_stream(), &u, (int64_t)n, g + shift, w + shift, to + shift, in, out);
    from_device(got, to + shift, n * sizeof *got);
    assert_memory_equal(got, want, n * sizeof *got);
    for (size_t k = 0; k < slots; k++) {
        from_device(got, out[k], n * sizeof *got);
        assert_memory_equal(got, want_state[k], n * sizeof *got);
    }
    device_clear();
}

static void every_optimizer(void **state)
{
    (void)state;
    const size_t lengths[] = {1, 4, 1023, 1027, 8192 + 3};
    numbers(grad, MOST, 1, 3.0f, 0.0f);
    numbers(weight, MOST, 2, 1.0f, 0.0f);
    for (size_t k = 0; k < OPTIM_SLOTS; k++)
        numbers(state_of[k], MOST, 3 + (uint32_t)k, 0.4f, 0.5f);
    for (size_t i = 0; i < sizeof optims / sizeof *optims; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            optim_call call = {.step = j == 1 ? 1 : 7,
                               .rate = 0.01f,
                               .scale = j == 2 ? 0.3f : 1.0f,
                               .clip_value = j == 3 ? 0.5f : 0.0f,
                               .decay = j % 2};
            step(&optims[i], &call, lengths[j], j == 4, (i + j) % 2);
        }
}

static void averages(void **state)
{
    (void)state;
    numbers(grad, 1000, 1, 1.0f, 0.0f);
    numbers(weight, 1000, 2, 1.0f, 0.0f);
    optim_average(0.9f, 0.25f, 1000, grad, weight, want);
    float *w = on_device(weight, 4000);
    launch_average(kernel_test_stream(), 0.9f, 0.25f, 1000, on_device(grad, 4000), w, w);
    from_device(got, w, 4000);
    assert_memory_equal(got, want, 4000);
}

/* n elements from `first` of the flat vector on, whose blocks of 4096 are summed apart. */
static void squares(int64_t first, int64_t n)
{
    double sums[8];
    int64_t blocks = (first % 4096 + n + 4095) / 4096;
    numbers(grad, (size_t)n, (uint32_t)n, 1.0f, 0.1f);
    double *to = device_room((size_t)blocks * sizeof *to);
    launch_square_sums(kernel_test_stream(), to, on_device(grad, (size_t)n * sizeof *grad), first,
                       n);
    from_device(sums, to, (size_t)blocks * sizeof *to);
    for (int64_t at = 0, b = 0; at < n; b++) {
        int64_t stop = (first / 4096 + b + 1) * 4096 - first;
        stop = stop < n ? stop : n;
        assert_true(sums[b] == optim_square_sum(grad + at, (size_t)(stop - at)));
        at = stop;
    }
    device_clear();
}

static void sums_of_squares(void **state)
{
    (void)state;
    squares(0, 1);
    squares(0, 4096);
    squares(64, 4033);
    squares(4096 * 3 + 4032, 65);
    squares(8192 - 64, 8200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(every_optimizer),
        KERNEL_TEST(averages),
        KERNEL_TEST(sums_of_squares),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
