// Lines between two columns of tokens, for any combination of heads of a layer (Vig 2019, BertViz's head view).
import { type App, percent, type ViewPart } from "./app";
import { headColor, headDash } from "./colors";
import { make } from "./dom";
import { Lines, rgb } from "./lines";
import { fit, Sheet, type Point } from "./sheet";
import { shown } from "./tokens";
import type { Numbers } from "./numbers";

const levels = 512; // levels by which weights are sorted
const maxLines = 4000; // in one picture
const movingLines = 600; // a coarse picture while scrolling, to be fast; also for one token
const manyLines = 2000; // of a token; above this, drawing is coarse while the pointer moves between tokens
const rest = 250; // milliseconds until all are drawn

/** Of a row of weights: the keys that make up the share of its mass, from the first on, their weights, and the sum of these. */
interface RowFacts {
  keys: Uint32Array;
  weights: Float32Array;
  mass: number;
}

/** Where in an ascending list the first number stands that is not below this one. */
function firstAtLeast(sorted: Uint32Array, min: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] as number) < min) from = middle + 1;
    else to = middle;
  }
  return from;
}

const maxKept = 3e7; // keys of such rows

export class HeadsView implements ViewPart {
  readonly element = make("section", { class: "heads-view" });
  readonly possible = true;
  private readonly sheet: Sheet;
  private readonly note = make("p", { class: "note" });
  private readonly lines = new Lines();
  private rowHeight = 20;
  private queries = 0;
  private kept = 0;
  private drawnAt = 0; // the scroll position of the picture
  private drawnOf = ""; // the token under the pointer in the picture
  private buffer = new Float32Array(0);
  private settle = 0; // a timer for the complete picture
  /** Of each head and query of a layer, for what is shown of them. */
  private readonly rows = new Map<string, (RowFacts | undefined)[]>();

  constructor(
    private readonly app: App,
    private readonly single = false, // only the first head
  ) {
    this.sheet = new Sheet(
      "Lines from each token on the left to those it attends to on the right",
      () => this.app.redraw(),
      (point, click) => this.pointed(point, click),
    );
    this.element.append(this.sheet.element, this.note);
    this.sheet.element.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        const zoom = Math.min(60, Math.max(3, Math.round(this.rowHeight * (event.deltaY < 0 ? 1.2 : 1 / 1.2))));
        this.app.select({ zoom });
      },
      { passive: false },
    );
  }

  private get heads(): number[] {
    const { heads } = this.app.selection;
    return this.single ? heads.slice(0, 1) : heads;
  }

  private columns(): { left: number; right: number } {
    const label = Math.min(220, this.sheet.width * 0.3);
    return { left: label, right: this.sheet.width - label };
  }
  private y(place: number): number {
    return (place + 0.5) * this.rowHeight + 6 - this.sheet.scroll;
  }

  private pointed(point: Point | null, click: boolean): void {
    const { app } = this;
    if (!point) return app.point(null);
    const { left, right } = this.columns();
    const side = point.x < left + 10 ? "query" : point.x > right - 10 ? "key" : null;
    const token = Math.floor((point.y - 6 + this.sheet.scroll) / this.rowHeight);
    if (!side || token < 0 || token >= app.tokensOf(side)) {
      app.point(null);
      if (click) app.select({ token: -1 });
      return;
    }
    if (!click) return app.point({ side, token });
    const same = app.selection.side === side && app.selection.token === token;
    app.select({ side, token: same ? -1 : token });
  }

  /** Scrolls so that the selected token can be seen. */
  reveal(): void {
    const { token } = this.app.selection;
    if (token < 0) return;
    const top = token * this.rowHeight;
    if (top < this.sheet.scroll) this.sheet.scrollTo(top - this.rowHeight);
    else if (top + 2 * this.rowHeight > this.sheet.scroll + this.sheet.height)
      this.sheet.scrollTo(top + 2 * this.rowHeight - this.sheet.height);
  }

  private get facts(): (RowFacts | undefined)[] {
    const { selection } = this.app;
    const key = `${selection.which} ${selection.attention} ${selection.layer} ${selection.share} ${selection.filter} ${selection.special}`;
    let facts = this.rows.get(key);
    if (!facts) {
      if (this.rows.size > 50 || this.kept > maxKept) {
        this.rows.clear();
        this.kept = 0;
      }
      this.rows.set(key, (facts = []));
    }
    return facts;
  }

  private row(facts: (RowFacts | undefined)[], weights: Numbers, head: number, query: number, keys: number): RowFacts {
    const { selection } = this.app;
    const known = facts[query + head * this.queries];
    if (known !== undefined) return known;
    // The row, with zeros for tokens that the filter hides.
    if (this.buffer.length !== keys) this.buffer = new Float32Array(keys);
    const { buffer } = this;
    weights.copy((head * this.queries + query) * keys, buffer);
    if (selection.filter !== "all" || !selection.special)
      for (let j = 0; j < keys; ++j) if (!this.app.passes(query, j)) buffer[j] = 0;
    // Sums of weights by their size relative to the largest, because sorting thousands of them takes too long.
    const mass = new Float64Array(levels + 1);
    let [total, largest] = [0, 0];
    for (let j = 0; j < keys; ++j) if ((buffer[j] as number) > largest) largest = buffer[j] as number;
    for (let j = 0; j < keys; ++j) {
      const weight = buffer[j] as number;
      if (weight === 0) continue;
      mass[Math.floor((levels * weight) / largest)]! += weight;
      total += weight;
    }
    let [sum, step] = [0, levels + 1];
    while (step > 0 && sum < (total * selection.share) / 100 - 1e-9) sum += mass[--step] as number;
    const min = (step * largest) / levels;
    let count = 0;
    for (let j = 0; j < keys; ++j) if ((buffer[j] as number) > 0 && (buffer[j] as number) >= min) ++count;
    const chosen = new Uint32Array(count);
    for (let j = 0, i = 0; j < keys; ++j) if ((buffer[j] as number) > 0 && (buffer[j] as number) >= min) chosen[i++] = j;
    this.kept += chosen.length;
    return (facts[query + head * this.queries] = {
      keys: chosen,
      weights: Float32Array.from(chosen, (j) => buffer[j] as number),
      mass: chosen.reduce((sum, j) => sum + (buffer[j] as number), 0),
    });
  }

  draw(): void {
    const { app } = this;
    const queries = (this.queries = app.tokensOf("query"));
    const keys = app.tokensOf("key");
    const maxHeight = Math.max(240, Math.min(innerHeight * 0.72, 1100));
    const longest = Math.max(queries, keys);
    this.rowHeight = app.selection.zoom || Math.min(28, Math.max(14, (maxHeight - 12) / longest));
    const context = this.sheet.begin(longest * this.rowHeight + 12, maxHeight);
    const weights = app.weights;
    this.labels(context, queries, keys);
    if (!weights) return;
    const moving = this.drawnAt !== this.sheet.scroll;
    this.drawnAt = this.sheet.scroll;
    clearTimeout(this.settle);
    const focus = app.focus;
    const pointed = focus ? `${focus.side} ${focus.token}` : "";
    const wandering = pointed !== this.drawnOf && this.heads.length * longest > manyLines;
    this.drawnOf = pointed;
    if (focus && focus.token < app.tokensOf(focus.side)) this.linesOf(context, weights, focus, queries, keys, moving || wandering);
    else this.allLines(context, weights, queries, keys, moving);
    if (moving || wandering) this.settle = setTimeout(() => app.redraw(), rest);
  }

  /** Begins lines between both columns: as fine as the screen is, or coarsely. */
  private beginLines(coarse: boolean): number {
    const { left, right } = this.columns();
    const ratio = coarse ? 0.5 : Math.min(2, devicePixelRatio || 1);
    this.lines.begin((right - left + 8) * ratio, this.sheet.height * ratio);
    return ratio;
  }
  private paintLines(context: CanvasRenderingContext2D): void {
    const { left, right } = this.columns();
    this.lines.paint(context, left - 4, right - left + 8, this.sheet.height);
  }

  private inSight(count: number): [number, number] {
    const first = Math.max(0, Math.floor((this.sheet.scroll - 6) / this.rowHeight) - 1);
    return [first, Math.min(count, first + Math.ceil(this.sheet.height / this.rowHeight) + 3)];
  }

  private labels(context: CanvasRenderingContext2D, queries: number, keys: number): void {
    const { app } = this;
    const { left, right } = this.columns();
    const { colors } = app;
    const size = Math.max(3, Math.min(14, this.rowHeight * 0.72));
    const focus = app.focus;
    const column = (side: "query" | "key", count: number): void => {
      const tokens = side === "query" ? app.querySide.tokens : app.keySide.tokens;
      const shift = side === "query" ? 0 : app.before;
      const [first, end] = this.inSight(count);
      context.textAlign = side === "query" ? "right" : "left";
      for (let i = first; i < end; ++i) {
        const token = tokens[i - shift];
        const chosen = focus?.side === side && focus.token === i;
        context.font = `${chosen ? "bold " : ""}${size}px system-ui, sans-serif`;
        context.fillStyle = chosen ? colors.accent : token?.special ? colors.faint : colors.text;
        if (token?.segment === 1 && this.rowHeight > 5) {
          context.save();
          context.globalAlpha = 0.5;
          context.fillStyle = colors.line;
          context.fillRect(side === "query" ? 0 : right + 4, this.y(i) - this.rowHeight / 2, left - 4, this.rowHeight);
          context.restore();
          context.fillStyle = chosen ? colors.accent : token.special ? colors.faint : colors.text;
        }
        const text = token ? shown(token) : `memory (${app.attention.memory} empty places)`;
        const room = left - 18;
        context.fillText(fit(context, text, room), side === "query" ? left - 10 : right + 10, this.y(i));
      }
    };
    column("query", queries);
    column("key", keys);
  }

  /** The lines of one token, to the left or to the right, and how much each head gives. */
  private linesOf(
    context: CanvasRenderingContext2D,
    weights: Numbers,
    focus: { side: "query" | "key"; token: number },
    queries: number,
    keys: number,
    coarse: boolean,
  ): void {
    const { app } = this;
    const { left, right } = this.columns();
    const from = focus.side === "query";
    const others = from ? keys : queries;
    const heads = this.heads;
    const box = Math.min(60, left * 0.4) / heads.length;
    let sum = 0;
    let best = { other: -1, weight: 0, head: 0 };
    const all = new Float32Array(heads.length * others);
    let count = 0;
    for (const head of heads)
      for (let other = 0; other < others; ++other) {
        const [query, key] = from ? [focus.token, other] : [other, focus.token];
        if (app.passes(query, key)) all[count++] = weights.at((head * queries + query) * keys + key);
      }
    all.sort();
    const reference = Math.max(0.05, all.at(-1) ?? 0);
    const min = Math.max(0.002, all.at(-1 - movingLines) ?? 0);
    const ratio = this.beginLines(coarse);
    for (let slot = 0; slot < heads.length; ++slot) {
      const head = heads[slot] as number;
      const color = (context.fillStyle = headColor(app.colors, head));
      const dash = headDash(app.colors, head) * ratio;
      for (let other = 0; other < others; ++other) {
        const [query, key] = from ? [focus.token, other] : [other, focus.token];
        if (!app.passes(query, key)) continue;
        const weight = weights.at((head * queries + query) * keys + key);
        sum += weight;
        if (weight > best.weight) best = { other, weight, head };
        const strength = Math.min(1, weight / reference);
        if (strength < 0.02) continue;
        const y = this.y(other);
        const inSight = y > -this.rowHeight && y < this.sheet.height + this.rowHeight;
        if (heads.length > 1 && inSight) {
          context.globalAlpha = strength;
          const x = from ? right + left - (heads.length - slot) * box - 4 : slot * box + 4;
          context.fillRect(x, y - this.rowHeight * 0.4, Math.max(1, box - 1), this.rowHeight * 0.8);
        }
        if (weight < min) continue;
        const ends = from ? [this.y(focus.token), y] : [y, this.y(focus.token)];
        for (let thick = 0; thick < (coarse ? 1 : 1 + strength); ++thick)
          this.lines.add((ends[0] as number) * ratio + thick, (ends[1] as number) * ratio + thick, 0.05 + 0.9 * strength, rgb(color), dash);
        if (heads.length === 1 && inSight && this.rowHeight >= 9 && weight >= 0.005) {
          context.globalAlpha = 1;
          context.textAlign = from ? "right" : "left";
          context.font = `${Math.min(12, this.rowHeight * 0.65)}px system-ui, sans-serif`;
          context.fillText(percent(weight), from ? right + left - 6 : 6, y);
        }
      }
    }
    context.globalAlpha = 1;
    this.paintLines(context);
    const layer = `layer ${app.layer.number + 1}`;
    const token = app.nameOf(focus.side, focus.token);
    const which = heads.length === 1 ? `head ${(heads[0] as number) + 1}` : `${heads.length} heads`;
    if (best.other < 0) app.say(`${token}: nothing to show here.`);
    else if (from)
      app.say(
        `${token} in ${layer}, ${which}: most to ${app.nameOf("key", best.other)}, ${percent(best.weight)}` +
          (heads.length > 1 ? ` (head ${best.head + 1}).` : ".") +
          (app.selection.filter !== "all" || !app.selection.special
            ? ` Shown: ${percent(sum / heads.length)} of its attention.`
            : ""),
      );
    else
      app.say(
        `${token} in ${layer}, ${which}: gets ${(sum / heads.length).toFixed(2)} of the ${queries} tokens' attention, ` +
          `most from ${app.nameOf("query", best.other)}, ${percent(best.weight)}.`,
      );
    this.note.textContent = "";
  }

  private allLines(context: CanvasRenderingContext2D, weights: Numbers, queries: number, keys: number, moving: boolean): void {
    const max = moving ? movingLines : maxLines;
    const { app } = this;
    const heads = this.heads;
    const [first, end] = this.inSight(queries);
    const [firstKey, endKey] = this.inSight(keys);
    // In long texts no weight is large, so a line's strength is relative to the strongest visible one. Lines that
    // lead out of sight are not drawn, because hundreds of steep ones would hide all others.
    const rows: { row: RowFacts; head: number; query: number; from: number; to: number }[] = [];
    let [reference, inside, outside] = [0, 0, 0];
    const facts = this.facts;
    for (const head of heads)
      for (let query = first; query < end; ++query) {
        const row = this.row(facts, weights, head, query, keys);
        const from = firstAtLeast(row.keys, firstKey);
        const to = firstAtLeast(row.keys, endKey);
        for (let n = from; n < to; ++n) {
          const weight = row.weights[n] as number;
          if (weight > reference) reference = weight;
          inside += weight;
        }
        outside += row.mass;
        rows.push({ row, head, query, from, to });
      }
    outside = Math.max(0, outside - inside);
    const counts = new Int32Array(levels);
    for (const { row, from, to } of rows)
      for (let n = from; n < to; ++n) counts[Math.min(levels - 1, Math.floor((levels * (row.weights[n] as number)) / reference))]!++;
    const wanted = counts.reduce((sum, count) => sum + count, 0);
    let lines = 0;
    let lowest = levels;
    while (lowest > 0 && lines + (counts[lowest - 1] as number) <= max) lines += counts[--lowest] as number;
    // Every n-th of the next ones, which have similar weights.
    const next = lowest > 0 ? (counts[lowest - 1] as number) : 0;
    const stride = next > 0 ? Math.ceil(next / Math.max(1, max - lines)) : 1;
    let passed = 0;

    const ratio = this.beginLines(moving);
    const colors = new Map(heads.map((head) => [head, rgb(headColor(app.colors, head))]));
    for (const { row, head, query, from: begin, to: stop } of rows) {
      const color = colors.get(head) as [number, number, number];
      const dash = headDash(app.colors, head) * ratio;
      for (let n = begin; n < stop; ++n) {
        const level = Math.min(levels - 1, Math.floor((levels * (row.weights[n] as number)) / reference));
        if (level < lowest - 1) continue;
        if (level === lowest - 1) {
          if (passed++ % stride !== 0) continue;
          ++lines;
        }
        const strength = ((level + 0.5) / levels) * Math.min(1, reference / 0.3 + 0.3);
        const alpha = Math.min(1, strength / Math.sqrt(heads.length) + 0.01);
        const [from, to] = [this.y(query) * ratio, this.y(row.keys[n] as number) * ratio];
        if (moving) {
          this.lines.add(from, to, alpha, color, dash);
        } else {
          const half = 0.4 * ratio;
          this.lines.add(from - half, to - half, alpha, color, dash);
          this.lines.add(from + half, to + half, alpha, color, dash);
        }
      }
    }
    this.paintLines(context);
    const part = end - first < queries ? ` of the ${end - first} tokens in sight` : "";
    const away = endKey - firstKey < keys && inside + outside > 0 ? ` ${percent(outside / (inside + outside))} of what they show goes to tokens out of sight: scroll, or point at one.` : "";
    const strongest = reference < 0.5 ? ` The strongest is ${percent(reference)}; the others are drawn next to it.` : "";
    this.note.textContent =
      (lines < wanted
        ? `The strongest ${lines.toLocaleString("en")} of ${wanted.toLocaleString("en")} lines${part}.`
        : `${lines.toLocaleString("en")} lines${part}.`) + strongest + away;
    app.say("Point at a token, on the left to see where it looks, on the right to see who looks at it.");
  }
}
