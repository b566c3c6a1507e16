/*
 * What is searched: parameters with their ranges, and the unit cube in which samplers see them.
 *
 * A point has a number for each parameter: of a DOUBLE or INTEGER its value, of a CATEGORICAL or DISCRETE the
 * place in its list. A coordinate of the cube is its place between least and most on its scale; every whole
 * number, and every item of a list, has a cell of coordinates.
 *
 * Ownership: a space borrows what it points to; its reader's arena has it (job/spec/search.h).
 * Threads: pure functions.
 * Source: AI Platform's REST reference, v1 (ParameterSpec).
 */
#ifndef TEQUIO_TUNE_SPACE_H
#define TEQUIO_TUNE_SPACE_H

#include "common/base/json.h"

#include <stdbool.h>

/* Of numbers in JSON: so many survive being written and read. */
enum { SPACE_DIGITS = 15 };

enum { SPACE_PARAMETERS_MOST = 64, SPACE_ITEMS_MOST = 1000 };

typedef enum space_kind { SPACE_DOUBLE, SPACE_INTEGER, SPACE_CATEGORICAL, SPACE_DISCRETE } space_kind;
typedef enum space_scale { SPACE_LINEAR, SPACE_LOG, SPACE_REVERSE_LOG } space_scale;

typedef struct space_parameter {
    const char *name;
    space_kind kind;
    space_scale scale;
    bool is_scaled;           /* a scale was asked for; a list without one has cells of one size */
    double min, max;          /* of DOUBLE and INTEGER */
    const char *const *words; /* [n]: of CATEGORICAL */
    const double *numbers;    /* [n], ascending: of DISCRETE */
    int n;
} space_parameter;

typedef struct space {
    const space_parameter *at; /* [n] */
    int n;
} space;

/* Whether it can be sampled. E_CONFIG; *ret_field is then the field of ParameterSpec that is to blame. */
MUST_USE status space_parameter_check(const space_parameter *p, const char **ret_field, error *err);

/* How many values it has; 0: of a DOUBLE, which has no end of them. */
int64_t space_parameter_values(const space_parameter *p);

/* From the cube to the point whose cell it is in, numbers rounded to six digits; `unit` and *ret are [n] and may
 * be one. And to the middle of the cell of a point. */
void space_point(const space *s, const double *unit, double *ret);
void space_unit(const space *s, const double *point, double *ret);

/* {"trainer.optimizer.lr": 0.01, ...}. A word that is JSON, as "[16, 16]" or "true", stands for that. */
json_t *space_values(const space *s, const double *point);
/* The point of such values, also after they were written with SPACE_DIGITS. E_DATA names the parameter whose value is
 * absent, or none of the space. */
MUST_USE status space_point_of(const space *s, const json_t *values, double *ret, error *err);

/* What decides what is proposed, as JSON: to tell one space from another. */
json_t *space_describe(const space *s);

#endif
