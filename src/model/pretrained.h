/*
 * Pretrained weights: tensors of safetensors files, or of those that torch.save writes, as the first
 * values of a model's, by the section `model.pretrained`; which files `path` means, weight_files.h says.
 *
 * A tensor of the files that a pattern of `map` matches as a whole is known here by what the
 * pattern stands for, with $1 .. $9 for its groups (POSIX extended regular expressions). A tensor
 * of the model that no file has is drawn if a glob of `ignore` says so; so is one that a glob names
 * but whose shape differs. float16, bfloat16 and float64 are converted.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_PRETRAINED_H
#define TEQUIO_MODEL_PRETRAINED_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/parts/flat.h"
#include "common/store/facts.h"

/* How checkpoints of Hugging Face's call a network's tensors: of one with a head they begin with
 * `theirs`, of the network alone they do not; here they begin with `ours`. Old norms have gamma and
 * beta. What lies outside of the network, and a pooler, is drawn where the files lack it. So are adapters of model.lora
 * of which they have neither tensor. */
typedef struct checkpoint_names {
    const char *theirs, *ours;
} checkpoint_names;

/* Fills what the files have of out[f->n_elements]; the rest stays. `report` gets a line: how many
 * matched, were drawn, and which of the files' tensors nobody took. E_DATA lists every missing
 * tensor and every shape that differs, or names the tensor that is not finite.
 * `names` are the network's, NULL: it has none. Files of AllenNLP's are called by them, others where model
 * has transformer_model_name, and else as here. `is_whole`: nothing is drawn but what `ignore` names. */
MUST_USE status pretrained_read(const config *model, const checkpoint_names *names, bool is_whole, const flat *f,
                                float *out, buf *report, error *err);

/* Appends what the files are: names and values of all tensors (common/store/facts.h). */
MUST_USE status pretrained_facts(const config *section, const char *file, facts_check how, buf *ret,
                                 error *err);

#endif
