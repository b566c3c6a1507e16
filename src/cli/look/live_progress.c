#include "cli/look/live_progress.h"

#include "cli/inspect/text.h"

#include <math.h>

bool live_progress(const json_t *live, bool runs, progress_state *ret)
{
    int64_t per_epoch = inspect_int(live, "steps_per_epoch"), total = inspect_int(live, "total_steps");
    if (per_epoch <= 0)
        return false;
    *ret = (progress_state){
        .step = inspect_int(live, "step"),
        .total_steps = total,
        .epoch = inspect_int(live, "step") / per_epoch,
        .epochs = total / per_epoch + (total % per_epoch > 0),
        .loss = inspect_number(live, "loss", NAN),
        .accuracy = inspect_number(live, "accuracy", NAN),
        .rate = inspect_number(live, "learning_rate", NAN),
        .examples_per_s = inspect_number(live, "examples_per_s", 0),
        .eta_s = runs ? inspect_number(live, "eta_s", -1) : -1,
    };
    return true;
}
