// Named entities of CoNLL-2003 by a tagger, spans counted.
{
  "dataset_reader": {
    "type": "conll2003",
    "tag_label": "ner",
    "coding_scheme": "BIOUL",
    "token_indexers": {"tokens": {"type": "single_id", "lowercase_tokens": true}},
    "max_instances": 200,
  },
  "train_data_path": std.extVar("NER_TRAIN"),
  "validation_data_path": std.extVar("NER_DEV"),
  "model": {
    "type": "simple_tagger",
    "label_encoding": "BIOUL",
    "calculate_span_f1": true,
    "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 50}}},
    "encoder": {"type": "lstm", "input_size": 50, "hidden_size": 100, "bidirectional": true},
    "verbose_metrics": false,
  },
  "vocabulary": {"type": "from_instances", "min_count": {"tokens": 2}},
  "data_loader": {"type": "pytorch_dataloader", "batch_size": 64, "shuffle": true, "pin_memory": true},
  "trainer": {
    "optimizer": {"type": "adam", "lr": 0.001},
    "validation_metric": "+f1-measure-overall",
    "num_epochs": 75,
    "patience": 25,
    "grad_norm": 5.0,
    "opt_level": "O1",
    "moving_average": {"type": "exponential", "decay": 0.999},
  },
  "distributed": {"cuda_devices": [-1, -1], "master_address": "127.0.0.1", "master_port": 29555},
}
