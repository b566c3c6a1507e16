/*
 * What is found on a disk after the power is back, by what power_loss.c has kept.
 *
 *   after_power_loss FOLDER DIR names|data TO
 *
 * names: of DIR only what was synced is in TO, names as well as data. data: all names that DIR has now are
 * there, as on a file system that writes names before data, and files hold what was synced of them.
 */
#include "file_id.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 512 };

static const char *kept;

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "after_power_loss: %s '%s'\n", what, path);
    exit(1);
}

/* Empty where nothing of it was synced. */
static void restore_data(const char *id, const char *to)
{
    char path[PATH_BYTES], piece[65536];
    snprintf(path, sizeof path, "%s/%s.data", kept, id);
    FILE *from = fopen(path, "re"), *out = fopen(to, "we");
    if (!out)
        fail("cannot make", to);
    for (size_t n; from && (n = fread(piece, 1, sizeof piece, from)) > 0;)
        fwrite(piece, 1, n, out);
    if (from)
        fclose(from);
    if (fclose(out) != 0)
        fail("cannot write", to);
}

static void restore_names(const char *id, const char *to)
{
    char path[PATH_BYTES], below[PATH_BYTES], line[LINE_BYTES], child[ID_BYTES], name[LINE_BYTES];
    char kind;
    if (mkdir(to, 0777) != 0)
        fail("cannot make", to);
    snprintf(path, sizeof path, "%s/%s.names", kept, id);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%c %63s %511[^\n]", &kind, child, name) != 3)
            fail("no line of names in", path);
        snprintf(below, sizeof below, "%s/%s", to, name);
        if (kind == 'd')
            restore_names(child, below);
        else
            restore_data(child, below);
    }
    if (f)
        fclose(f);
}

static void copy_names(const char *dir, const char *to)
{
    char from[PATH_BYTES], below[PATH_BYTES], id[ID_BYTES];
    DIR *d = opendir(dir);
    if (!d || mkdir(to, 0777) != 0)
        fail("cannot make", to);
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(from, sizeof from, "%s/%s", dir, e->d_name);
        snprintf(below, sizeof below, "%s/%s", to, e->d_name);
        if (!file_id(dirfd(d), e->d_name, id))
            fail("cannot look at", from);
        if (e->d_type == DT_DIR)
            copy_names(from, below);
        else
            restore_data(id, below);
    }
    closedir(d);
}

int main(int n, char **words)
{
    char id[ID_BYTES];
    if (n != 5)
        fail("wanted: FOLDER DIR names|data TO, not", n > 1 ? words[1] : "");
    kept = words[1];
    if (!file_id(AT_FDCWD, words[2], id))
        fail("cannot look at", words[2]);
    if (strcmp(words[3], "names") == 0)
        restore_names(id, words[4]);
    else
        copy_names(words[2], words[4]);
    return 0;
}
