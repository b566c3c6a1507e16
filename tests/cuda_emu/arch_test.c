/* Other machines: an older chip, two devices, one of which breaks (see CMakeLists.txt). */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"
#include "cuda_emu/scenes.h"
#include "cuda_runtime_api.h"

#include <string.h>

static void an_older_chip_has_less(void **state)
{
    (void)state;
    const uint32_t one = 0x3c00, a[128] = {one}, b[64] = {one};
    float d[128] = {0}, *to = on_device(d, sizeof d);
    uint32_t *x = on_device(a, sizeof a), *y = on_device(b, sizeof b);
    cudaDeviceProp p;
    assert_int_equal(cudaGetDeviceProperties(&p, 0), cudaSuccess);
    assert_int_equal(p.major * 10 + p.minor, 75);
    scene_matmul(kernel_test_stream(), to, x, y, MATMUL_F16_8);
    from_device(d, to, sizeof d);
    assert_true(d[0] == 1);
    scene_matmul(kernel_test_stream(), to, x, y, MATMUL_BF16);
    assert_int_equal(cudaStreamSynchronize(kernel_test_stream()), cudaErrorLaunchFailure);
    assert_non_null(strstr(emu_fault_text(), "needs sm_80; this is sm_75"));
    emu_faults_forget();
}

/* The third kernel of device 0 breaks it, device 1 goes on. */
static void a_device_that_breaks_says_so_from_then_on(void **state)
{
    (void)state;
    void *p;
    cudaStream_t s;
    scene_size(kernel_test_stream(), 1, 1, 32);
    assert_int_equal(cudaStreamSynchronize(kernel_test_stream()), cudaErrorIllegalAddress);
    assert_int_equal(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMalloc(&p, 4), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    scene_set(s, p, 1, 1);
    assert_int_equal(cudaStreamSynchronize(s), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(s), cudaSuccess);
    assert_int_equal(cudaFree(p), cudaSuccess);
    assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(emu_faults(), 0);
    emu_faults_forget();
}

/* What is made on one device is no good to another. */
static void devices_have_their_own(void **state)
{
    (void)state;
    cudaStream_t there;
    cudaEvent_t here;
    assert_int_equal(cudaEventCreateWithFlags(&here, cudaEventDisableTiming), cudaSuccess);
    float *x = device_alloc(sizeof *x), *y;
    scene_big(kernel_test_stream(), x, BIG_ALLOWED);
    assert_int_equal(cudaStreamSynchronize(kernel_test_stream()), cudaSuccess);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&y, sizeof *y), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaEventRecord(here, there), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaStreamWaitEvent(there, here, 0), cudaSuccess);
    scene_big(there, y, BIG_AGAIN);
    assert_non_null(strstr(emu_fault_text(), "need an ALLOW_SHARED"));
    emu_faults_forget();
    assert_int_equal(cudaFree(y), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(there), cudaSuccess);
    assert_int_equal(cudaEventDestroy(here), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(an_older_chip_has_less),
        KERNEL_TEST(a_device_that_breaks_says_so_from_then_on),
        KERNEL_TEST(devices_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
