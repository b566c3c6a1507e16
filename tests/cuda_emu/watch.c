#include "cuda_emu/watch.h"
#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/memory.h"
#include "cuda_emu/stream.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Who touched something: an operation, and of a kernel which thread, behind how many barriers. */
typedef struct touch {
    uint32_t operation; /* number in its stream; 0: nobody */
    uint32_t block;
    uint32_t block_barriers, warp_barriers;
    uint16_t thread;
    uint16_t stream;
} touch;

enum { MANY_THREADS = 0xffff, OF_ONE_WARP = 0x8000, NO_THREAD = 0x7fff };

#define MANY_BLOCKS 0xffffffffu

enum { READERS = 4 };

/* What is known of 4 bytes, or of one where they were not always touched together. */
typedef struct cell {
    touch write, read; /* the last; several readers of a launch count as MANY */
    uint32_t
        reader[READERS]; /* the last reads of so many streams: operation * EMU_STREAMS + stream */
    uint64_t block;      /* shared memory: whose it is */
    struct cell *bytes;
} cell;

#define WATCHED ((size_t)1 << 30) /* bytes of a device's memory */

static cell *device_cells[EMU_DEVICES_MOST];
static cell shared_cells[EMU_SHARED_ROOM / 4 + 1];

/* --- order --- */

static bool is_same_warp(const touch *a, const touch *b)
{
    return (a->thread & ~OF_ONE_WARP) / EMU_LANES == b->thread / EMU_LANES;
}

/* Whether a, which was first, comes before b whatever the schedule. */
static bool comes_before(const touch *a, const touch *b, const emu_clock *now)
{
    if (a->operation == 0)
        return true;
    if (a->operation != b->operation || a->stream != b->stream)
        return a->operation <= now->of[a->stream];
    if (a->block != b->block)
        return false;
    if (a->block_barriers != b->block_barriers || a->thread == b->thread)
        return true;
    return a->thread != MANY_THREADS && is_same_warp(a, b) && a->warp_barriers != b->warp_barriers;
}

static void describe(const touch *t, char ret[120])
{
    if (t->thread == NO_THREAD)
        snprintf(ret, 120, "the copy that is operation %u of stream %u", t->operation, t->stream);
    else if (t->block == MANY_BLOCKS)
        snprintf(ret, 120, "several blocks of operation %u of stream %u", t->operation, t->stream);
    else if (t->thread == MANY_THREADS || t->thread & OF_ONE_WARP)
        snprintf(ret, 120, "several threads of block %u, operation %u of stream %u", t->block,
                 t->operation, t->stream);
    else
        snprintf(ret, 120, "thread %u of block %u, operation %u of stream %u", t->thread, t->block,
                 t->operation, t->stream);
}

static void blame(const char *what, const void *p, const touch *first, const touch *then)
{
    char a[120], b[120], where[160];
    describe(first, a);
    describe(then, b);
    if (!emu_memory_describe(p, where))
        emu_shared_describe(p, where);
    emu_fault("%s %s with nothing between: %s, then %s", where, what, a, b);
}

static void blame_stranger(const void *p, size_t bytes, bool writes)
{
    char where[160];
    emu_memory_describe(p, where);
    emu_fault("%zu bytes are %s at %s, which is no %s of the node", bytes,
              writes ? "written" : "read", where, writes ? "output" : "operand");
}

/* --- a cell --- */

static bool has_reader_beside(const cell *c, const emu_clock *now)
{
    for (int i = 0; i < READERS; i++)
        if (c->reader[i] / EMU_STREAMS > now->of[c->reader[i] % EMU_STREAMS])
            return true;
    return false;
}

/* In the place of the same stream's last read, or of one that came before this. */
static void note_reader(cell *c, const touch *t, const emu_clock *now)
{
    uint32_t code = t->operation * EMU_STREAMS + t->stream;
    int at = 0;
    for (int i = 0; i < READERS; i++) {
        uint32_t stream = c->reader[i] % EMU_STREAMS;
        if (c->reader[i] && stream == t->stream) {
            at = i;
            break;
        }
        if (c->reader[i] / EMU_STREAMS <= now->of[stream])
            at = i;
    }
    c->reader[at] = code;
}

static void add_reader(touch *r, const touch *t)
{
    if (r->operation != t->operation || r->stream != t->stream)
        *r = *t;
    else if (r->block != t->block)
        r->block = MANY_BLOCKS;
    else if (r->block_barriers != t->block_barriers || r->thread == t->thread)
        *r = *t;
    else if (r->thread == MANY_THREADS)
        return;
    else if (!is_same_warp(r, t))
        r->thread = MANY_THREADS;
    else if (r->warp_barriers != t->warp_barriers)
        *r = *t;
    else
        r->thread |= OF_ONE_WARP;
}

static void look(cell *c, const void *p, const touch *t, const emu_clock *now, bool writes)
{
    if (!comes_before(&c->write, t, now))
        blame(writes ? "is written twice" : "is written and read", p, &c->write, t);
    if (!writes) {
        add_reader(&c->read, t);
        note_reader(c, t, now);
        return;
    }
    if (!comes_before(&c->read, t, now) || has_reader_beside(c, now))
        blame("is read and written", p, &c->read, t);
    c->write = *t;
    c->read = (touch){0};
}

static cell *split(cell *c)
{
    if (!c->bytes) {
        c->bytes = malloc(4 * sizeof *c->bytes);
        if (!c->bytes)
            abort();
        for (int i = 0; i < 4; i++)
            c->bytes[i] = *c;
    }
    return c->bytes;
}

/* The bytes [from, end) of the four at p. */
static void look_at_some(cell *c, const char *p, size_t from, size_t end, const touch *t,
                         const emu_clock *now, bool writes)
{
    if (from == 0 && end == 4 && !c->bytes) {
        look(c, p, t, now, writes);
        return;
    }
    cell *bytes = split(c);
    for (size_t i = from; i < end; i++)
        look(&bytes[i], p + i, t, now, writes);
}

/* --- memory --- */

static cell *cells_of(int device)
{
    if (!device_cells[device]) {
        size_t bytes = WATCHED / 4 * sizeof(cell);
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            perror("cuda_emu: the watcher's cells");
            abort();
        }
        device_cells[device] = p;
    }
    return device_cells[device];
}

/* A block's memory is its own: what the one before did does not count. */
static void begin_anew(cell *c, uint64_t block)
{
    if (c->block == block)
        return;
    free(c->bytes);
    *c = (cell){.block = block};
}

static void watch(const void *p, size_t bytes, bool writes)
{
    if (bytes == 0)
        return;
    size_t at;
    cell *cells;
    int device = emu_memory_device(p);
    if (device >= 0) {
        at = emu_memory_offset(p);
        cells = cells_of(device);
        if (at + bytes > WATCHED || !emu_memory_holds(p, bytes))
            emu_fault("%p is no allocated memory of a device", p);
        if (emu_self && device != emu_device_now())
            emu_fault("a kernel on device %d touches memory of device %d", emu_device_now(),
                      device);
        if (!emu_may_touch(p, bytes, writes))
            blame_stranger(p, bytes, writes);
    } else if (emu_shared_holds(p, bytes)) {
        at = emu_shared_offset(p);
        cells = shared_cells;
    } else {
        return;
    }
    int stream;
    const emu_clock *now = emu_clock_now(&stream);
    touch t = {.operation = now->of[stream], .stream = (uint16_t)stream, .thread = NO_THREAD};
    if (emu_self) {
        t.block = emu_block_number();
        t.block_barriers = emu_self->block_barriers;
        t.warp_barriers = emu_self->warp_barriers;
        t.thread = (uint16_t)(emu_self->warp * EMU_LANES + emu_self->lane);
    }
    for (size_t i = at / 4; i <= (at + bytes - 1) / 4; i++) {
        size_t from = at > 4 * i ? at - 4 * i : 0, end = at + bytes - 4 * i;
        if (cells == shared_cells)
            begin_anew(&cells[i], emu_shared_serial());
        look_at_some(&cells[i], (const char *)p - at + 4 * i, from, end < 4 ? end : 4, &t, now,
                     writes);
    }
}

__attribute__((constructor)) static void begin(void)
{
    emu_watcher = watch;
}

/* --- what gcc calls --- */

void __tsan_init(void);
void __tsan_init(void)
{
}

#define ACCESS(name, bytes, writes)                                                                \
    void __tsan_##name(void *p);                                                                   \
    void __tsan_##name(void *p)                                                                    \
    {                                                                                              \
        watch(p, bytes, writes);                                                                   \
    }
#define ACCESSES(bytes)                                                                            \
    ACCESS(read##bytes, bytes, false)                                                              \
    ACCESS(write##bytes, bytes, true)                                                              \
    ACCESS(unaligned_read##bytes, bytes, false)                                                    \
    ACCESS(unaligned_write##bytes, bytes, true)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *p, size_t bytes);
void __tsan_read_range(void *p, size_t bytes)
{
    watch(p, bytes, false);
}

void __tsan_write_range(void *p, size_t bytes);
void __tsan_write_range(void *p, size_t bytes)
{
    watch(p, bytes, true);
}
