/*
 * The reader transformer_squad: its examples are those of AllenNLP's rules, which tests/golden/make_squad_reader.py
 * has written out, and so is the text that stands at positions; lines of questions; every refusal, by its place.
 * With a file that the script made of other data, only that is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "data/data.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { IDS, TYPES, ATTENTION, CONTEXT, ANSWER, FIELDS };

/* --- golden examples --- */

static char *write_json(const char *name, const json_t *value)
{
    char *text = json_text(value), *path = folder_file("%s", name);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    free(text);
    return path;
}

/* Of the name of a file in the tests of tokenizers, or of one that stands elsewhere. */
static char *tokenizer_file(const json_t *set)
{
    const char *path = json_string_value(json_object_get(set, "tokenizer_path"));
    if (path)
        return xstrdup(path);
    char *from = xasprintf("%s/../../text/data/%s.json", TEST_DATA_DIR,
                           json_string_value(json_object_get(set, "tokenizer")));
    json_t *whole = json_load_file(from, JSON_ALLOW_NUL, NULL);
    assert_non_null(whole);
    char *to = write_json("tokenizer.json", json_object_get(whole, "tokenizer"));
    json_decref(whole);
    free(from);
    return to;
}

static int64_t integer(const json_t *o, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(o, key);
    return value ? json_integer_value(value) : otherwise;
}

static char *reader_of(const json_t *set)
{
    const json_t *o = json_object_get(set, "options");
    char *tokenizer = tokenizer_file(set);
    char *text = xasprintf("{transformer_model_name: '%s', length_limit: %lld, stride: %lld, max_query_length: %lld, "
                           "skip_invalid_examples: %s}",
                           tokenizer, (long long)integer(o, "length_limit", 384), (long long)integer(o, "stride", 128),
                           (long long)integer(o, "max_query_length", 64),
                           json_is_true(json_object_get(o, "skip")) ? "true" : "false");
    free(tokenizer);
    return text;
}

static int64_t at(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

static void check_tokens(int64_t *const field[FIELDS], int64_t limit, const json_t *golden)
{
    const json_t *ids = json_object_get(golden, "ids"), *types = json_object_get(golden, "types");
    const json_t *context = json_object_get(golden, "context"), *answer = json_object_get(golden, "answer");
    for (int64_t i = 0; i < limit; i++) {
        bool is_there = (size_t)i < json_array_size(ids);
        assert_int_equal(field[ATTENTION][i], is_there);
        assert_int_equal(field[CONTEXT][i], i == 0 || (i >= at(context, 0) && i <= at(context, 1)));
        if (is_there) {
            assert_int_equal(field[IDS][i], at(ids, (size_t)i));
            assert_int_equal(field[TYPES][i], at(types, (size_t)i));
        }
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(field[ANSWER][i], at(answer, i));
}

static void check_text(const dataset *d, int64_t example, const json_t *golden)
{
    const json_t *shown = json_object_get(golden, "shown");
    dataset_answer a;
    assert_int_equal(dataset_answer_read(d, example, at(shown, 0), at(shown, 1), &a, NULL), OK);
    assert_string_equal(a.text, json_string_value(json_object_get(golden, "text")));
    assert_int_equal(a.first, at(shown, 0) - at(json_object_get(golden, "context"), 0));
    buf place = BUF_INIT;
    char *expected = xasprintf("question '%s', from token %lld of its text", a.id, (long long)a.window);
    dataset_place(d, example, &place);
    assert_string_equal(place.data, expected);
    buf_fini(&place);
    free(expected);
    dataset_answer_fini(&a);
}

static void check_set(const json_t *set, const char *path)
{
    char *reader = reader_of(set);
    const json_t *examples = json_object_get(set, "examples");
    error err = ERROR_INIT;
    dataset *d = NULL;
    size_t n;
    if (records_open_path("transformer_squad", reader, path, &(dataset_options){.vocabulary = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    const data_field *f = dataset_fields(d, &n);
    int64_t *field[FIELDS], limit = f[IDS].dim[0];
    assert_int_equal(n, FIELDS);
    for (size_t i = 0; i < n; i++)
        field[i] = xcalloc(1, data_field_bytes(&f[i]));
    assert_int_equal(dataset_examples(d), json_array_size(examples));
    for (int64_t i = 0; i < dataset_examples(d); i++) {
        const json_t *golden = json_array_get(examples, (size_t)i);
        assert_int_equal(dataset_read(d, i, (void *const *)field, NULL), OK);
        assert_int_equal(dataset_lengths(d)[i], json_array_size(json_object_get(golden, "ids")));
        check_tokens(field, limit, golden);
        check_text(d, i, golden);
    }
    for (size_t i = 0; i < n; i++)
        free(field[i]);
    dataset_close(&d);
    free(reader);
}

static const char *other_golden;

static void test_examples_are_those_of_the_rules(void **state)
{
    (void)state;
    size_t i;
    json_t *set;
    char *own = xasprintf("%s/squad.json", TEST_DATA_DIR);
    json_t *whole = json_load_file(other_golden ? other_golden : own, 0, NULL);
    assert_non_null(whole);
    char *file = write_json("squad.json", json_object_get(whole, "file"));
    json_array_foreach(json_object_get(whole, "sets"), i, set)
    {
        const char *path = json_string_value(json_object_get(set, "path"));
        check_set(set, path ? path : file);
    }
    json_decref(whole);
    free(file);
    free(own);
}

/* --- files of other kinds --- */

/* A tokenizer of words, of which one has that number and one the other of 5 and 6. */
static void write_words(const char *path, int one)
{
    static const char json[] =
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[PAD]\": 0, \"[UNK]\": 1, "
        "\"[CLS]\": 2, \"[SEP]\": 3, \"a\": 4, \"one\": %d, \"two\": %d, \"three\": 7, \"what\": 8}}, "
        "\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"added_tokens\": [], "
        "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]}}";
    char *text = xasprintf(json, one, 11 - one);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    free(text);
}

/* The options of a reader with that tokenizer. */
static char *words_reader(const char *more)
{
    char *path = folder_file("words.json");
    write_words(path, 5);
    char *reader = xasprintf("{transformer_model_name: '%s', length_limit: 8, stride: 1} + {%s}", path, more);
    free(path);
    return reader;
}

static dataset *open_text(const char *more, const char *text, bool without_labels)
{
    char *reader = words_reader(more);
    dataset *d = NULL;
    error err = ERROR_INIT;
    dataset_options how = {.without_labels = without_labels};
    if (records_open("transformer_squad", reader, text, &how, &d, &err) != OK)
        fail_msg("%s", err.text);
    free(reader);
    return d;
}

static void refuse(const char *more, const char *text, status code, const char *part)
{
    char *reader = words_reader(more);
    records_refuse("transformer_squad", reader, text, NULL, code, part);
    free(reader);
}

#define FILE_OF(paragraph) "{\"version\": 1, \"data\": [{\"title\": \"t\", \"paragraphs\": [" paragraph "]}]}"
#define PARAGRAPH(answers)                                                                                           \
    "{\"context\": \"one two three one\", \"qas\": [{\"id\": \"q\", \"question\": \"what\", \"answers\": [" answers  \
    "]}]}"

static void test_lines_of_questions(void **state)
{
    (void)state;
    dataset *d = open_text("", "{\"question\": \"what\", \"context\": \"one two\"}\n"
                               "{\"id\": \"x\", \"passage\": \"two one two three\", \"question\": \"one\"}\n", true);
    size_t n;
    dataset_fields(d, &n);
    assert_int_equal(n, FIELDS - 1);
    assert_int_equal(dataset_examples(d), 2);
    assert_true(dataset_asks(d));
    dataset_answer a;
    assert_int_equal(dataset_answer_read(d, 1, 4, 5, &a, NULL), OK);
    assert_string_equal(a.text, "one two");
    assert_string_equal(a.id, "x");
    assert_int_equal(a.n_gold, 0);
    assert_int_equal(a.n_context_tokens, 4);
    assert_string_equal(a.context_tokens[3], "three");
    dataset_answer_fini(&a);
    assert_int_equal(dataset_answer_read(d, 1, 0, 5, &a, NULL), OK);
    assert_string_equal(a.text, "");
    assert_int_equal(a.last, -1);
    dataset_answer_fini(&a);
    dataset_close(&d);
}

/* In the order of the files' names; one may be empty, and kinds may be mixed. */
static void test_files_of_a_folder(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } files[] = {
        {"b.json", FILE_OF(PARAGRAPH("{\"text\": \"two three\", \"answer_start\": 4}"))},
        {"c.jsonl", "{\"question\": \"what\", \"context\": \"two one\", \"answers\": [{\"text\": \"one\", "
                    "\"answer_start\": 4}]}\n"},
        {"a.json", "\n"},
    };
    char *folder = folder_file("shards"), *reader = words_reader("");
    error err = ERROR_INIT;
    dataset *d = NULL;
    int64_t row[FIELDS][8];
    void *out[FIELDS];
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *path = folder_file("shards/%s", files[i].name);
        assert_int_equal(fs_write_atomic(path, files[i].text, strlen(files[i].text), NULL), OK);
        free(path);
    }
    if (records_open_path("transformer_squad", reader, folder, &(dataset_options){.vocabulary = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < FIELDS; i++)
        out[i] = row[i];
    assert_int_equal(dataset_examples(d), 2);
    assert_int_equal(dataset_read(d, 0, out, NULL), OK);
    assert_true(row[ANSWER][0] == 4 && row[ANSWER][1] == 5);
    assert_int_equal(dataset_read(d, 1, out, NULL), OK);
    assert_true(row[ANSWER][0] == 4 && row[ANSWER][1] == 4);
    dataset_answer a;
    assert_int_equal(dataset_answer_read(d, 1, 3, 4, &a, NULL), OK);
    assert_string_equal(a.text, "two one");
    assert_string_equal(a.gold[0], "one");
    dataset_answer_fini(&a);
    dataset_close(&d);
    free(reader);
    free(folder);
}

static void take_facts(const char *text, buf *ret)
{
    dataset *d = open_text("", text, false);
    dataset_facts(d, "train_data_path", FACTS_SAMPLED, ret);
    dataset_close(&d);
}

/* Two tasks that differ in nothing else read different data. */
static void test_answers_are_among_what_is_compared(void **state)
{
    (void)state;
    buf first = BUF_INIT, last = BUF_INIT, again = BUF_INIT;
    take_facts(FILE_OF(PARAGRAPH("{\"text\": \"one\", \"answer_start\": 0}")), &first);
    take_facts(FILE_OF(PARAGRAPH("{\"text\": \"one\", \"answer_start\": 14}")), &last);
    take_facts(FILE_OF(PARAGRAPH("{\"text\": \"one\", \"answer_start\": 0}")), &again);
    assert_string_equal(first.data, again.data);
    assert_string_not_equal(first.data, last.data);
    buf_fini(&first);
    buf_fini(&last);
    buf_fini(&again);
}

/* --- the same tokenizer for all data --- */

typedef struct nesting {
    const char *type, *before, *behind; /* what stands around the options of the reader of the files */
    const char *data;                   /* beside words.json */
} nesting;

static const nesting nestings[] = {
    {"transformer_squad", "", "", "same/a"},
    {"sharded", "{base_reader: {type: 'transformer_squad'} + ", "}", "same"},
    {"multitask", "{readers: [{name: 'a', reader: {type: 'transformer_squad'} + ", "}]}", "same"},
};

static status opens(const nesting *n, const char *vocabulary, int one, dataset **ret, error *err)
{
    char *own = words_reader(""), *words = folder_file("words.json"), *data = folder_file("%s", n->data);
    char *reader = xasprintf("%s%s%s", n->before, own, n->behind);
    const dataset_options how = {.vocabulary = vocabulary};
    write_words(words, one);
    status st = records_open_path(n->type, reader, data, &how, ret, err);
    free(reader);
    free(data);
    free(words);
    free(own);
    return st;
}

static void check_nesting(const nesting *n)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (opens(n, NULL, 5, &d, &err) != OK)
        fail_msg("%s", err.text);
    char *vocabulary = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    assert_int_equal(opens(n, vocabulary, 5, &d, &err), OK);
    dataset_close(&d);
    assert_int_equal(opens(n, vocabulary, 6, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "words.json': is another tokenizer than that of 'the job's vocabulary'"));
    free(vocabulary);
}

/* It has as many tokens, but other ones, which no model could notice. */
static void test_another_tokenizer_is_refused(void **state)
{
    (void)state;
    static const char text[] = FILE_OF(PARAGRAPH("{\"text\": \"two\", \"answer_start\": 4}"));
    char *folder = folder_file("same"), *path = folder_file("same/a");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(fs_write_atomic(path, text, strlen(text), NULL), OK);
    for (size_t i = 0; i < COUNT_OF(nestings); i++)
        check_nesting(&nestings[i]);
    free(folder);
    free(path);
}

/* What a reader alone has learned tells tasks, and what they have learned tells it, which tokenizer it was. */
static void test_vocabularies_of_one_reader_and_of_several(void **state)
{
    (void)state;
    const nesting one = nestings[0], several = nestings[2], *const pairs[][2] = {{&one, &several}, {&several, &one}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        dataset *d = NULL;
        assert_int_equal(opens(pairs[i][0], NULL, 5, &d, NULL), OK);
        char *vocabulary = xstrdup(dataset_vocabulary(d));
        dataset_close(&d);
        assert_int_equal(opens(pairs[i][1], vocabulary, 5, &d, NULL), OK);
        dataset_close(&d);
        assert_int_equal(opens(pairs[i][1], vocabulary, 6, &d, NULL), E_DATA);
        free(vocabulary);
    }
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(opens(&several, "{\"tasks\": {\"b\": \"{}\"}}", 5, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "'the job's vocabulary': has no vocabulary of the task 'a'"));
}

static void test_misplaced_answers(void **state)
{
    (void)state;
    static const char text[] = FILE_OF(PARAGRAPH("{\"text\": \"two\", \"answer_start\": 5}") ", "
                                       PARAGRAPH("{\"text\": \"two\", \"answer_start\": 4}"));
    refuse("", text, E_DATA, "question 'q': the answer 'two' does not stand at answer_start 5: 'wo three one' does; "
                             "dataset_reader.misplaced_answers");
    dataset *d = open_text("misplaced_answers: 'skip'", text, false);
    assert_int_equal(dataset_examples(d), 1);
    dataset_close(&d);
    refuse("misplaced_answers: 'skip'", FILE_OF(PARAGRAPH("{\"text\": \"x\", \"answer_start\": 99}")), E_DATA,
           "no example is left of 1 questions: 1 have a misplaced answer");
    refuse("", FILE_OF(PARAGRAPH("{\"text\": \"two\"}")), E_DATA, "the answer 'two' has no 'answer_start'");
}

/* Though training takes the first alone, the others are what judging compares with. */
static void test_a_misplaced_second_answer(void **state)
{
    (void)state;
#define FIRST "{\"text\": \"two\", \"answer_start\": 4}, "
    static const char text[] = FILE_OF(PARAGRAPH(FIRST "{\"text\": \"two three\", \"answer_start\": 3}") ", "
                                       PARAGRAPH(FIRST "{\"text\": \"wo thr\", \"answer_start\": 5}"));
    refuse("", text, E_DATA,
           "question 'q': the answer 'two three' does not stand at answer_start 3: ' two three one' does");
    dataset *d = open_text("misplaced_answers: 'skip'", text, false);
    assert_int_equal(dataset_examples(d), 1);
    dataset_close(&d);
    d = open_text("", text, true);
    assert_int_equal(dataset_examples(d), 2);
    dataset_close(&d);
    refuse("", FILE_OF(PARAGRAPH(FIRST "{\"text\": \"two\"}")), E_DATA, "the answer 'two' has no 'answer_start'");
#undef FIRST
}

static void test_what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    refuse("", "{\"data\": [{\"paragraphs\": [{\"context\": \"one\" \"qas\": []}]}]}", E_DATA, "byte ");
    refuse("", "{\"data\": [{\"title\": \"t\"}]}", E_DATA, "the object at byte 10 has no 'paragraphs'");
    refuse("", "{\"data\": []}", E_DATA, "has no paragraphs");
    refuse("", FILE_OF("{\"qas\": []}"), E_DATA, "the paragraph at byte 54: has no string 'context'");
    refuse("", FILE_OF("{\"context\": \"one\"}"), E_DATA, "has no list 'qas'");
    refuse("", FILE_OF("{\"context\": \" \", \"qas\": []}"), E_DATA, "'context' has no token");
    refuse("", FILE_OF("{\"context\": \"one\", \"qas\": [{\"id\": \"q\"}]}"), E_DATA, "has no string 'question'");
    refuse("", FILE_OF(PARAGRAPH("3")), E_DATA, "question 'q': answer 0 has no string 'text'");
    refuse("", FILE_OF(PARAGRAPH("")) " x", E_DATA, "the file goes on behind its end");
    refuse("", "{\"id\": 3}", E_DATA, "neither SQuAD's");
    refuse("", "[1]", E_DATA, "byte 0: expected '{'");
    refuse("stride: 4", FILE_OF("{\"context\": \"one two three one two\", \"qas\": [{\"question\": \"what\"}]}"),
           E_CONFIG, "length_limit 8 leaves 4 tokens for a context beside a question of 1, which must be more than "
                     "the stride, 4");
    refuse("skip_invalid_examples: true", FILE_OF(PARAGRAPH("")), E_DATA, "windows without an answer are skipped");
    refuse("skip_invalid_examples: true, skip_impossible_questions: false", FILE_OF(PARAGRAPH("")), E_CONFIG,
           "are two names of one option");
    refuse("transformer_model_name: '/nowhere'", FILE_OF(PARAGRAPH("")), E_DATA, "transformer_model_name");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_are_those_of_the_rules),
        cmocka_unit_test(test_lines_of_questions),
        cmocka_unit_test(test_files_of_a_folder),
        cmocka_unit_test(test_answers_are_among_what_is_compared),
        cmocka_unit_test(test_another_tokenizer_is_refused),
        cmocka_unit_test(test_vocabularies_of_one_reader_and_of_several),
        cmocka_unit_test(test_misplaced_answers),
        cmocka_unit_test(test_a_misplaced_second_answer),
        cmocka_unit_test(test_what_is_wrong_is_said_with_its_place),
    };
    other_golden = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
