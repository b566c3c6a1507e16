// Questions about texts: MiniLM, a small BERT, learns to find answers in articles of SQuAD v1.1. fetch.py brings the
// model and the data. The settings are those of AllenNLP's transformer_qa.jsonnet, but for the model and its rate.
local here = 'examples/squad/';
local reader = {
  type: 'transformer_squad',
  transformer_model_name: here + 'minilm',
};
{
  dataset_reader: reader { skip_invalid_examples: true },
  validation_dataset_reader: reader,
  train_data_path: here + 'train.json',
  validation_data_path: here + 'judge.json',
  model: { type: 'transformer_qa', transformer_model_name: here + 'minilm' },
  data_loader: {
    batch_size: 8,
    batch_sampler: { type: 'bucket' },
  },
  trainer: {
    num_epochs: 2,
    batches_per_step: 4,
    optimizer: { type: 'huggingface_adamw', lr: 1e-4, eps: 1e-8, weight_decay: 0.0 },
    learning_rate_scheduler: { type: 'slanted_triangular', cut_frac: 0.1 },
    grad_clipping: 1.0,
    validation_metric: '+squad_f1',
  },
}
