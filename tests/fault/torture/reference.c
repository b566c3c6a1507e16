#include "fault/torture/reference.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 12, NUMBER_MAX = 64 };

/* Runs it to its end, with its words in `log`. `ret_s`: seconds of processors; NULL: nobody asks.
 */
static bool run(const char *log, char *const *words, double *ret_s)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
        unsetenv("TF_CONFIG");
        unsetenv("CLUSTER_SPEC");
        execv(words[0], words);
        _exit(127);
    }
    int end = 0;
    struct rusage used;
    if (pid < 0 || wait4(pid, &end, 0, &used) != pid || end != 0) {
        printf("torture: '%s %s' failed, see %s\n", words[0], words[1], log);
        return false;
    }
    if (ret_s)
        *ret_s = (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6 +
                 (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec * 1e-6;
    return true;
}

static bool make(const char *program, const char *dir, const char *config, double *ret_s)
{
    char *path = xasprintf("%s/config.jsonnet", dir), *job = xasprintf("%s/job", dir);
    char *log = xasprintf("%s/log", dir), *number = xasprintf("%s/processor_s", dir),
         text[NUMBER_MAX];
    char *words[] = {(char *)(uintptr_t)program,
                     (char *)(uintptr_t) "train",
                     path,
                     (char *)(uintptr_t) "-s",
                     job,
                     (char *)(uintptr_t) "--force",
                     NULL};
    bool made = fs_mkdirs(dir, NULL) == OK &&
                fs_write_atomic(path, config, strlen(config), NULL) == OK && run(log, words, ret_s);
    int n = snprintf(text, sizeof text, "%f\n", *ret_s);
    made = made && fs_write_atomic(number, text, (size_t)n, NULL) == OK;
    free(path);
    free(job);
    free(log);
    free(number);
    return made;
}

static bool find(const char *dir, double *ret_s)
{
    char *number = xasprintf("%s/processor_s", dir);
    buf text = BUF_INIT;
    bool found = fs_read(number, NUMBER_MAX, &text, NULL) == OK;
    if (found)
        *ret_s = strtod(text.data, NULL);
    buf_fini(&text);
    free(number);
    return found;
}

bool reference_get(const char *program, const char *root, const char *config, reference *ret)
{
    char name[SHA256_HEX];
    sha256_hex(config, strlen(config), name);
    char *dir = xasprintf("%s/%.16s", root, name), *lock = xasprintf("%s.lock", dir);
    double seconds = 0;
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool is_there = fd >= 0 && flock(fd, LOCK_EX) == 0 &&
                    (find(dir, &seconds) || make(program, dir, config, &seconds));
    if (fd >= 0)
        close(fd);
    if (is_there)
        *ret = (reference){.job = xasprintf("%s/job", dir), .processor_s = seconds};
    free(dir);
    free(lock);
    return is_there;
}

void reference_fini(reference *r)
{
    free(r->job);
    r->job = NULL;
}

static bool make_images(const char *make_idx, const char *data, const char *name,
                        const char *examples, const char *seed)
{
    char *dir = xasprintf("%s/%s", data, name), *log = xasprintf("%s/log", data);
    char *words[] = {(char *)(uintptr_t)make_idx, dir,
                     (char *)(uintptr_t)examples, (char *)(uintptr_t)seed,
                     (char *)(uintptr_t) "12",    NULL};
    bool made = run(log, words, NULL);
    free(dir);
    free(log);
    return made;
}

/* A network that two steps have trained, as another program would hand it over. */
static bool make_network(const char *program, const char *data)
{
    buf config = BUF_INIT;
    reference of = {.job = NULL};
    buf_addf(&config,
             "{ dataset_reader: { type: 'idx' }, train_data_path: '%s/train/images-idx3-ubyte',\n"
             "  model: { type: 'mlp', hidden: [96, 32], activation: 'tanh' },\n"
             "  data_loader: { batch_size: 16 }, trainer: { max_steps: 2 } }\n",
             data);
    bool made = reference_get(program, data, config.data, &of);
    char *from = xasprintf("%s/model.onnx", of.job), *to = xasprintf("%s/net.onnx", data);
    made = made && rename(from, to) == 0;
    free(from);
    free(to);
    reference_fini(&of);
    buf_fini(&config);
    return made;
}

bool reference_make_data(const char *program, const char *make_idx, const char *data)
{
    return fs_mkdirs(data, NULL) == OK && make_images(make_idx, data, "train", "1024", "1") &&
           make_images(make_idx, data, "validation", "64", "8") && make_network(program, data);
}
