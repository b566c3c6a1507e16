/*
 * Low-rank adapters (Hu et al.: LoRA, 2021), by the section model.lora: beside each product with a weight that it
 * names stands (x A) B * alpha / rank, where x may lose elements first. A and B move and the rest of the model does
 * not, but for what modules_to_save or trainer.train names. A begins as a linear layer does, B with zeros.
 *
 * A weight "fc.weight" has "fc.lora_A.weight" and "fc.lora_B.weight". They lie as the weight does: of one [out, in] A
 * is [rank, in] and B [out, rank], as PEFT has them; of one [in, out], as GPT-2's, A is [in, rank] and B [rank, out].
 * The rank is below both sides, so shapes tell which. A weight that several products read has one adapter, in all of
 * them.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_LORA_H
#define TEQUIO_MODEL_LORA_H

#include "common/store/weights.h"
#include "model/layers.h"

/* Adds them to a network that is built, whose outputs become others. Nothing without the section, or where the request
 * wants the model merged. E_CONFIG: a pattern that no weight of a product matches, a weight that is read otherwise too,
 * a rank that is no lower. */
MUST_USE status lora_add(net *n, net_outputs *outputs, error *err);
/* Before graph_backward: freezes what has to stay. `train` are the names of trainer.train, or NULL. */
MUST_USE status lora_freeze(graph *g, const config *model, const json_t *train, error *err);

#define LORA_A "lora_A.weight"
#define LORA_B "lora_B.weight"

bool lora_is_adapter(const char *name);

/* Adapters into the weights that they are of, and away: of a model with that section *w becomes others. Weights without
 * adapters stay. E_DATA: they do not fit. E_CONFIG: adapters, and the model has no such section. */
MUST_USE status lora_merge(const config *model, weights **w, error *err);

#endif
