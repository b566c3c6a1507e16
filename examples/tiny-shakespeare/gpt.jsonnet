// A character model of 10.8 M parameters: 6 layers, 384 wide, 6 heads, 256 characters of context.
local text(range, stride) = { type: 'text', context: 256, range: range, stride: stride };
local file = 'examples/tiny-shakespeare/input.txt';
{
  dataset_reader: text([0, 0.9], 1),
  validation_dataset_reader: text([0.9, 1], null),
  train_data_path: file,
  validation_data_path: file,
  model: {
    type: 'transformer_lm',
    num_layers: 6,
    width: 384,
    num_heads: 6,
    dropout: 0.1,
  },
  data_loader: { batch_size: 4 },
  validation_data_loader: { batch_size: 16 },
  trainer: {
    num_epochs: 1,
    max_steps: 3600,
    precision: 'bf16',
    // Two batches make a step, whoever computes them: so the result is the same on one lane or two.
    batches_per_step: 2,
    save_checkpoints_steps: 600,
    optimizer: { type: 'adamw', lr: 1e-3, betas: [0.9, 0.99], weight_decay: 0.1 },
    learning_rate_scheduler: { type: 'cosine', warmup_steps: 100, minimum: 1e-4 },
    grad_norm: 1.0,
  },
}
