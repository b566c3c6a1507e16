/* A file of questions about texts from a stranger: it is refused with a word, or every passage lies within the file,
 * and every window and answer within its context. */
#include "common/base/alloc.h"
#include "data/squad/examples.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const tokenizer *tokenizer_of_bytes(void)
{
    static tokenizer *t;
    static const char json[] =
        "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "
        "\"max_input_chars_per_word\": 100, \"vocab\": {\"[UNK]\": 0, \"[CLS]\": 1, \"[SEP]\": 2, \"a\": 3, "
        "\"##a\": 4, \"b\": 5, \"##b\": 6}}, \"added_tokens\": [], "
        "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
        "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2], \"cls\": [\"[CLS]\", 1]}}";
    BUG_ON(!t && tokenizer_parse(json, sizeof json - 1, "fuzz", &t, NULL) != OK);
    return t;
}

static void check(const squad_examples *e, const squad_options *o)
{
    for (size_t i = 0; i < e->n_windows; i++) {
        const squad_window *w = &e->windows[i];
        BUG_ON(w->question >= e->n_questions);
        const squad_asked *q = &e->questions[w->question];
        BUG_ON(q->context >= e->n_contexts || q->first + q->n > e->ids.n || q->n > o->max_query_length);
        const squad_context *c = &e->contexts[q->context];
        int64_t n = squad_window_tokens(e, o, w), answer[2];
        BUG_ON(c->first + c->n > e->tokens.n || n < 1 || w->first + n > c->n);
        BUG_ON(squad_window_context(e, o, w) + n + (int64_t)o->frame->end.n > o->length_limit);
        BUG_ON(squad_window_answer(e, o, w, answer) && (answer[0] < 0 || answer[1] >= n));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    record_source file = {.name = "fuzz", .data = data, .bytes = size};
    squad_passages passages = {.n = 0};
    squad_examples examples;
    squad_frame frame;
    error err = ERROR_INIT;
    BUG_ON(squad_frame_of(tokenizer_of_bytes(), "fuzz", &frame, NULL) != OK);
    squad_options o = {.tokenizer = tokenizer_of_bytes(),
                       .frame = &frame,
                       .length_limit = 12,
                       .stride = 2,
                       .max_query_length = 4,
                       .skip_misplaced = size % 2};
    squad_passages_add_file(&passages, &file);
    status st = squad_passages_find(&passages, 0, &err);
    for (size_t i = 0; st == OK && i < passages.n; i++)
        BUG_ON(passages.at[i].at > size || passages.at[i].bytes > size - passages.at[i].at);
    if (st == OK && (st = squad_examples_make(&passages, &o, &examples, &err)) == OK) {
        check(&examples, &o);
        squad_examples_fini(&examples);
    }
    BUG_ON(st != OK && err.text[0] == '\0');
    squad_passages_fini(&passages);
    return 0;
}
