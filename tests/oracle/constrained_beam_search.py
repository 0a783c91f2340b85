"""Constrained beam search with the ranking and the constraints of transformers 4.57.6.

The original's loop is in a repository on the Hub; this is ours, for generate()'s `custom_generate`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from transformers import LogitsProcessorList
from transformers.generation.beam_constraints import Constraint, DisjunctiveConstraint, PhrasalConstraint
from transformers.generation.beam_search import ConstrainedBeamSearchScorer

from group_beam_search import reorder


def constraint(word: list[Any]) -> Constraint:
    return DisjunctiveConstraint(word) if isinstance(word[0], list) else PhrasalConstraint(word)


def constrained_beam_search(
    model: Any,
    input_ids: torch.Tensor,  # [batch * beams, length]
    logits_processor: LogitsProcessorList,
    stopping_criteria: Any,
    generation_config: Any,
    **state: Any,
) -> SimpleNamespace:
    config = generation_config
    beams, prompt = config.num_beams, input_ids.shape[1]
    batch = input_ids.shape[0] // beams
    pad, ends = config._pad_token_tensor, config._eos_token_tensor
    scorer = ConstrainedBeamSearchScorer(
        batch, beams, [constraint(word) for word in config.force_words_ids], input_ids.device, config.length_penalty,
        config.early_stopping, config.num_return_sequences, config.max_length,
    )  # fmt: skip
    kept = max(2, 1 + (0 if ends is None else len(ends))) * beams
    scores = torch.full((batch, beams), -1e9)
    scores[:, 0] = 0  # the beams of a prompt are the same at first
    scores = scores.flatten()
    state = model._get_initial_cache_position(prompt, input_ids.device, state)
    while True:
        outputs = model(**model.prepare_inputs_for_generation(input_ids, **state), return_dict=True)
        state = model._update_model_kwargs_for_generation(outputs, state, model.config.is_encoder_decoder)
        logits = outputs.logits[:, -1].float()
        sums = logits_processor(input_ids, logits.log_softmax(-1)) + scores[:, None]  # [batch * beams, V]
        words = sums.shape[-1]
        best, places = sums.view(batch, -1).topk(kept)
        step = scorer.process(
            input_ids, best, places % words, places // words, sums, pad, ends, decoder_prompt_len=prompt
        )
        scores, chosen, order = (step[f"next_beam_{what}"] for what in ("scores", "tokens", "indices"))
        input_ids = torch.cat([input_ids[order], chosen[:, None]], 1)
        reorder(model, state, order)
        if scorer.is_done or stopping_criteria(input_ids, None).all():
            break
    made = scorer.finalize(
        input_ids, scores, chosen, order, config.max_length, pad, ends, decoder_prompt_len=prompt
    )
    return SimpleNamespace(sequences=made["sequences"], sequences_scores=made["sequence_scores"])
