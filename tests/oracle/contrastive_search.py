"""Contrastive search (Su et al. 2022, arXiv:2202.06417), which transformers 4.57.6 does not hold any more.

To be handed to generate() as `custom_generate`. Plain: every candidate's text is read anew, without a cache.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from transformers import LogitsProcessorList


def contrastive_search(
    model: Any,
    input_ids: torch.Tensor,  # [B, n]
    logits_processor: LogitsProcessorList,
    stopping_criteria: Any,
    generation_config: Any,
    **state: Any,
) -> SimpleNamespace:
    alpha, k = generation_config.penalty_alpha, generation_config.top_k
    prompt = input_ids.shape[1]
    going_on = torch.ones(len(input_ids), dtype=torch.bool)
    all_scores = []
    while going_on.any():
        logits, hidden = read(model, input_ids, prompt, state)
        scores = logits_processor(input_ids, logits[:, -1].float())
        probabilities, candidates = scores.softmax(-1).topk(k)  # [B, k]
        ranking = []
        for c in range(k):
            _, longer = read(model, torch.cat([input_ids, candidates[:, c, None]], 1), prompt, state)
            cosines = torch.cosine_similarity(longer[:, :-1], longer[:, -1:], dim=-1)  # [B, n]
            cosines = cosines.masked_fill(visible(input_ids, prompt, state) == 0, -torch.inf)
            ranking.append((1 - alpha) * probabilities[:, c] - alpha * cosines.amax(1))
        ruled_out = scores.gather(1, candidates) == -torch.inf
        best = torch.stack(ranking, 1).masked_fill(ruled_out, -torch.inf).argmax(1)
        chosen = candidates.gather(1, best[:, None])  # [B, 1]
        chosen[~going_on] = generation_config._pad_token_tensor if generation_config._pad_token_tensor is not None else 0
        input_ids = torch.cat([input_ids, chosen], 1)
        all_scores.append(scores)
        going_on = going_on & ~stopping_criteria(input_ids, None)
    return SimpleNamespace(sequences=input_ids, scores=tuple(all_scores))


def visible(ids: torch.Tensor, prompt: int, state: dict[str, Any]) -> torch.Tensor:
    """[B, n]: 0 for the padding before a decoder's prompt."""
    mask = state.get("attention_mask")
    if mask is None or "encoder_outputs" in state:
        return torch.ones_like(ids)
    return torch.cat([mask, mask.new_ones(len(ids), ids.shape[1] - prompt)], 1)


def read(model: Any, ids: torch.Tensor, prompt: int, state: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and last hidden states of every token."""
    if "encoder_outputs" in state:
        sources = {name: state[name] for name in ("encoder_outputs", "attention_mask") if state.get(name) is not None}
        made = model(**sources, decoder_input_ids=ids, output_hidden_states=True, use_cache=False, return_dict=True)
        return made.logits, made.decoder_hidden_states[-1]
    more = {"attention_mask": visible(ids, prompt, state)} if state.get("attention_mask") is not None else {}
    inputs = model.prepare_inputs_for_generation(ids, **more, use_cache=False)
    made = model(**inputs | {"output_hidden_states": True, "return_dict": True})
    return made.logits, made.hidden_states[-1]
