#include "cuda_emu/large/support_large.h"

#include "cuda_runtime_api.h"

#include <math.h>
#include <sys/mman.h>

enum { ROOMS = 6 };

#define BYTES ((size_t)1 << 36)

static char *rooms[ROOMS];

void *vast(int i)
{
    if (!rooms[i]) {
        void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            print_message("SKIPPED: this machine gives no process 64 GiB of addresses\n");
            skip();
        }
        madvise(at, BYTES, MADV_NOHUGEPAGE);
        rooms[i] = at;
    }
    madvise(rooms[i], BYTES, MADV_DONTNEED);
    return rooms[i];
}

void done(void)
{
    assert_int_equal(cudaStreamSynchronize(kernel_test_stream()), cudaSuccess);
}

void expect_last(const float *y, int64_t count, float want)
{
    done();
    assert_true(fabs(y[count - 1] - want) <= 0.01);
}
