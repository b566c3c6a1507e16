// Of what each pixel is; the data are made by `python3 examples/segmentation/make.py segments`.
{
  dataset_reader: { type: 'arrays' },
  train_data_path: 'segments/train.safetensors',
  validation_data_path: 'segments/validation.safetensors',
  model: {
    type: 'unet',
    width: 8,
  },
  data_loader: { batch_size: 8 },
  trainer: {
    num_epochs: 8,
    batches_per_step: 2,
    optimizer: { type: 'adam', lr: 0.01 },
    validation_metric: '+accuracy',
  },
}
