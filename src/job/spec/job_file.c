#include "job/spec/job_file.h"

#include "job/spec/pools.h"
#include "job/spec/schema.h"
#include "job/spec/search.h"
#include "job/spec/vertex.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

enum { ID_MOST = 128, LABEL_MOST = 63, LABELS_MOST = 64 };

static status check_id(const doc_node *id, error *err)
{
    bool is_right = isalpha((unsigned char)id->text[0]) && strlen(id->text) <= ID_MOST;
    for (const char *c = id->text; *c; c++)
        is_right = is_right && (isalnum((unsigned char)*c) || *c == '_');
    if (is_right)
        return OK;
    return DOC_FAIL(err, id,
                    "'%s' is no name of a job: a letter first, then letters, digits and _, %d at most",
                    id->text, ID_MOST);
}

static bool is_label(const char *text, bool may_begin_anyhow)
{
    if (!may_begin_anyhow && !islower((unsigned char)text[0]))
        return false;
    for (const char *c = text; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_' && *c != '-')
            return false;
    return strlen(text) <= LABEL_MOST;
}

static status check_labels(const doc_node *labels, error *err)
{
    if (labels->n > LABELS_MOST)
        return DOC_FAIL(err, labels, "%d labels; a job has at most %d", labels->n, LABELS_MOST);
    for (int i = 0; i < labels->n; i++)
        if (!is_label(labels->key[i], false) || !is_label(labels->item[i]->text, true))
            return DOC_FAIL(err, labels->item[i],
                            "the label '%s' = '%s': lower-case letters, digits, _ and -, at most %d, the "
                            "key with a letter first",
                            labels->key[i], labels->item[i]->text, LABEL_MOST);
    return OK;
}

/* --- scheduling --- */

enum { WAIT_LEAST = 1800, PRIORITY_MOST = 1000 };

static status job_file_read_scheduling(job *j, const doc_node *s, error *err)
{
    const doc_node *running = document_get(s, "maxRunningTime"), *wait = document_get(s, "maxWaitTime");
    const doc_node *priority = document_get(s, "priority");
    if (running && running->kind == DOC_SCALAR) {
        j->max_running_s = schema_seconds(running);
        if (j->max_running_s <= 0)
            return DOC_FAIL(err, running, "must be more than 0s");
    }
    if (wait && wait->kind == DOC_SCALAR && schema_seconds(wait) < WAIT_LEAST)
        return DOC_FAIL(err, wait, "must be at least %ds, not %s", WAIT_LEAST, wait->text);
    if (priority && priority->kind == DOC_SCALAR) {
        j->priority = schema_whole(priority);
        if (j->priority < 0 || j->priority > PRIORITY_MOST)
            return DOC_FAIL(err, priority, "must be from 0 to %d, not %" PRId64, PRIORITY_MOST,
                            j->priority);
    }
    return OK;
}

/* --- the whole --- */

static const char *text_of(const doc_node *map, const char *key)
{
    const doc_node *n = document_get(map, key);
    return n && n->kind == DOC_SCALAR ? n->text : NULL;
}

/* AI Platform says "chief" from runtime 2.1 on and to whoever asks for it, "master" to the others.
 * A job that names neither a runtime nor an image gets the newer word. */
static bool calls_chief(const job *j, const doc_node *input)
{
    const doc_node *asked = document_get(input, "useChiefInTfConfig");
    const char *runtime = text_of(input, "runtimeVersion");
    if (asked && asked->kind == DOC_SCALAR)
        return schema_bool(asked);
    if (runtime)
        return strtod(runtime, NULL) >= 2.1;
    return !j->pools[ROLE_MASTER].image;
}

static status read_top(job *j, const doc_node *top, error *err)
{
    const doc_node *id = document_get(top, "jobId"), *labels = document_get(top, "labels");
    if (id && id->kind == DOC_SCALAR) {
        TRY(check_id(id, err));
        j->id = id->text;
    }
    if (labels && labels->kind == DOC_MAP) {
        TRY(check_labels(labels, err));
        j->labels = labels;
    }
    return OK;
}

static status job_file_read_search(job *j, const doc_node *spec, error *err)
{
    if (!spec || spec->kind == DOC_NULL)
        return OK;
    search *s = arena_alloc(j->memory, sizeof *s);
    TRY(search_read(spec, j->memory, job_warn_ignored, j, s, err));
    j->search = s;
    return OK;
}

status job_file_form(doc_node *top, arena *memory, job *j, doc_node **ret, error *err)
{
    j->memory = memory;
    if (vertex_is_job(top))
        return vertex_read(top, memory, j, ret, err);
    TRY(schema_check(top, "Job", memory, NULL, NULL, err));
    *ret = top;
    return OK;
}

status job_file_read_form(doc_node *form, job *j, error *err)
{
    TRY(schema_check(form, "Job", j->memory, job_warn_ignored, j, err));
    TRY(read_top(j, form, err));
    const doc_node *input = document_get(form, "trainingInput");
    j->region = text_of(input, "region");
    j->job_dir = text_of(input, "jobDir");
    j->service_account = text_of(input, "serviceAccount");
    TRY(pools_read(j, input, j->memory, err));
    TRY(pools_check_region(j, input, j->memory, err));
    TRY(job_file_read_scheduling(j, document_get(input, "scheduling"), err));
    TRY(job_file_read_search(j, document_get(input, "hyperparameters"), err));
    j->calls_chief = calls_chief(j, input);
    return OK;
}
