#include "onnx/write/file.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)INT32_MAX)

typedef struct sink {
    ProtobufCBuffer base;
    FILE *to;
} sink;

static void append(ProtobufCBuffer *buffer, size_t n, const uint8_t *data)
{
    fwrite(data, 1, n, ((sink *)buffer)->to); /* ferror() tells at the end */
}

static status fill(const Onnx__ModelProto *model, FILE *to, const char *path, error *err)
{
    sink s = {.base = {.append = append}, .to = to};
    protobuf_c_message_pack_to_buffer(&model->base, &s.base);
    if (fflush(to) != 0 || ferror(to) || fsync(fileno(to)) != 0)
        return fs_fail(err, "write", path);
    return OK;
}

status file_write_model(const Onnx__ModelProto *model, const char *path, error *err)
{
    size_t bytes = protobuf_c_message_get_packed_size(&model->base);
    if (bytes > MESSAGE_MAX)
        return FAIL(err, E_UNSUPPORTED,
                    "'%s' would have %zu bytes, an ONNX file has less than 2^31; safetensors has "
                    "no such limit",
                    path, bytes);
    char *beside = fs_beside(path);
    status st = OK;
    FILE *to = fopen(beside, "we");
    if (!to)
        st = fs_fail(err, "create", path);
    if (st == OK)
        st = fill(model, to, path, err);
    if (to && fclose(to) != 0 && st == OK)
        st = fs_fail(err, "write", path);
    if (st == OK && rename(beside, path) != 0)
        st = fs_fail(err, "rename to", path);
    if (st != OK)
        remove(beside);
    free(beside);
    return st;
}
