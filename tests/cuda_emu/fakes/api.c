/* Stands for src/backend/cuda/library/api.c: finds what is played instead of what a machine has. */
#include "cuda_emu/fakes/fakes.h"
#include "cuda_emu/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

api_table api;

static api_found played[API_COUNT] = {
    [API_LT] = {.name = "cuBLASLt", .path = "(played)", .version = "13.1.0"},
    [API_DNN] = {.name = "cuDNN", .path = "(played)"},
    [API_RTC] = {.name = "NVRTC", .path = "(played)", .version = "13.0.0"},
    [API_NCCL] = {.name = "NCCL", .path = "(played)", .version = "2.28.9"},
};
static bool is_hidden;
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static bool nccl_is(const char *word)
{
    const char *set = getenv("EMU_NCCL");
    return set && strcmp(set, word) == 0;
}

static void fill(void)
{
    fake_lt_fill(&api);
    fake_dnn_fill(&api);
    fake_nccl_fill(&api);
    api_found *dnn = &played[API_DNN];
    snprintf(dnn->version, sizeof dnn->version, "%u.%u.%u", (unsigned)api.cudnnGetVersion() / 10000,
             (unsigned)api.cudnnGetVersion() / 100 % 100, (unsigned)api.cudnnGetVersion() % 100);
    if (nccl_is("broken"))
        fake_nccl_fail(0);
    if (nccl_is("poor"))
        fake_nccl_impoverish();
}

void fakes_hide(bool hidden)
{
    is_hidden = hidden;
}

static bool hides(api_library l)
{
    const char *named = getenv("TEQUIO_CUDA_LIBRARIES");
    bool is_off = (l == API_NCCL && nccl_is("0")) || (l == API_RTC && getenv("EMU_NO_NVRTC"));
    return is_hidden || is_off || (named && strcmp(named, "none") == 0);
}

const api_found *api_find(api_library l)
{
    static const api_found hidden[API_COUNT] = {
        [API_LT] = {.name = "cuBLASLt", .why = "hidden"},
        [API_DNN] = {.name = "cuDNN", .why = "hidden"},
        [API_RTC] = {.name = "NVRTC", .why = "hidden"},
        [API_NCCL] = {.name = "NCCL", .why = "hidden"},
    };
    pthread_once(&filled, fill);
    return hides(l) ? &hidden[l] : &played[l];
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
    return emu_machine_get()->driver > 0;
}
