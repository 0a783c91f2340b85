// The arithmetic of one head, as in the model: scores, the terms added to them, softmax.
import type { Layer } from "./explanation";
import type { Numbers, Store } from "./numbers";

export interface HeadNumbers {
  queries: number;
  keys: number;
  size: number; // of a head
  query: Numbers;
  key: Numbers;
  value: Numbers;
  copies: Numbers;
  added: { name: string; scores: Numbers }[];
  scale: number;
}

/** What the page has of a layer's arithmetic; a text says why there is nothing (yet). */
export function headNumbers(store: Store, layer: Layer): HeadNumbers | string {
  if (!layer.query) return "This page holds no queries and keys of this layer.";
  if ([layer.query, layer.key, layer.value, ...(layer.added ?? []).map((term) => term.scores)].some((ref) => ref?.left_out))
    return "What is added to the scores of this layer is too large for a page of all layers: make one with --layers.";
  const [query, key, value, copies] = [layer.query, layer.key, layer.value, layer.copies].map((ref) => store.get(ref));
  const added = (layer.added ?? []).map((term) => ({ name: term.name, scores: store.get(term.scores) }));
  if (!query || !key || !value || !copies || added.some((term) => !term.scores)) return "Unpacking …";
  return {
    queries: query.shape[1] as number,
    keys: key.shape[1] as number,
    size: query.shape[2] as number,
    query,
    key,
    value,
    copies,
    added: added as { name: string; scores: Numbers }[],
    scale: layer.scale as number,
  };
}

export interface Row {
  product: Float64Array; // query . key
  terms: Float64Array[]; // the added terms
  score: Float64Array;
  weight: Float64Array;
}

/** How the weights of one query came about. */
export function formRow(n: HeadNumbers, head: number, query: number): Row {
  const { keys, size } = n;
  const row: Row = {
    product: new Float64Array(keys),
    terms: n.added.map(() => new Float64Array(keys)),
    score: new Float64Array(keys),
    weight: new Float64Array(keys),
  };
  const q = (head * n.queries + query) * size;
  const at = (head * n.queries + query) * keys;
  let max = -Infinity;
  for (let j = 0; j < keys; ++j) {
    const k = (head * keys + j) * size;
    let product = 0;
    for (let d = 0; d < size; ++d) product += n.query.at(q + d) * n.key.at(k + d);
    let score = product * n.scale;
    n.added.forEach((term, t) => {
      const value = term.scores.at(at + j);
      (row.terms[t] as Float64Array)[j] = value;
      score += value;
    });
    row.product[j] = product;
    row.score[j] = score;
    if (n.copies.at(query * keys + j) > 0) max = Math.max(max, score);
  }
  let sum = 0;
  for (let j = 0; j < keys; ++j) {
    // If everything is hidden, the originals see everything equally.
    const copies = n.copies.at(query * keys + j);
    const weight = max === -Infinity ? 1 : copies > 0 ? Math.exp((row.score[j] as number) - max) : 0;
    row.weight[j] = weight;
    sum += weight * (max === -Infinity ? 1 : copies);
  }
  for (let j = 0; j < keys; ++j) row.weight[j] = (row.weight[j] as number) / sum;
  return row;
}

/** The largest difference between the weights of a head as this page forms them and as the model has them. */
export function largestDifference(n: HeadNumbers, weights: Numbers, head: number, max = 64): number {
  let largest = 0;
  const step = Math.max(1, Math.floor(n.queries / max));
  for (let i = 0; i < n.queries; i += step) {
    const row = formRow(n, head, i);
    for (let j = 0; j < n.keys; ++j)
      largest = Math.max(
        largest,
        Math.abs((row.weight[j] as number) - weights.at((head * n.queries + i) * n.keys + j)),
      );
  }
  return largest;
}
