// The same on two GPUs, each with batches of half the size.
(import 'transformer_qa_1.jsonnet') + {
  "data_loader": {
    "batch_sampler": {
      "type": "bucket",
      "batch_size": 4
    }
  },
  "distributed": {
    "cuda_devices": [0, 1],
  },
}
