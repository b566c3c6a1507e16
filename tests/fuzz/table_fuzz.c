/*
 * A server's table under any sequence of pushes, verdicts and reads: an update for every root,
 * one version at a time, refusals with a message, every block given back, and the weights those of
 * the plain sum. Slots push ones, so a step's sum is its number of slots wherever the trees met.
 */
#include "common/base/alloc.h"
#include "ps/table.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 5, BATCHES = 8, N = 64 };

typedef struct run {
    flat *flat;
    table *table;
    int64_t version;
    float sum;   /* of all steps applied */
    size_t live; /* blocks handed in, not given back */
    bool voted;
} run;

static void release(span *b)
{
    run *r = b->owner;
    r->live--;
    free(b->data);
    free(b);
}

static span *hand(run *r, size_t n, float value, bool writable)
{
    span *b = xmalloc(sizeof *b);
    *b = (span){.data = xmalloc((n + 1) * sizeof(float)),
                .bytes = n * sizeof(float),
                .writable = writable,
                .refs = 1,
                .release = release,
                .owner = r};
    for (size_t i = 0; i < n; i++)
        b->floats[i] = value;
    r->live++;
    return b;
}

static status applied(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    (void)err;
    run *r = user;
    BUG_ON(part != 0 || version != r->version + 1);
    steps s = {.examples = BATCHES, .batch_size = 1, .per_step = SLOTS};
    BUG_ON(grad[0] != (float)steps_slots(&s, r->version) || grad[N - 1] != grad[0]);
    r->sum += grad[0];
    r->version = version;
    r->voted = false;
    return OK;
}

static void voted(void *user, int32_t part, int64_t step, double square_sum)
{
    run *r = user;
    BUG_ON(part != 0 || step != r->version || r->voted || !(square_sum > 0));
    r->voted = true;
}

static void push(run *r, const uint8_t *op)
{
    tree_node node = {.level = op[1] >> 4, .index = op[1] & 15};
    uint32_t n_slots = op[2] & 15;
    int64_t step = r->version + (op[2] >> 4) % 4 - 2;
    size_t n = op[3] & 1 ? N : op[3] / 2;
    bool fits = n_slots && tree_node_is_valid(node, n_slots);
    float covered = fits ? (float)(tree_node_end(node, n_slots) - tree_node_first(node)) : 1;
    push_result result;
    error err = ERROR_INIT;
    int64_t before = r->version;
    BUG_ON(table_push(r->table, op[3] >> 7, step, n_slots, node, hand(r, n, covered, op[3] & 2),
                      &result, &err) != OK);
    BUG_ON((result == PUSH_WRONG) != (err.text[0] != '\0'));
    BUG_ON(result == PUSH_WRONG && r->version != before);
    BUG_ON(step == before && result == PUSH_TAKEN && !fits);
}

static void read_back(run *r, int64_t version)
{
    span *b = table_weights(r->table, 0, version);
    BUG_ON(version == r->version && !b);
    BUG_ON(b && (version < r->version - 1 || version > r->version));
    if (b && version == r->version)
        BUG_ON(b->floats[0] != -r->sum || b->floats[N - 1] != b->floats[0]);
    span_drop(b);
}

static const verdict as_it_is = {.scale = 1};

static void play(run *r, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i += 4) {
        const uint8_t *op = data + i;
        char missing[64];
        if (op[0] % 8 == 0)
            BUG_ON(table_verdict(r->table, r->version - op[1] % 2, as_it_is, NULL) != OK);
        else if (op[0] % 8 == 1)
            read_back(r, r->version + op[1] % 4 - 2);
        else if (op[0] % 8 == 2)
            table_missing(r->table, 0, missing, 1 + op[1] % sizeof missing);
        else
            push(r, op);
        BUG_ON(table_version(r->table, 0) != r->version);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    tensor_decl d = {.name = "w", .rank = 1, .dim = {N}, .kind = TENSOR_TRAINABLE};
    const part_hold parts[] = {PART_HELD};
    run r = {.flat = NULL};
    BUG_ON(flat_create(&d, 1, &r.flat, NULL) != OK);
    table_options options = {
        .flat = r.flat,
        .parts = parts,
        .steps = {.examples = BATCHES, .batch_size = 1, .per_step = SLOTS},
        .schedule = {.in_order = true},
        .groups = &(optim_group){.optim = {.kind = OPTIM_SGD},
                                 .rates = {.schedules = {{.kind = LR_SCHEDULE_CONSTANT, .base = 1}}},
                                 .share = 1.0},
        .n_groups = 1,
        .votes = data[0] & 1,
    };
    table_hooks hooks = {.applied = applied, .voted = voted, .user = &r};
    BUG_ON(table_create(&options, &hooks, &r.table, NULL) != OK);
    play(&r, data + 1, size - 1);
    table_destroy(&r.table);
    BUG_ON(r.live != 0);
    flat_destroy(&r.flat);
    return 0;
}
