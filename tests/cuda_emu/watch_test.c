/* The watcher tells what the schedule hides, and is silent where all is in order. */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"
#include "cuda_emu/scenes.h"
#include "cuda_emu/stream.h"
#include "cuda_runtime_api.h"

#include <string.h>

#define ok(call) assert_int_equal((call), cudaSuccess)

static void expect(const char *text)
{
    (void)cudaStreamSynchronize(kernel_test_stream());
    if (text ? !strstr(emu_fault_text(), text) : emu_faults() > 0)
        fail_msg("the fault is '%s', not '%s'", emu_fault_text(), text ? text : "");
    emu_faults_forget();
}

static void threads_need_barriers(void **state)
{
    (void)state;
    float x[128] = {0}, *y = on_device(x, sizeof x), *z = device_alloc(sizeof x);
    cuda_stream s = kernel_test_stream();
    scene_turn(s, y, TURN_RIGHT);
    expect(NULL);
    scene_turn(s, y, TURN_NO_BARRIER);
    expect("'row' in shared memory is read and written with nothing between: thread 31 of");
    scene_turn_warp(s, y, true);
    expect(NULL);
    scene_turn_warp(s, y, false);
    expect("'row' in shared memory is read and written");
    scene_copy(s, z, y, COPY_RIGHT);
    expect(NULL);
    scene_copy(s, z, y, COPY_NO_WAIT);
    expect(NULL); /* nothing came: numbers show it, not the watcher */
}

static void blocks_are_strangers(void **state)
{
    (void)state;
    float *y = device_alloc(8);
    scene_blocks(kernel_test_stream(), y, BLOCKS_OWN);
    expect(NULL);
    scene_blocks(kernel_test_stream(), y, BLOCKS_SAME);
    expect(
        "byte 0 of an allocation of 8 is written twice with nothing between: thread 0 of block 0");
    scene_blocks(kernel_test_stream(), y, BLOCKS_READ);
    expect("byte 0 of an allocation of 8 is written and read");
}

static void neighbours_in_a_word_are_no_race(void **state)
{
    (void)state;
    uint64_t least = 99;
    uint64_t *at = on_device(&least, sizeof least);
    uint8_t *y = device_alloc(64);
    uint16_t *z = device_alloc(128);
    scene_narrow(kernel_test_stream(), y, z, at);
    scene_narrow(kernel_test_stream(), y, z, at);
    expect(NULL);
    from_device(&least, at, sizeof least);
    assert_int_equal(least, 3);
}

static void memory_has_ends(void **state)
{
    (void)state;
    float x[256] = {0}, *y = on_device(x, 100 * sizeof *x), *to = device_alloc(sizeof x);
    scene_store(kernel_test_stream(), to, y, 104, LAUNCH_F32);
    expect("is no allocated memory of a device");
}

/* y[96] = x, both in halves of one allocation, by a node whose operands those are said to be. */
static void store_as_node(float *all, size_t n_read, size_t n_written)
{
    const emu_range list[] = {
        {(const char *)all, n_read * sizeof(float), false},
        {(const char *)(all + 128), n_written * sizeof(float), true},
    };
    emu_ranges_set(list, 2);
    scene_store(kernel_test_stream(), all + 128, all, 96, LAUNCH_F32);
    emu_ranges_set(NULL, 0);
}

static void devices_keep_to_their_memory(void **state)
{
    (void)state;
    cudaStream_t there;
    float *y = device_alloc(400);
    ok(cudaSetDevice(1));
    ok(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking));
    ok(cudaMemsetAsync(y, 0, 400, there)); /* copies may cross */
    ok(cudaStreamSynchronize(there));
    scene_set(there, y, 1, 100);
    (void)cudaStreamSynchronize(there);
    expect("a kernel on device 1 touches memory of device 0");
    ok(cudaSetDevice(0));
    scene_set(there, y, 1, 100); /* not the device that is chosen */
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    ok(cudaStreamDestroy(there));
}

static void nodes_keep_to_their_operands(void **state)
{
    (void)state;
    float x[256] = {0}, *all = on_device(x, sizeof x), *other = on_device(x, 400);
    store_as_node(all, 96, 96);
    expect(NULL);
    store_as_node(all, 92, 96);
    expect("16 bytes are read at byte 368 of an allocation of 1024, which is no operand");
    store_as_node(all, 96, 92);
    expect("16 bytes are written at byte 880 of an allocation of 1024, which is no output");
    emu_ranges_set(&(emu_range){(const char *)all, sizeof x, true}, 1);
    scene_store(kernel_test_stream(), all, other, 96, LAUNCH_F32); /* a table of the backend's */
    expect(NULL);
    scene_store(kernel_test_stream(), other, all, 96, LAUNCH_F32);
    expect("is no output of the node");
    emu_ranges_set(NULL, 0);
}

/* One stream makes y, another reads it, then the first makes it anew; three events order them. */
static void streams(bool after_made, bool before_anew, bool waits)
{
    cudaStream_t one = kernel_test_stream(), other;
    cudaEvent_t made, read;
    float *host, *y = device_alloc(400);
    ok(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    ok(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    ok(cudaHostAlloc((void **)&host, 400, cudaHostAllocPortable));
    scene_set(one, y, 1, 100);
    ok(cudaEventRecord(made, one));
    if (after_made)
        ok(cudaStreamWaitEvent(other, made, 0));
    ok(cudaMemcpyAsync(host, y, 400, cudaMemcpyDeviceToHost, other));
    ok(cudaEventRecord(read, other));
    if (waits)
        ok(cudaEventSynchronize(read));
    if (before_anew)
        ok(cudaStreamWaitEvent(one, read, 0));
    scene_set(one, y, 2, 100);
    (void)cudaStreamSynchronize(other);
    (void)cudaStreamSynchronize(one);
    ok(cudaStreamDestroy(other));
    ok(cudaEventDestroy(made));
    ok(cudaEventDestroy(read));
    ok(cudaFreeHost(host));
}

static void streams_need_events(void **state)
{
    (void)state;
    streams(true, true, false);
    expect(NULL);
    streams(true, false, true); /* the host's waiting orders them too */
    expect(NULL);
    streams(true, false, false);
    expect("is read and written with nothing between");
    streams(false, true, false);
    expect("is read and written with nothing between");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(threads_need_barriers),
        KERNEL_TEST(blocks_are_strangers),
        KERNEL_TEST(neighbours_in_a_word_are_no_race),
        KERNEL_TEST(memory_has_ends),
        KERNEL_TEST(devices_keep_to_their_memory),
        KERNEL_TEST(nodes_keep_to_their_operands),
        KERNEL_TEST(streams_need_events),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
