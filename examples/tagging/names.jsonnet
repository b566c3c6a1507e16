// Names of people, places and organisations, tagged word by word: a small encoder over words that are numbered by the
// training sentences. train.conll is of the form of CoNLL-2003, its tags of IOB1; they are turned into BIOUL.
{
  dataset_reader: { type: 'conll2003', tag_label: 'ner', coding_scheme: 'BIOUL', min_count: 2 },
  train_data_path: 'examples/tagging/train.conll',
  validation_data_path: 'examples/tagging/validation.conll',
  model: {
    type: 'bert',
    head: 'tokens',
    loss: 'cross_entropy',
    vocabulary: 128,
    context: 32,
    width: 32,
    num_layers: 2,
    num_heads: 2,
    feedforward: 64,
    dropout: 0.1,
    metrics: [{ type: 'span_f1', label_encoding: 'BIOUL' }],
  },
  data_loader: { batch_size: 4, batch_sampler: { type: 'bucket', lengths: 3, multiple: 4 } },
  trainer: {
    num_epochs: 40,
    optimizer: { type: 'adamw', lr: 3e-3 },
    validation_metric: '+span_f1',
  },
}
