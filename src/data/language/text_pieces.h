/*
 * Texts of any size through a tokenizer, by all processors: a text is cut into pieces of about a megabyte, each is
 * tokenized by itself, and their tokens are put together in the order of the texts.
 *
 * A piece ends before a blank that stands between two letters: there the tokenizers that part text at blanks, or
 * take a blank for the beginning of a word, give the same tokens as of the whole. Where there is no such place for
 * another megabyte, it ends behind any character. So the tokens are a function of the texts and the tokenizer.
 *
 * Threads: the calling one, and those it starts and ends.
 */
#ifndef TEQUIO_DATA_LANGUAGE_TEXT_PIECES_H
#define TEQUIO_DATA_LANGUAGE_TEXT_PIECES_H

#include "data/index/records.h"
#include "data/language/token_array.h"
#include "text/tokenizer.h"

enum { TEXT_PIECE_BYTES = 1 << 20 };

/* Where the piece that begins at byte `from` < bytes ends. */
size_t text_piece_end(const unsigned char *text, size_t bytes, size_t from);

/* The tokens of all texts, without special tokens but those that stand in a text; behind each text the token
 * `end`, unless that is TOKENIZER_NO_TOKEN. They are given to `take` piece by piece in their order, and those of a few
 * dozen pieces are held at a time. E_DATA names the text and the byte; E_NOMEM; what `take` says. */
MUST_USE status text_pieces_tokens(const tokenizer *t, int32_t end, const record_source *texts, size_t n,
                                   token_take *take, void *user, error *err);

#endif
