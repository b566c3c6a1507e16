// The data of Debian's package dataset-fashion-mnist: 60 000 images to learn from, 10 000 to be
// judged by, 28 x 28 grey pixels, ten kinds of clothing.
local dir = '/usr/share/datasets/fashion-mnist/';
{
  dataset_reader: { type: 'idx', mean: 0.2860, std: 0.3530, classes: 10 },
  train_data_path: dir + 'train-images-idx3-ubyte.gz',
  validation_data_path: dir + 't10k-images-idx3-ubyte.gz',
  validation_data_loader: { batch_size: 250 },
}
