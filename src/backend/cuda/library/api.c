#include "backend/cuda/library/api.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 4 };

#define WHEELS "lib/python3*/site-packages/nvidia/*/lib" /* below an environment of Python */

static const char *const file_names[API_COUNT][NAMES_MAX] = {
#define LIB(id, name, ...) [API_##id] = {__VA_ARGS__},
#include "backend/cuda/library/api.def"
};

static const struct entry {
    api_library library;
    const char *name;
    size_t offset; /* in api_table */
} entries[] = {
#define FN(lib, result, name, parameters) {API_##lib, #name, offsetof(api_table, name)},
#include "backend/cuda/library/api.def"
};

api_table api;

static api_found found[API_COUNT] = {
#define LIB(id, its_name, ...) [API_##id] = {.name = its_name},
#include "backend/cuda/library/api.def"
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One search. */
typedef struct search {
    api_library library;
    void *handle; /* NULL until it is found */
    buf empty;    /* folders without any of the files: "/a, /b" */
    buf wrong;    /* files that did not do, with the reason: "; /c/x.so: ..." */
} search;

static const char *missing_function(void *handle, api_library l)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (entries[i].library == l && !dlsym(handle, entries[i].name))
            return entries[i].name;
    return NULL;
}

/* What dlerror() says, without the name of the file that it begins with. */
static const char *dl_reason(const char *path)
{
    const char *text = dlerror();
    size_t n = strlen(path);
    return strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

/* Opens `path`; false if there is no such file. */
static bool try_file(search *s, const char *path)
{
    if (strchr(path, '/') && access(path, F_OK))
        return false;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dl_reason(path);
        bool absent = !strchr(path, '/') && strstr(why, "cannot open shared object file");
        if (!absent)
            buf_addf(&s->wrong, "; %s: %s", path, why);
        return !absent;
    }
    const char *lacks = missing_function(handle, s->library);
    if (lacks) {
        buf_addf(&s->wrong, "; %s: it lacks %s", path, lacks);
        dlclose(handle);
        return true;
    }
    s->handle = handle;
    return true;
}

/* Tries each name of the library in `folder`, "" being where the linker looks. */
static void try_folder(search *s, const char *folder)
{
    bool any = false;
    for (int i = 0; i < NAMES_MAX && file_names[s->library][i] && !s->handle; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "",
                 file_names[s->library][i]);
        any = try_file(s, path) || any;
    }
    if (!any)
        buf_addf(&s->empty, "%s%s", s->empty.size ? ", " : "",
                 *folder ? folder : "the linker's folders");
}

static void try_named(search *s, const char *folders)
{
    char *list = xstrdup(folders), *rest = list;
    for (char *folder; !s->handle && (folder = strsep(&rest, ":"));)
        if (*folder)
            try_folder(s, folder);
    free(list);
    if (!s->handle && !s->empty.size && !s->wrong.size)
        buf_addf(&s->wrong, "; TEQUIO_CUDA_LIBRARIES names no folder: '%s'", folders);
}

static void try_own_folder(search *s)
{
    char path[PATH_MAX];
    static const char beside[] = "/../lib/tequio";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof beside);
    if (n <= 0)
        return;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    *slash = 0;
    try_folder(s, path);
    memcpy(slash, beside, sizeof beside);
    if (!s->handle)
        try_folder(s, path);
}

static void try_below(search *s, const char *top, const char *pattern)
{
    if (!top || !*top || s->handle)
        return;
    char *path = xasprintf("%s/%s", top, pattern);
    glob_t g;
    if (glob(path, GLOB_ONLYDIR, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc && !s->handle; i++)
            try_folder(s, g.gl_pathv[i]);
    globfree(&g);
    free(path);
}

/* The environment whose python3 is the first in PATH, active or not. */
static void try_first_python(search *s)
{
    const char *folders = getenv("PATH");
    char *list = xstrdup(folders ? folders : ""), *rest = list;
    bool is_there = false;
    for (char *folder; !is_there && (folder = strsep(&rest, ":"));) {
        char *python = xasprintf("%s/python3", folder), *top = xasprintf("%s/..", folder);
        is_there = *folder && access(python, X_OK) == 0;
        if (is_there)
            try_below(s, top, WHEELS);
        free(python);
        free(top);
    }
    free(list);
}

static void look_everywhere(search *s)
{
    const char *named = getenv("TEQUIO_CUDA_LIBRARIES");
    if (named && strcmp(named, "none") == 0) {
        buf_adds(&s->wrong, "; hidden by TEQUIO_CUDA_LIBRARIES=none");
        return;
    }
    if (named && *named) {
        try_named(s, named);
        return;
    }
    try_own_folder(s);
    try_below(s, getenv("CUDA_HOME"), "lib64");
    try_below(s, getenv("VIRTUAL_ENV"), WHEELS);
    if (!s->handle)
        try_folder(s, "");
    try_first_python(s);
}

/* All count alike: major * 10000 + minor * 100 + patch. */
static size_t version_of(api_library l)
{
    int nccl = 0, major = 0, minor = 0;
    switch (l) {
    case API_LT:
        return api.cublasLtGetVersion();
    case API_DNN:
        return api.cudnnGetVersion();
    case API_RTC:
        return api.nvrtcVersion(&major, &minor) == API_SUCCESS ? (size_t)(major * 10000 + minor * 100) : 0;
    default:
        return api.ncclGetVersion(&nccl) == API_SUCCESS ? (size_t)nccl : 0;
    }
}

static void fill_table(const search *s, api_found *f)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        if (entries[i].library != s->library)
            continue;
        void *function = dlsym(s->handle, entries[i].name);
        memcpy((char *)&api + entries[i].offset, &function, sizeof function);
        Dl_info info;
        if (!f->path && dladdr(function, &info))
            f->path = xstrdup(info.dli_fname);
    }
    size_t v = version_of(s->library);
    snprintf(f->version, sizeof f->version, "%zu.%zu.%zu", v / 10000 % 1000, v / 100 % 100,
             v % 100);
}

/* "no libcudnn.so.9 in /a, /b; /c/libcudnn.so.9: file too short" */
static char *explain(const search *s)
{
    buf why = BUF_INIT;
    for (int i = 0; s->empty.size && i < NAMES_MAX && file_names[s->library][i]; i++)
        buf_addf(&why, "%s%s", i ? " or " : "no ", file_names[s->library][i]);
    if (s->empty.size)
        buf_addf(&why, " in %s", s->empty.data);
    if (s->wrong.size)
        buf_adds(&why, s->wrong.data + (s->empty.size ? 0 : strlen("; ")));
    return buf_detach(&why);
}

const api_found *api_find(api_library l)
{
    api_found *f = &found[l];
    pthread_mutex_lock(&lock);
    if (!f->path && !f->why) {
        search s = {.library = l, .empty = BUF_INIT, .wrong = BUF_INIT};
        look_everywhere(&s);
        if (s.handle)
            fill_table(&s, f);
        else
            f->why = explain(&s);
        buf_fini(&s.empty);
        buf_fini(&s.wrong);
    }
    pthread_mutex_unlock(&lock);
    return f;
}

status api_open(api_library l, error *err)
{
    const api_found *f = api_find(l);
    if (f->path)
        return OK;
    return FAIL(err, E_UNSUPPORTED, "%s is missing: %s", f->name, f->why);
}

bool api_has_driver(void)
{
    static const char *const traces[] = {"/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg",
                                         "/dev/nvhost-gpu", "/dev/nvgpu"};
    for (size_t i = 0; i < COUNT_OF(traces); i++)
        if (access(traces[i], F_OK) == 0)
            return true;
    return false;
}
