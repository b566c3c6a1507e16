// A character model of 0.1 M parameters on the first 64 KB of the text: what a test can train in
// seconds. It learns words and the look of a play, nothing more.
local text(range, stride) = { type: 'text', context: 64, range: range, stride: stride };
local file = 'examples/tiny-shakespeare/excerpt.txt';
{
  dataset_reader: text([0, 0.9], 1),
  validation_dataset_reader: text([0.9, 1], null),
  train_data_path: file,
  validation_data_path: file,
  model: { type: 'transformer_lm', num_layers: 2, width: 64, num_heads: 4, dropout: 0 },
  data_loader: { batch_size: 16 },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: 1,
    max_steps: 300,
    batches_per_step: 2,
    optimizer: { type: 'adamw', lr: 5e-3, betas: [0.9, 0.99] },
    learning_rate_scheduler: { type: 'cosine', warmup_steps: 20 },
    grad_norm: 1.0,
  },
}
