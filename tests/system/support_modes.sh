# Helpers for the system tests of the modes ssp and async; source it instead of support_tasks.sh. It
# makes data and a job of 500 batches that take a second or two.
# shellcheck disable=SC2034,SC2148,SC2154  # used by the tests; sh; support.sh sets dir
. "$(dirname "$0")/support_tasks.sh"

# 394 examples, 25 batches an epoch; the first layer's weights make three parts
"$MAKE_IDX" "$dir/train" 394 7 32
cat >"$dir/config.jsonnet" <<END
{
    dataset_reader: { type: "idx" },
    train_data_path: "$dir/train/images-idx3-ubyte",
    model: { type: "mlp", hidden: [200, 24], dropout: 0.2, batch_norm: true, metrics: ["confusion_matrix"] },
    data_loader: { batch_size: 16 },
    trainer: {
        max_steps: 500,
        num_epochs: 100,
        batches_per_step: 4,
        save_summary_steps: 1,
        save_histogram_steps: 1000,
        optimizer: { type: "adam", lr: 0.003 },
    },
    distributed: { lanes: 1, heartbeat_timeout: 2, wait_warning: 0.3 },
}
END
async='"distributed.mode": "async"'
ssp='"distributed.mode": "ssp", "distributed.staleness": 1'
often='"trainer.save_checkpoints_steps": 10'

summary() {
    json "$dir/job/summary.json" "$1"
}

# whole WHO: the job is done, every batch once
whole() {
    [ "$(summary batches_applied)" = 500 ] || show_tasks "$1: $(summary batches_applied) batches"
    [ "$(summary steps)" = 500 ] || show_tasks "$1: $(summary steps) steps"
    grep -q '"training_confusion_matrix": ' "$dir/job/metrics.json" ||
        show_tasks "$1: not all batches of the last epoch are counted"
    [ "$(summary bits)" = unordered ] || show_tasks "$1: bits"
    "$TEQUIO" inspect "$dir/job/checkpoints/step-000000500" >"$dir/out" ||
        show_tasks "$1: the last checkpoint"
    says out "every part has all below 500, and 0 beyond"
    sed 's/.*"step": *\([0-9]*\).*/\1/' "$dir/job/metrics.jsonl" >"$dir/told"
    sort -n -u "$dir/told" | cmp -s "$dir/told" || show_tasks "$1: metrics.jsonl goes back"
    [ "$(tail -n 1 "$dir/told")" = 500 ] || show_tasks "$1: the last step of metrics.jsonl"
}

again() { # again TYPE INDEX OPTION...: a task that was killed, anew
    mv "$dir/$1.$2.log" "$dir/$1.$2.before.log"
    task "$@"
}
