/*
 * What AllenNLP writes in another form than a row of its table can say, for allennlp.c.
 * Threads: pure.
 */
#ifndef TEQUIO_COMMON_CONFIG_ALLENNLP_FORMS_H
#define TEQUIO_COMMON_CONFIG_ALLENNLP_FORMS_H

#include "common/config/allennlp.h"

/* Before the rows: `readers` as an object becomes a list, paths of data by their readers' names become the text of that
 * object, and AllenNLP's defaults are laid where there are no others: the type of a scheduler of batches, and the
 * pretrained model of transformer_squad and of a transformer_qa that says nothing of its network. */
void allennlp_forms_take(json_t *tree, allennlp_note_fn *note, void *user);

/* After the rows, of a configuration that has the key `of_allennlp`, which only AllenNLP knows: a schedule `step` that
 * does not say what it counts counts epochs, as it does there. */
void allennlp_forms_count_epochs(json_t *tree, const char *of_allennlp, allennlp_note_fn *note, void *user);

#endif
