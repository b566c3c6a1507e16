/*
 * Writes a small data set in MNIST's format that a network can learn: every class is a fixed random
 * pattern, every image its class's pattern under noise. A pure function of the arguments.
 *
 *   make_idx DIR EXAMPLES [SEED [SIZE [CLASSES]]]
 *
 * makes DIR/images-idx3-ubyte and DIR/labels-idx1-ubyte; another SEED gives other images of the
 * same classes.
 */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "common/base/rng.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATTERN_SEED = 1, NOISE_PERCENT = 25 };

typedef struct plan {
    const char *dir;
    uint32_t examples, size, classes;
    uint64_t seed;
} plan;

static void add_be32(buf *b, uint32_t x)
{
    unsigned char bytes[4] = {(unsigned char)(x >> 24), (unsigned char)(x >> 16),
                              (unsigned char)(x >> 8), (unsigned char)x};
    buf_add(b, bytes, sizeof bytes);
}

static unsigned char pixel(const rng *pattern, const rng *noise, uint64_t at)
{
    if (rng_below(noise, 2 * at, 100) < NOISE_PERCENT)
        return (unsigned char)rng_below(noise, 2 * at + 1, 256);
    return (unsigned char)rng_below(pattern, at, 256);
}

static void add_example(const plan *p, uint32_t i, buf *images, buf *labels)
{
    rng noise = rng_make(p->seed, RNG_TEST, i);
    uint64_t pixels = (uint64_t)p->size * p->size;
    unsigned char label = (unsigned char)rng_below(&noise, 2 * pixels, p->classes);
    rng pattern = rng_make(PATTERN_SEED, RNG_TEST, label);
    for (uint64_t at = 0; at < pixels; at++) {
        unsigned char value = pixel(&pattern, &noise, at);
        buf_add(images, &value, 1);
    }
    buf_add(labels, &label, 1);
}

static status write_file(const plan *p, const char *name, buf *bytes, error *err)
{
    char *path = xasprintf("%s/%s", p->dir, name);
    status st = fs_write_atomic(path, bytes->data, bytes->size, err);
    free(path);
    buf_fini(bytes);
    return st;
}

static status make(const plan *p, error *err)
{
    buf images = BUF_INIT, labels = BUF_INIT;
    add_be32(&images, 0x00000803); /* unsigned bytes, three dimensions */
    add_be32(&images, p->examples);
    add_be32(&images, p->size);
    add_be32(&images, p->size);
    add_be32(&labels, 0x00000801);
    add_be32(&labels, p->examples);
    for (uint32_t i = 0; i < p->examples; i++)
        add_example(p, i, &images, &labels);
    TRY(fs_mkdirs(p->dir, err));
    TRY(write_file(p, "images-idx3-ubyte", &images, err));
    return write_file(p, "labels-idx1-ubyte", &labels, err);
}

static uint32_t argument(int argc, char **argv, int at, uint32_t if_absent)
{
    return at < argc ? (uint32_t)strtoul(argv[at], NULL, 10) : if_absent;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: make_idx DIR EXAMPLES [SEED [SIZE [CLASSES]]]\n");
        return 2;
    }
    plan p = {
        .dir = argv[1],
        .examples = argument(argc, argv, 2, 0),
        .seed = argument(argc, argv, 3, 7),
        .size = argument(argc, argv, 4, 8),
        .classes = argument(argc, argv, 5, 4),
    };
    error err = ERROR_INIT;
    status st = make(&p, &err);
    if (st != OK)
        fprintf(stderr, "make_idx: %s\n", err.text);
    return status_exit_code(st);
}
