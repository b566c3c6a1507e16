/* What data are, as facts (data.h): the examples and their fields, and what these are made from. */
#include "data/index/record_set.h"
#include "data/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "image float32 [1, 28, 28], label int64 [] of 10" */
static void describe_fields(const dataset *d, buf *ret)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        const data_field *f = &d->fields[i];
        buf_addf(ret, "%s%s %s [", i ? ", " : "", f->name, dtype_name(f->dtype));
        for (int32_t k = 0; k < f->rank; k++)
            buf_addf(ret, "%s%" PRId64, k ? ", " : "", f->dim[k]);
        buf_adds(ret, "]");
        if (f->classes)
            buf_addf(ret, " of %" PRId64, f->classes);
    }
}

void dataset_facts(const dataset *d, const char *file, facts_check how, buf *ret)
{
    if (how == FACTS_OFF)
        return;
    char text[SHA256_HEX];
    buf fields = BUF_INIT;
    content_digest all = {.at = NULL};
    const char *vocabulary = dataset_vocabulary(d);
    snprintf(text, sizeof text, "%" PRId64, d->examples);
    facts_add(ret, file, "examples", text);
    describe_fields(d, &fields);
    facts_add(ret, file, "fields", fields.data ? fields.data : "");
    if (vocabulary) {
        sha256_hex(vocabulary, strlen(vocabulary), text);
        facts_add(ret, file, "vocabulary_sha256", text);
    }
    if (d->ops->records) {
        record_set_lengths(d->ops->records(d), d->first, d->examples, text);
        facts_add(ret, file, "index_sha256", text);
    }
    d->ops->contents(d, &all);
    facts_add_contents(ret, file, how, &all);
    if (how == FACTS_FULL && d->ops->whole_contents) {
        d->ops->whole_contents(d, text);
        facts_add(ret, file, "files_sha256", text);
    }
    content_digest_fini(&all);
    buf_fini(&fields);
}
