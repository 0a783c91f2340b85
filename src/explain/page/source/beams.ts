// The texts of a beam search as a tree: where they branch, and their scores.
import { type App, percent, type ViewPart } from "./app";
import { make } from "./dom";
import type { Token } from "./explanation";
import { shown } from "./tokens";

interface Beam {
  rank: number;
  tokens: Token[];
  log_probabilities: number[];
  score: number;
}

export class BeamsView implements ViewPart {
  readonly element = make("section", { class: "beams-view" });
  readonly possible: boolean;

  constructor(private readonly app: App) {
    const beams = app.document.beams ?? [];
    this.possible = beams.length > 0;
    this.element.append(
      make("p", { class: "faint" }, "What the search found besides the text that is shown. Where texts part, the tree parts. A score is the logarithm of a text's probability, divided by its length to the power of the length penalty; the faint numbers are the probability of each token."),
      this.branch(beams.map((beam, rank) => ({ ...beam, rank })), 0),
    );
  }

  draw(): void {
    this.app.say("");
  }

  private branch(beams: Beam[], from: number): HTMLElement {
    const list = make("ul", { class: "tree" });
    const groups = new Map<number, Beam[]>();
    for (const beam of beams) {
      const id = beam.tokens[from]?.id ?? -1;
      groups.set(id, [...(groups.get(id) ?? []), beam]);
    }
    for (const group of groups.values()) {
      const first = group[0] as Beam;
      let end = from;
      while (end < first.tokens.length && group.every((beam) => beam.tokens[end]?.id === first.tokens[end]?.id)) ++end;
      const item = make("li");
      for (let i = from; i < end; ++i)
        item.append(make("span", { class: "word" }, make("bdi", {}, shown(first.tokens[i] as Token)), make("small", {}, percent(Math.exp(first.log_probabilities[i] ?? 0)))));
      if (group.length > 1) item.append(this.branch(group, end));
      else item.append(make("b", {}, ` ${first.rank + 1}. score ${first.score.toFixed(3)}`));
      list.append(item);
    }
    return list;
  }
}
