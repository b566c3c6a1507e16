#include "job/spec/machines.h"

#include "common/base/alloc.h"
#include "common/base/enum_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char table_machines[], table_accelerated[], table_limits[], table_legacy[],
    table_mixes[], table_regions[], table_tiers[];

/* --- CSV without quotes, whose shape we know: what does not fit is our own mistake --- */

enum { CELLS = 12, CELL = 96 };

typedef struct row {
    char cell[CELLS][CELL];
    int n;
} row;

static bool read_row(const char **at, row *ret)
{
    if (!**at)
        return false;
    *ret = (row){.n = 0};
    size_t line = strcspn(*at, "\n");
    for (const char *end = *at + line, *from = *at; from <= end; ret->n++) {
        size_t n = strcspn(from, ",\n");
        BUG_ON(ret->n == CELLS || n >= CELL);
        memcpy(ret->cell[ret->n], from, n);
        from += n + 1;
    }
    *at += line + ((*at)[line] == '\n');
    return true;
}

static double number(const char *cell)
{
    char *end;
    double value = strtod(cell, &end);
    BUG_ON(end == cell || *end);
    return value;
}

/* "1|2|4" */
static uint32_t count_bits(const char *cell)
{
    uint32_t bits = 0;
    for (char *end; *cell; cell = *end ? end + 1 : end) {
        unsigned long n = strtoul(cell, &end, 10);
        BUG_ON(end == cell || n > 31);
        bits |= UINT32_C(1) << n;
    }
    return bits;
}

static int type_of(const machines *all, const char *name)
{
    for (int i = 0; i < GPU_TYPES; i++)
        if (all->gpu[i] && enum_name_is(name, all->gpu[i]))
            return i;
    return -1;
}

/* Its number; a new one if this is the first machine that has it. */
static int add_type(machines *all, const char *name)
{
    int type = type_of(all, name);
    for (int i = 0; type < 0 && i < GPU_TYPES; i++)
        if (!all->gpu[i]) {
            all->gpu[i] = xstrdup(name);
            type = i;
        }
    BUG_ON(type < 0);
    return type;
}

static machine *add_machine(machines *all, const char *name)
{
    BUG_ON(all->n_machines == MACHINES_MOST);
    machine *m = &all->machine[all->n_machines++];
    *m = (machine){.name = xstrdup(name), .built_in_type = -1};
    return m;
}

static void machines_read_machines(machines *all)
{
    const char *at = table_machines;
    row head, r;
    read_row(&at, &head);
    while (read_row(&at, &r)) {
        machine *m = add_machine(all, r.cell[0]);
        m->vcpus = number(r.cell[1]);
        m->memory_gb = number(r.cell[2]);
        for (int i = 3; i < head.n; i++) {
            int type = add_type(all, head.cell[i]);
            m->counts[type] = count_bits(r.cell[i]);
            m->takes_gpus = m->takes_gpus || m->counts[type];
        }
    }
}

static void read_accelerated(machines *all)
{
    const char *at = table_accelerated;
    row r;
    read_row(&at, &r);
    while (read_row(&at, &r)) {
        machine *m = add_machine(all, r.cell[0]);
        m->vcpus = number(r.cell[1]);
        m->memory_gb = number(r.cell[2]);
        m->built_in_type = add_type(all, r.cell[3]);
        m->built_in = (int)number(r.cell[4]);
    }
}

static void read_legacy(machines *all)
{
    const char *at = table_legacy;
    row r;
    read_row(&at, &r);
    while (read_row(&at, &r)) {
        machine *m = add_machine(all, r.cell[0]);
        m->is_legacy = true;
        m->equivalent = xstrdup(r.cell[1]);
        m->vcpus = number(r.cell[2]);
        m->memory_gb = number(r.cell[3]);
        m->built_in_type = type_of(all, r.cell[4]);
        m->built_in = (int)number(r.cell[5]);
    }
}

static void read_limits(machines *all)
{
    const char *at = table_limits;
    row r;
    read_row(&at, &r);
    while (read_row(&at, &r)) {
        gpu_limit *l = &all->limit[all->n_limits++];
        l->type = type_of(all, r.cell[0]);
        l->count = (int)number(r.cell[1]);
        l->vcpus = number(r.cell[2]);
        l->memory_gb = number(r.cell[3]);
    }
}

static void read_regions(machines *all)
{
    const char *at = table_regions;
    row head, r;
    read_row(&at, &head);
    while (read_row(&at, &r)) {
        region *g = &all->region[all->n_regions++];
        g->name = xstrdup(r.cell[0]);
        for (int i = 0; i < GPU_TYPES; i++)
            g->gpus[i] = OFFER_UNKNOWN;
        for (int i = 1; i < head.n; i++) {
            const char *cell = r.cell[i];
            g->gpus[type_of(all, head.cell[i])] = *cell == '?'   ? OFFER_UNKNOWN
                                                  : *cell == '1' ? OFFER_YES
                                                                 : OFFER_NO;
        }
    }
}

/* "A|B" */
static uint32_t type_bits(const machines *all, const char *cell)
{
    uint32_t bits = 0;
    for (size_t n; *cell; cell += n + (cell[n] == '|')) {
        n = strcspn(cell, "|");
        char name[CELL];
        snprintf(name, sizeof name, "%.*s", (int)n, cell);
        bits |= UINT32_C(1) << type_of(all, name);
    }
    return bits;
}

static void read_mixes(machines *all)
{
    const char *at = table_mixes;
    row r;
    read_row(&at, &r);
    for (; read_row(&at, &r); all->n_mixes++) {
        all->mix[all->n_mixes].region = xstrdup(r.cell[0]);
        all->mix[all->n_mixes].types[0] = type_bits(all, r.cell[1]);
    }
}

static void read_tiers(machines *all)
{
    const char *at = table_tiers;
    row r;
    read_row(&at, &r);
    while (read_row(&at, &r)) {
        tier *t = &all->tier[all->n_tiers++];
        t->name = xstrdup(r.cell[0]);
        t->flag = xstrdup(r.cell[1]);
        t->master_type = xstrdup(r.cell[2]);
        t->workers = (int)number(r.cell[3]);
        t->worker_type = xstrdup(r.cell[4]);
        t->ps = (int)number(r.cell[5]);
        t->ps_type = xstrdup(r.cell[6]);
        t->gpu_type = type_of(all, r.cell[7]);
        t->gpus = (int)number(r.cell[8]);
    }
}

const machines *machines_all(void)
{
    static machines all;
    if (!all.n_machines) {
        machines_read_machines(&all);
        read_accelerated(&all);
        read_legacy(&all);
        read_limits(&all);
        read_regions(&all);
        read_mixes(&all);
        read_tiers(&all);
    }
    return &all;
}

/* --- looking --- */

const machine *machine_find(const char *name)
{
    const machines *all = machines_all();
    for (int i = 0; i < all->n_machines; i++)
        if (enum_name_is(name, all->machine[i].name))
            return &all->machine[i];
    return NULL;
}

const region *region_find(const char *name)
{
    const machines *all = machines_all();
    for (int i = 0; i < all->n_regions; i++)
        if (enum_name_is(name, all->region[i].name))
            return &all->region[i];
    return NULL;
}

const tier *tier_find(const char *name)
{
    const machines *all = machines_all();
    for (int i = 0; i < all->n_tiers; i++)
        if (enum_name_is(name, all->tier[i].name))
            return &all->tier[i];
    return NULL;
}

const uint32_t *machines_no_zone(const char *name)
{
    const machines *all = machines_all();
    for (int i = 0; i < all->n_mixes; i++)
        if (enum_name_is(name, all->mix[i].region))
            return all->mix[i].types;
    return NULL;
}

int gpu_type_find(const char *name)
{
    return type_of(machines_all(), name);
}

const char *machines_table(const char *name)
{
    static const struct {
        const char *name, *text;
    } tables[] = {
        {"machines", table_machines}, {"accelerated", table_accelerated}, {"limits", table_limits},
        {"legacy", table_legacy},     {"mixes", table_mixes},             {"regions", table_regions},
        {"tiers", table_tiers},
    };
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (strcmp(tables[i].name, name) == 0)
            return tables[i].text;
    return NULL;
}

/* --- judging --- */

static void add_counts(buf *b, uint32_t bits)
{
    const char *between = "";
    for (int n = 1; n < 32; n++)
        if (bits >> n & 1) {
            buf_addf(b, "%s%d", between, n);
            between = ", ";
        }
}

/* What else goes with so many GPUs, or with the machine. */
static void add_alternatives(buf *b, const machine *m, int type, int64_t count)
{
    const machines *all = machines_all();
    const char *between = "; possible there: ";
    if (m->counts[type]) {
        buf_adds(b, between);
        add_counts(b, m->counts[type]);
        return;
    }
    between = "; possible on that machine: ";
    for (int i = 0; i < GPU_TYPES; i++)
        if (m->counts[i]) {
            buf_addf(b, "%s%s ", between, all->gpu[i]);
            add_counts(b, m->counts[i]);
            between = "; ";
        }
    for (int i = 0; i < all->n_limits; i++)
        if (all->limit[i].type == type && all->limit[i].count == count)
            buf_addf(b, "; %" PRId64 " × %s go with %sat most %g vCPUs and %g GB", count,
                     all->gpu[type], m->takes_gpus ? "" : "machines of the N1 family with ",
                     all->limit[i].vcpus, all->limit[i].memory_gb);
    between = "; it is built into ";
    for (int i = 0; i < all->n_machines; i++)
        if (all->machine[i].built_in_type == type && !all->machine[i].is_legacy) {
            buf_addf(b, "%s%s", between, all->machine[i].name);
            between = ", ";
        }
}

status machine_check(const machine *m, int type, int64_t count, error *err)
{
    const machines *all = machines_all();
    if (m->is_legacy)
        return FAIL(err, E_CONFIG,
                    "GPUs cannot be added to the legacy type %s%s; name a machine of Compute Engine, as %s",
                    m->name, m->built_in ? ", which has its own" : "", m->equivalent);
    if (m->built_in)
        return m->built_in_type == type && m->built_in == count
                   ? OK
                   : FAIL(err, E_CONFIG, "%s comes with %d × %s, no others and no more or fewer",
                          m->name, m->built_in, all->gpu[m->built_in_type]);
    if (count > 0 && count < 32 && m->counts[type] >> count & 1)
        return OK;
    buf text = BUF_INIT;
    buf_addf(&text, "%" PRId64 " × %s is not possible on %s (%g vCPUs, %g GB)", count,
             all->gpu[type], m->name, m->vcpus, m->memory_gb);
    add_alternatives(&text, m, type, count);
    status st = FAIL(err, E_CONFIG, "%s", text.data);
    buf_fini(&text);
    return st;
}
