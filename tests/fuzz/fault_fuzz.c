/* The text of --fault: whatever it is, a plan whose clauses hold together or a refusal that says
 * why. */
#include "common/base/alloc.h"
#include "common/fault/plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_clause(const fault_clause *c)
{
    BUG_ON(c->task.index < 0 || c->life < 0 || c->at_us < 0 || c->length_us < 0);
    BUG_ON(c->share < 0 || c->share > 1);
    BUG_ON(c->message && (c->number < 1 || (!c->sent && !c->received)));
    BUG_ON(strchr(c->text, ',') != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    fault_plan *p = NULL;
    error err = ERROR_INIT;
    if (fault_plan_parse(text, &p, &err) == OK)
        for (size_t i = 0; i < p->n; i++)
            check_clause(&p->clauses[i]);
    else
        BUG_ON(!err.text[0]);
    fault_plan_destroy(&p);
    free(text);
    return 0;
}
