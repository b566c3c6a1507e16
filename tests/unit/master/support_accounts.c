#include "unit/master/support_accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/parts/placement.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE = 150000, FROZEN = 100 };

void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s", err->text);
}

accounts accounts_make(void)
{
    accounts b = {.path = folder_create()};
    error err = ERROR_INIT;
    const tensor_decl tensors[] = {
        {.name = "w", .rank = 1, .dim = {LIVE}},
        {.name = "embedding", .rank = 1, .dim = {FROZEN}, .kind = TENSOR_FROZEN},
    };
    must(jobdir_open(b.path, &b.dir, &err), &err);
    must(flat_create(tensors, COUNT_OF(tensors), &b.flat, &err), &err);
    return b;
}

void accounts_fini(accounts *b)
{
    jobdir_close(&b->dir);
    flat_destroy(&b->flat);
    folder_destroy(&b->path);
}

bool accounts_has(const accounts *b, const char *name)
{
    char *path = jobdir_file(b->dir, "%s", name);
    bool has = fs_exists(path);
    free(path);
    return has;
}

void accounts_write(const accounts *b, const char *name, const char *text)
{
    error err = ERROR_INIT;
    char *path = jobdir_file(b->dir, "%s", name);
    char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    must(fs_mkdirs(folder, &err), &err);
    must(fs_write_atomic(path, text, strlen(text), &err), &err);
    free(folder);
    free(path);
}

char *accounts_text(const accounts *b, const char *name)
{
    error err = ERROR_INIT;
    buf text = BUF_INIT;
    char *path = jobdir_file(b->dir, "%s", name);
    must(fs_read(path, 1 << 20, &text, &err), &err);
    free(path);
    return buf_detach(&text);
}

json_t *accounts_json(const accounts *b, const char *name)
{
    error err = ERROR_INIT;
    json_t *value = NULL;
    char *path = jobdir_file(b->dir, "%s", name);
    must(json_read_file(path, &value, &err), &err);
    free(path);
    return value;
}

shard_report accounts_shard(const accounts *b, const cut_order *cut, int32_t server, int32_t n_servers,
                            float value)
{
    static char file[64], sha256[65];
    error err = ERROR_INIT;
    const flat *f = b->flat;
    int32_t *placement = xcalloc((size_t)f->n_parts, sizeof *placement);
    shard_part *parts = xcalloc((size_t)f->n_parts, sizeof *parts);
    float *weights = xcalloc((size_t)f->n_elements, sizeof *weights);
    for (int64_t i = 0; i < f->n_elements; i++)
        weights[i] = value;
    placement_deal(f, n_servers, placement);
    size_t n = 0;
    for (int32_t p = 0; p < f->n_parts; p++)
        if (placement[p] == server)
            parts[n++] = (shard_part){.part = p, .weights = weights + f->parts[p].begin};
    snprintf(file, sizeof file, "ps-%d-of-%d.safetensors", server, n_servers);
    shard_report r = {
        .id = cut->id, .version = cut->version, .shard = server, .server = server, .file = file, .sha256 = sha256};
    char *path = jobdir_file(b->dir, "%s/%s", cut->dir, file);
    must(shard_write(
             &(shard_request){
                 .path = path, .flat = f, .parts = parts, .n_parts = n, .step = cut->version},
             sha256, &r.bytes, &err),
         &err);
    free(path);
    free(weights);
    free(parts);
    free(placement);
    return r;
}

void accounts_commit(const accounts *b, int64_t step, float value)
{
    error err = ERROR_INIT;
    int32_t placement[8] = {0};
    cut_order cut = {.id = 1, .version = step};
    assert_true(b->flat->n_parts <= (int32_t)COUNT_OF(placement));
    snprintf(cut.dir, sizeof cut.dir, "checkpoints/step-%09lld.tmp.1", (long long)step);
    shard_report r = accounts_shard(b, &cut, 0, 1, value);
    manifest_shard shard = {.file = (char *)(uintptr_t)r.file, .bytes = r.bytes};
    snprintf(shard.sha256, sizeof shard.sha256, "%s", r.sha256);
    manifest m = {.step = step,
                  .batches_per_step = 1,
                  .flat = b->flat,
                  .n_shards = 1,
                  .shards = &shard,
                  .part_shard = placement};
    flat_digest(b->flat, m.flat_digest);
    snprintf(m.config_digest, sizeof m.config_digest, "%s", m.flat_digest);
    must(checkpoint_commit(b->dir, 1, &m, &err), &err);
}
