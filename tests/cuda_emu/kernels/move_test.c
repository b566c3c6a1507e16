/* What moves elements, against loops over coordinates: nothing beside the places that are meant is
 * written, whatever strides and sizes of elements are. */
#include "cuda_emu/kernel_test.h"

#include "backend/axes.h"
#include "backend/cuda/kernels/move.h"
#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 16, WIDEST = 16 };

static unsigned char from[ROOM], to[ROOM], want[ROOM];

/* Elements on both sides, and where the first one lies. */
typedef struct box {
    axes over;
    int64_t n_to, to, n_from, from;
    int down; /* of a matrix that turns */
} box;

static const box moved[] = {
    {{1, {300}, {{1, 1}}}, 300, 0, 300, 0, 0},
    {{1, {7}, {{1, -2}}}, 7, 0, 20, 15, 0},
    {{2, {5, 60}, {{64, 0}, {1, 1}}}, 330, 3, 60, 0, 0},
    {{2, {5, 6}, {{6, 1}, {1, 0}}}, 30, 0, 5, 0, 0},
    {{3, {3, 4, 30}, {{150, 40}, {35, 200}, {1, 1}}}, 450, 2, 800, 5, 0},
    {{4, {2, 3, 2, 5}, {{60, -1}, {20, 10}, {10, 2}, {2, 31}}}, 120, 1, 160, 4, 0},
};

static const box transposed[] = {
    {{2, {67, 45}, {{45, 1}, {1, 67}}}, 67 * 45, 0, 67 * 45, 0, 0},
    {{2, {32, 64}, {{70, 1}, {1, 40}}}, 32 * 70, 1, 64 * 40, 2, 0},
    {{2, {3, 33}, {{33, 1}, {1, 3}}}, 99, 0, 99, 0, 0},
    {{3, {2, 40, 9}, {{400, 500}, {9, 1}, {1, 50}}}, 800, 0, 1000, 0, 1},
    {{3, {33, 3, 10}, {{40, 1}, {12, 400}, {1, 36}}}, 1400, 0, 1300, 7, 0},
};

static void fill(size_t element, const box *b)
{
    for (size_t i = 0; i < (size_t)b->n_from * element; i++)
        from[i] = (unsigned char)(i * 31 % 251 + i / 251);
    memset(to, 0x5a, (size_t)b->n_to * element);
    memcpy(want, to, (size_t)b->n_to * element);
}

/* Element e in the order of the axes: its place on side k. */
static int64_t place(const box *b, int k, int64_t e)
{
    int64_t at = k ? b->from : b->to;
    for (int i = b->over.rank - 1; i >= 0; i--) {
        at += e % b->over.dim[i] * b->over.stride[i][k];
        e /= b->over.dim[i];
    }
    return at;
}

static void check_move(const box *b, size_t element, bool turns)
{
    size_t bytes = (size_t)b->n_to * element;
    fill(element, b);
    for (int64_t e = 0; e < axes_elements(&b->over); e++)
        memcpy(want + (size_t)place(b, 0, e) * element, from + (size_t)place(b, 1, e) * element,
               element);
    char *y = on_device(to, bytes);
    const char *x = on_device(from, (size_t)b->n_from * element);
    char *first = y + b->to * (int64_t)element;
    x += b->from * (int64_t)element;
    if (turns)
        launch_transpose(kernel_test_stream(), element, first, x, &b->over, b->down);
    else
        launch_move(kernel_test_stream(), element, first, x, &b->over);
    from_device(to, y, bytes);
    assert_memory_equal(to, want, bytes);
}

static void boxes_go_where_strides_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(moved); i++)
        for (size_t element = 1; element <= WIDEST; element *= 2)
            check_move(&moved[i], element, false);
}

static void matrices_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(transposed); i++)
        for (size_t element = 1; element <= 8; element *= 2)
            check_move(&transposed[i], element, true);
}

static void boxes_are_added(void **state)
{
    (void)state;
    static float x[2000], y[2000], sum[2000];
    random_floats(x, 2000, 1);
    for (size_t i = 0; i < COUNT_OF(moved); i++) {
        const box *b = &moved[i];
        random_floats(y, 2000, 2);
        memcpy(sum, y, sizeof sum);
        for (int64_t e = 0; e < axes_elements(&b->over); e++)
            sum[place(b, 0, e)] += x[place(b, 1, e)];
        size_t bytes = (size_t)b->n_to * sizeof *y;
        float *dx = on_device(y, bytes);
        const float *dy = on_device(x, (size_t)b->n_from * sizeof *x);
        launch_move_add(kernel_test_stream(), dx + b->to, dy + b->from, &b->over);
        from_device(y, dx, bytes);
        assert_memory_equal(y, sum, bytes);
    }
}

/* --- by position --- */

static void triangles_stay(void **state)
{
    (void)state;
    static const int64_t diagonals[] = {0, 1, -2, 5, -7, INT64_MAX, INT64_MIN};
    static const size_t sizes[] = {1, 4, 8};
    enum { MATRICES = 2, LINES = 11, WIDTH = 13, ALL = MATRICES * LINES * WIDTH };
    for (size_t k = 0; k < COUNT_OF(diagonals); k++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++)
            for (int upper = 0; upper < 2; upper++) {
                launch_trilu_call c = {MATRICES, LINES, WIDTH, diagonals[k], upper, sizes[s]};
                const box all = {.n_from = ALL};
                fill(c.element, &all);
                for (int64_t e = 0; e < ALL; e++) {
                    int64_t beside = e % WIDTH - e / WIDTH % LINES;
                    bool stays = upper ? beside >= c.k : beside <= c.k;
                    memset(want + (size_t)e * c.element, 0, c.element);
                    if (stays)
                        memcpy(want + (size_t)e * c.element, from + (size_t)e * c.element,
                               c.element);
                }
                void *x = on_device(from, ALL * c.element);
                void *y = s % 2 ? x : device_alloc(ALL * c.element);
                launch_trilu(kernel_test_stream(), &c, y, x);
                from_device(to, y, ALL * c.element);
                assert_memory_equal(to, want, ALL * c.element);
            }
}

static void one_place_is_hot(void **state)
{
    (void)state;
    enum { OUTER = 3, DEPTH = 5, INNER = 23, INDICES = OUTER * INNER };
    static const dtype types[] = {DT_F32, DT_I64, DT_I32};
    static const size_t sizes[] = {1, 4, 8};
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -5.0f, 4.75f, -0.5f};
    static const int64_t of_odd[] = {-1, -1, -1, -1, 0, 4, 0}; /* -1: nowhere */
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            launch_one_hot_call c = {OUTER,    DEPTH,           INNER,    types[t],
                                     sizes[s], {1, 2, 3, 4, 5}, {9, 8, 7}};
            int64_t where[INDICES], wide[INDICES];
            int32_t narrow[INDICES];
            float real[INDICES];
            for (int i = 0; i < INDICES; i++) {
                int64_t x = i % 14 - 7;
                where[i] = x < -DEPTH || x >= DEPTH ? -1 : (x + DEPTH) % DEPTH;
                wide[i] = x;
                narrow[i] = (int32_t)x;
                real[i] = (float)x;
                if (types[t] == DT_F32 && i % 9 == 0) {
                    real[i] = odd[i / 9 % (int)COUNT_OF(odd)];
                    where[i] = of_odd[i / 9 % (int)COUNT_OF(odd)];
                }
            }
            for (int64_t o = 0; o < OUTER; o++)
                for (int64_t d = 0; d < DEPTH; d++)
                    for (int64_t i = 0; i < INNER; i++)
                        memcpy(want + (size_t)((o * DEPTH + d) * INNER + i) * c.element,
                               where[o * INNER + i] == d ? c.on : c.off, c.element);
            const void *indices = types[t] == DT_F32   ? on_device(real, sizeof real)
                                  : types[t] == DT_I64 ? on_device(wide, sizeof wide)
                                                       : on_device(narrow, sizeof narrow);
            size_t bytes = INDICES * DEPTH * c.element;
            void *y = device_alloc(bytes);
            launch_one_hot(kernel_test_stream(), &c, y, indices);
            from_device(to, y, bytes);
            assert_memory_equal(to, want, bytes);
        }
}

enum { STEPS = 9, EXAMPLES = 4 };

/* y by runs of `bytes`; the word about a bad length. */
static uint64_t reverse(bool batch_first, bool wide, int64_t bytes, const int64_t *lengths)
{
    int32_t narrow[EXAMPLES];
    uint64_t none = UINT64_MAX, fault;
    for (int i = 0; i < EXAMPLES; i++)
        narrow[i] = (int32_t)lengths[i];
    size_t all = STEPS * EXAMPLES * (size_t)bytes;
    launch_reverse_call c = {.steps = STEPS,
                             .examples = EXAMPLES,
                             .bytes = bytes,
                             .batch_first = batch_first,
                             .wide = wide,
                             .fault = {on_device(&none, sizeof none), (uint64_t)3 << 32}};
    void *y = device_alloc(all);
    launch_reverse(kernel_test_stream(), &c, y, on_device(from, all),
                   wide ? on_device(lengths, EXAMPLES * sizeof *lengths)
                        : on_device(narrow, sizeof narrow));
    from_device(to, y, all);
    from_device(&fault, c.fault.word, sizeof fault);
    return fault;
}

static void sequences_turn_round(void **state)
{
    (void)state;
    static const int64_t lengths[EXAMPLES] = {0, 9, 1, 6};
    static const int64_t runs[] = {1, 4, 8, 12, 32, 23};
    for (size_t r = 0; r < COUNT_OF(runs); r++)
        for (int batch_first = 0; batch_first < 2; batch_first++) {
            size_t run = (size_t)runs[r];
            const box all = {.n_from = STEPS * EXAMPLES};
            fill(run, &all);
            assert_true(reverse(batch_first, r % 2, runs[r], lengths) == UINT64_MAX);
            for (int e = 0; e < EXAMPLES; e++)
                for (int s = 0; s < STEPS; s++) {
                    int source = s < lengths[e] ? (int)lengths[e] - 1 - s : s;
                    int y = batch_first ? e * STEPS + s : s * EXAMPLES + e;
                    int x = batch_first ? e * STEPS + source : source * EXAMPLES + e;
                    assert_memory_equal(to + (size_t)y * run, from + (size_t)x * run, run);
                }
        }
}

static void bad_lengths_are_told(void **state)
{
    (void)state;
    static const int64_t bad[][EXAMPLES] = {{3, 2, 10, -1}, {0, -1, 5, 11}};
    const box all = {.n_from = STEPS * EXAMPLES};
    fill(4, &all);
    assert_true(reverse(false, true, 4, bad[0]) == ((uint64_t)3 << 32 | 2));
    assert_true(reverse(true, false, 4, bad[1]) == ((uint64_t)3 << 32 | 1));
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    const axes none = {2, {3, 0}, {{4, 4}, {1, 1}}};
    launch_move(kernel_test_stream(), 4, NULL, NULL, &none);
    launch_transpose(kernel_test_stream(), 4, NULL, NULL, &none, 0);
    launch_move_add(kernel_test_stream(), NULL, NULL, &none);
    launch_trilu(kernel_test_stream(), &(launch_trilu_call){.element = 4}, NULL, NULL);
    launch_one_hot(kernel_test_stream(), &(launch_one_hot_call){.element = 4}, NULL, NULL);
    launch_reverse(kernel_test_stream(), &(launch_reverse_call){.bytes = 4}, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(boxes_go_where_strides_say),
        KERNEL_TEST(matrices_turn),
        KERNEL_TEST(boxes_are_added),
        KERNEL_TEST(triangles_stay),
        KERNEL_TEST(one_place_is_hot),
        KERNEL_TEST(sequences_turn_round),
        KERNEL_TEST(bad_lengths_are_told),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
