/* Shared memory of the block that runs, and asynchronous copies into it. */
#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/watch.h"

#include <stdio.h>
#include <string.h>

enum {
    POISON = 0xff, /* a NaN, whatever is made of it */
    ZONE = 64,     /* untouched bytes behind each allocation */
    PARTS = 64,
    COPIES = 512,
    COPIED = 16, /* bytes of an asynchronous copy */
};

typedef struct part {
    const char *name;
    size_t from, end;
} part;

static _Alignas(128) unsigned char room[EMU_SHARED_ROOM];
static part parts[PARTS];
static int n_parts;
static size_t used, declared, most; /* `most`: of declared bytes */
static uint64_t serial;

typedef struct copy {
    void *to;
    const void *from;
    int bytes, group;
} copy;

static copy copies[EMU_THREADS][COPIES];

static void *take(size_t bytes, size_t align, const char *name)
{
    size_t from = (used + align - 1) & ~(align - 1);
    if (n_parts == PARTS || from + bytes + ZONE > EMU_SHARED_ROOM) {
        emu_fault("shared memory: '%s' of %zu bytes does not fit", name, bytes);
        from = 0;
        bytes = 0;
    }
    parts[n_parts < PARTS ? n_parts++ : PARTS - 1] = (part){name, from, from + bytes};
    used = from + bytes + ZONE;
    memset(room + from, POISON, bytes + ZONE);
    return room + from;
}

void emu_shared_begin(size_t dynamic_bytes, size_t most_bytes)
{
    serial++;
    n_parts = 0;
    used = 0;
    declared = dynamic_bytes;
    most = most_bytes;
    take(dynamic_bytes, 16, "the dynamic room");
}

void emu_shared_end(void)
{
    for (int i = 0; i < n_parts; i++)
        for (size_t at = parts[i].end; at < parts[i].end + ZONE; at++)
            if (room[at] != POISON) {
                emu_fault("shared memory: a write %zu bytes behind the end of '%s'",
                          at - parts[i].end, parts[i].name);
                break;
            }
}

void *emu_shared(emu_site *site, size_t bytes, size_t align, const char *name)
{
    if (site->block == serial)
        return site->at;
    declared += bytes;
    if (declared > most)
        emu_fault("shared memory: '%s' makes it %zu bytes of a block, at most %zu are allowed",
                  name, declared, most);
    site->block = serial;
    site->at = take(bytes, align < 16 ? 16 : align, name);
    return site->at;
}

void *emu_shared_dynamic(void)
{
    return room;
}

bool emu_shared_holds(const void *p, size_t bytes)
{
    size_t at = (size_t)((const unsigned char *)p - room);
    return at < EMU_SHARED_ROOM && bytes <= EMU_SHARED_ROOM - at;
}

static void carry_out(const copy *c)
{
    emu_touch(c->from, (size_t)c->bytes, false);
    emu_touch(c->to, COPIED, true);
    memcpy(c->to, c->from, (size_t)c->bytes);
    memset((char *)c->to + c->bytes, 0, COPIED - (size_t)c->bytes);
}

size_t emu_shared_offset(const void *p)
{
    return (size_t)((const unsigned char *)p - room);
}

uint64_t emu_shared_serial(void)
{
    return serial;
}

void emu_shared_describe(const void *p, char ret[160])
{
    size_t at = emu_shared_offset(p);
    const char *name = "nothing";
    size_t from = 0;
    for (int i = 0; i < n_parts; i++)
        if (parts[i].from <= at) {
            name = parts[i].name;
            from = parts[i].from;
        }
    snprintf(ret, 160, "byte %zu of '%s' in shared memory", at - from, name);
}

void emu_copy_start(void *to, const void *from, int bytes)
{
    emu_thread *t = emu_self;
    copy c = {to, from, bytes, t->group};
    if (bytes < 0 || bytes > COPIED) {
        emu_fault("an asynchronous copy of %d of %d bytes", bytes, COPIED);
        return;
    }
    if (!emu_shared_holds(to, COPIED))
        emu_fault("an asynchronous copy to what is no shared memory");
    emu_check_aligned(to, COPIED);
    emu_check_aligned(from, COPIED);       /* also of what is not read */
    emu_touch(from, (size_t)bytes, false); /* it may happen at any time from now on */
    emu_touch(to, COPIED, true);
    if (emu_schedule() & EMU_EAGER || emu_arch() < 80)
        carry_out(&c);
    else if (t->n_copies < COPIES)
        copies[t->warp * EMU_LANES + t->lane][t->n_copies++] = c;
    else
        emu_fault("more than %d asynchronous copies of a thread under way", COPIES);
}

void emu_copy_commit(void)
{
    emu_self->group++;
}

void emu_copy_wait(int groups_left)
{
    emu_thread *t = emu_self;
    copy *mine = copies[t->warp * EMU_LANES + t->lane];
    int kept = 0;
    for (int i = 0; i < t->n_copies; i++)
        if (mine[i].group < t->group - groups_left)
            carry_out(&mine[i]);
        else
            mine[kept++] = mine[i];
    t->n_copies = kept;
}
