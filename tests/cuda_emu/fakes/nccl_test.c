/* NCCL as it is played: whoever calls it wrongly is told instead of left waiting. That what is sent arrives
 * peers/peers_test.c sees. */
#include "cuda_emu/kernel_test.h"

#include "common/base/alloc.h"
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/machine.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, GPUS = 2 };

/* A GPU with its thread: sends `out` to the other one and receives `in`. */
typedef struct gpu {
    int number;
    nccl_comm comm;
    cudaStream_t stream;
    float *out, *in;
    size_t n_out, n_in;
    unsigned result;
    pthread_t thread;
} gpu;

static void *trade(void *gpu_)
{
    gpu *g = gpu_;
    cudaSetDevice(g->number);
    api.ncclGroupStart();
    if (g->n_out)
        api.ncclSend(g->out, g->n_out, NCCL_F32, 1 - g->number, g->comm, g->stream);
    if (g->n_in)
        api.ncclRecv(g->in, g->n_in, NCCL_F32, 1 - g->number, g->comm, g->stream);
    g->result = api.ncclGroupEnd();
    return NULL;
}

static void begin(gpu gpus[GPUS])
{
    nccl_comm comms[GPUS];
    error err = ERROR_INIT;
    assert_int_equal(api_open(API_NCCL, &err), OK);
    assert_int_equal(api.ncclCommInitAll(comms, GPUS, (const int[]){0, 1}), API_SUCCESS);
    for (int i = 0; i < GPUS; i++) {
        float *host = NULL;
        gpu *g = &gpus[i];
        *g = (gpu){.number = i, .comm = comms[i], .n_out = N, .n_in = N};
        cudaSetDevice(i);
        cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
        cudaMalloc((void **)&g->out, N * sizeof(float));
        cudaMalloc((void **)&g->in, N * sizeof(float));
        cudaHostAlloc((void **)&host, N * sizeof(float), cudaHostAllocPortable);
        for (int k = 0; k < N; k++)
            host[k] = (float)(10 * i + k);
        cudaMemcpyAsync(g->out, host, N * sizeof(float), cudaMemcpyHostToDevice, g->stream);
        cudaStreamSynchronize(g->stream);
        cudaFreeHost(host);
    }
}

/* Both at a time. */
static void run(gpu gpus[GPUS])
{
    for (int i = 0; i < GPUS; i++)
        assert_int_equal(pthread_create(&gpus[i].thread, NULL, trade, &gpus[i]), 0);
    for (int i = 0; i < GPUS; i++)
        pthread_join(gpus[i].thread, NULL);
}

static void end(gpu gpus[GPUS], bool aborted)
{
    for (int i = 0; i < GPUS; i++) {
        cudaSetDevice(i);
        cudaFree(gpus[i].out);
        cudaFree(gpus[i].in);
        cudaStreamDestroy(gpus[i].stream);
        if (!aborted)
            assert_int_equal(api.ncclCommDestroy(gpus[i].comm), API_SUCCESS);
    }
    cudaSetDevice(0);
}

static void expect_fault(const char *text)
{
    if (!strstr(emu_fault_text(), text))
        fail_msg("'%s', not '%s'", emu_fault_text(), text);
    emu_faults_forget();
}

static void test_what_does_not_fit_is_told(void **state)
{
    (void)state;
    gpu gpus[GPUS];
    fake_nccl_timeout(50);
    begin(gpus);
    gpus[1].n_in = N - 1;
    run(gpus);
    expect_fault("sends 5 elements, rank 1 receives 4");
    gpus[1].n_in = 0;
    run(gpus);
    assert_int_not_equal(gpus[0].result, API_SUCCESS);
    expect_fault("NCCL: rank 0 sends to rank 1, which does not receive");
    gpus[1].n_in = N;
    gpus[1].n_out = 0;
    run(gpus);
    expect_fault("NCCL: rank 0 receives from rank 1, which does not send");
    gpus[1].n_out = N + 1;
    run(gpus);
    expect_fault("NCCL, send: 6 elements are not all on GPU 1");
    end(gpus, false);
    fake_nccl_timeout(20000);
}

static void test_an_abort_ends_all_waiting(void **state)
{
    (void)state;
    gpu gpus[GPUS];
    begin(gpus);
    assert_int_equal(pthread_create(&gpus[0].thread, NULL, trade, &gpus[0]), 0);
    api.ncclCommAbort(gpus[0].comm);
    api.ncclCommAbort(gpus[1].comm);
    pthread_join(gpus[0].thread, NULL);
    assert_int_not_equal(gpus[0].result, API_SUCCESS);
    end(gpus, true);
}

int main(void)
{
    setenv("EMU_DEVICES", "2", 1);
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_what_does_not_fit_is_told),
        KERNEL_TEST(test_an_abort_ends_all_waiting),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
