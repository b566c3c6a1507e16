// Which shape a picture shows: a folder a class, made by `python3 examples/pictures/make.py shapes`.
{
  dataset_reader: {
    type: 'image_folder',
    size: 32,
    mean: [0.5, 0.5, 0.5],
    std: [0.25, 0.25, 0.25],
    augment: {
      random_resized_crop: { scale: [0.7, 1] },
      flip: true,
      color_jitter: { brightness: 0.3, saturation: 0.5, hue: 0.5 },
    },
  },
  train_data_path: 'shapes/train',
  validation_data_path: 'shapes/validation',
  model: {
    type: 'cnn',
  },
  data_loader: { batch_size: 32 },
  trainer: {
    num_epochs: 6,
    optimizer: { type: 'adam', lr: 0.002 },
    validation_metric: '+accuracy',
  },
}
