// What pictures show, learned from a folder with a folder a class in it, $PICTURES: its every fifth one is kept to judge
// by. Photographs of many kinds want more than this little network: size 224, model resnet18 and more epochs.
local reader = {
  type: 'image_folder',
  size: 32,
  mean: [0.5, 0.5, 0.5],
  std: [0.25, 0.25, 0.25],
};
{
  dataset_reader: reader + {
    range: [0, 0.8],
    augment: {
      random_resized_crop: { scale: [0.7, 1] },
      flip: true,
      color_jitter: { brightness: 0.3, saturation: 0.5, hue: 0.5 },
    },
  },
  validation_dataset_reader: reader + { range: [0.8, 1] },
  train_data_path: std.extVar('PICTURES'),
  validation_data_path: self.train_data_path,
  model: { type: 'cnn', channels: [16, 32], hidden: [64] },
  data_loader: { batch_size: 16 },
  trainer: {
    num_epochs: 10,
    optimizer: { type: 'adam', lr: 0.002 },
    validation_metric: '+accuracy',
  },
}
