/* The table as an array, its look-ups, and its Markdown. */
#include "common/config/allennlp_table.h"

#include "common/base/alloc.h"
#include "common/config/allennlp.h"
#include "common/config/options.h"

#include <stdlib.h>
#include <string.h>

const allennlp_key allennlp_table[] = {
#define KEY(path, values, since, verdict, target, note) {path, values, since, ALLENNLP_##verdict, target, note},
#include "common/config/allennlp.def"
#undef KEY
};
const size_t allennlp_count = COUNT_OF(allennlp_table);

const char *allennlp_leaf(const allennlp_key *k)
{
    const char *dot = strrchr(k->path, '.');
    return dot ? dot + 1 : k->path;
}

bool allennlp_is_in(const allennlp_key *k, const char *schema)
{
    size_t n = strlen(schema), parent = (size_t)(allennlp_leaf(k) - k->path);
    return n ? parent == n + 1 && strncmp(k->path, schema, n) == 0 : parent == 0;
}

static bool option_lists(const option *o, const char *values)
{
    char word[64], choice[64];
    for (const char *v = values; option_word(&v, word, sizeof word);)
        for (const char *c = o->bounds; option_word(&c, choice, sizeof choice);)
            if (strcmp(word, choice) == 0)
                return true;
    return false;
}

bool allennlp_is_ours(const allennlp_key *k)
{
    for (size_t i = 0; i < option_count; i++) {
        const option *o = &option_table[i];
        if (strcmp(o->path, k->path) != 0)
            continue;
        bool is_choice = o->kinds & (OPTION_CHOICE | OPTION_TYPE);
        if (!k->values[0] || (is_choice && option_lists(o, k->values)))
            return true;
    }
    return false;
}

size_t allennlp_names(const char *schema, const char **ret, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < allennlp_count && n < most; i++) {
        const allennlp_key *k = &allennlp_table[i];
        bool is_first = i == 0 || strcmp(allennlp_table[i - 1].path, k->path) != 0;
        if (is_first && allennlp_is_in(k, schema) && !strchr(k->path, '['))
            ret[n++] = allennlp_leaf(k);
    }
    return n;
}

/* Behind `head` and one name, or at NULL where the path does not begin so. */
static const char *behind(const char *path, const char *head, bool has_name)
{
    size_t n = strlen(head);
    if (!path || strncmp(path, head, n) != 0 || !strchr(".[", path[n]) || !path[n])
        return NULL;
    path += n;
    return has_name ? path + 1 + strcspn(path + 1, ".") : path;
}

/* What stands behind the innermost reader's section that the path leads into; NULL: into none. */
static const char *within_reader(const char *path)
{
    const char *at = behind(path, "dataset_reader", false);
    if (!at)
        at = behind(path, "validation_dataset_reader", false);
    for (const char *next = at; next; at = next ? next : at) {
        next = behind(at, ".base_reader", false);
        const char *task = next ? NULL : behind(at, ".readers", true);
        const char *listed = behind(task, ".reader", false);
        next = next ? next : listed ? listed : task;
    }
    return at;
}

bool allennlp_knows(const char *path)
{
    static const char reader[] = "dataset_reader";
    const size_t head = sizeof reader - 1;
    const char *in_reader = within_reader(path);
    for (size_t i = 0; i < allennlp_count; i++) {
        const allennlp_key *k = &allennlp_table[i];
        bool is_readers = in_reader && strncmp(k->path, reader, head) == 0;
        const char *row = is_readers ? k->path + head : k->path, *at = is_readers ? in_reader : path;
        size_t n = strcspn(row, "[");
        bool is_within = n && strncmp(row, at, n) == 0 && (!at[n] || at[n] == '.' || at[n] == '[');
        if (is_within && k->verdict != ALLENNLP_SAME)
            return true;
    }
    return false;
}

/* --- as Markdown --- */

static void table_add_verdict(const allennlp_key *k, buf *ret)
{
    const char *names[] = {
        [ALLENNLP_SAME] = "taken",               [ALLENNLP_HOLDS] = "taken: it is so in any case",
        [ALLENNLP_MOVED] = "translated: ",       [ALLENNLP_LISTED] = "translated: ",
        [ALLENNLP_SET] = "translated: ",         [ALLENNLP_HOST] = "translated: the host of ",
        [ALLENNLP_PORT] = "translated: the port of ", [ALLENNLP_IGNORED] = "ignored, with a warning",
        [ALLENNLP_REFUSED] = "refused",
    };
    buf_adds(ret, allennlp_is_ours(k) ? "taken" : names[k->verdict]);
    if (k->target[0] && !allennlp_is_ours(k))
        buf_addf(ret, "`%s`", k->target);
}

static void table_add_words(const char *words, buf *ret)
{
    char word[64];
    const char *between = "";
    for (const char *cursor = words; option_word(&cursor, word, sizeof word); between = ", ")
        buf_addf(ret, "%s%s", between, strcmp(word, "''") == 0 ? "\"\"" : word);
}

static void table_add_row(const allennlp_key *k, buf *ret)
{
    buf_addf(ret, "| `%s` | ", k->path);
    table_add_words(k->values, ret);
    buf_adds(ret, " | ");
    table_add_words(k->since, ret);
    buf_adds(ret, " | ");
    table_add_verdict(k, ret);
    buf_addf(ret, " | %s |\n", k->note);
}

void allennlp_markdown(buf *ret)
{
    buf_adds(ret,
             "# AllenNLP's keys\n\nWhat becomes of every key of AllenNLP's configurations. Made from the table "
             "by the program itself.\n\n*generations* are those of AllenNLP that have the key: 0 stands for 0.1 "
             "to 0.9. *values* are strings as they are, `{...}` any object, an object otherwise its type; a row "
             "without *values* is for all that have no row of their own. Rows of `dataset_reader` are for every "
             "reader: of validation data, and within another. *taken*: the key is Tequio's too "
             "([options.md](options.md)).\n\n"
             "| key | values | generations | here | note |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < allennlp_count; i++)
        if (allennlp_table[i].verdict != ALLENNLP_SECTION)
            table_add_row(&allennlp_table[i], ret);
}
