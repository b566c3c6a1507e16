/* Blocks of the emulation: what is right gives the right numbers, what is wrong does not pass. */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"
#include "cuda_emu/scenes.h"
#include "cuda_runtime_api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Waits for all; a fault must have come of it that speaks of `text`. */
static void expect_fault(const char *text)
{
    cudaError_t e = cudaStreamSynchronize(kernel_test_stream());
    if (!strstr(emu_fault_text(), text))
        fail_msg("the fault is '%s', not '...%s...'", emu_fault_text(), text);
    assert_int_not_equal(e, cudaSuccess);
    emu_faults_forget();
}

static float *numbers(size_t n)
{
    float x[256];
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i + 1;
    return on_device(x, n * sizeof *x);
}

/* Whether the row of 64 came back transposed. */
static bool turns(turn_how how)
{
    float y[64], *x = numbers(64);
    scene_turn(kernel_test_stream(), x, how);
    from_device(y, x, sizeof y);
    bool right = true;
    for (int i = 0; i < 64; i++)
        right = right && y[i] == (float)(64 - i);
    return right;
}

static void barriers_order_threads(void **state)
{
    (void)state;
    assert_true(turns(TURN_RIGHT));
    assert_false(turns(TURN_NO_BARRIER));
}

static void threads_must_meet(void **state)
{
    (void)state;
    scene_turn(kernel_test_stream(), numbers(64), TURN_BRANCH);
    expect_fault("threads do not meet: thread 0 waits at scenes.cu:");
    scene_turn(kernel_test_stream(), numbers(64), TURN_TWO);
    expect_fault("threads do not meet: thread 0 waits at scenes.cu:");
    assert_true(turns(TURN_RIGHT)); /* stacks of abandoned threads serve again */
}

static void shuffled(int y[64], shuffle_how how)
{
    int *x = device_alloc(64 * sizeof *x);
    scene_shuffle(kernel_test_stream(), x, 32, how);
    from_device(y, x, 64 * sizeof *y);
}

static void shuffles_take_from_lanes(void **state)
{
    (void)state;
    int y[64], odd = (int)0xaaaaaaaau;
    const int from[4][4] = {{5, 4, 26, 58}, {3, 3, 3, 35}, {0, 1, 29, 61}, {2, 3, 31, 63}};
    const int lane[4] = {0, 1, 31, 63};
    for (int how = SHUFFLE_XOR; how <= SHUFFLE_DOWN; how++) {
        shuffled(y, (shuffle_how)how);
        for (int i = 0; i < 4; i++)
            assert_int_equal(y[lane[i]], from[how][i] * from[how][i]);
    }
    shuffled(y, SHUFFLE_BALLOT);
    assert_int_equal(y[0], odd);
    assert_int_equal(y[63], odd);
}

static void shuffles_want_whole_warps(void **state)
{
    (void)state;
    cuda_stream s = kernel_test_stream();
    int *y = device_alloc(128 * sizeof *y);
    scene_shuffle(s, y, 32, SHUFFLE_MASK);
    expect_fault("with mask 0000ffff in a warp of 32 lanes");
    scene_shuffle(s, y, 33, SHUFFLE_FROM);
    expect_fault("in a warp of 1 lanes");
    scene_shuffle(s, y, 32, SHUFFLE_APART);
    expect_fault("lanes of a warp meet at different places");
    scene_shuffle(s, y, 32, SHUFFLE_ENDED);
    expect_fault("thread 7 has ended");
}

static void shared_memory_is_a_blocks_own(void **state)
{
    (void)state;
    float y[2], *x = device_alloc(sizeof y);
    scene_leftover(kernel_test_stream(), x);
    from_device(y, x, sizeof y);
    assert_true(isnan(y[0]) && isnan(y[1]));
    scene_turn(kernel_test_stream(), numbers(65), TURN_BEHIND);
    expect_fault("a write 0 bytes behind the end of 'row'");
}

static void shared_memory_has_limits(void **state)
{
    (void)state;
    float y, *x = device_alloc(sizeof y);
    scene_big(kernel_test_stream(), x, BIG_ALLOWED);
    from_device(&y, x, sizeof y);
    assert_true(y == 1);
    scene_big(kernel_test_stream(), x, BIG_DYNAMIC);
    expect_fault("ALLOW_SHARED");
    scene_big(kernel_test_stream(), x, BIG_STATIC);
    expect_fault("'room' makes it 52000 bytes");
    scene_big(kernel_test_stream(), x, BIG_BOTH);
    expect_fault("'room' makes it 56000 bytes");
}

static bool copies(copy_how how)
{
    float y[128], *x = numbers(128), *to = device_alloc(sizeof y);
    scene_copy(kernel_test_stream(), to, x, how);
    from_device(y, to, sizeof y);
    bool right = y[127] == 0;
    for (int i = 0; i < 127; i++)
        right = right && y[i] == (float)i + 1;
    return right;
}

static void asynchronous_copies_come_when_it_hurts(void **state)
{
    (void)state;
    bool is_eager = emu_schedule() & EMU_EAGER;
    assert_true(copies(COPY_RIGHT));
    assert_int_equal(copies(COPY_NO_WAIT), is_eager);
    assert_int_equal(copies(COPY_LATE_GROUP), is_eager);
    assert_int_equal(copies(COPY_OVERWRITE), !is_eager);
    float *y = device_alloc(512), *x = numbers(128);
    scene_copy(kernel_test_stream(), y, x, COPY_GLOBAL);
    expect_fault("what is no shared memory");
    scene_copy(kernel_test_stream(), y, x, COPY_MISALIGNED);
    expect_fault("which is no multiple of that");
}

static void halves_are_rounded_as_on_a_gpu(void **state)
{
    (void)state;
    enum { N = 16 };
    const float x[N] = {1.0f,     -2.5f, 65504.0f,  65520.0f,  1e-8f,      0x1.8p-25f,
                        INFINITY, NAN,   0x1.01p0f, 0x1.03p0f, 0x1.002p0f, 0x1.006p0f,
                        -0.0f,    3e38f, 3.4e38f,   1e30f};
    const float as_f16[N] = {1.0f,     -2.5f,    65504.0f,  INFINITY,  0,      0x1p-24f,
                             INFINITY, NAN,      0x1.01p0f, 0x1.03p0f, 0x1p0f, 0x1.008p0f,
                             -0.0f,    INFINITY, INFINITY,  INFINITY};
    const float as_bf16[N] = {1.0f,     -2.5f,       65536.0f, 65536.0f,  0x1.58p-27f, 0x1.8p-25f,
                              INFINITY, NAN,         0x1p0f,   0x1.04p0f, 0x1p0f,      0x1p0f,
                              -0.0f,    0x1.c4p127f, INFINITY, 0x1.94p99f};
    const float *const want[] = {x, as_bf16, as_f16};
    float y[N], *to = device_alloc(sizeof y), *from = on_device(x, sizeof x);
    for (int type = LAUNCH_F32; type <= LAUNCH_F16; type++) {
        scene_store(kernel_test_stream(), to, from, N, (launch_type)type);
        from_device(y, to, sizeof y);
        for (int i = 0; i < N; i++)
            if (!(isnan(want[type][i]) ? isnan(y[i]) : y[i] == want[type][i]))
                fail_msg("type %d: %a becomes %a, not %a", type, (double)x[i], (double)y[i],
                         (double)want[type][i]);
    }
}

static void launches_have_limits(void **state)
{
    (void)state;
    const struct {
        unsigned x, y, threads;
        const char *fault;
    } wrong[] = {{1, 1, 1025, "1 to 1024 threads"},
                 {1, 1, 0, "1 to 1024 threads"},
                 {0, 1, 1, "at least one block"},
                 {1, 65536, 1, "65535 blocks along y"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        scene_size(kernel_test_stream(), wrong[i].x, wrong[i].y, wrong[i].threads);
        assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
        expect_fault(wrong[i].fault);
    }
    scene_bound(kernel_test_stream(), 13, 5);
    assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
    expect_fault("more threads than its KERNEL says");
    scene_bound(kernel_test_stream(), 16, 4);
    scene_size(kernel_test_stream(), 3, 2, 1024);
    assert_int_equal(cudaStreamSynchronize(kernel_test_stream()), cudaSuccess);
}

static void accesses_are_aligned(void **state)
{
    (void)state;
    float *y = device_alloc(64);
    scene_vector(kernel_test_stream(), y + 1);
    expect_fault("which is no multiple of that");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(barriers_order_threads),
        KERNEL_TEST(threads_must_meet),
        KERNEL_TEST(shuffles_take_from_lanes),
        KERNEL_TEST(shuffles_want_whole_warps),
        KERNEL_TEST(shared_memory_is_a_blocks_own),
        KERNEL_TEST(shared_memory_has_limits),
        KERNEL_TEST(asynchronous_copies_come_when_it_hurts),
        KERNEL_TEST(halves_are_rounded_as_on_a_gpu),
        KERNEL_TEST(launches_have_limits),
        KERNEL_TEST(accesses_are_aligned),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
