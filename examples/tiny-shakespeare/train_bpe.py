"""Trains the tokenizer of bpe.jsonnet on excerpt.txt, with Hugging Face's `tokenizers` (0.23).

    python train_bpe.py       writes bpe/tokenizer.json
"""

import pathlib

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=["<|endoftext|>"], show_progress=False,
                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
tokenizer.train([str(HERE / "excerpt.txt")], trainer)
(HERE / "bpe").mkdir(exist_ok=True)
tokenizer.save(str(HERE / "bpe" / "tokenizer.json"), pretty=False)
