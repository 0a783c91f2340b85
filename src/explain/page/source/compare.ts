// Two at once: the differences of two models, or two texts, layer by layer.
import { type App, number, percent, type ViewPart } from "./app";
import { make } from "./dom";
import type { NumbersRef } from "./explanation";
import type { Numbers } from "./numbers";
import { quoted, shown } from "./tokens";

const columns = 48; // tokens in one table

export class CompareView implements ViewPart {
  readonly element = make("section", { class: "compare-view" });
  readonly possible: boolean;
  private made = "";

  constructor(private readonly app: App) {
    this.possible = app.first.other !== undefined;
  }

  private pair(a: NumbersRef | undefined, b: NumbersRef | undefined): [Numbers, Numbers] | null {
    const [one, other] = [this.app.store.get(a), this.app.store.get(b)];
    return one && other && String(one.shape) === String(other.shape) ? [one, other] : null;
  }

  draw(): void {
    const { app } = this;
    const other = app.first.other;
    if (!other) return;
    const attention = app.selection.attention;
    const mine = app.first.attentions[attention];
    const theirs = other.attentions[attention];
    const side = mine && app.first.sides[mine.queries];
    const otherSide = theirs && other.sides[theirs.queries];
    if (!mine || !theirs || !side || !otherSide) {
      this.element.replaceChildren(make("p", {}, "The second has no such attention."));
      return;
    }
    const hidden = (side.hidden ?? []).map((ref, i) => this.pair(ref, otherSide.hidden?.[i]));
    const weights = mine.layers.map((layer, i) => this.pair(layer.weights, theirs.layers[i]?.weights));
    const chosen = app.selection.side === "query" ? app.selection.token : -1;
    const key = `${attention} ${chosen} ${[...hidden, ...weights].filter((pair) => pair).length}`;
    if (key === this.made) return;
    this.made = key;
    if (side.tokens.length !== otherSide.tokens.length) {
      this.element.replaceChildren(
        make("p", {}, `The texts have ${side.tokens.length} and ${otherSide.tokens.length} tokens, so their places cannot be held against each other. Switch between A and B above to see both in all views.`),
      );
      return;
    }
    const parts: Node[] = [];
    parts.push(make("h2", {}, "Vectors"), make("p", { class: "faint" }, "How far the vectors of each token have parted behind each layer: 1 less their cosine. 0 is the same direction. The darkest cell is the farthest."));
    parts.push(make("div", { class: "wide" }, this.vectors(hidden, side, otherSide, chosen)));
    parts.push(make("h2", {}, "Heads"), make("p", { class: "faint" }, "How much of its attention a head gives to other tokens in B than in A, on average over the queries. Click one to see it."));
    parts.push(make("div", { class: "wide" }, this.heads(weights, mine.layers.map((layer) => layer.number))));
    this.element.replaceChildren(...parts);
  }

  private cell(value: number, max: number, text: string, words: string, onClick?: () => void): HTMLElement {
    const inner = make("button", { type: "button" }, text);
    const cell = make("td", { title: words }, inner);
    cell.style.setProperty("--share", String(max > 0 ? value / max : 0));
    cell.dataset["value"] = String(value);
    inner.addEventListener("click", () => (onClick ? onClick() : this.app.say(words)));
    return cell;
  }

  private vectors(
    hidden: ([Numbers, Numbers] | null)[],
    side: App["querySide"],
    other: App["querySide"],
    chosen: number,
  ): HTMLElement {
    const first = Math.max(0, Math.min(chosen - columns / 2, side.tokens.length - columns));
    const end = Math.min(side.tokens.length, first + columns);
    const distances = hidden.map((pair) => pair && Array.from({ length: end - first }, (_, i) => distance(pair, first + i)));
    const max = Math.max(1e-9, ...distances.flatMap((row) => row ?? []));
    const table = make("table", { class: "lens" });
    const head = make("tr", {}, make("th"));
    for (let place = first; place < end; ++place) {
      const [a, b] = [side.tokens[place], other.tokens[place]];
      if (!a || !b) continue;
      head.append(make("th", { class: place === chosen ? "chosen" : "" }, make("bdi", {}, shown(a)), ...(a.id === b.id ? [] : [make("br"), make("bdi", {}, shown(b))])));
    }
    table.append(head);
    for (let layer = hidden.length - 1; layer >= 0; --layer) {
      const name = layer === 0 ? "embeddings" : `layer ${layer}`;
      const row = make("tr", {}, make("th", {}, name));
      const values = distances[layer];
      if (!values) row.append(make("td", {}, "not on this page, or of another size"));
      values?.forEach((value, i) => row.append(this.cell(value, max, number(value), `${quoted(side, first + i)} after ${name}: 1 − cosine = ${number(value)}.`)));
      table.append(row);
    }
    return table;
  }

  private heads(weights: ([Numbers, Numbers] | null)[], numbers: number[]): HTMLElement {
    const { app } = this;
    const moved = weights.map((pair) => pair && Array.from({ length: pair[0].shape[0] as number }, (_, head) => movedMass(pair, head)));
    const max = Math.max(1e-9, ...moved.flatMap((row) => row ?? []));
    const table = make("table", { class: "lens" });
    const count = moved.find((row) => row)?.length ?? 0;
    table.append(make("tr", {}, make("th"), ...Array.from({ length: count }, (_, head) => make("th", {}, `head ${head + 1}`))));
    moved.forEach((row, layer) => {
      const line = make("tr", {}, make("th", {}, `layer ${(numbers[layer] as number) + 1}`));
      if (!row) line.append(make("td", {}, "of another size"));
      row?.forEach((value, head) =>
        line.append(this.cell(value, max, percent(value), `layer ${(numbers[layer] as number) + 1}, head ${head + 1}: ${percent(value)} of its attention is elsewhere`, () => app.select({ layer, heads: [head], view: "heads" }))),
      );
      table.append(line);
    });
    return table;
  }
}

/** 1 less the cosine of both vectors of a place. */
function distance([a, b]: [Numbers, Numbers], place: number): number {
  const width = a.shape[1] as number;
  let [product, ofA, ofB] = [0, 0, 0];
  for (let d = place * width; d < (place + 1) * width; ++d) {
    product += a.at(d) * b.at(d);
    ofA += a.at(d) ** 2;
    ofB += b.at(d) ** 2;
  }
  return Math.max(0, 1 - product / (Math.sqrt(ofA * ofB) || 1));
}

/** Half the sum of the differences of a row, on average over the queries. */
function movedMass([a, b]: [Numbers, Numbers], head: number): number {
  const [, queries, keys] = a.shape as [number, number, number];
  let sum = 0;
  for (let i = head * queries * keys; i < (head + 1) * queries * keys; ++i) sum += Math.abs(a.at(i) - b.at(i));
  return sum / 2 / queries;
}
