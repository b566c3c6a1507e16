#include "common/live/counters.h"

#define ROLE_ANY     COUNTER_OF_ANY
#define ONE          1.0
#define MICROSECONDS 1e-6

const counter_row counter_rows[COUNTER_COUNT] = {
#define COUNTER(id, of, type, unit, name, help) {ROLE_##of, unit, #type, name, help},
#include "common/live/counters.def"
#undef COUNTER
};

_Atomic int64_t counter_values[COUNTER_COUNT];
