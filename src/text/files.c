/*
 * See load.h: vocab.txt as BERT's tokenizers have it, and vocab.json with merges.txt (or encoder.json with
 * vocab.bpe) as GPT-2's have them, are turned into the tokenizer.json that says the same.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "text/load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 1 << 28 };

static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return xasprintf("%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* tokenizer_config.json beside the file; an empty object where there is none. */
static status read_config(const char *path, json_t **ret, error *err)
{
    char *config = beside(path, "tokenizer_config.json");
    status st = OK;
    *ret = NULL;
    if (fs_exists(config))
        st = json_read_file(config, ret, err);
    else
        *ret = json_object();
    free(config);
    return st;
}

static bool config_says(const json_t *config, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(config, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* Calls `take` for each line, without its end. */
typedef status line_taker(void *user, const char *line, size_t bytes, size_t number, error *err);
static status each_line(const char *path, line_taker *take, void *user, error *err)
{
    buf text = BUF_INIT;
    TRY(fs_read(path, FILE_LIMIT, &text, err));
    status st = OK;
    size_t number = 0;
    for (size_t at = 0; at < text.size && st == OK; number++) {
        const char *line = text.data + at, *end = memchr(line, '\n', text.size - at);
        size_t bytes = end ? (size_t)(end - line) : text.size - at;
        at += bytes + 1;
        st = take(user, line, bytes > 0 && line[bytes - 1] == '\r' ? bytes - 1 : bytes, number, err);
    }
    buf_fini(&text);
    return st;
}

typedef struct lines {
    const char *path;
    json_t *out;
} lines;

static status take_token(void *user, const char *line, size_t bytes, size_t number, error *err)
{
    lines *l = user;
    if (json_object_setn_new(l->out, line, bytes, json_integer((json_int_t)number)) != 0)
        return FAIL(err, E_DATA, "'%s': line %zu is no UTF-8", l->path, number + 1);
    return OK;
}

static status take_merge(void *user, const char *line, size_t bytes, size_t number, error *err)
{
    lines *l = user;
    if (bytes == 0 || (number == 0 && bytes >= 8 && memcmp(line, "#version", 8) == 0))
        return OK;
    if (json_array_append_new(l->out, json_stringn(line, bytes)) != 0)
        return FAIL(err, E_DATA, "'%s': line %zu is no UTF-8", l->path, number + 1);
    return OK;
}

/* Those of the texts that the vocabulary has, as special tokens. */
static json_t *special_tokens(const json_t *vocab, const char *const *texts, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *id = json_object_get(vocab, texts[i]);
        if (id)
            json_array_append_new(list, json_pack("{s:O, s:s, s:b, s:b}", "id", id, "content", texts[i], "special",
                                                  1, "normalized", 0));
    }
    return list;
}

static status read_bert(const char *path, json_t **ret, error *err)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    json_t *config = NULL, *vocab = json_object();
    status st = each_line(path, take_token, &(lines){path, vocab}, err);
    if (st == OK)
        st = read_config(path, &config, err);
    if (st != OK) {
        json_decref(vocab);
        return st;
    }
    json_t *cls = json_object_get(vocab, "[CLS]"), *sep = json_object_get(vocab, "[SEP]");
    json_t *normalize = json_pack("{s:s, s:b, s:b}", "type", "BertNormalizer", "lowercase",
                                   config_says(config, "do_lower_case", true), "handle_chinese_chars",
                                   config_says(config, "tokenize_chinese_chars", true));
    if (json_is_boolean(json_object_get(config, "strip_accents")))
        json_object_set(normalize, "strip_accents", json_object_get(config, "strip_accents"));
    *ret = json_pack("{s:o, s:o, s:{s:s}, s:{s:s}, s:{s:s, s:O}}", "added_tokens",
                     special_tokens(vocab, specials, COUNT_OF(specials)), "normalizer", normalize, "pre_tokenizer",
                     "type", "BertPreTokenizer", "decoder", "type", "WordPiece", "model", "type", "WordPiece",
                     "vocab", vocab);
    if (cls && sep)
        json_object_set_new(*ret, "post_processor",
                            json_pack("{s:s, s:[s, O], s:[s, O]}", "type", "BertProcessing", "cls", "[CLS]", cls,
                                      "sep", "[SEP]", sep));
    json_decref(vocab);
    json_decref(config);
    return OK;
}

static status read_gpt2(const char *path, const char *merges_path, json_t **ret, error *err)
{
    static const char *const specials[] = {"<|endoftext|>"};
    json_t *config = NULL, *vocab = NULL, *merges = json_array();
    status st = json_read_file(path, &vocab, err);
    if (st == OK)
        st = each_line(merges_path, take_merge, &(lines){merges_path, merges}, err);
    if (st == OK)
        st = read_config(path, &config, err);
    if (st == OK)
        *ret = json_pack("{s:o, s:{s:s, s:b, s:b}, s:{s:s, s:b}, s:{s:s}, s:{s:s, s:O, s:O}}", "added_tokens",
                         special_tokens(vocab, specials, COUNT_OF(specials)), "pre_tokenizer", "type", "ByteLevel",
                         "add_prefix_space", config_says(config, "add_prefix_space", false), "trim_offsets", 1,
                         "post_processor", "type", "ByteLevel", "trim_offsets", 0, "decoder", "type", "ByteLevel",
                         "model", "type", "BPE", "vocab", vocab, "merges", merges);
    json_decref(config);
    json_decref(vocab);
    json_decref(merges);
    return st;
}

/* The file of a folder that says how text is read; a file itself. Free it. */
static char *find_file(const char *path)
{
    static const char *const names[] = {"tokenizer.json", "vocab.txt", "vocab.json", "encoder.json"};
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return xstrdup(path);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *file = xasprintf("%s/%s", path, names[i]);
        if (fs_exists(file))
            return file;
        free(file);
    }
    return NULL;
}

static bool is_text(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".txt") == 0;
}

static status read_file(const char *file, json_t **ret, error *err)
{
    static const char *const merges[][2] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};
    for (size_t i = 0; i < COUNT_OF(merges); i++) {
        if (strcmp(name_of(file), merges[i][0]) != 0)
            continue;
        char *other = beside(file, merges[i][1]);
        status st = read_gpt2(file, other, ret, err);
        free(other);
        return st;
    }
    return is_text(file) ? read_bert(file, ret, err) : json_read_file(file, ret, err);
}

status tokenizer_files_read(const char *path, json_t **ret, char **ret_origin, error *err)
{
    char *file = find_file(path);
    if (!file)
        return FAIL(err, E_DATA,
                    "'%s': has no tokenizer: neither tokenizer.json, nor vocab.txt, nor vocab.json with merges.txt",
                    path);
    status st = read_file(file, ret, err);
    if (st == OK)
        *ret_origin = file;
    else
        free(file);
    return st;
}

status tokenizer_files_roles(const char *path, tokenizer *t, error *err)
{
    char *file = find_file(path);
    char *map_file = beside(file ? file : path, "special_tokens_map.json");
    json_t *map = NULL;
    status st = OK;
    if (fs_exists(map_file))
        st = json_read_file(map_file, &map, err);
    for (int role = 0; role < TOKENIZER_ROLES && st == OK; role++) {
        const json_t *value = json_object_get(map, tokenizer_role_keys[role]);
        const char *text = json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
        if (!text)
            continue;
        t->roles[role] = tokenizer_id(t, text);
        if (t->roles[role] == TOKENIZER_NO_TOKEN)
            st = FAIL(err, E_DATA, "'%s': %s: '%s' is not in the vocabulary", map_file, tokenizer_role_keys[role],
                      text);
    }
    json_decref(map);
    free(map_file);
    free(file);
    return st;
}
