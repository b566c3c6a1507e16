/* What kernels look up: copies on the device, as long as the program is loaded. */
#include "backend/cuda/device/device.h"
#include "backend/cuda/program.h"

struct cuda_table {
    void *memory;
    struct cuda_table *next;
};

status cuda_table(backend_program *p, const void *data, size_t bytes, const void **ret, error *err)
{
    void *memory = NULL;
    cuda_stream q = p->backend->queues[QUEUE_COMPUTE];
    TRY(cuda_alloc(p->backend, SPACE_DEVICE, bytes, "a table", &memory, err));
    struct cuda_table *t = arena_alloc(p->arena, sizeof *t);
    *t = (struct cuda_table){memory, p->tables};
    p->tables = t;
    TRY_CUDA(cudaMemcpyAsync(memory, data, bytes, cudaMemcpyHostToDevice, q), "a copy", err);
    *ret = memory;
    return device_check(cudaStreamSynchronize(q), "a copy", err);
}

void cuda_tables_release(backend_program *p)
{
    for (struct cuda_table *t = p->tables; t; t = t->next)
        cuda_release(p->backend, SPACE_DEVICE, t->memory);
    p->tables = NULL;
}
