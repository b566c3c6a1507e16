/*
 * A search from a stranger: a HyperparameterSpec as a job file has it. It is refused with a message, or every point of
 * its space is within it, and is the same one after it was written and read.
 */
#include "common/base/alloc.h"
#include "job/spec/search.h"
#include "tune/sampler.h"
#include "tune/sobol.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static status read_search(const char *text, size_t bytes, arena *memory, search *ret, error *err)
{
    doc_node *spec = NULL;
    TRY(document_read(text, bytes, "job.yaml", memory, &spec, err));
    TRY(schema_check(spec, "HyperparameterSpec", memory, NULL, NULL, err));
    TRY(search_read(spec, memory, NULL, NULL, ret, err));
    search named = *ret;
    return search_name_keys(&named, NULL, memory, NULL) == OK ? search_name_keys(ret, NULL, memory, err) : OK;
}

static void check_within(const space *s, const double *point)
{
    for (int i = 0; i < s->n; i++) {
        const space_parameter *p = &s->at[i];
        bool is_list = p->kind == SPACE_CATEGORICAL || p->kind == SPACE_DISCRETE;
        BUG_ON(!(point[i] >= (is_list ? 0 : p->min) && point[i] <= (is_list ? p->n - 1 : p->max)));
        BUG_ON(p->kind != SPACE_DOUBLE && point[i] != floor(point[i]));
    }
}

/* As the journal writes it and reads it again. */
static void check_record(const study *s, const double *point)
{
    json_t *record = study_record_running(s, 1, point), *again = NULL;
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(STUDY_DIGITS));
    error err = ERROR_INIT;
    study other;
    study_init(&other, s->space, 1);
    BUG_ON(json_parse(text, strlen(text), "record", E_DATA, &again, &err) != OK);
    if (study_take(&other, again, &err) != OK)
        BUG("what was proposed is refused: %s: %s", err.text, text);
    json_t *kept = study_record_running(&other, 1, other.trials[0].point);
    char *words = json_dumps(kept, JSON_COMPACT | JSON_REAL_PRECISION(STUDY_DIGITS));
    BUG_ON(strcmp(text, words) != 0);
    free(words);
    free(text);
    json_decref(kept);
    json_decref(again);
    json_decref(record);
    study_fini(&other);
}

static void check_space(const space *s)
{
    enum { INSIDE = 6 };
    double unit[SPACE_PARAMETERS_MOST], point[SPACE_PARAMETERS_MOST];
    study study;
    study_init(&study, s, 1);
    for (int k = 0; k < INSIDE + 2; k++) {
        for (int i = 0; i < s->n; i++)
            unit[i] = k < INSIDE ? sobol_scrambled(7, (uint32_t)k, i) : k - INSIDE;
        space_point(s, unit, point);
        check_within(s, point);
        check_record(&study, point);
        space_unit(s, point, unit);
        for (int i = 0; i < s->n; i++)
            BUG_ON(!(unit[i] >= -1e-6 && unit[i] <= 1 + 1e-6));
    }
    json_decref(space_describe(s));
    if (sampler_grid.check(s, NULL) == OK && sampler_grid.propose(&study, 0, point))
        check_within(s, point);
    study_fini(&study);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena *memory = arena_create();
    search s;
    error err = ERROR_INIT;
    if (read_search((const char *)data, size, memory, &s, &err) == OK)
        check_space(&s.space);
    else
        BUG_ON(!err.text[0]);
    arena_destroy(&memory);
    return 0;
}
