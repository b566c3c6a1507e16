#include "backend/cuda/library/dnn_cache.h"

#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn_desc.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/user_cache.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_BYTES_MOST = 1 << 16, PLAN_BYTES_MOST = 64 << 20, DIGEST = SHA256_HEX - 1 };

/* A text that the library has of a descriptor, with its terminating zero; false if it tells none. */
static bool text_of(dnn_desc d, unsigned name, int64_t most, buf *ret)
{
    int64_t n = 0;
    buf_reserve(ret, (size_t)most);
    unsigned result = api.cudnnBackendGetAttribute(d, name, DNN_IS_CHAR, most, &n, ret->data);
    /* the library's words of this would otherwise be those of the next refusal */
    if (dnn_check(result, "a text of it", NULL) != OK || n < 1 || n > most)
        return false;
    ret->size = (size_t)n;
    return true;
}

dnn_cache_key dnn_cache_key_of(dnn_desc device, const buf *told)
{
    dnn_cache_key key = {""};
    buf chip = BUF_INIT;
    if (text_of(device, DNN_DEVICE_JSON, DEVICE_BYTES_MOST, &chip)) {
        const char *compiler = api_find(API_RTC)->version;
        size_t version = api.cudnnGetVersion();
        sha256 h;
        sha256_begin(&h);
        sha256_add(&h, &version, sizeof version);
        sha256_add(&h, compiler, strlen(compiler) + 1);
        sha256_add(&h, &chip.size, sizeof chip.size);
        sha256_add(&h, chip.data, chip.size);
        sha256_add(&h, told->data, told->size);
        sha256_end(&h, key.name);
    }
    buf_fini(&chip);
    return key;
}

/* NULL: there is no folder. */
static char *path_of(const dnn_cache_key *key)
{
    char *folder = *key->name ? user_cache_folder("plans") : NULL, *path = NULL;
    if (folder)
        path = xasprintf("%s/%s.plan", folder, key->name);
    free(folder);
    return path;
}

/* A file is the digest of a plan's text, and the text. */
static bool is_whole(const buf *file)
{
    char digest[SHA256_HEX];
    if (file->size <= DIGEST)
        return false;
    sha256_hex(file->data + DIGEST, file->size - DIGEST, digest);
    return memcmp(file->data, digest, DIGEST) == 0;
}

static status read_plan(const char *path, dnn_desc device, buf *file, dnn_desc *ret, error *err)
{
    TRY(fs_read(path, PLAN_BYTES_MOST, file, err));
    if (!is_whole(file))
        return FAIL(err, E_DATA, "'%s' is damaged", path);
    return dnn_describe(DNN_PLAN,
                        DNN_ATTRIBUTES({DNN_PLAN_DEVICE, DNN_IS_DESCRIPTOR, 1, &device},
                                       {DNN_PLAN_JSON, DNN_IS_CHAR, (int64_t)(file->size - DIGEST),
                                        file->data + DIGEST}),
                        ret, err);
}

dnn_desc dnn_cache_read(const dnn_cache_key *key, dnn_desc device)
{
    char *path = path_of(key);
    buf file = BUF_INIT;
    dnn_desc plan = NULL;
    error why = ERROR_INIT;
    if (path && fs_exists(path) && read_plan(path, device, &file, &plan, &why) != OK)
        LOG_D("PLAN_CACHE", "a plan is made anew: %s", why.text);
    error_clear(&why);
    buf_fini(&file);
    free(path);
    return plan;
}

static status write_plan(const char *path, const buf *plan, error *err)
{
    char digest[SHA256_HEX];
    buf file = BUF_INIT;
    sha256_hex(plan->data, plan->size, digest);
    buf_add(&file, digest, DIGEST);
    buf_add(&file, plan->data, plan->size);
    char *folder = user_cache_folder("plans");
    status st = fs_mkdirs(folder, err);
    if (st == OK)
        st = fs_write_atomic(path, file.data, file.size, err);
    free(folder);
    buf_fini(&file);
    return st;
}

void dnn_cache_write(const dnn_cache_key *key, dnn_desc plan)
{
    char *path = path_of(key);
    buf text = BUF_INIT;
    error why = ERROR_INIT;
    if (path && text_of(plan, DNN_PLAN_JSON, PLAN_BYTES_MOST, &text) &&
        write_plan(path, &text, &why) != OK)
        LOG_D("PLAN_CACHE", "a plan is not kept: %s", why.text);
    error_clear(&why);
    buf_fini(&text);
    free(path);
}
