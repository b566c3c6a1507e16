#include "cli/host/versions.h"

#include "backend/cpu/dnnl/shim.h"
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/net/net.h"
#include "data/pictures/picture.h"
#include "text/tokenizer.h"

#include <gnu/libc-version.h>
#include <stdio.h>

#ifdef TEQUIO_GIT_HASH
#define PROGRAM_VERSION TEQUIO_VERSION " (git " TEQUIO_GIT_HASH ")"
#else
#define PROGRAM_VERSION TEQUIO_VERSION
#endif

size_t versions_list(versions_row *ret)
{
    size_t n = 0;
    ret[n] = (versions_row){.name = "tequio", .version = PROGRAM_VERSION};
    ret[++n] = (versions_row){.name = "oneDNN"};
    shim_version(ret[n].version, sizeof ret[n].version);
    ret[++n] = (versions_row){.name = "libzmq"};
    net_library_version(ret[n].version, sizeof ret[n].version);
    ret[++n] = (versions_row){.name = "jansson"};
    snprintf(ret[n].version, sizeof ret[n].version, "%s", jansson_version_str());
    ret[++n] = (versions_row){.name = "utf8proc"};
    ret[++n] = (versions_row){.name = "PCRE2"};
    tokenizer_library_versions(ret[n - 1].version, ret[n].version, sizeof ret[n].version);
    for (picture_format f = PICTURE_JPEG; f < PICTURE_FORMATS; f++) {
        ret[++n] = (versions_row){.name = picture_library(f)};
        snprintf(ret[n].version, sizeof ret[n].version, "%s", picture_library_version(f));
    }
    ret[++n] = (versions_row){.name = "glibc"};
    snprintf(ret[n].version, sizeof ret[n].version, "%s", gnu_get_libc_version());
    return n + 1;
}

static int run_version(const args *a, error *err)
{
    (void)a;
    (void)err;
    versions_row rows[VERSIONS_MAX];
    size_t n = versions_list(rows);
    for (size_t i = 0; i < n; i++)
        printf("%s %s\n", rows[i].name, rows[i].version);
    return 0;
}

const command command_version = {
    .name = "version",
    .operands = "",
    .summary = "Print the versions of this program and of its libraries.",
    .about = "Prints the versions of this program and of the libraries it runs with.",
    .run = run_version,
};
