/* The table as text: for `--help` and the man page, and as Markdown for docs/options.md. */
#include "common/config/config.h"

#include "common/config/options.h"

#include <string.h>

enum { WIDTH = 80 };

/* Fills lines of WIDTH columns; the first line starts at `indent`, the others at `hang`. */
static void help_add_wrapped(const char *text, int indent, int hang, buf *ret)
{
    buf_addf(ret, "%*s", indent, "");
    int column = indent;
    char word[128];
    for (const char *cursor = text; option_word(&cursor, word, sizeof word);) {
        int n = (int)strlen(word);
        bool is_first = column == indent || column == hang;
        if (!is_first && column + 1 + n > WIDTH) {
            buf_addf(ret, "\n%*s", hang, "");
            column = hang;
            is_first = true;
        }
        buf_addf(ret, "%s%s", is_first ? "" : " ", word);
        column += n + !is_first;
    }
    buf_adds(ret, "\n");
}

static void add_signature(const option *o, buf *ret)
{
    buf_adds(ret, o->path);
    if (o->types[0])
        buf_addf(ret, " (%s)", o->types);
    buf_adds(ret, ": ");
    option_expected(o, ret);
    if (!o->initial)
        buf_adds(ret, "; must be given");
    else if (strcmp(o->initial, "{}") != 0)
        buf_addf(ret, "; default %s", o->initial);
}

void config_help_text(buf *ret)
{
    for (size_t i = 0; i < option_count; i++) {
        const option *o = &option_table[i];
        buf signature = BUF_INIT;
        add_signature(o, &signature);
        help_add_wrapped(signature.data, 2, 6, ret);
        help_add_wrapped(o->help, 6, 6, ret);
        buf_fini(&signature);
    }
}

static const char *const shares[] = {
    [DECIDES_NOTHING] = "", [DECIDES_RESULT] = "yes", [DECIDES_END] = "its end"};

static void add_markdown_row(const option *o, buf *ret)
{
    buf_addf(ret, "| `%s` | %s | ", option_key(o), o->types);
    option_expected(o, ret);
    buf_addf(ret, " | %s%s%s | %s | %s |\n", o->initial ? "`" : "",
             o->initial ? o->initial : "must be given", o->initial ? "`" : "",
             shares[o->decides], o->help);
}

static void add_markdown_section(const char *schema, buf *ret)
{
    buf_addf(ret, "\n## %s%s%s\n\n", *schema ? "`" : "", *schema ? schema : "Top level",
             *schema ? "`" : "");
    buf_adds(ret, "| key | of type | value | default | decides the result | meaning |\n"
                  "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], schema))
            add_markdown_row(&option_table[i], ret);
}

/* A row that is the first to open the section it describes. */
static bool opens_section(size_t row)
{
    const option *o = &option_table[row];
    if (!(o->kinds & (OPTION_SECTION | OPTION_ITEMS)))
        return false;
    for (size_t i = 0; i < row; i++)
        if ((option_table[i].kinds & (OPTION_SECTION | OPTION_ITEMS)) &&
            strcmp(option_table[i].bounds, o->bounds) == 0)
            return false;
    return true;
}

void config_help_markdown(buf *ret)
{
    buf_adds(ret,
             "# Options\n\nEvery key of a configuration. Made from the table of options by the "
             "program itself.\n\nA job goes on with the values it began with of all keys that "
             "decide the result. Those that decide *its end* alone may be others: the end then "
             "moves.\n");
    add_markdown_section("", ret);
    for (size_t i = 0; i < option_count; i++)
        if (opens_section(i))
            add_markdown_section(option_table[i].bounds, ret);
}
