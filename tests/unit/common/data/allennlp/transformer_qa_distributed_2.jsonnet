// The same on two machines of four GPUs.
(import 'transformer_qa_2.jsonnet') + {
  "distributed": {
    "cuda_devices": [0, 1, 2, 3],
    "num_nodes": 2,
    "primary_address": "10.0.0.1",
    "primary_port": 29400,
    "ddp_accelerator": {"type": "torch", "find_unused_parameters": true},
  },
}
