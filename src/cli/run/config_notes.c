#include "cli/run/config_notes.h"

#include "common/base/log.h"

void config_notes_log(const config *c)
{
    const config_note *notes;
    size_t n = config_notes(c, &notes);
    for (size_t i = 0; i < n; i++)
        log_line(notes[i].is_warning ? LOG_WARN : LOG_INFO, "ALLENNLP", "%s", notes[i].text);
}

void config_notes_package(const char *name)
{
    if (name)
        LOG_W("ALLENNLP", "--include-package %s is ignored: no Python is loaded", name);
}
