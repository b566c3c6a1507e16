// As AllenNLP's models of 2.x publish it: RoBERTa on SQuAD 2.0.
local transformer_model = "roberta-large";
local epochs = 5;
local batch_size = 16;
local length_limit = 512;
local seed = 100;

{
  "dataset_reader": {
      "type": "transformer_squad",
      "transformer_model_name": transformer_model,
      "length_limit": length_limit,
  },
  "validation_dataset_reader": self.dataset_reader + {
  },
  "train_data_path": std.extVar("SQUAD_TRAIN"),
  "validation_data_path": std.extVar("SQUAD_DEV"),
  "vocabulary": {
    "type": "empty"
  },
  "model": {
      "type": "transformer_qa",
      "transformer_model_name": transformer_model,
  },
  "data_loader": {
    "batch_sampler": {
      "type": "bucket",
      "batch_size": batch_size
    }
  },
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
      "num_epochs": epochs,
      "cut_frac": 0.1,
    },
    "callbacks": ["tensorboard"],
    "grad_clipping": 1.0,
    "num_epochs": epochs,
    "validation_metric": "+per_instance_f1",
  },
  "random_seed": seed,
  "numpy_seed": seed,
  "pytorch_seed": seed,
}
