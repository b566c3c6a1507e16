// A network of PyTorch, exported by export.py, trained without Python:
//   tequio train examples/onnx-fashion-mnist/train.jsonnet -s runs/onnx --workers 2 --ps 1
(import '../fashion-mnist/data.libsonnet') + {
  model: { type: 'onnx', path: std.thisFile[:std.length(std.thisFile) - std.length('train.jsonnet')] + 'model.onnx' },
  data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: 4,
    batches_per_step: 2,
    optimizer: { type: 'adam', lr: 2e-3 },
    learning_rate_scheduler: { type: 'slanted_triangular' },
    validation_metric: '+accuracy',
  },
}
