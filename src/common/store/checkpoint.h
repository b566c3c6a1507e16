/*
 * Checkpoints: JOB_DIR/checkpoints/step-<9 digits>/{ps-<i>-of-<n>.safetensors, manifest.json}.
 *
 * Shards hold parts, so they can be restored on any number of servers: "part.<6 digits>.weights"
 * and "part.<6 digits>.<optimizer slot>", F32 [elements of the part], and in the modes ssp and
 * async "part.<6 digits>.applied", U8, the packed set of batches it has. They are written into
 * step-N.tmp.<era>/; the manifest goes in last, then the folder gets its name: a checkpoint without
 * a manifest never existed. The text file `checkpoint` names the newest (TensorFlow's format).
 *
 * The manifest lists every tensor (name, shape, kind, offset), every part with its shard, every
 * shard with bytes and SHA-256, the step, the optimizer's slots, K, seed, a dynamic loss scale, the
 * digests of config and layout, and `final`; its last line is the SHA-256 of all that (manifest.h).
 *
 * Threads: functions without shared state; a checkpoint opened for reading is immutable.
 */
#ifndef TEQUIO_COMMON_STORE_CHECKPOINT_H
#define TEQUIO_COMMON_STORE_CHECKPOINT_H

#include "common/base/error.h"
#include "common/parts/batch_set.h"
#include "common/parts/flat.h"
#include "common/parts/loss_scale.h"
#include "common/store/jobdir.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CHECKPOINT_SLOTS = 4 };

/* The slot of a moving average of weights, which are then the model's. */
#define CHECKPOINT_AVERAGE "average"

/* --- writing a shard: a server's part of the work, on its writer thread --- */

typedef struct shard_part {
    int32_t part;
    const float *weights;                 /* [elements of the part] */
    const float *slots[CHECKPOINT_SLOTS]; /* as many as n_slots; not looked at for a frozen part */
    const batch_set *applied;             /* NULL in mode sync, and for a frozen part */
} shard_part;

typedef struct shard_request {
    const char *path; /* of the .safetensors file */
    const flat *flat;
    const shard_part *parts;
    size_t n_parts;
    const char *const *slot_names;
    size_t n_slots;
    int64_t step;
    void (*after_piece)(void *user); /* called each time another MiB is out; NULL: nobody asks */
    void *user;
} shard_request;

/* Makes the folder and the one above it where they are missing, but no job dir; syncs the file. It is
 * there once it is whole (E_IO names one that is not); of two that write it the later one counts.
 * Frozen parts have no optimizer state, so only their weights are written. */
MUST_USE status shard_write(const shard_request *request, char *ret_sha256, uint64_t *ret_bytes,
                            error *err);

/* --- the manifest: the master's part --- */

typedef struct manifest_shard {
    char *file; /* "ps-0-of-2.safetensors" */
    uint64_t bytes;
    char sha256[65];
} manifest_shard;

typedef struct manifest {
    int64_t step;
    bool final;
    uint64_t seed;
    int64_t batches_per_step;
    int64_t epochs_done;
    bool lists_units; /* live parts say which batches they have (common/parts/schedule.h) */
    bool scales;    /* the loss scale was dynamic: */
    loss_scale scale; /* of the version */
    char config_digest[65];
    char flat_digest[65];
    flat *flat; /* owned */
    size_t n_slots;
    char *slot_names[CHECKPOINT_SLOTS]; /* owned */
    size_t n_shards;
    manifest_shard *shards; /* owned */
    int32_t *part_shard;    /* [flat->n_parts], owned */
} manifest;

void manifest_fini(manifest *m);

/* Writes manifest.json into step-N.tmp.<era>/, syncs, renames the folder, updates `checkpoint`. All
 * shards must be there with their sizes. If step-N exists already (a replay reached it again), the
 * new one replaces it and at no moment is there none. After a failure it may be called again. */
MUST_USE status checkpoint_commit(const jobdir *d, uint32_t era, const manifest *m, error *err);

/* What was written of a step that will not be committed has another name now, that checkpoint_sweep frees. */
void checkpoint_discard(const jobdir *d, int64_t step, uint32_t era);

typedef struct checkpoint_pruning {
    int64_t keep;         /* so many of the newest stay; <= 0: all */
    const int64_t *spare; /* [n_spare] steps that stay too */
    size_t n_spare;
    uint32_t era;         /* nothing is written in eras before it any more, */
    int64_t committed;    /* nor in it below this step */
} checkpoint_pruning;

/* Removes checkpoints but those that stay and those a live reader has pinned; also step-*.tmp.*
 * that nobody will finish. They are gone for every reader; their files are checkpoint_sweep's. */
MUST_USE status checkpoint_prune(const jobdir *d, const checkpoint_pruning *p, error *err);

/* Frees the room of what was pruned or replaced. Takes long for large files on many file systems;
 * from any thread, whatever else goes on in the folder. The first failure, after all was tried. */
MUST_USE status checkpoint_sweep(const jobdir *d, error *err);

/* --- reading --- */

/* JOB_DIR/checkpoints/step-N; the caller frees it. The folder is there before and after it is a
 * checkpoint. */
char *checkpoint_path(const jobdir *d, int64_t step);
bool checkpoint_is_there(const jobdir *d, int64_t step);

/* Steps of complete checkpoints, ascending. Free the array. */
MUST_USE status checkpoint_list(const jobdir *d, int64_t **ret_steps, size_t *ret_n, error *err);

/* The newest of them, -1 if there is none. */
MUST_USE status checkpoint_newest(const jobdir *d, int64_t *ret, error *err);

/* Where there is none: E_DATA names those that were set aside, if there are any. What they had is lost unless
 * one is put back. */
MUST_USE status checkpoint_check_lost(const jobdir *d, error *err);

/* A step-N with N > `after` that is no checkpoint, for it has no manifest; false: there is none. */
bool checkpoint_remnant(const jobdir *d, int64_t after, int64_t *ret);

/* One that is damaged is a checkpoint no more: its folder becomes step-N.damaged.<k>, for people to look
 * into, until newer ones have taken its place (checkpoint_prune). *ret_name is what it is called now, and
 * the caller's to free. E_DATA if one of its files may not be read, which is no damage: it stays. */
MUST_USE status checkpoint_condemn(const jobdir *d, int64_t step, char **ret_name, error *err);

/* How often that step was set aside, as far as one sees. */
uint32_t checkpoint_times_aside(const jobdir *d, int64_t step);

/* The job goes back to step `after`: those that are newer become step-M.undone.<k>, likewise. It may be called
 * again after it failed. The caller is the dir's master. */
MUST_USE status checkpoint_undo(const jobdir *d, int64_t after, error *err);

typedef struct checkpoint checkpoint;

/* `dir` is a step-N folder. Checks sizes, header and coverage at once, SHA-256 when `verify`, which reads
 * all of it. E_DATA names the file and what is wrong, also if the disk cannot read it. */
MUST_USE status checkpoint_open(const char *dir, bool verify, checkpoint **ret, error *err);
/* Whether all of it is on the disk as it was written: E_DATA as above. Reads it from there although it is in
 * memory, maps nothing, and leaves off at *stop, with E_PREEMPTED. */
MUST_USE status checkpoint_scrub(const char *dir, const atomic_bool *stop, error *err);
void checkpoint_close(checkpoint **c);
const manifest *checkpoint_manifest(const checkpoint *c);

/* Copies a part out: weights (may be NULL) and n_slots optimizer vectors (`slots` and any of them
 * may be NULL); those of a frozen part are zeros. */
MUST_USE status checkpoint_read_part(const checkpoint *c, int32_t part, float *weights,
                                     float *const *slots, error *err);
/* Which batches a live part has; E_DATA in a checkpoint of mode sync, which has no such sets. */
MUST_USE status checkpoint_read_applied(const checkpoint *c, int32_t part, batch_set *ret,
                                        error *err);
/* The batches that every live part has. The same. */
MUST_USE status checkpoint_read_applied_by_all(const checkpoint *c, batch_set *ret, error *err);
/* The model's weights, out[flat->n_elements]: their moving average, where there is one. */
MUST_USE status checkpoint_read_flat(const checkpoint *c, float *out, error *err);

/* Keeps a step from being pruned while a reader uses it: a file pins/<step>.<pid> with the host's
 * name inside. Stale ones, whose process is gone or which another host left an hour ago, are
 * ignored and removed. E_DATA when the step is not there (any more). Pin first, open then; after
 * opening nothing can be pulled from under the reader. */
MUST_USE status checkpoint_pin(const jobdir *d, int64_t step, error *err);
void checkpoint_unpin(const jobdir *d, int64_t step);
void checkpoint_sweep_pins(const jobdir *d);    /* removes those of processes that are gone */

/* model.safetensors: every tensor by name, {"format":"pt"} in the metadata; written atomically. */
MUST_USE status checkpoint_export(const flat *f, const float *values, const char *path, error *err);

#endif
