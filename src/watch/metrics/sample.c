#include "watch/metrics/sample.h"

void sample_head(const char *name, const char *type, const char *help, buf *ret)
{
    buf_addf(ret, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_escaped(const char *value, buf *ret)
{
    for (; *value; value++)
        if (*value == '\n')
            buf_adds(ret, "\\n");
        else
            buf_addf(ret, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
}

void sample_add(const char *name, const sample_label *labels, size_t n, double value, buf *ret)
{
    buf_adds(ret, name);
    for (size_t i = 0; i < n; i++) {
        buf_addf(ret, "%s%s=\"", i ? "," : "{", labels[i].name);
        add_escaped(labels[i].value, ret);
        buf_adds(ret, "\"");
    }
    buf_addf(ret, "%s %.17g\n", n ? "}" : "", value);
}
