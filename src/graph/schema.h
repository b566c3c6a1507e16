/*
 * What an operator's attributes are: a row a field of its struct in attrs.h. From these rows a node
 * that is given no attributes takes its defaults, graph_add checks bounds and counts axes from 0,
 * so that nobody behind it does either again, and ONNX files are read and written where an operator
 * is one of ONNX's as it is. Fields that only the gradient's nodes have, such as the shape to produce,
 * have no rows.
 *
 * Rows stand in graph/ops, beside that rule. Threads: pure functions, apart from the attributes of
 * a node that is being added.
 */
#ifndef TEQUIO_GRAPH_SCHEMA_H
#define TEQUIO_GRAPH_SCHEMA_H

#include "graph/graph.h"

typedef enum attr_type {
    ATTR_FLOAT, /* float or double */
    ATTR_INT,   /* int64_t, uint64_t or int32_t */
    ATTR_BOOL,  /* bool; 0 or 1 in ONNX */
    ATTR_NOT,   /* bool, the opposite of ONNX's: drop_dims of keepdims */
    ATTR_AXIS,  /* int32_t, of input 0: in a node 0 .. rank-1 */
    ATTR_SPLIT, /* int32_t, between axes of input 0: in a node 0 .. rank */
    ATTR_NEW_AXIS, /* int32_t, of an output with one axis more than input 0: likewise */
    ATTR_WORD,  /* an enum or a bool, whose values are the places of ONNX's words */
    ATTR_SIZES, /* int64_t [SPATIAL]: a number for each axis of input 0 behind batch and channels */
    ATTR_PADS,  /* int64_t [2 * SPATIAL]: before each of these axes, then behind each */
    /* What ONNX has otherwise, or not at all, so that the operator's own functions read and write it: */
    ATTR_TYPE,    /* dtype */
    ATTR_SHAPE,   /* graph_shape; by default of no axes */
    ATTR_AXES,    /* int32_t [], checked by the shape rule, as are the next two */
    ATTR_NUMBERS, /* int64_t [] */
    ATTR_REALS,   /* double [] */
} attr_type;

typedef struct attr_field {
    const char *name; /* as ONNX spells it, or the field is called; NULL: the end */
    attr_type type;
    size_t at, bytes; /* in the struct */
    double otherwise; /* the default, ONNX's; of a list that of each number */
    double least, most;
    bool below;       /* `most` itself is too much */
    bool ours;        /* ONNX has no such attribute */
    const char *words; /* of an ATTR_WORD: "linear|bilinear nearest", the second is an old name */
} attr_field;

/* A field of a struct, and one with bounds. */
#define ATTR_FIELD(type, field, name, kind, otherwise)                                             \
    ATTR_WITHIN(type, field, name, kind, otherwise, -__builtin_inf(), __builtin_inf())
#define ATTR_WITHIN(type, field, name, kind, otherwise, least, most)                               \
    {                                                                                              \
        name, kind, offsetof(type, field), sizeof(((type *)0)->field), otherwise, least, most,     \
            false, false, NULL                                                                     \
    }
#define ATTR_OURS(type, field, kind, otherwise)                                                    \
    {                                                                                              \
        #field, kind, offsetof(type, field), sizeof(((type *)0)->field), otherwise,                \
            -__builtin_inf(), __builtin_inf(), false, true, NULL                                   \
    }
/* A share: from 0 on, and below 1. */
#define ATTR_RATIO(type, field, name, otherwise)                                                   \
    {                                                                                              \
        name, ATTR_FLOAT, offsetof(type, field), sizeof(((type *)0)->field), otherwise, 0, 1,      \
            true, false, NULL                                                                      \
    }
/* A field that ONNX writes as a word; its values count from 0 as the words do. */
#define ATTR_CHOICE(type, field, name, words, otherwise)                                           \
    {                                                                                              \
        name, ATTR_WORD, offsetof(type, field), sizeof(((type *)0)->field), otherwise,             \
            -__builtin_inf(), __builtin_inf(), false, false, words                                 \
    }

/* The end of the rows where ONNX says something else too, or in another way: functions of the operator
 * read and write it, and the rows alone do not. */
#define ATTR_MORE                                                                                  \
    {                                                                                              \
        .bytes = 1                                                                                 \
    }
bool schema_says_all(const attr_field *fields);

/* Sets all fields of attr to their defaults. `fields` may be NULL: there are none. */
void schema_set_defaults(const attr_field *fields, void *attr);

/* One field, as ONNX has its value: a float of an ATTR_FLOAT, an integer of the others, which of an
 * ATTR_WORD is the word's place. */
void schema_set_float(const attr_field *f, void *attr, double value);
void schema_set_int(const attr_field *f, void *attr, int64_t value);
double schema_float(const attr_field *f, const void *attr);
int64_t schema_int(const attr_field *f, const void *attr);

/* The place of a word, by any of its names; -1 if it is none. And the name of the one at a place, in
 * `ret` of SCHEMA_WORD bytes; false behind the last one. */
enum { SCHEMA_WORD = 32 };
int64_t schema_word_at(const attr_field *f, const char *word);
bool schema_word(const attr_field *f, int64_t at, char ret[SCHEMA_WORD]);

/* The numbers of a list, and how many of them there are where input 0 has that rank. */
int64_t *schema_list(const attr_field *f, void *attr);
bool schema_is_list(const attr_field *f);  /* ATTR_SIZES, ATTR_PADS */
bool schema_is_of_graph(const attr_field *f); /* ours, or of a type from ATTR_TYPE on */
int32_t schema_length(const attr_field *f, int32_t rank);

/* Whether the field has its default, a list in all of its numbers. */
bool schema_is_default(const attr_field *f, const void *attr);

/* Completes and checks the fields of a node that is being added. E_CONFIG names the field. */
MUST_USE status schema_complete(const graph *g, const graph_node *n, error *err);

#endif
