/*
 * The saver: which checkpoints are cut when, and their commit once every server has written.
 *
 * Planned cuts (epoch ends, every save_checkpoints_steps, the last step) are known ahead: at most
 * two are announced at a time, and workers may not run past the second (saver_limit), so a server
 * that stays and hears of all of them is never late for one. A cut by the clock or before
 * preemption is announced a little ahead of what was reported; a server that is past it says so and
 * it is announced again, further ahead.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_CUTS_SAVER_H
#define TEQUIO_MASTER_CUTS_SAVER_H

#include "common/parts/steps.h"
#include "common/store/checkpoint.h"

typedef struct saver saver;

typedef struct saver_options {
    const jobdir *dir;
    const flat *flat;
    steps steps;
    int64_t begin, total;           /* versions */
    bool epoch_ends;                /* a checkpoint at every epoch's end */
    int64_t every_steps;            /* 0: no */
    double every_s;                 /* 0: no */
    int64_t keep;
    int32_t n_servers;
    uint32_t lineage;               /* of the versions: shards of another one are not mixed in */
    uint64_t seed;
    const char *config_digest;      /* kept, like the names */
    const char *const *slot_names;
    size_t n_slots;
    bool lists_units;               /* common/parts/schedule.h */
    bool scales;                    /* versions have a loss scale */
} saver_options;

typedef struct cut_order {
    uint32_t id;                    /* a pure function of the version, and of how often its checkpoint was set
                                     * aside: the next master means the same */
    int64_t version;
    bool must;                      /* the last one, or of an epoch that is evaluated: see saver_owe */
    char dir[64];                   /* inside the job dir */
    uint32_t replaces;              /* the cut it takes the place of; 0: none */
} cut_order;

saver *saver_create(const saver_options *options);
void saver_destroy(saver **s);

/* A cut to announce to every server now; false: none. `reported`: steps complete so far. */
bool saver_next_order(saver *s, int64_t now_us, int64_t reported, cut_order *ret);

/* Workers may run up to this version. */
int64_t saver_limit(const saver *s);

/* Cut as soon as possible: the newest one is no more. */
void saver_soon(saver *s);

/* Cut as soon as possible, and nothing after it. */
void saver_hurry(saver *s);

/* The folder of an open cut, inside the job dir; false: there is no such cut. */
bool saver_dir(const saver *s, uint32_t id, char ret[64]);

/* A server is past the cut; true: announce *ret, in its place, to every server. false: that was
 * done already. */
bool saver_late(saver *s, uint32_t id, int64_t newest, cut_order *ret);

/* Is it one that belongs where it is, and is no other one further ahead: at an epoch's end, every
 * so many steps, the last? One in a hurry does not. */
bool saver_is_planned(const saver *s, uint32_t id);

/* Is one open that servers may be at, or past? `applied`: the version that all have. */
bool saver_is_cutting(const saver *s, int64_t applied);

/* The open cuts of which `shard` is not written: *at counts them from 0; false: no more. Without those
 * that wait for the disk. */
bool saver_open_order(const saver *s, int32_t shard, size_t *at, cut_order *ret);

typedef struct shard_report {
    uint32_t id;
    int64_t version;
    int32_t shard, server;          /* what was written, and by whom */
    const char *file, *sha256;
    uint64_t bytes;
    int64_t batches;                /* -1: the shard has no live part */
    loss_scale scale;               /* of the version, if it has */
} shard_report;

/* From `step` on the epochs' ends wait for their evaluation and are kept; -1: none waits. */
void saver_unevaluated(saver *s, int64_t step);
/* Removes what need not be kept: all but the newest, the best and those that wait; and what was
 * written of cuts that failed, under this master or one before. */
MUST_USE status saver_prune(const saver *s, int64_t best_step, error *err);

/* A shard is written. E_FAIL if servers disagree about the batches applied or the loss scale. */
MUST_USE status saver_shard(saver *s, const shard_report *r, error *err);

bool saver_has_shard(const saver *s, uint32_t id, int32_t shard);   /* of a cut that is open */

/* The version of the next cut to commit, all of its shards being written; -1: none is. */
int64_t saver_written(const saver *s, uint32_t *ret_id);
/* Commits that one: the checkpoint exists. E_IO or E_DATA: then the cut has failed. */
MUST_USE status saver_commit(saver *s, int64_t best_step, error *err);

/* Of an open cut; -1: there is no such cut. */
int64_t saver_version(const saver *s, uint32_t id);
/* Without this version the job's results would be others. */
bool saver_must(const saver *s, int64_t version);
/* The disk did not take all of a cut that must be: it stays open, and is no more ordered until
 * saver_try_again. No unplanned cut is made meanwhile. */
void saver_owe(saver *s, uint32_t id);
void saver_try_again(saver *s);
bool saver_owes(const saver *s);    /* such a cut is not committed yet */

/* There will be no checkpoint of this cut. */
void saver_fail(saver *s, uint32_t id);
/* Frees the room of what was written of that version, unless a cut of it is open. */
void saver_discard(const saver *s, int64_t version);
/* Is the turn of that version still to come? What an earlier master ordered of it is then the answer to this one's
 * order. */
bool saver_is_to_come(const saver *s, int64_t version);

int64_t saver_last(const saver *s);                 /* newest committed, begin if none */
int64_t saver_batches(const saver *s);              /* applied at that cut */
bool saver_is_hurried(const saver *s);

#endif
