// A language model over a text.
{
  "dataset_reader": {"type": "text", "tokenizer": "characters", "context": 64, "max_instances": 1000},
  "train_data_path": "text/train.txt",
  "validation_data_path": "text/dev.txt",
  "model": {"type": "transformer_lm", "num_layers": 2, "num_heads": 2, "width": 32},
  "data_loader": {"batch_size": 16, "shuffle": true},
  "trainer": {
    "num_epochs": 5,
    "optimizer": {"type": "dense_sparse_adam", "lr": 0.001},
    "grad_norm": 1.0,
    "grad_scaling": false,
    "no_grad": [],
  },
  "batch_weight_key": "",
}
