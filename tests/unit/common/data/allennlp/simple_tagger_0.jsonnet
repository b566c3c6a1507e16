// The tagger of the 0.x tutorials: an LSTM over words and tags in one line.
{
  "dataset_reader": {
    "type": "sequence_tagging",
    "word_tag_delimiter": "/",
    "token_indexers": {"tokens": {"type": "single_id", "lowercase_tokens": true}},
    "lazy": true,
  },
  "train_data_path": "tagging/training.txt",
  "validation_data_path": "tagging/validation.txt",
  "model": {
    "type": "simple_tagger",
    "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 6}}},
    "encoder": {"type": "lstm", "input_size": 6, "hidden_size": 6},
  },
  "iterator": {"type": "bucket", "batch_size": 2, "sorting_keys": [["sentence", "num_tokens"]], "padding_noise": 0.0},
  "trainer": {
    "num_epochs": 1000,
    "patience": 10,
    "cuda_device": [0, 1],
    "optimizer": {"type": "sgd", "lr": 0.1},
    "num_serialized_models_to_keep": -1,
    "summary_interval": 20,
    "should_log_learning_rate": true,
  },
}
