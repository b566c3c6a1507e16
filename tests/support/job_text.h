/* A job from the text of a job file, in the steps of `tequio submit` (cli/submit/request.c), without flags. */
#ifndef TEQUIO_TESTS_SUPPORT_JOB_TEXT_H
#define TEQUIO_TESTS_SUPPORT_JOB_TEXT_H

#include "job/spec/job_file.h"

static inline status job_of_text(const char *text, size_t bytes, arena *memory, job *ret, error *err)
{
    job j = {.id = NULL};
    doc_node *top = NULL, *form = NULL;
    TRY(document_read(text, bytes, "job.yaml", memory, &top, err));
    TRY(job_file_form(top, memory, &j, &form, err));
    TRY(job_file_read_form(form, &j, err));
    *ret = j;
    return OK;
}

#endif
