// Inside one head: how the weights of one query are computed, number by number (Vig 2019, BertViz's neuron view),
// with the arithmetic of the current model.
import { type App, number, percent, type ViewPart } from "./app";
import { formRow, headNumbers, largestDifference, type HeadNumbers, type Row } from "./arithmetic";
import { make } from "./dom";
import { fit, Sheet, type Point } from "./sheet";
import { shown } from "./tokens";
import type { Numbers } from "./numbers";

const rowHeight = 22;
const header = 84;

interface Column {
  kind: "token" | "key" | "product" | "value" | "number" | "weight";
  title: string;
  x: number;
  width: number;
  of?: (row: Row, key: number) => number;
  means: string;
}

export class NeuronView implements ViewPart {
  readonly element = make("section", { class: "neuron-view" });
  readonly possible: boolean;
  private readonly sheet: Sheet;
  private readonly formula = make("p", { class: "formula" });
  private readonly difference = make("p", { class: "difference" });
  private columns: Column[] = [];
  private rows: number[] = []; // the keys that are shown
  private over: { key: number; column: Column; element: number } | null = null;
  private readonly differences = new Map<string, number>();

  constructor(private readonly app: App) {
    this.possible = app.document.attentions.some((attention) => attention.layers.some((layer) => layer.query));
    this.sheet = new Sheet(
      "For one query: every key, their products, the scores, the weights and the values",
      () => this.app.redraw(),
      (point, click) => this.pointed(point, click),
    );
    this.element.append(this.formula, make("div", { class: "wide" }, this.sheet.element), this.difference);
  }

  /** The query that is shown: the selected one, else the first. */
  private get query(): number {
    const { app } = this;
    const { selection } = app;
    const chosen = selection.side === "query" && selection.token >= 0 ? selection.token : 0;
    // The first token that sees anything through the filter, if the selected one does not.
    const sees = (query: number): boolean => this.seen(query).length > 0;
    if (sees(chosen)) return chosen;
    for (let query = 0; query < app.tokensOf("query"); ++query) if (sees(query)) return query;
    return chosen;
  }
  /** The keys that the filter shows of a query. */
  private seen(query: number): number[] {
    return Array.from({ length: this.app.tokensOf("key") }, (_, key) => key).filter((key) => this.app.passes(query, key));
  }
  private get head(): number {
    return this.app.selection.heads[0] as number;
  }

  private pointed(point: Point | null, click: boolean): void {
    const line = point ? Math.floor((point.y - header + this.sheet.scroll) / rowHeight) : -1;
    const key = this.rows[line] ?? -1;
    const column = point && this.columns.find(({ x, width }) => point.x >= x && point.x < x + width);
    const { app } = this;
    const inside = point && column && point.y >= header && key >= 0;
    const size = app.layer.query?.shape?.[2] ?? 1;
    this.over = inside
      ? { key, column, element: Math.min(size - 1, Math.floor(((point.x - column.x) / (column.width - 10)) * size)) }
      : null;
    if (click && inside && column.kind === "token" && app.attention.queries === app.attention.keys)
      app.select({ side: "query", token: Math.max(0, key - app.before) });
    else app.redraw();
  }

  private layOut(n: HeadNumbers): void {
    const token = 130;
    const plain = 74;
    const numbers: [string, string, (row: Row, key: number) => number][] = [
      ["query · key", "the sum of the products of all elements", (row, key) => row.product[key] as number],
    ];
    if (n.scale !== 1)
      numbers.push([
        `× ${number(n.scale)}`,
        "the sum times the scale (Vaswani et al. 2017, section 3.2.1)",
        (row, key) => (row.product[key] as number) * n.scale,
      ]);
    n.added.forEach((term, t) =>
      numbers.push([`+ ${term.name}`, meaning(term.name), (row, key) => (row.terms[t] as Float64Array)[key] as number]),
    );
    if (n.added.length > 0)
      numbers.push(["= score", "everything added up", (row, key) => row.score[key] as number]);
    const rest = this.sheet.width - token - (numbers.length + 1.9) * plain;
    const strip = Math.max(90, rest / 3);
    let x = 0;
    this.columns = [];
    const add = (column: Omit<Column, "x">): void => {
      this.columns.push({ ...column, x });
      x += column.width;
    };
    add({ kind: "token", title: "Key of", width: token, means: "" });
    add({ kind: "key", title: "Key", width: strip, means: "the key's element" });
    add({ kind: "product", title: "Query × key", width: strip, means: "query and key multiplied, element by element" });
    for (const [title, means, of] of numbers) add({ kind: "number", title, width: plain, of, means });
    add({
      kind: "weight",
      title: "Softmax",
      width: plain * 1.9,
      of: (row, key) => row.weight[key] as number,
      means: "exp(score) divided by the sum of exp(score) over all keys that can be seen",
    });
    add({ kind: "value", title: "Weight × value", width: strip, means: "what the key's token hands over, times its weight" });
  }

  draw(): void {
    const { app } = this;
    const { layer } = app;
    const n = headNumbers(app.store, layer);
    const weights = app.weights;
    this.formula.textContent = app.attention.words;
    if (typeof n === "string" || !weights) {
      this.sheet.begin(40, 40);
      this.difference.textContent = typeof n === "string" ? n : "Unpacking …";
      return;
    }
    const query = Math.min(this.query, n.queries - 1);
    this.rows = this.seen(query);
    const context = this.sheet.begin(this.rows.length * rowHeight + header + 6, Math.max(300, innerHeight * 0.72));
    this.layOut(n);
    const row = formRow(n, this.head, query);
    this.keys(context, n, row, query);
    this.heading(context, n, query);
    this.report(n, weights, row, query);
  }

  private keys(context: CanvasRenderingContext2D, n: HeadNumbers, row: Row, query: number): void {
    const { app } = this;
    const { colors } = app;
    const q = (this.head * n.queries + query) * n.size;
    const first = Math.max(0, Math.floor(this.sheet.scroll / rowHeight));
    const end = Math.min(this.rows.length, first + Math.ceil((this.sheet.height - header) / rowHeight) + 1);
    const typical = [typicalSize(n.key, this.head, n), typicalSize(n.query, this.head, n), typicalSize(n.value, this.head, n)] as const;
    // In long texts no weight is large, so the strength of values and the length of bars are relative to the largest.
    const largest = row.weight.reduce((max, weight) => Math.max(max, weight), 1e-9);
    const full = largest < 0.2 ? largest : 1;
    for (let line = first; line < end; ++line) {
      const key = this.rows[line] as number;
      const y = header + line * rowHeight - this.sheet.scroll + rowHeight / 2;
      const k = (this.head * n.keys + key) * n.size;
      const hidden = n.copies.at(query * n.keys + key) === 0;
      for (const column of this.columns) {
        context.globalAlpha = hidden ? 0.35 : 1;
        context.fillStyle = colors.text;
        context.font = "13px system-ui, sans-serif";
        if (column.kind === "token") {
          context.textAlign = "right";
          const token = app.keySide.tokens[key - app.before];
          if (token?.special) context.fillStyle = colors.faint;
          context.fillText(fit(context, token ? shown(token) : "memory", column.width - 14), column.x + column.width - 10, y);
        } else if (column.kind === "key") {
          this.strip(context, column, y, n.size, (d) => n.key.at(k + d) / typical[0]);
        } else if (column.kind === "product") {
          this.strip(context, column, y, n.size, (d) => (n.query.at(q + d) * n.key.at(k + d)) / (typical[0] * typical[1]));
        } else if (column.kind === "value") {
          this.strip(context, column, y, n.size, (d) => (n.value.at(k + d) * (row.weight[key] as number)) / (typical[2] * largest));
        } else {
          const value = column.of?.(row, key) as number;
          context.textAlign = "right";
          if (column.kind === "weight") {
            context.fillStyle = colors.accent;
            const room = column.width - 84;
            context.fillRect(column.x + 72, y - 7, Math.max(value > 0 ? 1 : 0, room * Math.min(1, value / full)), 14);
            context.fillStyle = colors.text;
            context.fillText(hidden && value === 0 ? "hidden" : percent(value), column.x + 66, y);
          } else {
            if (value < 0) context.fillStyle = colors.negative;
            context.fillText(number(value), column.x + column.width - 12, y);
          }
        }
      }
    }
    context.globalAlpha = 1;
  }

  /** The names of the columns, and the query above the keys that it meets. */
  private heading(context: CanvasRenderingContext2D, n: HeadNumbers, query: number): void {
    const { app } = this;
    context.clearRect(0, 0, this.sheet.width, header);
    context.fillStyle = app.colors.faint;
    context.font = "12px system-ui, sans-serif";
    for (const column of this.columns) {
      const right = column.kind === "number" || column.kind === "token";
      context.textAlign = right ? "right" : "left";
      const words = column.title.split(" ");
      const room = column.width - 8;
      const lines: string[] = [];
      for (const word of words) {
        const last = lines.length - 1;
        if (last >= 0 && context.measureText(`${lines[last]} ${word}`).width <= room) lines[last] += ` ${word}`;
        else lines.push(word);
      }
      lines.forEach((line, i) =>
        context.fillText(line, right ? column.x + column.width - 12 : column.x + 2, header - 8 - 14 * (lines.length - 1 - i)),
      );
    }
    const token = this.columns[0] as Column;
    const strip = this.columns[1] as Column;
    const q = (this.head * n.queries + query) * n.size;
    const typical = typicalSize(n.query, this.head, n);
    context.fillStyle = app.colors.accent;
    context.font = "bold 13px system-ui, sans-serif";
    context.textAlign = "right";
    const named = app.querySide.tokens[query];
    context.fillText(fit(context, named ? shown(named) : "", token.width - 14), token.x + token.width - 10, 34);
    context.fillStyle = app.colors.faint;
    context.font = "12px system-ui, sans-serif";
    context.fillText("Query of", token.x + token.width - 10, 16);
    this.strip(context, strip, 34, n.size, (d) => n.query.at(q + d) / typical);
    context.strokeStyle = app.colors.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, header - 0.5);
    context.lineTo(this.sheet.width, header - 0.5);
    context.stroke();
  }

  /** Numbers as a row of small boxes: one colour above zero, another below. */
  private strip(context: CanvasRenderingContext2D, column: Column, y: number, size: number, of: (d: number) => number): void {
    const { colors } = this.app;
    const alpha = context.globalAlpha;
    const width = (column.width - 10) / size;
    for (let d = 0; d < size; ++d) {
      const value = of(d);
      context.globalAlpha = alpha * Math.tanh(Math.abs(value) * 0.6);
      context.fillStyle = value < 0 ? colors.negative : colors.positive;
      context.fillRect(column.x + d * width, y - 8, Math.max(width - (width > 3 ? 1 : 0), 0.5), 16);
    }
    context.globalAlpha = alpha;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.strokeRect(column.x - 0.5, y - 8.5, column.width - 9, 17);
  }

  private report(n: HeadNumbers, weights: Numbers, row: Row, query: number): void {
    const { app } = this;
    const key = `${app.selection.which} ${app.selection.attention} ${app.selection.layer} ${this.head}`;
    let largest = this.differences.get(key);
    if (largest === undefined) this.differences.set(key, (largest = largestDifference(n, weights, this.head)));
    this.difference.textContent =
      `Computed again from the numbers on this page, the weights of this head differ from the model's own by ` +
      `${largest === 0 ? "nothing" : `at most ${largest.toExponential(1)}`}.`;
    this.difference.dataset["difference"] = String(largest);
    const over = this.over;
    if (!over || over.key >= n.keys) {
      const best = this.rows.reduce((strongest, key) => ((row.weight[key] as number) > (row.weight[strongest] as number) ? key : strongest), this.rows[0] ?? 0);
      app.say(
        `${app.nameOf("query", query)} in layer ${app.layer.number + 1}, head ${this.head + 1}: most to ` +
          `${app.nameOf("key", best)}, ${percent(row.weight[best] as number)}. Point at any number.`,
      );
      return;
    }
    const { column, element } = over;
    const name = app.nameOf("key", over.key);
    const k = (this.head * n.keys + over.key) * n.size + element;
    const q = (this.head * n.queries + query) * n.size + element;
    const place = `number ${element + 1} of ${n.size}`;
    if (column.kind === "key") app.say(`Key of ${name}, ${place}: ${number(n.key.at(k))}. The query's: ${number(n.query.at(q))}.`);
    else if (column.kind === "product")
      app.say(`${name}, ${place}: ${number(n.query.at(q))} × ${number(n.key.at(k))} = ${number(n.query.at(q) * n.key.at(k))}.`);
    else if (column.kind === "value")
      app.say(
        `Value of ${name}, ${place}: ${number(n.value.at(k))}, times ${percent(row.weight[over.key] as number)} = ` +
          `${number(n.value.at(k) * (row.weight[over.key] as number))}.`,
      );
    else if (column.kind === "token") app.say(`${name}. Click to see it as the query.`);
    else {
      const value = column.of?.(row, over.key) as number;
      const model = column.kind === "weight" ? ` The model's own: ${weights.at((this.head * n.queries + query) * n.keys + over.key).toPrecision(4)}.` : "";
      app.say(`${name}, ${column.title}: ${value.toPrecision(6)}; ${column.means}.${model}`);
    }
  }
}

function meaning(term: string): string {
  const known: Record<string, string> = {
    distance: "a trained number of this head for how far the key is from the query (Raffel et al. 2019, section 2.1)",
    "query by distance": "the query times a vector of how far the key is (Shaw et al. 2018; Dai et al. 2019; He et al. 2020)",
    "key by distance": "the key times a vector of how far the query is (He et al. 2020, section 3.1)",
    segment: "the query times a vector of whether both are of one segment (Yang et al. 2019, section 2.5)",
    memory: "what all empty places of the memory come to together (Dai et al. 2019, section 3.2)",
  };
  return known[term] ?? term;
}

const typicals = new WeakMap<Numbers, Map<number, number>>();

/** The root of the mean square of a head's numbers. */
function typicalSize(numbers: Numbers, head: number, n: HeadNumbers): number {
  let ofHeads = typicals.get(numbers);
  if (!ofHeads) typicals.set(numbers, (ofHeads = new Map()));
  let size = ofHeads.get(head);
  if (size === undefined) {
    const count = (numbers.shape[1] as number) * n.size;
    let sum = 0;
    for (let i = 0; i < count; ++i) sum += numbers.at(head * count + i) ** 2;
    ofHeads.set(head, (size = Math.sqrt(sum / count) || 1));
  }
  return size;
}
