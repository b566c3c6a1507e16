/*
 * The tensors of a checkpoint's files: of a safetensors file, of one that torch.save writes, of a folder
 * or an index as Hugging Face writes them (model.safetensors, pytorch_model.bin; either's index.json with
 * its shards), or of a model.tar.gz, a job's or AllenNLP's, which is unpacked in memory.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_WEIGHT_FILES_H
#define TEQUIO_MODEL_WEIGHT_FILES_H

#include "common/base/alloc.h"
#include "common/store/safetensors.h"
#include "data/index/packed_archive.h"
#include "model/torch_file.h"

#include <stdbool.h>

typedef struct weight_files {
    const char *path;           /* borrowed */
    const st_tensor **tensors;  /* [n], in the order of the files; until the files are closed */
    size_t n, cap;
    st_file **files;
    size_t n_files, cap_files;
    torch_file **torch_files;
    size_t n_torch, cap_torch;
    packed_archive archive;     /* a model.tar.gz */
    bool is_allennlp;           /* tensors are called as AllenNLP does (allennlp_names.h) */
    arena *memory;              /* names of shards */
} weight_files;

/* `path` is borrowed until they are closed. E_DATA, E_IO: what is wrong with which file; close what is there. */
MUST_USE status weight_files_open(const char *path, weight_files *ret, error *err);
/* Reads all bytes of those that have checksums. E_DATA: one is damaged. */
MUST_USE status weight_files_check(const weight_files *w, error *err);
void weight_files_close(weight_files *w);

#endif
