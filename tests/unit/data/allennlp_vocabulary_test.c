/* AllenNLP's folders of words and classes, and archives of them, as a vocabulary.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/allennlp_vocabulary.h"
#include "data/index/archive_write.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 4 };

typedef struct file {
    const char *name, *text;
} file;

static char *write_folder(const char *name, const file *files)
{
    char *folder = xasprintf("%s/%s", folder_path(), name);
    assert_int_equal(mkdir(folder, 0755), 0);
    for (size_t i = 0; i < FILES_MOST && files[i].name; i++) {
        buf text = {.data = (char *)(uintptr_t)files[i].text, .size = strlen(files[i].text)};
        free(test_file(folder, files[i].name, &text));
    }
    return folder;
}

static char *write_archive(const char *name, const char *below, const file *files)
{
    archive_writer *w = NULL;
    error err = ERROR_INIT;
    char *path = xasprintf("%s/%s", folder_path(), name);
    assert_int_equal(archive_writer_create(path, &w, &err), OK);
    for (size_t i = 0; i < FILES_MOST && files[i].name; i++) {
        char *member = xasprintf("%s%s", below, files[i].name);
        assert_int_equal(archive_writer_add(w, member, files[i].text, strlen(files[i].text), &err), OK);
        free(member);
    }
    assert_int_equal(archive_writer_finish(&w, &err), OK);
    return path;
}

static void expect(char *path, const char *wanted)
{
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    assert_true(allennlp_vocabulary_is(path));
    if (allennlp_vocabulary_read(path, &text, &err) != OK)
        fail_msg("%s", err.text);
    assert_string_equal(text.data, wanted);
    buf_fini(&text);
    free(path);
}

static void refuse(char *path, const char *part)
{
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    assert_int_equal(allennlp_vocabulary_read(path, &text, &err), E_DATA);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_int_equal(text.size, 0);
    buf_fini(&text);
    free(path);
}

static const file usual[FILES_MOST] = {{"labels.txt", "O\r\nB-PER\n"},
                                       {"tokens.txt", "@@UNKNOWN@@\nana\n"},
                                       {"non_padded_namespaces.txt", "*labels\n*tags"}};
static const char of_usual[] = "{\"label\":{\"label\":[\"O\",\"B-PER\"]},\"tags\":{\"label\":[\"O\",\"B-PER\"]},"
                               "\"tokenizer_sha256\":null,\"words\":[\"ana\"]}";

static void test_folders_and_archives(void **state)
{
    (void)state;
    expect(write_folder("usual", usual), of_usual);
    expect(write_archive("root.tar.gz", "", usual), of_usual);
    expect(write_archive("below.tar.gz", "vocabulary/", usual), of_usual);
}

static void test_namespaces(void **state)
{
    (void)state;
    char *folder;
    static const file trees[FILES_MOST] = {
        {"head_tags.txt", "det\nroot\n"}, {"pos.txt", "@@UNKNOWN@@\nNOUN\n"}, {"tokens.txt", "@@UNKNOWN@@\n"}};
    static const file own[FILES_MOST] = {{"ner_labels.txt", "O\n"}, {"chunk_tags.txt", "B-NP\n"}};
    folder = write_folder("trees", trees);
    assert_true(allennlp_vocabulary_has_classes(folder));
    expect(folder,
           "{\"tags\":{\"head_tags\":[\"det\",\"root\"],\"pos_tags\":[\"NOUN\"]},\"tokenizer_sha256\":null,"
           "\"words\":[]}");
    expect(write_folder("own", own), "{\"label\":{\"label\":[\"O\"]},\"tags\":{\"chunk_tags\":[\"B-NP\"],"
                                     "\"label\":[\"O\"]},\"tokenizer_sha256\":null}");
}

static void test_refusals(void **state)
{
    (void)state;
    static const file words[FILES_MOST] = {{"tokens.txt", "ana\n"}};
    static const file broken[FILES_MOST] = {{"labels.txt", "O\n\377\n"}};
    static const file twice[FILES_MOST] = {{"a/labels.txt", "O\n"}, {"b/labels.txt", "P\n"}};
    char *folder = write_folder("words", words);
    assert_false(allennlp_vocabulary_has_classes(folder));
    refuse(folder, "words': is no vocabulary of AllenNLP's: it has no labels.txt");
    refuse(write_folder("broken", broken), "labels.txt': line 2 is no UTF-8 text");
    refuse(write_archive("twice.tar.gz", "", twice),
           "twice.tar.gz': has two files labels.txt; expected one vocabulary");
    buf text = {.data = (char *)(uintptr_t)"{}", .size = 2};
    char *json = test_file(folder_path(), "vocabulary.json", &text);
    assert_false(allennlp_vocabulary_is(json));
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders_and_archives),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
