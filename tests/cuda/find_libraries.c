/*
 * Prints a line for each library that src/backend/cuda/library/api.h finds: "cuDNN 9.19.0
 * /a/libcudnn.so.9", or what api_open() says. Several threads ask at once, as lanes do, and must
 * get one answer.
 */
#include "backend/cuda/library/api.h"
#include "common/base/alloc.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8 };

static void *ask(void *user)
{
    const api_found **answers = user;
    for (int l = 0; l < API_COUNT; l++)
        answers[l] = api_find((api_library)l);
    return NULL;
}

static void ask_at_once(const api_found *answers[THREADS][API_COUNT])
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, ask, answers[i]))
            BUG("pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Whether a call through the table arrives. */
static bool answers(api_library l)
{
    lt_handle h = NULL;
    void *d = NULL;
    int version[2];
    switch (l) {
    case API_LT:
        return api.cublasLtCreate(&h) == API_SUCCESS;
    case API_DNN:
        return api.cudnnBackendFinalize(d) == API_SUCCESS;
    case API_RTC:
        return api.nvrtcVersion(&version[0], &version[1]) == API_SUCCESS;
    default:
        return api.ncclGroupStart() == API_SUCCESS;
    }
}

int main(void)
{
    const api_found *said[THREADS][API_COUNT];
    ask_at_once(said);
    for (int l = 0; l < API_COUNT; l++) {
        for (int i = 1; i < THREADS; i++)
            if (said[i][l] != said[0][l])
                BUG("two answers");
        const api_found *f = said[0][l];
        error err = ERROR_INIT;
        if (api_open((api_library)l, &err) != OK)
            printf("%s\n", err.text);
        else
            printf("%s %s %s%s\n", f->name, f->version, f->path,
                   answers((api_library)l) ? "" : " (mute)");
    }
    return 0;
}
