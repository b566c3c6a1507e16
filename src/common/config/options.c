/* The table itself: options.def as an array, and how a row reads in a message. */
#include "common/config/options.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    NONE = OPTION_NONE,
    BOOL = OPTION_BOOL,
    INT = OPTION_INT,
    NUMBER = OPTION_NUMBER,
    STRING = OPTION_STRING,
    CHOICE = OPTION_CHOICE,
    TYPE = OPTION_TYPE,
    INTS = OPTION_INTS,
    NUMBERS = OPTION_NUMBERS,
    SECTION = OPTION_SECTION,
    ITEMS = OPTION_ITEMS,
    STRINGS = OPTION_STRINGS,
    MAP = OPTION_MAP,
    INT_MAP = OPTION_INT_MAP,
    END = DECIDES_END,
};

/* Types of `model` that are encoders by the table of src/model/encoder_family.c. */
#define ENCODERS "bert roberta distilbert electra albert"
/* AllenNLP's, over one of these or a table of tokens (src/model/text_models.c). */
#define TEXT_MODELS "basic_classifier simple_tagger"
/* Readers that number the words of their training data, where they have no tokenizer. */
#define WORD_READERS                                                                                                   \
    "conll2003 universal_dependencies jsonl tfrecord webdataset text_classification_json snli"
/* torchvision's, a family each. */
#define RESNETS       "resnet18 resnet34 resnet50"
#define MOBILENETS    "mobilenet_v3_small mobilenet_v3_large"
#define EFFICIENTNETS "efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3"
#define REGNETS                                                                                                        \
    "regnet_x_400mf regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf "                                                     \
    "regnet_y_400mf regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf"
#define CONVNEXTS "convnext_tiny convnext_small"
/* What says one thing of an image, and one of each pixel. */
#define IMAGE_MODELS RESNETS " " MOBILENETS " " EFFICIENTNETS " " REGNETS " densenet121 " CONVNEXTS " vit swin_t"
#define PIXEL_MODELS "unet lraspp_mobilenet_v3_large"
/* All types of `model` but onnx. */
#define BUILT_IN                                                                                                       \
    "mlp cnn sequential " IMAGE_MODELS " " PIXEL_MODELS " r2plus1d_18 frame_cnn transformer_lm wide_deep dlrm "        \
    "transformer_qa biaffine_parser " TEXT_MODELS " " ENCODERS
/* Layers of the sections that these have. */
#define RECURRENT "lstm gru rnn"

const option option_table[] = {
#define OPTION(...) {__VA_ARGS__},
#define NOT_YET(path, accepted)
#include "common/config/options.def"
#undef OPTION
#undef NOT_YET
};
const size_t option_count = COUNT_OF(option_table);

const option_limit option_limits[] = {
#define OPTION(...)
#define NOT_YET(path, accepted) {path, accepted},
#include "common/config/options.def"
#undef OPTION
#undef NOT_YET
};
const size_t option_limit_count = COUNT_OF(option_limits);

const char *option_key(const option *o)
{
    const char *dot = strrchr(o->path, '.');
    return dot ? dot + 1 : o->path;
}

bool option_is_in(const option *o, const char *schema)
{
    const char *key = option_key(o);
    size_t n = strlen(schema);
    size_t parent = key == o->path ? 0 : (size_t)(key - o->path) - 1;
    return parent == n && strncmp(o->path, schema, n) == 0;
}

bool option_has_type(const option *o, const char *type)
{
    if (!type || !o->types[0])
        return true;
    char word[64];
    for (const char *cursor = o->types; option_word(&cursor, word, sizeof word);)
        if (strcmp(word, type) == 0)
            return true;
    return false;
}

const option *option_find(const char *schema, const char *key, const char *type)
{
    for (size_t i = 0; i < option_count; i++) {
        const option *o = &option_table[i];
        if (option_is_in(o, schema) && strcmp(option_key(o), key) == 0 && option_has_type(o, type))
            return o;
    }
    return NULL;
}

bool option_word(const char **cursor, char *ret, size_t bytes)
{
    const char *start = *cursor + strspn(*cursor, " ");
    size_t n = strcspn(start, " ");
    BUG_ON(n >= bytes);
    memcpy(ret, start, n);
    ret[n] = '\0';
    *cursor = start + n;
    return n > 0;
}

static bool is_bound(const char *word)
{
    return word[0] == '<' || word[0] == '>';
}

bool option_bound_holds(const char *word, double value)
{
    if (!is_bound(word))
        return true;
    bool equal_is_fine = word[1] == '=';
    double limit = strtod(word + (equal_is_fine ? 2 : 1), NULL);
    if (value == limit)
        return equal_is_fine;
    return word[0] == '<' ? value < limit : value > limit;
}

/* " >= 0 and < 1" */
static void add_bounds(const option *o, buf *ret)
{
    const char *between = " ";
    char word[64];
    for (const char *cursor = o->bounds; option_word(&cursor, word, sizeof word);) {
        if (!is_bound(word))
            continue;
        int n = word[1] == '=' ? 2 : 1;
        buf_addf(ret, "%s%.*s %s", between, n, word, word + n);
        between = " and ";
    }
}

static void add_choices(const option *o, buf *ret)
{
    const char *between = "";
    char word[64];
    for (const char *cursor = o->bounds; option_word(&cursor, word, sizeof word);) {
        if (is_bound(word))
            continue;
        buf_addf(ret, "%s'%s'", between, word);
        between = " or ";
    }
}

static void add_list(const option *o, const char *what, buf *ret)
{
    const char *count = strchr(o->bounds, '#');
    buf_addf(ret, "a list of %.*s%s%s", count ? (int)strcspn(count + 1, " ") : 0,
             count ? count + 1 : "", count ? " " : "", what);
    add_bounds(o, ret);
}

static void add_string(const option *o, buf *ret)
{
    buf_adds(ret, "a string");
    for (const char *c = o->bounds; *c; c++)
        buf_addf(ret, "%s'%c'", c == o->bounds ? " that starts with " : " or ", *c);
}

static void add_kind(const option *o, option_kind kind, buf *ret)
{
    switch (kind) {
    case OPTION_NONE:
        buf_adds(ret, "null");
        return;
    case OPTION_BOOL:
        buf_adds(ret, "true or false");
        return;
    case OPTION_INT:
        buf_adds(ret, "an integer");
        add_bounds(o, ret);
        return;
    case OPTION_NUMBER:
        buf_adds(ret, "a number");
        add_bounds(o, ret);
        return;
    case OPTION_STRING:
        add_string(o, ret);
        return;
    case OPTION_CHOICE:
    case OPTION_TYPE:
        add_choices(o, ret);
        return;
    case OPTION_INTS:
        add_list(o, "integers", ret);
        return;
    case OPTION_NUMBERS:
        add_list(o, "numbers", ret);
        return;
    case OPTION_STRINGS:
        add_list(o, "strings", ret);
        return;
    case OPTION_MAP:
        buf_adds(ret, "an object of strings");
        return;
    case OPTION_INT_MAP:
        buf_adds(ret, "an object of integers");
        add_bounds(o, ret);
        return;
    case OPTION_SECTION:
        buf_adds(ret, "an object");
        return;
    case OPTION_ITEMS:
        buf_adds(ret, "a list of objects");
        return;
    }
    BUG("option kind %d", (int)kind);
}

void option_expected(const option *o, buf *ret)
{
    /* null is named last, as people say it */
    static const option_kind order[] = {
        OPTION_BOOL,    OPTION_INT,     OPTION_NUMBER, OPTION_STRING,  OPTION_CHOICE,
        OPTION_TYPE,    OPTION_INTS,    OPTION_NUMBERS, OPTION_STRINGS, OPTION_SECTION,
        OPTION_MAP,     OPTION_INT_MAP, OPTION_ITEMS,  OPTION_NONE,
    };
    const char *between = "";
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (!(o->kinds & order[i]))
            continue;
        buf_adds(ret, between);
        add_kind(o, order[i], ret);
        between = " or ";
    }
}
