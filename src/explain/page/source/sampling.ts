// From logits to probabilities: temperature, top-k and top-p (Holtzman et al. 2019, section 3), as a decoder samples.

export interface Candidate {
  place: number; // position in the ranking
  probability: number; // after all filters
  before: number; // without temperature, top-k and top-p
}

/**
 * `logits` of the likeliest tokens, the likeliest first; `total`: the logarithm of the sum of exp(logit) over the whole
 * vocabulary of `size` tokens. With a temperature those that are not listed are taken as equally likely.
 */
export function candidates(
  logits: readonly number[],
  total: number,
  size: number,
  settings: { temperature: number; topK: number; topP: number },
): { kept: Candidate[]; rest: number } {
  const before = logits.map((logit) => Math.exp(logit - total));
  const unlisted = Math.max(0, 1 - before.reduce((sum, p) => sum + p, 0));
  const others = Math.max(0, size - logits.length);
  const warmed = logits.map((logit) => Math.exp((logit - total) / settings.temperature));
  const restWarmed =
    others > 0 && unlisted > 1e-7 ? others * Math.exp(Math.log(unlisted / others) / settings.temperature) : 0;
  const sum = warmed.reduce((all, p) => all + p, restWarmed);
  let kept = warmed.map((p, place) => ({ place, probability: p / sum, before: before[place] as number }));
  let rest = restWarmed / sum;
  const normalize = (): void => {
    const all = kept.reduce((total, { probability }) => total + probability, rest);
    kept = kept.map((candidate) => ({ ...candidate, probability: candidate.probability / all }));
    rest /= all;
  };
  if (settings.topK > 0 && settings.topK < size) {
    kept = kept.slice(0, settings.topK);
    if (settings.topK <= logits.length) rest = 0;
    normalize();
  }
  if (settings.topP < 1) {
    let reached = 0;
    const enough = kept.findIndex(({ probability }) => (reached += probability) >= settings.topP);
    if (enough >= 0) {
      kept = kept.slice(0, enough + 1);
      rest = 0;
      normalize();
    }
  }
  return { kept, rest };
}
