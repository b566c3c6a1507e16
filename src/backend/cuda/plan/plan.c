#include "backend/cuda/plan/plan.h"

const cuda_plan cuda_plan_of[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits, family, ...) [OP_##ID] = cuda_plan_##family,
#include "graph/ops.def"
};
