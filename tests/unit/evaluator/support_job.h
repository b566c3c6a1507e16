/*
 * A training job made by hand: a job dir, small IDX data, a configuration, and checkpoints with
 * weights drawn from a seed, as a master and its servers would leave them.
 */
#ifndef TEQUIO_TESTS_UNIT_EVALUATOR_SUPPORT_JOB_H
#define TEQUIO_TESTS_UNIT_EVALUATOR_SUPPORT_JOB_H

#include "common/config/config.h"
#include "common/parts/flat.h"
#include "common/store/jobdir.h"

enum { JOB_EXAMPLES = 23, JOB_SIDE = 6, JOB_HIDDEN = 5, JOB_CLASSES = 10, JOB_BATCH = 8 };

typedef struct job {
    char *path; /* the folder of everything */
    char *images;
    config *config;
    jobdir *dir;
    flat *flat;
    float *weights; /* of the checkpoint committed last */
} job;

/* `more` goes into the configuration as it stands: "validation_data_path: null", or "". */
job job_make(const char *more);
void job_fini(job *j);

typedef struct job_save {
    int64_t step, epochs_done;
    bool final;
    uint64_t seed; /* of the weights */
} job_save;

void job_commit(job *j, job_save save);

/* JOB_DIR/name, the caller frees it. */
bool job_has(const job *j, const char *name);
char *job_text(const job *j, const char *name);

/* Loss and accuracy of the committed weights by plain loops in double. */
void job_reference(const job *j, double *ret_loss, double *ret_accuracy);

#endif
