// As small.jsonnet, but a token is a piece of a word: those of a byte-level BPE tokenizer, as GPT-2's, of 512
// tokens that train_bpe.py learned from the text.
local text(range, stride) = {
  type: 'text',
  tokenizer: 'examples/tiny-shakespeare/bpe',
  end_of_text: '<|endoftext|>',
  context: 32,
  range: range,
  stride: stride,
};
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
