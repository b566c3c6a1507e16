"""Hugging Face's networks over images, sound and time series, narrow."""

import torch
import torch.nn.functional as F
import transformers

from entry import Entry, integers, normal, padding

from .hugging import hugging
from .language import BERT, IDS, SPECIAL, WIDE, WORDS

CLASSES = 4
PIXELS = "pixel_values"
IMAGE = {PIXELS: normal(3, 16, 16)}
BACKBONE = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1],
                                     layer_type="basic", out_features=["stage2"])
PATCHES = WIDE | dict(image_size=16, patch_size=4)


def pictures(name, side=16, **options):
    return Entry(hugging(name, [PIXELS], num_labels=CLASSES, **options),
                 {PIXELS: normal(3, side, side)}, {"label": integers(CLASSES)})


def sound(name, **options):
    shared = dict(conv_dim=[8, 8], conv_stride=[3, 2], conv_kernel=[5, 3], num_conv_pos_embeddings=4,
                  num_conv_pos_embedding_groups=2, classifier_proj_size=12, vocab_size=20,
                  apply_spec_augment=False, layerdrop=0.0, **WIDE)
    return Entry(hugging(name, ["input_values"], num_labels=CLASSES, **shared | options),
                 {"input_values": normal(80)}, {"label": integers(CLASSES)})


def matching(name, vision, text=BERT, **options):
    """Pictures and texts that belong together, by their row."""
    def loss(similarity):
        want = torch.arange(similarity.shape[0])
        return (F.cross_entropy(similarity, want) + F.cross_entropy(similarity.T, want)) / 2
    return Entry(hugging(name, [IDS, PIXELS], pick="logits_per_text", text_config=text,
                         vision_config=vision, **options),
                 {IDS: integers(WORDS, 8, low=5)} | IMAGE, loss=loss)


ZOO = {
    "vit_hf": pictures("ViTForImageClassification", **PATCHES),
    "deit": pictures("DeiTForImageClassification", **PATCHES),
    "beit": pictures("BeitForImageClassification", use_relative_position_bias=True, **PATCHES),
    "dinov2": pictures("Dinov2ForImageClassification", **PATCHES),
    "swin_hf": pictures("SwinForImageClassification", image_size=16, patch_size=2, embed_dim=8,
                        depths=[2, 2], num_heads=[2, 2], window_size=4),
    "swinv2": pictures("Swinv2ForImageClassification", image_size=16, patch_size=2, embed_dim=8,
                       depths=[2, 2], num_heads=[2, 2], window_size=4),
    "convnext_hf": pictures("ConvNextForImageClassification", hidden_sizes=[8, 12], depths=[1, 1],
                            num_stages=2, patch_size=2),
    "convnextv2": pictures("ConvNextV2ForImageClassification", hidden_sizes=[8, 12], depths=[1, 1],
                           num_stages=2, patch_size=2),
    "mobilevit": pictures("MobileViTForImageClassification", side=64, image_size=64,
                          hidden_sizes=[12, 16, 20], neck_hidden_sizes=[4, 8, 12, 16, 16, 20, 24],
                          num_attention_heads=2, expand_ratio=2.0),
    "poolformer": pictures("PoolFormerForImageClassification", hidden_sizes=[8, 12, 16, 20],
                           depths=[1, 1, 1, 1], side=32),
    "pvt": pictures("PvtForImageClassification", image_size=32, side=32, num_encoder_blocks=2,
                    depths=[1, 1], sequence_reduction_ratios=[2, 1], hidden_sizes=[8, 16],
                    patch_sizes=[4, 2], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2]),
    "levit": pictures("LevitForImageClassification", image_size=64, side=64, hidden_sizes=[16, 24, 32],
                      num_attention_heads=[1, 2, 2], depths=[1, 1, 1], key_dim=[4, 4, 4]),
    "segformer": Entry(hugging("SegformerForSemanticSegmentation", [PIXELS], num_labels=CLASSES,
                               hidden_sizes=[8, 8, 12, 12], depths=[1, 1, 1, 1],
                               decoder_hidden_size=8, num_attention_heads=[1, 1, 2, 2]),
                       {PIXELS: normal(3, 32, 32)}, {"label": integers(CLASSES, 8, 8)}, batch=8),
    "detr": Entry(hugging("DetrForObjectDetection", [PIXELS], backbone_config=BACKBONE, d_model=16, encoder_layers=1,
                          decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                          encoder_ffn_dim=24, decoder_ffn_dim=24, num_queries=5, num_labels=CLASSES),
                  {PIXELS: normal(3, 32, 32)}, {"label": integers(CLASSES, 5)}, classes=CLASSES + 1),
    "yolos": Entry(hugging("YolosForObjectDetection", [PIXELS], num_labels=CLASSES,
                           num_detection_tokens=5, **PATCHES | dict(image_size=[16, 16])),
                   IMAGE, {"label": integers(CLASSES, 5)}, classes=CLASSES + 1),
    "clip": matching("CLIPModel", PATCHES, BERT | SPECIAL, projection_dim=12),
    "siglip": matching("SiglipModel", PATCHES, BERT | dict(projection_size=24)),
    "blip": matching("BlipModel", PATCHES, BERT, projection_dim=12),
    "whisper": Entry(hugging("WhisperForConditionalGeneration", ["input_features", "decoder_input_ids"],
                             call={"use_cache": False}, vocab_size=WORDS, num_mel_bins=8, d_model=24,
                             encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
                             decoder_attention_heads=3, encoder_ffn_dim=48, decoder_ffn_dim=48,
                             max_source_positions=10, max_target_positions=12, pad_token_id=0,
                             bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
                             suppress_tokens=[], begin_suppress_tokens=[]),
                     {"input_features": normal(8, 20), "decoder_input_ids": integers(WORDS, 7, low=5)},
                     {"label": integers(WORDS, 7)}, classes=WORDS),
    "wav2vec2": sound("Wav2Vec2ForSequenceClassification"),
    "hubert": sound("HubertForSequenceClassification"),
    "wavlm": sound("WavLMForSequenceClassification", num_buckets=8, max_bucket_distance=16),
    "sew": sound("SEWForSequenceClassification", squeeze_factor=2),
    "ast": Entry(hugging("ASTForAudioClassification", ["input_values"], num_labels=CLASSES,
                         patch_size=4, frequency_stride=4, time_stride=4, max_length=16,
                         num_mel_bins=8, **WIDE),
                 {"input_values": normal(16, 8)}, {"label": integers(CLASSES)}),
    "patchtst": Entry(hugging("PatchTSTForPrediction", ["past_values"], pick="prediction_outputs",
                              num_input_channels=2, context_length=16, patch_length=4, patch_stride=4,
                              d_model=12, num_attention_heads=3, num_hidden_layers=2, ffn_dim=24,
                              prediction_length=4, loss="mse"),
                      {"past_values": normal(16, 2)}, {"label": normal(4, 2)}, "mean_squared_error"),
    "patchtsmixer": Entry(hugging("PatchTSMixerForPrediction", ["past_values"], pick="prediction_outputs",
                                  num_input_channels=2, context_length=16, patch_length=4,
                                  patch_stride=4, d_model=8, num_layers=2, prediction_length=4,
                                  loss="mse"),
                          {"past_values": normal(16, 2)}, {"label": normal(4, 2)},
                          "mean_squared_error"),
    "decision_transformer": Entry(
        hugging("DecisionTransformerModel", ["states", "actions", "rewards", "returns_to_go", "timesteps",
                                             "attention_mask"], pick="action_preds", state_dim=4,
                act_dim=3, hidden_size=24, n_layer=2, n_head=3, n_positions=40, max_ep_len=16,
                vocab_size=1, bos_token_id=0, eos_token_id=0),
        {"states": normal(6, 4), "actions": normal(6, 3), "rewards": normal(6, 1),
         "returns_to_go": normal(6, 1), "timesteps": integers(16, 6), "attention_mask": padding(6)},
        {"label": normal(6, 3)}, "mean_squared_error"),
}
