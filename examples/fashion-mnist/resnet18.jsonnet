// A residual network an eighth as wide as the original, with the stem for small images.
(import 'data.libsonnet') + {
  model: { type: 'resnet18', stem: 'cifar', width: 8 },
  data_loader: { batch_size: 64 },
  trainer: {
    num_epochs: 4,
    batches_per_step: 2,
    optimizer: { type: 'adam', lr: 4e-3 },
    learning_rate_scheduler: { type: 'slanted_triangular' },
    validation_metric: '+accuracy',
  },
}
