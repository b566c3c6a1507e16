/* See picture_find.h. */
#include "data/pictures/picture_find.h"

#include "common/base/fs.h"
#include "data/pictures/picture_list.h"

#include <string.h>

static bool reads_lists(const config *reader)
{
    static const char end[] = "_list";
    const char *type = config_str(reader, "type");
    return strlen(type) > strlen(end) && strcmp(type + strlen(type) - strlen(end), end) == 0;
}

bool picture_find_has_many(const config *reader)
{
    return reads_lists(reader) && strcmp(config_str(reader, "label_is"), "labels") == 0;
}

bool picture_find_is_list(const reader_request *request, const picture_kind *kind)
{
    bool is_folder = fs_is_folder(request->path);
    return reads_lists(request->reader) && !(request->without_labels && (is_folder || kind->counts(request->path)));
}

static status check_characters(const config *reader, error *err)
{
    const char *separator = config_str(reader, "separator");
    if (separator && (strlen(separator) != 1 || strchr("\"\n\r", separator[0])))
        return FAIL(err, E_CONFIG, "%s.separator: '%s' is no single character that can part cells", config_path(reader),
                    separator);
    if (picture_find_has_many(reader) && strlen(config_str(reader, "label_separator")) != 1)
        return FAIL(err, E_CONFIG, "%s.label_separator: '%s' is no single character", config_path(reader),
                    config_str(reader, "label_separator"));
    return OK;
}

static status find_by_list(const reader_request *request, const picture_kind *kind, words *known, picture_set *ret,
                           error *err)
{
    const config *reader = request->reader;
    status st = check_characters(reader, err);
    if (st != OK) {
        words_destroy(&known);
        return st;
    }
    const char *separator = config_str(reader, "separator");
    bool has_many = picture_find_has_many(reader);
    picture_list_options o = {.kind = kind,
                              .root = config_str(reader, "root"),
                              .separator = separator ? separator[0] : '\0',
                              .header = config_bool(reader, "header"),
                              .path_column = config_str(reader, "path"),
                              .label_column = config_str(reader, "label"),
                              .between = has_many ? config_str(reader, "label_separator")[0] : '\0',
                              .without_labels = request->without_labels};
    return picture_set_of_list(request->path, &o, known, ret, err);
}

status picture_find(const reader_request *request, const picture_kind *kind, words *known, picture_set *ret, error *err)
{
    if (picture_find_is_list(request, kind))
        return find_by_list(request, kind, known, ret, err);
    return request->without_labels ? picture_set_of_files(request->path, kind, known, ret, err)
                                   : picture_set_of_folders(request->path, kind, known, ret, err);
}
