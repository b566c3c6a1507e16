#include "cuda_emu/block.h"
#include "cuda_emu/fiber.h"
#include "cuda_emu/machine.h"

#include <stdio.h>
#include <string.h>

enum { FRESH, READY, AT_BLOCK, AT_WARP, ENDED };

enum { WARPS = EMU_THREADS / EMU_LANES };

typedef struct warp {
    uint32_t present, ready, arrived; /* lanes that there are, that can go, that wait here */
    const emu_where *at;              /* where those wait */
    unsigned turn;
    emu_slots slots[2]; /* two sets in turn: who puts again cannot disturb who still takes */
} warp;

emu_thread *emu_self;
uint3 emu_block_index, emu_block_dim, emu_grid_dim;

static emu_thread threads[EMU_THREADS];
static warp warps[WARPS];
static int n_threads, n_warps;
static void *scheduler_sp;
static const emu_kernel *kernel;
static uint32_t block_number;
static bool is_descending, has_fault, ends_only;

/* --- whose turn it is --- */

/* The lane of `from` to go after `lane`, in the order of the schedule; from != 0. */
static int lane_after(uint32_t from, int lane)
{
    uint32_t beyond = is_descending ? from & ((1u << lane) - 1) : from & ~((2u << lane) - 1);
    uint32_t of = beyond ? beyond : from;
    return is_descending ? 31 - __builtin_clz(of) : __builtin_ctz(of);
}

static void thread_main(void);

static void give_stack(emu_thread *t)
{
    emu_stack_give(t->stack);
    t->stack = -1;
}

/* Another lane of this warp goes on, or the scheduler. Returns when `from` may go on, or, if it has
 * ended and a fresh thread takes over its stack, at once as that thread. */
static void hand_over(emu_thread *from)
{
    uint32_t ready = warps[from->warp].ready;
    if (!ready) {
        if (from->state == ENDED)
            give_stack(from);
        emu_switch(&from->sp, scheduler_sp);
        return;
    }
    emu_thread *to = &threads[from->warp * EMU_LANES + lane_after(ready, from->lane)];
    if (to == from)
        return;
    emu_self = to;
    if (to->state == FRESH && from->state == ENDED) {
        to->state = READY;
        to->stack = from->stack;
        from->stack = -1;
        return;
    }
    if (to->state == FRESH) {
        to->state = READY;
        to->stack = emu_stack_take();
        to->sp = emu_stack_begin(to->stack, thread_main);
    } else if (from->state == ENDED) {
        give_stack(from);
    }
    emu_switch(&from->sp, to->sp);
}

static void thread_main(void)
{
    for (;;) {
        kernel->body(kernel->arguments);
        emu_thread *t = emu_self;
        t->state = ENDED;
        warps[t->warp].ready &= ~(1u << t->lane);
        hand_over(t);
    }
}

static void wait_as(emu_thread *t, int state, const emu_where *at)
{
    t->state = state;
    t->at = at;
    warps[t->warp].ready &= ~(1u << t->lane);
    hand_over(t);
}

/* --- barriers --- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void emu_block_barrier(const emu_where *at)
{
    emu_thread *t = emu_self;
    wait_as(t, AT_BLOCK, at);
    t->block_barriers++;
}

static bool is_same_place(const emu_where *a, const emu_where *b)
{
    return a == b ||
           (a->line == b->line && strcmp(a->what, b->what) == 0 && strcmp(a->file, b->file) == 0);
}

void emu_warp_barrier(uint32_t mask, const emu_where *at)
{
    emu_thread *t = emu_self;
    warp *w = &warps[t->warp];
    t->at = at;
    if (mask != 0xffffffffu || w->present != 0xffffffffu)
        emu_fault("%s:%d: %s with mask %08x in a warp of %d lanes; all 32 would be right",
                  file_name(at->file), at->line, at->what, mask, __builtin_popcount(w->present));
    if (w->arrived && !is_same_place(w->at, at))
        emu_fault("lanes of a warp meet at different places: %s at %s:%d, %s at %s:%d", w->at->what,
                  file_name(w->at->file), w->at->line, at->what, file_name(at->file), at->line);
    w->at = at;
    w->arrived |= 1u << t->lane;
    if (w->arrived != w->present) {
        wait_as(t, AT_WARP, at);
    } else {
        for (int lane = 0; lane < EMU_LANES; lane++)
            threads[t->warp * EMU_LANES + lane].state = READY;
        w->ready = w->present;
        w->arrived = 0;
        w->turn++;
    }
    t->warp_barriers++;
}

const emu_slots *emu_warp_put(uint32_t mask, const void *from, size_t bytes, const emu_where *at)
{
    warp *w = &warps[emu_self->warp];
    emu_slots *slots = &w->slots[w->turn & 1];
    memcpy(slots->of_lane[emu_self->lane], from, bytes);
    emu_warp_barrier(mask, at);
    return slots;
}

/* --- a block --- */

static void describe(const emu_thread *t, char ret[200])
{
    if (t->state == ENDED)
        snprintf(ret, 200, "thread %d has ended", (int)(t - threads));
    else
        snprintf(ret, 200, "thread %d waits at %s:%d (%s)", (int)(t - threads),
                 file_name(t->at->file), t->at->line, t->at->what);
}

/* Nobody can go on: lets all go on from a barrier where all are, and says whether it did. */
static bool pass_barrier(void)
{
    const emu_thread *odd = NULL, *first = &threads[0];
    for (int i = 0; i < n_threads && !odd; i++) {
        const emu_thread *t = &threads[i];
        if (t->state == first->state && (t->state == ENDED || is_same_place(t->at, first->at)))
            continue;
        odd = t;
    }
    if (!odd && first->state == ENDED)
        return false;
    if (odd || first->state == AT_WARP) {
        char a[200], b[200];
        describe(first, a);
        describe(odd ? odd : first, b);
        emu_fault("threads do not meet: %s, %s", a, b);
        return false;
    }
    for (int i = 0; i < n_threads; i++)
        threads[i].state = READY;
    for (int w = 0; w < n_warps; w++)
        warps[w].ready = warps[w].present;
    return true;
}

static void resume(emu_thread *t)
{
    emu_self = t;
    if (t->state == FRESH) {
        t->stack = emu_stack_take();
        t->sp = emu_stack_begin(t->stack, thread_main);
    }
    t->state = READY;
    emu_switch(&scheduler_sp, t->sp);
    emu_self = NULL;
}

void emu_kernel_stop(void)
{
    has_fault = true;
    if (emu_self)
        emu_switch(&emu_self->sp, scheduler_sp);
}

static void begin_threads(void)
{
    uint3 size = emu_block_dim;
    for (int i = 0; i < n_threads; i++) {
        unsigned n = (unsigned)i;
        threads[i] = (emu_thread){
            .index = {n % size.x, n / size.x % size.y, n / (size.x * size.y)},
            .lane = i % EMU_LANES,
            .warp = i / EMU_LANES,
            .state = FRESH,
            .stack = -1,
        };
    }
    for (int i = 0; i < n_warps; i++) {
        int lanes = n_threads - i * EMU_LANES;
        warp *w = &warps[i];
        w->present = w->ready = lanes < EMU_LANES ? (1u << lanes) - 1 : 0xffffffffu;
        w->arrived = 0;
        w->turn = 0;
    }
}

static void run_block(void)
{
    begin_threads();
    has_fault = false;
    do {
        for (int k = 0; k < n_warps && !has_fault; k++) {
            int i = is_descending ? n_warps - 1 - k : k;
            while (warps[i].ready && !has_fault)
                resume(&threads[i * EMU_LANES +
                                lane_after(warps[i].ready, is_descending ? 0 : EMU_LANES - 1)]);
        }
    } while (!has_fault && pass_barrier());
    for (int i = 0; i < n_threads; i++)
        if (threads[i].stack >= 0)
            give_stack(&threads[i]);
}

void emu_ends_only(void)
{
    ends_only = true;
}

void emu_kernel_run(const emu_kernel *k)
{
    kernel = k;
    emu_grid_dim = k->grid;
    emu_block_dim = k->block;
    n_threads = (int)(k->block.x * k->block.y * k->block.z);
    n_warps = (n_threads + EMU_LANES - 1) / EMU_LANES;
    is_descending = emu_schedule() & EMU_DESCENDING;
    uint64_t row = k->grid.x, plane = row * k->grid.y, n_blocks = plane * k->grid.z;
    uint64_t step = ends_only && n_blocks > 1 ? n_blocks - 1 : 1;
    has_fault = false;
    for (uint64_t i = 0; i < n_blocks && !has_fault; i += step) {
        uint64_t b = is_descending ? n_blocks - 1 - i : i;
        block_number = (uint32_t)b;
        emu_block_index =
            (uint3){(unsigned)(b % row), (unsigned)(b / row % k->grid.y), (unsigned)(b / plane)};
        emu_shared_begin(k->shared_bytes, k->shared_most);
        run_block();
        emu_shared_end();
    }
    kernel = NULL;
}

uint32_t emu_block_number(void)
{
    return block_number;
}

const char *emu_kernel_place(char ret[256])
{
    ret[0] = '\0';
    if (!kernel)
        return ret;
    int n = snprintf(ret, 256, "%s, block (%u, %u, %u)", kernel->name, emu_block_index.x,
                     emu_block_index.y, emu_block_index.z);
    if (emu_self && n > 0 && n < 256)
        snprintf(ret + n, 256 - (size_t)n, ", thread (%u, %u, %u)", emu_self->index.x,
                 emu_self->index.y, emu_self->index.z);
    return ret;
}
