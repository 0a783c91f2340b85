"""Diverse beam search with the ranking and the penalty of transformers 4.57.6.

The original's loop is in a repository on the Hub; this is ours, for generate()'s `custom_generate`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from transformers import LogitsProcessorList
from transformers.generation.beam_search import BeamSearchScorer
from transformers.generation.logits_process import HammingDiversityLogitsProcessor, SequenceBiasLogitsProcessor


def with_diversity(processors: LogitsProcessorList, config: Any) -> LogitsProcessorList:
    """The penalty is after a sequence_bias and before everything else."""
    penalty = HammingDiversityLogitsProcessor(config.diversity_penalty, config.num_beams, config.num_beam_groups)
    biases = [p for p in processors if type(p) is SequenceBiasLogitsProcessor]
    return LogitsProcessorList([*biases, penalty, *(p for p in processors if p not in biases)])


def reorder(model: Any, state: dict[str, Any], order: torch.Tensor) -> None:
    """Reorders the model's cache, if it has one, as the texts are reordered."""
    past = state.get("past_key_values")
    if isinstance(past, (list, tuple)):  # memories
        state["past_key_values"] = model._reorder_cache(past, order)
    elif past is not None:
        past.reorder_cache(order)


def group_beam_search(
    model: Any,
    input_ids: torch.Tensor,  # [batch * beams, length]
    logits_processor: LogitsProcessorList,
    stopping_criteria: Any,
    generation_config: Any,
    **state: Any,
) -> SimpleNamespace:
    config = generation_config
    beams, groups, prompt = config.num_beams, config.num_beam_groups, input_ids.shape[1]
    batch, size = input_ids.shape[0] // beams, beams // groups
    pad, ends = config._pad_token_tensor, config._eos_token_tensor
    scorer = BeamSearchScorer(
        batch, beams, input_ids.device, config.length_penalty, config.early_stopping, config.num_return_sequences,
        groups, config.max_length,
    )  # fmt: skip
    processors = with_diversity(logits_processor, config)
    kept = max(2, 1 + (0 if ends is None else len(ends))) * size
    scores = torch.full((batch, groups, size), -1e9)
    scores[:, :, 0] = 0  # the beams of a group are the same at first
    scores = scores.flatten()
    rows = torch.arange(batch * beams).view(batch, groups, size)
    state = model._get_initial_cache_position(prompt, input_ids.device, state)
    while True:
        outputs = model(**model.prepare_inputs_for_generation(input_ids, **state), return_dict=True)
        state = model._update_model_kwargs_for_generation(outputs, state, model.config.is_encoder_decoder)
        logits = outputs.logits[:, -1].float()
        chosen, order = torch.zeros_like(input_ids[:, 0]), torch.zeros_like(input_ids[:, 0])
        for group in range(groups):
            mine = rows[:, group].flatten()
            logs = processors(
                input_ids[mine], logits[mine].log_softmax(-1), current_tokens=chosen, beam_group_idx=group
            )
            best, places = (logs + scores[mine, None]).view(batch, -1).topk(kept)
            words = logits.shape[-1]
            step = scorer.process(
                input_ids[mine], best, places % words, places // words, pad, ends, group_index=group,
                decoder_prompt_len=prompt,
            )  # fmt: skip
            scores[mine], chosen[mine] = step["next_beam_scores"], step["next_beam_tokens"]
            order[mine] = mine[step["next_beam_indices"]]
        input_ids = torch.cat([input_ids[order], chosen[:, None]], 1)
        reorder(model, state, order)
        if scorer.is_done or stopping_criteria(input_ids, None).all():
            break
    made = scorer.finalize(
        input_ids, scores, chosen, order, config.max_length, pad, ends, decoder_prompt_len=prompt
    )
    return SimpleNamespace(sequences=made["sequences"], sequences_scores=made["sequence_scores"])
