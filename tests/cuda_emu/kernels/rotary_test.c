/* RotaryEmbedding's kernel: the bits of plain loops in float, of every form, in place and back. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/attention.h"

#include <string.h>

enum { BATCH = 2, HEADS = 3, LENGTH = 5, HEAD = 22, N = BATCH * HEADS * LENGTH * HEAD };

static float x[N], want[N], got[N], cosine[BATCH * LENGTH * HEAD], sine[BATCH * LENGTH * HEAD];

static void turn_row(const launch_rotary *t, float *row, int64_t position)
{
    int64_t pairs = t->width / 2;
    for (int64_t i = 0; i < pairs; i++) {
        float *one = row + (t->interleaved ? 2 * i : i);
        float *other = t->interleaved ? one + 1 : one + pairs;
        float a = *one, b = *other, c = cosine[position * pairs + i];
        float s = t->inverse ? -sine[position * pairs + i] : sine[position * pairs + i];
        *one = c * a - s * b;
        *other = s * a + c * b;
    }
}

static void compute_reference(const launch_rotary *t)
{
    memcpy(want, x, sizeof want);
    for (int64_t batch = 0; batch < BATCH; batch++)
        for (int64_t head = 0; head < HEADS; head++)
            for (int64_t i = 0; i < LENGTH; i++) {
                int64_t row = t->by_head ? (batch * HEADS + head) * LENGTH + i
                                         : (batch * LENGTH + i) * HEADS + head;
                turn_row(t, want + row * HEAD, batch * LENGTH + i);
            }
}

static void play(launch_rotary t, bool in_place)
{
    uint8_t bytes[sizeof x];
    size_t size = stored_bytes(t.type, N);
    t.rows = BATCH * HEADS * LENGTH;
    t.heads = HEADS;
    t.length = LENGTH;
    t.head = HEAD;
    random_floats(x, N, 1);
    to_stored(bytes, t.type, x, N);
    from_stored(x, t.type, bytes, N);
    void *device = on_device(bytes, size);
    size_t angles = (size_t)(BATCH * LENGTH * t.width / 2);
    t.cosine = on_device(cosine, angles * sizeof(float));
    t.sine = on_device(sine, angles * sizeof(float));
    t.x = device;
    t.y = in_place ? device : device_alloc(size);
    launch_rotary_embedding(kernel_test_stream(), &t);
    from_device(bytes, t.y, size);
    from_stored(got, t.type, bytes, N);
    compute_reference(&t);
    to_stored(bytes, t.type, want, N);
    from_stored(want, t.type, bytes, N);
    assert_memory_equal(got, want, sizeof want);
}

static void every_form_is_turned(void **state)
{
    (void)state;
    random_floats(cosine, sizeof cosine / sizeof *cosine, 2);
    random_floats(sine, sizeof sine / sizeof *sine, 3);
    for (int form = 0; form < 8; form++)
        play((launch_rotary){.width = form & 1 ? HEAD : 8,
                             .by_head = form & 2,
                             .interleaved = form & 4,
                             .inverse = form == 5,
                             .type = (launch_type)(form % 3)},
             form % 3 == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(every_form_is_turned)};
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
