/*
 * Files of torch.save that hold a state dict (pytorch_model.bin): a zip file with data.pkl, which is read
 * by state_dict.h, and the bytes of each storage as an entry of its own, stored as they are.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_TORCH_FILE_H
#define TEQUIO_MODEL_TORCH_FILE_H

#include "common/store/safetensors.h"

typedef struct torch_file torch_file;

/* E_DATA names the file and what is wrong. */
MUST_USE status torch_file_open(const char *path, torch_file **ret, error *err);
/* The same over memory, kept until torch_file_close. */
MUST_USE status torch_file_open_memory(const void *data, size_t bytes, const char *origin, torch_file **ret,
                                       error *err);
void torch_file_close(torch_file **f);
/* Reads all bytes. E_DATA: those of a tensor are not those that were saved, by the checksum of its entry. */
MUST_USE status torch_file_check(const torch_file *f, error *err);
size_t torch_file_count(const torch_file *f);
const st_tensor *torch_file_at(const torch_file *f, size_t i);

#endif
