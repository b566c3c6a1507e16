// The same on four GPUs.
(import 'transformer_qa_1.jsonnet') + {
  "trainer": {
    "optimizer": {
      "type": "huggingface_adamw",
      "weight_decay": 0.0,
      "parameter_groups": [[["bias", "LayerNorm\\.weight", "layer_norm\\.weight"], {"weight_decay": 0}]],
      "lr": 2e-5,
      "eps": 1e-8
    },
    "learning_rate_scheduler": {
      "type": "slanted_triangular",
      "num_epochs": 3,
      "cut_frac": 0.1,
    },
    "grad_clipping": 1.0,
    "num_epochs": 3,
  },
  "distributed": {
    "cuda_devices": [0, 1, 2, 3],
  },
}
