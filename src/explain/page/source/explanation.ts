// The document that the program writes into the page (src/explain/document.cpp).

/** Where a tensor lies in the page, or that it was too large for it. */
export interface NumbersRef {
  numbers?: number;
  form?: "float32" | "float16" | "root" | "byte" | "int32";
  shape?: number[];
  left_out?: boolean;
}

export interface Token {
  text: string;
  piece: string;
  id: number;
  segment: number;
  special?: boolean;
  continues?: boolean;
  part?: number;
  parts?: number;
  word?: number;
  sentence?: number;
}

export interface Picture {
  rows: number;
  columns: number;
  width: number;
  height: number;
  pixels: NumbersRef;
}

export interface Side {
  name: string;
  texts: string[];
  tokens: Token[];
  picture?: Picture;
  embedded?: { name: string; numbers: NumbersRef }[];
  hidden?: NumbersRef[];
}

/** Of the heads of a layer, a number each. */
export interface Statistics {
  entropy: number[];
  distance?: number[];
  itself?: number[];
  before?: number[];
  first: number[];
  separator: number[];
}

export interface Faithfulness {
  comprehensiveness: number;
  sufficiency: number;
  taken: number[];
  certainty: number[];
}

export interface Attribution {
  method: string;
  sides: { side: number; scores: number[]; words?: number[]; sentences?: number[] }[];
  completeness?: { score: number; baseline: number; sum: number; gap: number };
  faithfulness?: Faithfulness;
}

export interface AttributedResult {
  label: boolean;
  toward: string;
  instead_of?: string;
  side: number;
  place?: number;
  score: number;
  certainty: number;
  probability: boolean;
  baseline: string;
  chance?: Faithfulness;
  methods: Attribution[];
}

export interface Layer {
  number: number;
  weights: NumbersRef;
  statistics?: Statistics;
  scale?: number;
  query?: NumbersRef;
  key?: NumbersRef;
  value?: NumbersRef;
  copies?: NumbersRef;
  added?: { name: string; scores: NumbersRef }[];
}

export interface Attention {
  name: string;
  queries: number;
  keys: number;
  causal: boolean;
  words: string;
  memory: number;
  all_layers: number;
  layers: Layer[];
}

export interface Ranking {
  ids: NumbersRef;
  logits: NumbersRef;
  total: NumbersRef;
}

/** How figures on a data set change without each head. */
export interface Ablation {
  task: string;
  loss: number;
  figure?: string;
  value?: number;
  layers: { attention: string; number: number; loss: number[]; value?: number[] }[];
}

export interface Explanation {
  format: string;
  model: string;
  family: string;
  architecture: string;
  sides: Side[];
  attentions: Attention[];
  predictions?: { side: number; next: boolean; size: number; last: Ranking; lens?: Ranking[] };
  labels?: { label: string; logit: number }[];
  beams?: { tokens: Token[]; log_probabilities: number[]; score: number }[];
  attributions?: AttributedResult[];
  ablation?: Ablation;
  other?: Explanation;
  difference?: string;
  vocabulary: Record<string, string>;
}
