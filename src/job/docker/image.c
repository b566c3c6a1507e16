#include "job/docker/image.h"

#include "common/base/fs.h"
#include "common/base/hash.h"
#include "job/process/short_command.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

/* --- what is in it --- */

typedef struct listing {
    arena *memory;
    const char **paths; /* NULL: they are only counted */
    int n;
} listing;

/* The program itself has no name there, the kernel's part no path. */
static int list_library(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    listing *l = user;
    if (info->dlpi_name[0] != '/')
        return 0;
    if (l->paths)
        l->paths[l->n] = arena_strdup(l->memory, info->dlpi_name);
    l->n++;
    return 0;
}

static void list_libraries(image *i, arena *memory)
{
    listing l = {.memory = memory};
    dl_iterate_phdr(list_library, &l);
    i->paths = l.paths = arena_alloc(memory, (size_t)(l.n + 1) * sizeof *l.paths);
    l.n = 0;
    dl_iterate_phdr(list_library, &l);
    i->n = l.n;
}

static status add_file(sha256 *h, const char *path, error *err)
{
    fs_map m;
    TRY(fs_map_open(path, &m, err));
    sha256_add(h, m.data, m.bytes);
    fs_map_close(&m);
    return OK;
}

static status name_it(image *i, arena *memory, error *err)
{
    char hex[SHA256_HEX];
    buf text = BUF_INIT;
    sha256 h = {.context = NULL};
    image_dockerfile(i, &text);
    sha256_begin(&h);
    sha256_add(&h, text.data, text.size);
    buf_fini(&text);
    status st = add_file(&h, SELF, err);
    for (int k = 0; st == OK && k < i->n; k++) {
        sha256_add(&h, i->paths[k], strlen(i->paths[k]));
        st = add_file(&h, i->paths[k], err);
    }
    if (st == OK)
        sha256_end(&h, hex);
    sha256_drop(&h);
    if (st == OK)
        i->name = arena_printf(memory, "tequio:%.16s", hex);
    return st;
}

status image_of_this_program(arena *memory, image *ret, error *err)
{
    image i = {.n = 0};
    list_libraries(&i, memory);
    TRY(name_it(&i, memory, err));
    *ret = i;
    return OK;
}

/* --- how it is made --- */

static size_t folder_bytes(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

static bool is_new_folder(const image *i, int k)
{
    size_t bytes = folder_bytes(i->paths[k]);
    for (int before = 0; before < k; before++)
        if (folder_bytes(i->paths[before]) == bytes &&
            !memcmp(i->paths[before], i->paths[k], bytes))
            return false;
    return true;
}

void image_dockerfile(const image *i, buf *ret)
{
    buf_adds(ret, "# Tequio and the libraries it has loaded, and nothing else.\n"
                  "FROM scratch\n"
                  "COPY root /\n"
                  "ENV LD_LIBRARY_PATH=\"");
    for (int k = 0; k < i->n; k++)
        if (is_new_folder(i, k))
            buf_addf(ret, "%s%.*s", k ? ":" : "", (int)folder_bytes(i->paths[k]), i->paths[k]);
    buf_addf(ret, "\"\nENTRYPOINT [\"%s\"]\n", IMAGE_PROGRAM);
}

static status docker_image_copy(const char *from, const char *root, const char *to, error *err)
{
    char *path = xasprintf("%s%s", root, to), *folder = xstrndup(path, folder_bytes(path));
    fs_map m;
    int fd = -1;
    status st = fs_mkdirs(folder, err);
    free(folder);
    if (st == OK)
        st = fs_map_open(from, &m, err);
    if (st != OK) {
        free(path);
        return st;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    st = fd < 0 ? FAIL(err, E_IO, "create '%s': %s", path, strerror(errno))
                : fs_write_all(fd, m.data, m.bytes, path, err);
    if (fd >= 0)
        close(fd);
    fs_map_close(&m);
    free(path);
    return st;
}

/* Anybody may read what is in there, and write temporary files. */
static status docker_image_place(const image *i, const char *root, error *err)
{
    mode_t old = umask(022);
    char *temporary = xasprintf("%s/tmp", root);
    status st = docker_image_copy(SELF, root, IMAGE_PROGRAM, err);
    for (int k = 0; st == OK && k < i->n; k++)
        st = docker_image_copy(i->paths[k], root, i->paths[k], err);
    if (st == OK)
        st = fs_mkdirs(temporary, err);
    if (st == OK && chmod(temporary, 01777))
        st = FAIL(err, E_IO, "open '%s' to all: %s", temporary, strerror(errno));
    free(temporary);
    umask(old);
    return st;
}

static status write_dockerfile(const image *i, const char *folder, error *err)
{
    char *path = xasprintf("%s/Dockerfile", folder);
    buf text = BUF_INIT;
    image_dockerfile(i, &text);
    status st = fs_write_atomic(path, text.data, text.size, err);
    buf_fini(&text);
    free(path);
    return st;
}

static status build(const image *i, const char *folder, error *err)
{
    const char *argv[] = {"docker", "build", "--quiet", "--tag", i->name, folder, NULL};
    char *root = xasprintf("%s/root", folder);
    status st = fs_mkdirs(root, err);
    if (st == OK)
        st = docker_image_place(i, root, err);
    if (st == OK)
        st = short_command_ask(argv, NULL, err);
    status removed = fs_remove_tree(root, st == OK ? err : NULL);
    free(root);
    return st == OK ? removed : st;
}

status image_make(const image *i, const char *folder, error *err)
{
    const char *look[] = {"docker", "image", "inspect", "--format", "there", i->name, NULL};
    TRY(fs_mkdirs(folder, err));
    TRY(write_dockerfile(i, folder, err));
    if (short_command_ask(look, NULL, NULL) == OK)
        return OK;
    fprintf(stderr, "tequio: building the image %s\n", i->name);
    return build(i, folder, err);
}
