/* See model.h: which of the models a section is. */
#include "text/model.h"

#include "common/base/alloc.h"

enum { WORD_PIECE, WORD_LEVEL, BPE, UNIGRAM };

static const char *const types[] = {"WordPiece", "WordLevel", "BPE", "Unigram", NULL};

/* Files of old versions name no type: it is told from what they have. */
static int guess_type(const json_t *value)
{
    if (json_object_get(value, "type"))
        return -1;
    if (json_object_get(value, "merges"))
        return BPE;
    if (json_is_array(json_object_get(value, "vocab")))
        return UNIGRAM;
    return json_object_get(value, "continuing_subword_prefix") ? WORD_PIECE : WORD_LEVEL;
}

status model_load(const json_t *value, const char *place, model **ret, error *err)
{
    static status (*const load[])(fields *, model **, error *) = {
        [WORD_PIECE] = word_piece_load,
        [WORD_LEVEL] = word_level_load,
        [BPE] = bpe_load,
        [UNIGRAM] = unigram_load,
    };
    fields f;
    int type = 0;
    TRY(fields_begin(value, place, &f, err));
    TRY(fields_choice(&f, "type", types, guess_type(value), &type, err));
    TRY(load[type](&f, ret, err));
    status st = fields_end(&f, err);
    if (st != OK)
        model_destroy(ret);
    return st;
}
