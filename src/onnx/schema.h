/*
 * What ONNX says of its operators, schema.def: for every version how many inputs and outputs a node
 * has, of which types they are, and its attributes with type and default.
 * https://github.com/onnx/onnx/blob/main/docs/Operators.md
 *
 * Which of them can be imported, ops.h says. Threads: any.
 */
#ifndef TEQUIO_ONNX_SCHEMA_H
#define TEQUIO_ONNX_SCHEMA_H

#include "common/base/error.h"
#include "onnx/model.h"

#include <stdbool.h>

typedef struct onnx_schema {
    const char *type, *domain;                 /* domain "": ai.onnx */
    int64_t since;                             /* version of the domain from which on this holds */
    const char *inputs, *outputs, *attributes; /* as schema.def writes them */
} onnx_schema;

/* AttributeProto.AttributeType */
typedef enum onnx_attribute_type {
    ONNX_ANY = 0, /* an old file does not say */
    ONNX_FLOAT_ATTRIBUTE,
    ONNX_INT_ATTRIBUTE,
    ONNX_STRING_ATTRIBUTE,
    ONNX_TENSOR_ATTRIBUTE,
    ONNX_GRAPH_ATTRIBUTE,
    ONNX_FLOATS_ATTRIBUTE,
    ONNX_INTS_ATTRIBUTE,
    ONNX_STRINGS_ATTRIBUTE,
} onnx_attribute_type;

enum { ONNX_ATTRIBUTE_TEXT = 48 };

typedef struct onnx_attribute {
    char type[ONNX_ATTRIBUTE_TEXT];
    bool is_required, has_default;
    char value[ONNX_ATTRIBUTE_TEXT]; /* the default as text; a list's parts by commas */
} onnx_attribute;

typedef struct onnx_port {
    char type[ONNX_ATTRIBUTE_TEXT]; /* a capital is a variable: the same one, the same type */
    bool is_optional, is_variadic;
    bool is_mixed; /* variadic, and not all of one type */
} onnx_port;

/* What holds in that version; NULL if the operator is newer, or none of ONNX's. */
const onnx_schema *onnx_schema_find(const char *domain, const char *type, int64_t version);
/* The oldest of an operator; NULL if it is none of ONNX's. */
const onnx_schema *onnx_schema_first(const char *domain, const char *type);

/* An attribute of that version; false if it has none of that name. */
bool onnx_schema_attribute(const onnx_schema *s, const char *name, onnx_attribute *ret);
/* The same of whichever version has it: of this one, else of the next newer, else of the newest
 * older, which ret_schema then is (may be NULL). */
bool onnx_schema_any_attribute(const onnx_schema *s, const char *name, onnx_attribute *ret,
                               const onnx_schema **ret_schema);

/* Input or output `i` of a list; one that is variadic stands for all from there on. */
bool onnx_schema_port(const char *ports, size_t i, onnx_port *ret);

bool onnx_attribute_is(const Onnx__AttributeProto *a, onnx_attribute_type type);

/* Whether a node has what its operator needs and nothing that it does not know in that version.
 * E_UNSUPPORTED: an attribute, input or output of a later version, or of none; E_DATA: one is
 * missing, there twice, or of a wrong type. */
MUST_USE status onnx_schema_check(const onnx_schema *s, const Onnx__NodeProto *n, int64_t version,
                                  error *err);

#endif
