/* Sentences whose words are tagged: both forms of files, coding schemes, words by their pieces and by their numbers,
 * and every refusal, by file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/reader.h"
#include "data/tagging/coding_scheme.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 16 };

static const char two[] = "-DOCSTART- -X- -X- O\n"
                          "\n"
                          "Ana NNP B-NP I-PER\r\n"
                          "met VBD B-VP O\n"
                          "\tAna  NNP\tB-NP I-PER\n"
                          "Ruiz NNP I-NP I-PER\n"
                          "\n \n"
                          "Rain NN B-NP O\n";

static void expect_row(const dataset *d, int64_t example, size_t field, const int64_t *expected, size_t n)
{
    int64_t rows[DATA_FIELDS][LONGEST];
    void *out[DATA_FIELDS];
    for (size_t i = 0; i < DATA_FIELDS; i++)
        out[i] = rows[i];
    assert_int_equal(dataset_read(d, example, out, NULL), OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[field][i], expected[i]);
}
#define EXPECT_ROW(d, example, field, ...)                                                                            \
    expect_row(d, example, field, (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* --- words by their numbers --- */

/* Words in the order of their bytes from 2: Ana, Rain, Ruiz, met; tags I-PER, O. */
static void test_conll2003(void **state)
{
    (void)state;
    dataset *d = records_must_open("conll2003", "{}", two, NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 3);
    assert_string_equal(f[0].name, "input_ids");
    assert_string_equal(f[1].name, "attention_mask");
    assert_string_equal(f[2].name, "label");
    assert_true(f[0].varies && f[1].varies && f[2].varies);
    assert_int_equal(f[0].dim[0], 4);
    assert_int_equal(f[2].classes, 2);
    assert_int_equal(dataset_examples(d), 2);
    assert_int_equal(dataset_lengths(d)[0], 4);
    assert_int_equal(dataset_lengths(d)[1], 1);
    EXPECT_ROW(d, 0, 0, 2, 5, 2, 4);
    EXPECT_ROW(d, 0, 1, 1, 1, 1, 1);
    EXPECT_ROW(d, 0, 2, 0, 1, 0, 0);
    EXPECT_ROW(d, 1, 0, 3, 0, 0, 0);
    EXPECT_ROW(d, 1, 1, 1, 0, 0, 0);
    EXPECT_ROW(d, 1, 2, 1, -100, -100, -100);
    assert_string_equal(dataset_vocabulary(d), "{\"tags\":{\"label\":[\"I-PER\",\"O\"]},"
                                               "\"words\":[\"Ana\",\"Rain\",\"Ruiz\",\"met\"],"
                                               "\"words_by\":\"as they are\"}");
    buf word = BUF_INIT;
    int64_t place;
    assert_true(dataset_word(d, 0, 3, &word, &place));
    assert_string_equal(word.data, "Ruiz");
    assert_int_equal(place, 3);
    assert_false(dataset_word(d, 0, 4, &word, &place));
    buf_fini(&word);
    dataset_close(&d);
}

static void test_other_data_are_read_by_the_vocabulary(void **state)
{
    (void)state;
    static const char known[] = "{\"tags\": {\"label\": [\"I-PER\", \"O\"]}, \"words\": [\"ana\", \"met\"]}";
    dataset *d = records_must_open("conll2003", "{lowercase_tokens: true}", two, known);
    EXPECT_ROW(d, 0, 0, 2, 3, 2, 1);
    dataset_close(&d);
    records_refuse("conll2003", "{}", "Oaxaca NNP I-NP I-LOC\n", known, E_DATA,
                   "t.data': line 1: the tag 'I-LOC' is none of the training data's");
    records_refuse("conll2003", "{tag_label: 'pos', feature_labels: ['ner']}", two, known, E_DATA,
                   "has no list of tags for field 'ner_tags'");
}

/* The words and tags of a vocabulary keep their numbers; those of the data stand behind, as their bytes order them. */
static void test_a_vocabulary_grows(void **state)
{
    (void)state;
    static const char known[] = "{\"tags\": {\"label\": [\"O\", \"I-LOC\"]}, \"words\": [\"met\", \"Zoe\"]}";
    buf content = {.data = (char *)(uintptr_t)known, .size = strlen(known)};
    char *path = test_file(folder_path(), "known.json", &content);
    char *reader = xasprintf("{vocabulary: '%s', extend_vocabulary: true}", path);
    dataset *d = records_must_open("conll2003", reader, two, NULL);
    EXPECT_ROW(d, 0, 0, 4, 2, 4, 6);
    EXPECT_ROW(d, 0, 2, 2, 0, 2, 2);
    EXPECT_ROW(d, 1, 0, 5, 0, 0, 0);
    assert_string_equal(dataset_vocabulary(d), "{\"tags\":{\"label\":[\"O\",\"I-LOC\",\"I-PER\"]},"
                                               "\"words\":[\"met\",\"Zoe\",\"Ana\",\"Rain\",\"Ruiz\"],"
                                               "\"words_by\":\"as they are\"}");
    char *grown = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    d = records_must_open("conll2003", reader, "Oaxaca NNP I-NP O\n", grown);
    EXPECT_ROW(d, 0, 0, 1);
    dataset_close(&d);
    records_refuse("conll2003", reader, "Oaxaca NNP I-NP I-ORG\n", grown, E_DATA,
                   "the tag 'I-ORG' is none of the training data's");
    records_refuse("conll2003", "{extend_vocabulary: true}", two, NULL, E_CONFIG,
                   "dataset_reader.extend_vocabulary: needs vocabulary, the one to add words to");
    free(grown);
    free(reader);
    free(path);
}

static void test_rare_words_are_unknown(void **state)
{
    (void)state;
    dataset *d = records_must_open("conll2003", "{min_count: 2}", two, NULL);
    EXPECT_ROW(d, 0, 0, 2, 1, 2, 1);
    dataset_close(&d);
}

static void test_which_words(void **state)
{
    (void)state;
    static const char greek[] = "ΣΟΦΟΣ NN I-NP O\nσοφος NN I-NP O\nÉté NN I-NP O\nété NN I-NP O\nab NN I-NP O\n";
    static const char choice[] = "{lowercase_tokens: true, max_vocab_size: 2, tokens_to_add: ['Z', 'a']}";
    dataset *d = records_must_open("conll2003", choice, greek, NULL);
    assert_non_null(strstr(dataset_vocabulary(d),
                           "\"words\":[\"été\",\"σοφος\",\"Z\",\"a\"],\"words_by\":\"lower case\"}"));
    dataset_close(&d);
}

/* Vocabularies that were made when ASCII's letters alone were lowered have no "words_by"; their words are found, and
 * what grows from them is formed likewise. */
static void test_words_are_lowered_as_those_of_the_vocabulary(void **state)
{
    (void)state;
    static const char text[] = "École NN I-NP O\nécole NN I-NP O\nMER NN I-NP O\n";
    static const char before[] = "{\"tags\": {\"label\": [\"O\"]}, \"words\": [\"mer\", \"École\", \"école\"]}";
    static const char plain[] = "{\"tags\": {\"label\": [\"O\"]}, \"words\": [\"mer\", \"école\"]}";
    static const char added[] = "{\"tags\": {\"label\": [\"O\"]}, \"words\": [\"mer\", \"école\", \"École\"]}";
    static const char told[] = "{\"tags\": {\"label\": [\"O\"]}, \"words\": [\"mer\", \"École\", \"école\"],"
                               "\"words_by\": \"lower case\"}";
    dataset *d = records_must_open("conll2003", "{lowercase_tokens: true}", text, before);
    EXPECT_ROW(d, 0, 0, 3, 4, 2);
    assert_non_null(strstr(dataset_vocabulary(d), "\"words_by\":\"lower case of ASCII\"}"));
    char *kept = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    d = records_must_open("conll2003", "{lowercase_tokens: true}", text, kept);
    EXPECT_ROW(d, 0, 0, 3, 4, 2);
    dataset_close(&d);
    d = records_must_open("conll2003", "{lowercase_tokens: true}", text, plain);
    EXPECT_ROW(d, 0, 0, 3, 3, 2);
    dataset_close(&d);
    d = records_must_open("conll2003", "{lowercase_tokens: true, tokens_to_add: ['École']}", text, added);
    EXPECT_ROW(d, 0, 0, 3, 3, 2);
    dataset_close(&d);
    d = records_must_open("conll2003", "{lowercase_tokens: true}", text, told);
    EXPECT_ROW(d, 0, 0, 4, 4, 2);
    dataset_close(&d);
    records_refuse("conll2003", "{}", text, told, E_DATA,
                   "its words are made by 'lower case', those of these data by 'as they are' "
                   "(lowercase_tokens: false)");
    free(kept);
}

static void test_features(void **state)
{
    (void)state;
    dataset *d = records_must_open("conll2003", "{tag_label: 'chunk', feature_labels: ['pos', 'ner']}", two, NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 5);
    assert_string_equal(f[3].name, "pos_tags");
    assert_string_equal(f[4].name, "ner_tags");
    EXPECT_ROW(d, 0, 2, 0, 1, 0, 2); /* B-NP, B-VP, I-NP */
    EXPECT_ROW(d, 0, 3, 2, 3, 2, 2); /* from 1: NN, NNP, VBD */
    EXPECT_ROW(d, 1, 4, 2, 0, 0, 0);
    dataset_close(&d);
    records_refuse("conll2003", "{feature_labels: ['lemma']}", two, NULL, E_CONFIG, "'lemma' is none of ner, pos");
    records_refuse("conll2003", "{feature_labels: ['pos', 'pos']}", two, NULL, E_CONFIG, "has 'pos' twice");
}

static const char tree[] = "# text = Vámonos al mar\n"
                           "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
                           "1\tVamos\tir\tVERB\tvm\t_\t0\troot\t_\t_\n"
                           "2\tnos\tyo\tPRON\tpp\t_\t1\tobj\t_\t_\n"
                           "2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
                           "3\tNew York\tmar\tPROPN\tnc\t_\t1\tobl\t_\t_\n"
                           "\n"
                           "1\tSí\tsí\tINTJ\ti\t_\t0\troot\t_\t_";

static void test_universal_dependencies(void **state)
{
    (void)state;
    dataset *d = records_must_open("universal_dependencies", "{}", tree, NULL);
    assert_int_equal(dataset_examples(d), 2);
    EXPECT_ROW(d, 0, 2, 3, 1, 2); /* INTJ, PRON, PROPN, VERB */
    EXPECT_ROW(d, 1, 2, 0, -100, -100);
    buf word = BUF_INIT;
    int64_t place;
    assert_true(dataset_word(d, 0, 2, &word, &place));
    assert_string_equal(word.data, "New York");
    buf_fini(&word);
    dataset_close(&d);
    d = records_must_open("universal_dependencies", "{use_language_specific_pos: true}", tree, NULL);
    EXPECT_ROW(d, 0, 2, 3, 2, 1); /* i, nc, pp, vm */
    dataset_close(&d);
}

/* A label is what a word is to its head, and where that stands in the row. */
static void test_dependencies(void **state)
{
    (void)state;
    size_t n;
    dataset *d = records_must_open("universal_dependencies", "{dependencies: true}", tree, NULL);
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 5);
    assert_string_equal(f[2].name, "head_tags");
    assert_string_equal(f[3].name, "pos_tags");
    assert_string_equal(f[4].name, "head_indices");
    assert_int_equal(f[2].classes, 3);
    assert_true(f[4].varies && f[4].filler == -100);
    EXPECT_ROW(d, 0, 2, 2, 0, 1); /* obj, obl, root */
    EXPECT_ROW(d, 0, 3, 4, 2, 3); /* INTJ, PRON, PROPN, VERB */
    EXPECT_ROW(d, 0, 4, 0, 1, 1);
    EXPECT_ROW(d, 1, 4, 0, -100, -100);
    dataset_close(&d);
    d = records_must_open("universal_dependencies", "{dependencies: true, max_length: 2, truncate: true}",
                          "1\tuno\t_\tX\t_\t_\t3\tdep\t_\t_\n2\tdos\t_\tX\t_\t_\t1\tdep\t_\t_\n"
                          "3\ttres\t_\tX\t_\t_\t0\troot\t_\t_\n", NULL);
    EXPECT_ROW(d, 0, 2, -100, 0); /* the first word's head was cut off */
    EXPECT_ROW(d, 0, 4, -100, 1);
    dataset_close(&d);
}

/* --- words by their pieces --- */

static const char pieces_json[] =
    "{\"added_tokens\": [{\"id\": 1, \"content\": \"[CLS]\", \"special\": true, \"normalized\": false,"
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": false},"
    "{\"id\": 2, \"content\": \"[SEP]\", \"special\": true, \"normalized\": false,"
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": false}],"
    "\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true,"
    "\"strip_accents\": null, \"lowercase\": true},"
    "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},"
    "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2], \"cls\": [\"[CLS]\", 1]},"
    "\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\","
    "\"max_input_chars_per_word\": 100, \"vocab\": {\"[PAD]\": 9, \"[CLS]\": 1, \"[SEP]\": 2, \"[UNK]\": 3,"
    "\"an\": 4, \"##a\": 5, \"met\": 6, \"ru\": 7, \"##iz\": 8}}}";

static dataset *with_known_pieces(const char *more, const char *text, const char *vocabulary, status code,
                                  const char *part)
{
    buf b = BUF_INIT;
    buf_adds(&b, pieces_json);
    char *path = test_file(folder_path(), "tokenizer.json", &b);
    buf_clear(&b);
    buf_addf(&b, "{tokenizer: '%s'%s}", path, more);
    error err = ERROR_INIT;
    dataset *d = NULL;
    status st = records_open("conll2003", b.data, text, &(dataset_options){.vocabulary = vocabulary}, &d, &err);
    if (st != code || (part && !strstr(err.text, part)))
        fail_msg("%d, \"%s\"", (int)st, err.text);
    buf_fini(&b);
    free(path);
    return d;
}

static dataset *with_pieces(const char *more, const char *text, status code, const char *part)
{
    return with_known_pieces(more, text, NULL, code, part);
}

static void test_the_first_piece_has_the_label(void **state)
{
    (void)state;
    static const char text[] = "Ana NNP I-NP I-PER\nmet VBD I-VP O\nRuiz NNP I-NP I-PER\nzzz NN I-NP O\n\n"
                               "met VBD I-VP O\n";
    dataset *d = with_pieces("", text, OK, NULL);
    EXPECT_ROW(d, 0, 0, 1, 4, 5, 6, 7, 8, 3, 2);
    EXPECT_ROW(d, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    EXPECT_ROW(d, 0, 2, 0, 1, 1, 2, 3, 3, 4, 0);
    EXPECT_ROW(d, 0, 3, -100, 0, -100, 1, 0, -100, 1, -100);
    EXPECT_ROW(d, 1, 0, 1, 6, 2, 9, 9, 9, 9, 9);
    EXPECT_ROW(d, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0);
    EXPECT_ROW(d, 1, 2, 0, 1, 0, 0, 0, 0, 0, 0);
    EXPECT_ROW(d, 1, 3, -100, 1, -100, -100, -100, -100, -100, -100);
    assert_string_equal(dataset_fields(d, &(size_t){0})[2].name, "word_ids");
    assert_int_equal(dataset_fields(d, &(size_t){0})[3].classes, 2);
    dataset_close(&d);
}

static void test_another_tokenizer_is_refused(void **state)
{
    (void)state;
    static const char text[] = "Ana NNP I-NP I-PER\n";
    dataset *d = with_pieces("", text, OK, NULL);
    assert_int_equal(dataset_fields(d, &(size_t){0})[0].tokens, 10);
    char *known = xstrdup(dataset_vocabulary(d)), *sum = strstr(known, "tokenizer_sha256\":\"");
    dataset_close(&d);
    d = with_known_pieces("", text, known, OK, NULL);
    dataset_close(&d);
    sum[strlen("tokenizer_sha256\":\"")] ^= 1;
    with_known_pieces("", text, known, E_DATA, "is another tokenizer than that of 'the job's vocabulary'");
    with_known_pieces("", text, "{\"tags\": {\"label\": [\"I-PER\"]}}", E_DATA,
                      "does not say which tokenizer the training data were read by");
    free(known);
}

/* A zero-width blank is nothing to BERT's normalizer. */
static void test_a_word_of_nothing_is_the_unknown_token(void **state)
{
    (void)state;
    dataset *d = with_pieces("", "met VBD I-VP O\n\xE2\x80\x8B NN I-NP O\n", OK, NULL);
    EXPECT_ROW(d, 0, 0, 1, 6, 3, 2);
    EXPECT_ROW(d, 0, 2, 0, 1, 2, 0);
    EXPECT_ROW(d, 0, 3, -100, 0, 0, -100);
    dataset_close(&d);
}

static void test_long_sentences(void **state)
{
    (void)state;
    static const char text[] = "met VBD I-VP O\nAna NNP I-NP I-PER\n\nmet VBD I-VP O\n";
    with_pieces(", max_length: 4", text, E_DATA, "t.data': line 1: a sentence of 5 tokens; max_length is 4");
    with_pieces(", max_length: 2", text, E_CONFIG, "max_length: 2 leaves no room for a word");
    dataset *d = with_pieces(", max_length: 4, truncate: true", text, OK, NULL);
    EXPECT_ROW(d, 0, 0, 1, 6, 2);
    buf word = BUF_INIT;
    int64_t place;
    assert_true(dataset_word(d, 0, 1, &word, &place));
    assert_int_equal(place, -1);
    buf_fini(&word);
    dataset_close(&d);
    with_pieces(", max_length: 3, truncate: true", "Ana NNP I-NP I-PER\n", E_DATA,
                "line 1: the first word alone has more tokens than max_length 3");
}

/* --- coding schemes --- */

static void expect_scheme(coding_scheme to, const char *const *row, size_t n, const char *expected)
{
    tag_text tags[LONGEST];
    buf out = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        tags[i] = (tag_text){row[i], (uint32_t)strlen(row[i])};
    for (size_t i = 0; i < n; i++) {
        assert_true(coding_scheme_knows(&tags[i]));
        coding_scheme_write(to, tags, n, i, &out);
        buf_adds(&out, " ");
    }
    assert_string_equal(out.data, expected);
    buf_fini(&out);
}

/* The same spans, written in three ways, become the same in each. */
static void test_schemes(void **state)
{
    (void)state;
    static const char *const rows[][7] = {
        {"I-A", "I-A", "B-A", "O", "I-B", "I-A", "I-A"},
        {"B-A", "I-A", "B-A", "O", "B-B", "B-A", "I-A"},
        {"B-A", "L-A", "U-A", "O", "U-B", "B-A", "L-A"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_scheme(CODING_IOB1, rows[i], 7, "I-A I-A B-A O I-B I-A I-A ");
        expect_scheme(CODING_BIO, rows[i], 7, "B-A I-A B-A O B-B B-A I-A ");
        expect_scheme(CODING_BIOUL, rows[i], 7, "B-A L-A U-A O U-B B-A L-A ");
    }
    expect_scheme(CODING_AS_IT_IS, rows[1], 7, "B-A I-A B-A O B-B B-A I-A ");
    static const char *const three[] = {"I-A", "I-A", "I-A", "L-A", "I-A"};
    expect_scheme(CODING_BIOUL, three, 5, "B-A I-A I-A L-A U-A ");
    static const char *const bad[] = {"", "X-A", "BA", "OO", "0"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(coding_scheme_knows(&(tag_text){bad[i], (uint32_t)strlen(bad[i])}));
}

static void test_tags_are_converted(void **state)
{
    (void)state;
    dataset *d = records_must_open("conll2003", "{coding_scheme: 'BIOUL'}", two, NULL);
    EXPECT_ROW(d, 0, 2, 3, 2, 0, 1); /* B-PER, L-PER, O, U-PER */
    dataset_close(&d);
}

/* --- refusals --- */

static void test_malformed_lines(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text, *part;
    } cases[] = {
        {"conll2003", "Ana NNP I-NP I-PER\nmet VBD\n",
         "t.data': line 2: has 2 columns; expected 4: word, part of speech, chunk, name"},
        {"conll2003", "Ana NNP I-NP I-PER more\n", "line 1: has 5 columns; expected 4"},
        {"conll2003", "Ana NNP I-NP PER\n", "line 1: the tag 'PER' is neither O nor one of the letters B, I, L, U"},
        {"conll2003", "Ana NNP I-NP O\n\377 NNP I-NP O\n", "line 2: byte 0 of the line (ff) begins no character"},
        {"conll2003", "\n\n-DOCSTART- -X- O O\n", "holds no sentence"},
        {"universal_dependencies", "1\tAna\tAna\tPROPN\n", "line 1: has 4 columns; expected 10: of CoNLL-U"},
        {"universal_dependencies", "1 Ana _ PROPN _ _ _ _ _ _\n", "line 1: has 1 column; expected 10"},
        {"universal_dependencies", "2\tAna\t_\tPROPN\t_\t_\t_\t_\t_\t_\n",
         "line 1: '2' numbers a word; expected 1, or a part of it as 1-2"},
        {"universal_dependencies", "x\tAna\t_\tPROPN\t_\t_\t_\t_\t_\t_\n", "line 1: 'x' numbers a word; expected 1"},
        {"universal_dependencies", "1\t\t_\tPROPN\t_\t_\t_\t_\t_\t_\n", "line 1: the word is empty"},
        {"universal_dependencies", "1\tAna\t_\t\t_\t_\t_\t_\t_\t_\n", "line 1: the tag 'upos' is empty"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        records_refuse(cases[i].type, "{}", cases[i].text, NULL, E_DATA, cases[i].part);
}

static void test_malformed_heads(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"_", "line 1: the head is '_'; expected a word's number, or 0 of the root"},
        {"", "line 1: the head is ''; expected a word's number"},
        {"1x", "line 1: the head is '1x'; expected a word's number"},
        {"4294967296", "line 1: the head is '4294967296'; expected a word's number"},
        {"-1", "line 1: the head is '-1'; expected a word's number"},
        {"2", "line 1: the head is 2; expected another word of 1, or 0 of the root"},
        {"1", "line 1: the head is 1; expected another word of 1, or 0 of the root"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = xasprintf("1\tAna\t_\tPROPN\t_\t_\t%s\troot\t_\t_\n", cases[i][0]);
        records_refuse("universal_dependencies", "{dependencies: true}", text, NULL, E_DATA, cases[i][1]);
        free(text);
    }
}

/* What is predicted needs no tags. */
static void test_without_labels(void **state)
{
    (void)state;
    dataset *d = NULL;
    size_t n;
    const dataset_options how = {
        .vocabulary = "{\"tags\": {\"label\": [\"I-PER\", \"O\"]}, \"words\": [\"Ana\"]}", .without_labels = true};
    assert_int_equal(records_open("conll2003", "{}", "Ana\nmet nobody\n\nRain\n", &how, &d, NULL), OK);
    dataset_fields(d, &n);
    assert_int_equal(n, 2);
    EXPECT_ROW(d, 0, 0, 2, 1);
    buf tag = BUF_INIT;
    assert_true(dataset_label_word(d, 0, &tag));
    assert_string_equal(tag.data, "I-PER");
    buf_fini(&tag);
    dataset_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conll2003),
        cmocka_unit_test(test_other_data_are_read_by_the_vocabulary),
        cmocka_unit_test(test_a_vocabulary_grows),
        cmocka_unit_test(test_rare_words_are_unknown),
        cmocka_unit_test(test_which_words),
        cmocka_unit_test(test_words_are_lowered_as_those_of_the_vocabulary),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_universal_dependencies),
        cmocka_unit_test(test_dependencies),
        cmocka_unit_test(test_malformed_heads),
        cmocka_unit_test(test_the_first_piece_has_the_label),
        cmocka_unit_test(test_another_tokenizer_is_refused),
        cmocka_unit_test(test_a_word_of_nothing_is_the_unknown_token),
        cmocka_unit_test(test_long_sentences),
        cmocka_unit_test(test_schemes),
        cmocka_unit_test(test_tags_are_converted),
        cmocka_unit_test(test_malformed_lines),
        cmocka_unit_test(test_without_labels),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
