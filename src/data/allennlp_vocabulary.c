#include "data/allennlp_vocabulary.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 256 << 20 };

bool allennlp_vocabulary_is(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The lines of a file, but for the word that stands for unknown ones. */
static json_t *lines_of(char *text)
{
    json_t *list = json_array();
    for (char *line = text, *end; line && *line; line = end) {
        size_t n = strcspn(line, "\n");
        end = line + n + (line[n] == '\n');
        line[n - (n && line[n - 1] == '\r')] = '\0';
        if (strcmp(line, "@@UNKNOWN@@") != 0)
            json_array_append_new(list, json_string(line));
    }
    return list;
}

/* NULL where the file is not there, and need not be. */
static status read_list(const char *folder, const char *name, bool is_needed, json_t **ret, error *err)
{
    char *path = xasprintf("%s/%s", folder, name);
    buf text = BUF_INIT;
    status st = OK;
    *ret = NULL;
    if (fs_exists(path))
        st = fs_read(path, FILE_LIMIT, &text, err);
    else if (is_needed)
        st = FAIL(err, E_DATA, "'%s': is no vocabulary of AllenNLP's: it has no %s", folder, name);
    if (st == OK && (is_needed || text.data))
        *ret = lines_of(text.data);
    buf_fini(&text);
    free(path);
    return st;
}

status allennlp_vocabulary_read(const char *folder, buf *ret, error *err)
{
    json_t *labels = NULL, *words = NULL;
    TRY(read_list(folder, "labels.txt", true, &labels, err));
    status st = read_list(folder, "tokens.txt", false, &words, err);
    if (st != OK) {
        json_decref(labels);
        return st;
    }
    json_t *all = json_pack("{s:{s:O}, s:{s:O}, s:n}", "label", "label", labels, "tags", "label", labels,
                            "tokenizer_sha256");
    if (words)
        json_object_set(all, "words", words);
    char *text = json_text(all);
    buf_adds(ret, text);
    free(text);
    json_decref(all);
    json_decref(words);
    json_decref(labels);
    return OK;
}
