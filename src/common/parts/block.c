#include "common/parts/block.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void block_pool_init(block_pool *p, size_t n)
{
    *p = (block_pool){.n = n};
}

void block_pool_fini(block_pool *p)
{
    for (size_t i = 0; i < p->n_blocks; i++) {
        BUG_ON(atomic_load(&p->blocks[i]->refs) != 0);
        mem_free(p->blocks[i]->data);
        free(p->blocks[i]);
    }
    free(p->blocks);
    block_pool_init(p, 0);
}

static void fold_release(fold_block *f)
{
    block_drop(f->owner);
}

status block_pool_take(block_pool *p, block **ret, error *err)
{
    for (size_t i = 0; i < p->n_blocks; i++) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&p->blocks[i]->refs, &nobody, 1)) {
            *ret = p->blocks[i];
            return OK;
        }
    }
    void *data = NULL;
    TRY(mem_alloc(p->n * sizeof(float), "a part's block", &data, err));
    block *b = xcalloc(1, sizeof *b);
    b->data = data;
    b->n = p->n;
    atomic_store(&b->refs, 1);
    b->fold = (fold_block){
        .data = data, .n = p->n, .writable = true, .release = fold_release, .owner = b};
    GROW(p->blocks, p->cap, p->n_blocks + 1);
    p->blocks[p->n_blocks++] = b;
    *ret = b;
    return OK;
}

static status fold_take_block(void *owner, size_t n, fold_block **ret, error *err)
{
    block_pool *p = owner;
    BUG_ON(n != p->n);
    block *b = NULL;
    TRY(block_pool_take(p, &b, err));
    *ret = &b->fold;
    return OK;
}

fold_pool block_pool_for_fold(block_pool *p)
{
    return (fold_pool){.take = fold_take_block, .owner = p};
}

block *block_hold(block *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void block_drop(block *b)
{
    if (b)
        BUG_ON(atomic_fetch_sub(&b->refs, 1) <= 0);
}
