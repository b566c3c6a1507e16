// Points of a square, inside a circle or outside: lines of JSON in a folder of three uneven files.
{
  dataset_reader: {
    type: 'jsonl',
    fields: [
      { name: 'at', type: 'numbers', shape: [2] },
      { name: 'label', type: 'word', key: 'is' },
    ],
  },
  train_data_path: 'examples/jsonl/train',
  validation_data_path: 'examples/jsonl/validation.jsonl',
  model: { type: 'mlp', hidden: [32, 32] },
  data_loader: { batch_size: 16 },
  trainer: {
    num_epochs: 20,
    batches_per_step: 2,
    optimizer: { type: 'adam', lr: 0.01 },
    validation_metric: '+accuracy',
  },
}
