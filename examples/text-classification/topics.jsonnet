// Short sentences about the weather, the kitchen or music: from raw text to a classifier. vocab.txt holds the word
// pieces, which were chosen by hand.
{
  dataset_reader: {
    type: 'text_classification_json',
    tokenizer: 'examples/text-classification/vocab.txt',
    max_sequence_length: 16,
  },
  train_data_path: 'examples/text-classification/train.jsonl',
  validation_data_path: 'examples/text-classification/validation.jsonl',
  model: {
    type: 'bert',
    head: 'sequence',
    loss: 'cross_entropy',
    vocabulary: 286,
    context: 16,
    width: 32,
    num_layers: 1,
    num_heads: 2,
    feedforward: 64,
    dropout: 0.1,
  },
  data_loader: {
    batch_size: 8,
    batch_sampler: { type: 'bucket', lengths: 3 },
  },
  trainer: {
    num_epochs: 30,
    batches_per_step: 2,
    optimizer: { type: 'adam', lr: 0.01 },
    validation_metric: '+accuracy',
  },
}
