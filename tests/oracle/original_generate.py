"""What the original's generate() makes of prompts, and what it says about it, in the shapes of attend's outputs."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, Iterator

import torch
from transformers import SynthIDTextWatermarkingConfig, WatermarkingConfig

from common import Tensors
from constrained_beam_search import constrained_beam_search
from contrastive_search import contrastive_search
from group_beam_search import group_beam_search

Settings = dict[str, Any]


def original_generate(model: Any, inputs: Tensors, settings: Settings) -> Tensors:
    """`settings` overlay the generation_config.json of the model's directory, as keyword arguments do."""
    if settings.get("return_alternatives"):
        return original_alternatives(model, inputs, settings)
    if forces_an_end(model, settings) and len(next(iter(inputs.values()))) > 1:
        return text_by_text(model, inputs, settings)
    settings = dict(settings)
    with_transitions = settings.pop("output_scores", False)
    settings.pop("prompt_lookup_num_tokens", None)  # the original then takes only one row; it does not change
                                                    # tokens
    settings = with_watermark(settings)
    own_loop = {"custom_generate": own_loop_of(settings)} if own_loop_of(settings) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings without effect (early_stopping without beams), default lengths
        made = model.generate(
            **inputs, **settings, **own_loop, return_dict_in_generate=True, output_scores=True, use_cache=not masks_other_keys(model)
        )
    outputs = {"sequences": made.sequences}
    if getattr(made, "sequences_scores", None) is not None:
        outputs["sequences_scores"] = made.sequences_scores
    if with_transitions:
        ends = settings.get("eos_token_id", model.generation_config.eos_token_id)
        outputs["transition_scores"] = transition_scores(model, made, ends)
    if settings.get("output_attentions") or settings.get("output_hidden_states"):
        outputs |= whole_states(model, inputs, made, settings)
    return outputs


def masks_other_keys(model: Any) -> bool:
    """Does the original's mask not fit its cache? Qwen2 with experts keeps the last keys, but masks the first ones."""
    return model.config.model_type == "qwen2_moe" and bool(model.config.sliding_window)


def forces_an_end(model: Any, settings: Settings) -> bool:
    """Is an end token one of the words that must come? The original stops where all beams of all texts end in one."""
    ends = settings.get("eos_token_id", model.generation_config.eos_token_id)
    words = torch.tensor(list(flat(settings.get("force_words_ids") or [])))
    return bool(torch.isin(words, torch.tensor([] if ends is None else ends)).any())


def flat(nested: Any) -> Iterator[int]:
    for each in nested:
        yield from flat(each) if isinstance(each, list) else [each]


def text_by_text(model: Any, inputs: Tensors, settings: Settings) -> Tensors:
    count = len(next(iter(inputs.values())))
    texts = [original_generate(model, {k: v[i : i + 1] for k, v in inputs.items()}, settings) for i in range(count)]
    longest = max(text["sequences"].shape[1] for text in texts)
    padding = settings.get("pad_token_id", model.generation_config.pad_token_id)
    if padding is None:
        padding = padding_of(model, settings)  # an end
    for text in texts:
        missing = longest - text["sequences"].shape[1]
        text["sequences"] = torch.nn.functional.pad(text["sequences"], (0, missing), value=padding)
    return {name: torch.cat([text[name] for text in texts]) for name in texts[0]}


def with_watermark(settings: Settings) -> Settings:
    """The original reads one kind of watermark from a dict and wants the other as an object."""
    fields = settings.get("watermarking_config")
    if not isinstance(fields, dict):
        return settings
    kind = SynthIDTextWatermarkingConfig if "ngram_len" in fields else WatermarkingConfig
    return settings | {"watermarking_config": kind(**fields)}


def original_alternatives(model: Any, inputs: Tensors, settings: Settings) -> Tensors:
    """The likeliest first tokens, and what the original makes of the prompts with each of them."""
    settings = {name: value for name, value in settings.items() if name != "return_alternatives"}
    count, new = settings.pop("num_return_sequences"), settings.pop("max_new_tokens")
    paired, beams = model.config.is_encoder_decoder, settings.get("num_beams", 1)
    prompt = "decoder_input_ids" if paired else "input_ids"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = model.generate(
            **inputs, **settings, max_new_tokens=2, return_dict_in_generate=True, output_scores=True
        )
    tokens = first.scores[0][::beams].topk(count).indices.flatten()  # [rows * count]
    longer = {name: tensor.repeat_interleave(count, 0) for name, tensor in inputs.items()}
    # From the prompt and not from the steps: beams may have ended in fewer tokens, a forced end comes later.
    before = first.sequences[:, : prompt_length(model, inputs)].repeat_interleave(count, 0)
    longer[prompt] = torch.cat([before, tokens[:, None]], 1)
    if not paired and "input_ids" in inputs:  # given explicitly, because a first token may be the padding
                                              # token
        mask = longer.get("attention_mask", torch.ones_like(before))
        longer["attention_mask"] = torch.nn.functional.pad(mask, (0, 1), value=1)
    outputs = original_generate(model, longer, settings | {"max_new_tokens": new - 1})
    ends = torch.tensor(settings.get("eos_token_id", model.generation_config.eos_token_id) or [])
    ended = torch.isin(tokens, ends)
    sequences = outputs["sequences"]
    padding = sequences.new_tensor(padding_of(model, settings))
    sequences[:, longer[prompt].shape[1] :][ended] = padding
    behind = [behind_end(row, ends) for row in sequences[:, longer[prompt].shape[1] :][~ended]]
    outputs["sequences"] = sequences[:, : sequences.shape[1] - min(behind, default=0)]
    if "sequences_scores" in outputs:
        outputs["sequences_scores"] = outputs["sequences_scores"].masked_fill(ended, 0.0)
    return outputs


def prompt_length(model: Any, inputs: Tensors) -> int:
    """How many tokens stand before the first that generate() makes; it begins a decoder's if they do not."""
    if not model.config.is_encoder_decoder:
        return inputs["input_ids"].shape[1]
    given = inputs.get("decoder_input_ids", torch.empty(1, 0))
    start = model.config.decoder_start_token_id
    return given.shape[1] + (not (given.shape[1] > 0 and bool((given[:, 0] == start).all())))


def padding_of(model: Any, settings: Settings) -> int:
    """What follows the end of a text."""
    ends = settings.get("eos_token_id", model.generation_config.eos_token_id)
    first_end = ends[0] if isinstance(ends, list) else ends
    pad = settings.get("pad_token_id", model.generation_config.pad_token_id)
    return first_end if pad is None or (pad == 0 and settings.get("num_beams", 1) > 1) else pad


def behind_end(row: torch.Tensor, ends: torch.Tensor) -> int:
    """How many tokens follow the first that ends a text."""
    found = torch.isin(row, ends).nonzero()
    return len(row) - 1 - int(found[0]) if len(found) else 0


def whole_states(model: Any, inputs: Tensors, made: Any, settings: Settings) -> Tensors:
    """The states of all steps put together: zero for padding, and behind the end of a text."""
    paired = model.config.is_encoder_decoder
    before = made.sequences.shape[1] - len(made.scores)
    ends = settings.get("eos_token_id", model.generation_config.eos_token_id)
    real = torch.ones_like(made.sequences, dtype=torch.bool)
    if not paired and "attention_mask" in inputs:
        real[:, :before] = inputs["attention_mask"].bool()
    ended = torch.isin(made.sequences[:, before:], torch.tensor([] if ends is None else ends))
    real[:, before:] = ended.cumsum(1) == 0
    real = real[:, :-1]  # no step reads the last token
    sources = inputs["attention_mask"].bool() if paired and "attention_mask" in inputs else None
    outputs: Tensors = {}
    own = "decoder_" if paired else ""
    for kind in ("hidden_states", "attentions"):
        steps = getattr(made, own + kind)
        if steps[-1][-1].shape[-2] == real.shape[1]:  # without a cache every step reads the whole text
            steps = steps[-1:]
        for layer in range(len(steps[0])):
            pieces = [step[layer] for step in steps]
            if kind == "attentions":
                # A cache with a window has only the last keys.
                width, seen = real.shape[1], itertools.accumulate(piece.shape[-2] for piece in pieces)
                pieces = [torch.nn.functional.pad(piece, (n - piece.shape[-1], width - n)) for piece, n in zip(pieces, seen, strict=True)]
            whole = torch.cat(pieces, -2)
            rows = real if kind == "hidden_states" else real[:, None]
            outputs[f"{own}{kind}.{layer}"] = whole.masked_fill(~rows[..., None], 0.0)
    for layer in range(len(made.cross_attentions[0]) if paired else 0):
        whole = torch.cat([step[layer] for step in made.cross_attentions], -2)
        outputs[f"cross_attentions.{layer}"] = whole.masked_fill(~real[:, None, :, None], 0.0)
    for kind in ("hidden_states", "attentions") if paired else ():
        for layer, state in enumerate(getattr(made, f"encoder_{kind}")):
            rows = sources if sources is not None else torch.ones(inputs["input_ids"].shape, dtype=torch.bool)
            rows = rows if kind == "hidden_states" else rows[:, None]
            outputs[f"encoder_{kind}.{layer}"] = state.masked_fill(~rows[..., None], 0.0)
    return {name: state.contiguous() for name, state in outputs.items()}


def own_loop_of(settings: Settings) -> Any:
    """For a search whose loop the original keeps elsewhere."""
    if settings.get("num_beam_groups", 1) > 1:
        return group_beam_search
    if settings.get("force_words_ids"):
        return constrained_beam_search
    if settings.get("penalty_alpha"):
        return contrastive_search
    return None


def transition_scores(model: Any, made: Any, ends: int | list[int] | None) -> torch.Tensor:
    """The log-probability of every new token; 0 behind a text's end."""
    beams = getattr(made, "beam_indices", None)
    scores = model.compute_transition_scores(made.sequences, made.scores, beams, normalize_logits=beams is None)
    ended = torch.isin(made.sequences[:, -scores.shape[1] :], torch.tensor([] if ends is None else ends))
    behind = ended.cumsum(1) - ended.long() > 0
    return scores.masked_fill(behind, 0.0).float().contiguous()
