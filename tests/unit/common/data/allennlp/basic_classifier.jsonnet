// A bag of embeddings on movie reviews.
{
  "dataset_reader": {
    "type": "text_classification_json",
    "tokenizer": {"type": "whitespace"},
    "token_indexers": {"tokens": {"type": "single_id", "lowercase_tokens": true}},
    "max_sequence_length": 400,
  },
  "datasets_for_vocab_creation": ["train"],
  "train_data_path": "imdb/train.jsonl",
  "validation_data_path": "imdb/dev.jsonl",
  "model": {
    "type": "basic_classifier",
    "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 50}}},
    "seq2vec_encoder": {"type": "bag_of_embeddings", "embedding_dim": 50},
    "dropout": 0.1,
  },
  "data_loader": {
    "type": "multiprocess",
    "batch_sampler": {"type": "bucket", "sorting_keys": ["tokens"], "batch_size": 32},
    "num_workers": 2,
    "max_instances_in_memory": 1000,
  },
  "validation_data_loader": {"batch_size": 64, "shuffle": false},
  "trainer": {
    "type": "gradient_descent",
    "num_epochs": 10,
    "patience": 3,
    "cuda_device": -1,
    "grad_norm": false,
    "validation_metric": "+accuracy",
    "optimizer": {"type": "adam", "lr": 0.001},
    "checkpointer": {"keep_most_recent_by_count": 1, "save_every_num_batches": 500},
    "run_confidence_checks": false,
  },
}
