// BERT on sentences of the Stanford Sentiment Treebank.
local bert_model = "bert-base-uncased";

{
  "dataset_reader": {
    "type": "sst_tokens",
    "tokenizer": {"type": "pretrained_transformer", "model_name": bert_model},
    "token_indexers": {"tokens": {"type": "pretrained_transformer", "model_name": bert_model}},
    "granularity": "2-class",
  },
  "train_data_path": "sst/train.txt",
  "validation_data_path": "sst/dev.txt",
  "test_data_path": "sst/test.txt",
  "model": {
    "type": "basic_classifier",
    "text_field_embedder": {"token_embedders": {"tokens": {"type": "pretrained_transformer", "model_name": bert_model}}},
    "seq2vec_encoder": {"type": "bert_pooler", "pretrained_model": bert_model, "dropout": 0.1},
    "namespace": "tags",
  },
  "data_loader": {"batch_sampler": {"type": "bucket", "sorting_keys": ["tokens"], "batch_size": 32}},
  "trainer": {
    "num_epochs": 10,
    "patience": 5,
    "validation_metric": "+accuracy",
    "checkpointer": {"num_serialized_models_to_keep": 1},
    "tensorboard_writer": {"summary_interval": 50, "should_log_learning_rate": true},
    "learning_rate_scheduler": {"type": "slanted_triangular", "num_epochs": 10, "num_steps_per_epoch": 3088, "cut_frac": 0.06},
    "optimizer": {
      "type": "huggingface_adamw",
      "lr": 2e-5,
      "weight_decay": 0.1,
      "parameter_groups": [[["bias", "LayerNorm.weight"], {"weight_decay": 0.0}]],
    },
    "use_amp": true,
  },
  "evaluate_on_test": false,
}
