/* TF_CONFIG and CLUSTER_SPEC from a stranger, and Slurm's lists: whatever the text, a cluster that
 * holds together or a refusal with a message. */
#include "common/base/alloc.h"
#include "common/cluster/cluster.h"
#include "common/cluster/slurm.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cluster(const cluster *c)
{
    BUG_ON(c->task.index < 0);
    if (c->task.role != ROLE_EVALUATOR)
        BUG_ON(c->task.index >= c->jobs[c->task.role].n || c->global_id < 0);
    BUG_ON(c->jobs[ROLE_MASTER].n > 1);
    for (int r = 0; r < ROLE_COUNT; r++) {
        BUG_ON(cluster_count(c, (role)r) > c->jobs[r].n);
        for (int32_t i = 0; i < c->jobs[r].n; i++) {
            const char *address = cluster_address(c, (task){(role)r, i});
            char host[64];
            int port = 0;
            if (address && address_split(address, host, sizeof host, &port, NULL) == OK)
                BUG_ON(port < 1 || port > 65535 || !host[0]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    cluster *c = NULL;
    json_t *list = NULL;
    error err = ERROR_INIT;
    if (cluster_from_tf_config(text, &c, &err) == OK)
        check_cluster(c);
    else
        BUG_ON(!err.text[0]);
    cluster_destroy(&c);
    if (cluster_from_cluster_spec(text, &c, NULL) == OK)
        check_cluster(c);
    cluster_destroy(&c);
    if (slurm_hosts(text, &list, NULL) == OK)
        json_decref(list);
    if (slurm_counts(text, &list, NULL) == OK)
        json_decref(list);
    free(text);
    return 0;
}
