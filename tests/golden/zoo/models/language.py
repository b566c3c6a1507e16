"""Transformers over tokens, and what took their place: Hugging Face's, narrow."""

from entry import Entry, integers, padding

from .hugging import hugging

WORDS, LENGTH, CLASSES = 60, 9, 3
IDS, MASK = "input_ids", "attention_mask"
TOKENS = {IDS: integers(WORDS, LENGTH, low=5)}    # the first ones are special: padding, ends
TEXT = TOKENS | {MASK: padding(LENGTH)}

WIDE = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48)
BERT = WIDE | dict(vocab_size=WORDS, max_position_embeddings=20)
LLAMA = WIDE | dict(vocab_size=WORDS, max_position_embeddings=20, num_attention_heads=4,
                    num_key_value_heads=2, hidden_size=32, head_dim=8, pad_token_id=0,
                    bos_token_id=1, eos_token_id=2)
SPECIAL = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)


def classifier(name, **options):
    return Entry(hugging(name, [IDS, MASK], num_labels=CLASSES, **options), TEXT,
                 {"label": integers(CLASSES)})


def decoder(name, **options):
    """A language model; labels are given, as a text's next tokens."""
    return Entry(hugging(name, [IDS, MASK], call={"use_cache": False}, **options), TEXT,
                 {"label": integers(WORDS, LENGTH)}, classes=WORDS)


def translator(name, **options):
    shared = dict(vocab_size=WORDS, decoder_start_token_id=0, **SPECIAL)
    return Entry(hugging(name, [IDS, "decoder_input_ids"], call={"use_cache": False},
                         **shared, **options),
                 TOKENS | {"decoder_input_ids": integers(WORDS, 7, low=5)},
                 {"label": integers(WORDS, 7)}, classes=WORDS)


BART = dict(d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
            decoder_attention_heads=3, encoder_ffn_dim=48, decoder_ffn_dim=48,
            max_position_embeddings=20)
T5 = dict(d_model=24, d_kv=8, d_ff=48, num_layers=2, num_heads=3)

ZOO = {
    "bert": classifier("BertForSequenceClassification", **BERT),
    "distilbert": classifier("DistilBertForSequenceClassification", vocab_size=WORDS, dim=24,
                             n_layers=2, n_heads=3, hidden_dim=48, max_position_embeddings=20),
    "roberta": classifier("RobertaForSequenceClassification", **BERT | dict(type_vocab_size=1)),
    "albert": classifier("AlbertForSequenceClassification", embedding_size=12, **BERT),
    "electra": classifier("ElectraForSequenceClassification", embedding_size=12, **BERT),
    "deberta_v2": classifier("DebertaV2ForSequenceClassification", relative_attention=True,
                             pos_att_type=["p2c", "c2p"], position_buckets=4, norm_rel_ebd="layer_norm",
                             share_att_key=True, **BERT),
    "xlnet": classifier("XLNetForSequenceClassification", vocab_size=WORDS, d_model=24, n_layer=2,
                        n_head=3, d_inner=48),
    "funnel": classifier("FunnelForSequenceClassification", vocab_size=WORDS, block_sizes=[1, 1],
                         d_model=24, n_head=3, d_head=8, d_inner=48, num_decoder_layers=1),
    "mpnet": classifier("MPNetForSequenceClassification", **BERT),
    "modernbert": classifier("ModernBertForSequenceClassification", local_attention=4,
                             cls_token_id=1, sep_token_id=2, **SPECIAL, **BERT),
    "longformer": classifier("LongformerForSequenceClassification", attention_window=4, **BERT),
    "big_bird": classifier("BigBirdForSequenceClassification", attention_type="original_full",
                           attention="eager", **BERT),
    "convbert": classifier("ConvBertForSequenceClassification", embedding_size=24,
                           **BERT | dict(hidden_size=24, num_attention_heads=2, head_ratio=2)),
    "squeezebert": classifier("SqueezeBertForSequenceClassification", embedding_size=24,
                              **BERT | dict(num_attention_heads=4, q_groups=2, k_groups=2, v_groups=2,
                                            post_attention_groups=1, intermediate_groups=2,
                                            output_groups=2)),
    "fnet": Entry(hugging("FNetForSequenceClassification", [IDS], vocab_size=WORDS, hidden_size=24,
                          num_hidden_layers=2, intermediate_size=48, max_position_embeddings=20,
                          num_labels=CLASSES), TOKENS, {"label": integers(CLASSES)}),
    "roformer": classifier("RoFormerForSequenceClassification", embedding_size=24,
                           **BERT | dict(num_attention_heads=2)),
    "gpt2": decoder("GPT2LMHeadModel", vocab_size=WORDS, n_embd=24, n_layer=2, n_head=3,
                    n_positions=20, **SPECIAL),
    "gpt_neo": decoder("GPTNeoForCausalLM", vocab_size=WORDS, hidden_size=24, num_layers=2, num_heads=3,
                       attention_types=[[["global", "local"], 1]], window_size=4,
                       max_position_embeddings=20, **SPECIAL),
    "gpt_neox": decoder("GPTNeoXForCausalLM", **BERT | SPECIAL | dict(num_attention_heads=2)),
    "gptj": decoder("GPTJForCausalLM", vocab_size=WORDS, n_embd=24, n_layer=2, n_head=3, n_positions=20,
                    rotary_dim=4, **SPECIAL),
    "opt": decoder("OPTForCausalLM", ffn_dim=48, word_embed_proj_dim=24, **SPECIAL,
                   **{k: v for k, v in BERT.items() if k != "intermediate_size"}),
    "bloom": decoder("BloomForCausalLM", vocab_size=WORDS, hidden_size=24, n_layer=2, n_head=3,
                     **SPECIAL),
    "llama": decoder("LlamaForCausalLM", **LLAMA),
    "mistral": decoder("MistralForCausalLM", sliding_window=4, **LLAMA),
    "mixtral": decoder("MixtralForCausalLM", num_local_experts=3, num_experts_per_tok=2, **LLAMA),
    "qwen2": decoder("Qwen2ForCausalLM", **LLAMA),
    "qwen3": decoder("Qwen3ForCausalLM", **LLAMA),
    "gemma": decoder("GemmaForCausalLM", **LLAMA),
    "gemma2": decoder("Gemma2ForCausalLM", sliding_window=4, attention="eager", **LLAMA),
    "phi": decoder("PhiForCausalLM", **LLAMA),
    "phi3": decoder("Phi3ForCausalLM", **LLAMA),
    "falcon": decoder("FalconForCausalLM", vocab_size=WORDS, hidden_size=24, num_hidden_layers=2,
                      num_attention_heads=3, alibi=False, **SPECIAL),
    "stablelm": decoder("StableLmForCausalLM", **LLAMA),
    "mamba": decoder("MambaForCausalLM", vocab_size=WORDS, hidden_size=16, state_size=4,
                     num_hidden_layers=2, conv_kernel=3, time_step_rank=2, **SPECIAL),
    "rwkv": decoder("RwkvForCausalLM", vocab_size=WORDS, hidden_size=16, num_hidden_layers=2,
                    attention_hidden_size=16, context_length=12, **SPECIAL),
    "t5": translator("T5ForConditionalGeneration", **T5),
    "bart": translator("BartForConditionalGeneration", **BART),
    "mbart": translator("MBartForConditionalGeneration", **BART),
    "pegasus": translator("PegasusForConditionalGeneration", **BART),
    "marian": translator("MarianMTModel", **BART),
    "m2m_100": translator("M2M100ForConditionalGeneration", **BART),
    "prophetnet": translator("ProphetNetForConditionalGeneration", hidden_size=24, encoder_ffn_dim=48,
                             num_encoder_layers=1, num_encoder_attention_heads=3, decoder_ffn_dim=48,
                             num_decoder_layers=1, num_decoder_attention_heads=3,
                             max_position_embeddings=20, ngram=2, num_buckets=4, relative_max_distance=8),
}
