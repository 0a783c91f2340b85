// All heads in numbers, in a sortable table (Clark et al. 2019; Voita et al. 2019).
import { type App, number, percent, type ViewPart } from "./app";
import { button, make } from "./dom";
import type { Ablation, Layer, Statistics } from "./explanation";

interface Column {
  name: string;
  title: string;
  words: string;
  shown: (value: number) => string;
  /** Of a head; undefined: it has none. */
  value: (layer: Layer, head: number) => number | undefined;
}

function ofStatistics(name: keyof Statistics, title: string, words: string, shown: Column["shown"] = percent): Column {
  return { name, title, words, shown, value: (layer, head) => layer.statistics?.[name]?.[head] };
}

const measured: Column[] = [
  ofStatistics("entropy", "Looks at", "How many tokens it looks at, as if at all of them alike: exp of the mean entropy of its rows", (value) => `${Math.exp(value).toFixed(1)} tokens`),
  ofStatistics("distance", "How far", "Mean distance from a token to those it looks at, weighted by attention", (value) => value.toFixed(1)),
  ofStatistics("itself", "At itself", "Mean share of its attention that a token gives to itself (the diagonal)"),
  ofStatistics("before", "At the one before", "Mean share that goes to the token before"),
  ofStatistics("first", "At the first", "Mean share that goes to the first token"),
  ofStatistics("separator", "At separators", "Mean share that goes to special tokens but the first, as [SEP]"),
];

/** What the model's figures on a data set lose without a head. */
function ablated(ablation: Ablation | undefined, attention: string): Column[] {
  if (!ablation) return [];
  const of = (layer: Layer): Ablation["layers"][0] | undefined =>
    ablation.layers.find((one) => one.attention === attention && one.number === layer.number);
  const signed = (value: number): string => (value > 0 ? "+" : "") + number(value);
  const columns: Column[] = [
    { name: "loss", title: "Loss without it", words: `By how much the loss on the data (${ablation.task}: ${number(ablation.loss)}) rises without this head`, shown: signed, value: (layer, head) => of(layer)?.loss[head] },
  ];
  // Perplexity shows the same as the loss.
  if (ablation.figure && ablation.figure !== "perplexity")
    columns.push({ name: "figure", title: `${ablation.figure} without it`, words: `By how much ${ablation.figure} on the data (${number(ablation.value ?? 0)}) changes without this head`, shown: signed, value: (layer, head) => of(layer)?.value?.[head] });
  return columns;
}

export class StatisticsView implements ViewPart {
  readonly element = make("section", { class: "statistics-view" });
  readonly possible: boolean;
  private sort: { field: string; down: boolean } = { field: "head", down: false };
  private made = "";

  constructor(private readonly app: App) {
    this.possible = app.document.attentions.some((attention) => attention.layers.some((layer) => layer.statistics));
  }

  draw(): void {
    const { app } = this;
    const { selection } = app;
    const key = `${selection.which} ${selection.attention} ${selection.layer} ${selection.heads} ${this.sort.field} ${this.sort.down}`;
    if (key === this.made) return;
    this.made = key;
    const { layers } = app.attention;
    const used = [...measured, ...ablated(app.document.ablation, app.attention.name)].filter(({ value }) => layers.some((layer) => value(layer, 0) !== undefined));
    const rows = layers.flatMap((layer, index) =>
      Array.from({ length: layer.statistics?.entropy.length ?? 0 }, (_, head) => ({
        layer: index,
        number: layer.number,
        head,
        values: used.map(({ value }) => value(layer, head) ?? 0),
      })),
    );
    const column = used.findIndex(({ name }) => name === this.sort.field);
    if (column >= 0) rows.sort((a, b) => ((a.values[column] as number) - (b.values[column] as number)) * (this.sort.down ? -1 : 1));
    else if (this.sort.down) rows.reverse();
    const max = used.map((_, i) => Math.max(1e-9, ...rows.map((row) => Math.abs(row.values[i] as number))));
    const header = (field: string, title: string, words: string): HTMLElement => {
      const mine = this.sort.field === field;
      const cell = make("th", { "aria-sort": mine ? (this.sort.down ? "descending" : "ascending") : "none" });
      cell.append(
        button(`${title}${mine ? (this.sort.down ? " ↓" : " ↑") : ""}`, `${words}. Click to sort.`, () => {
          this.sort = { field, down: mine ? !this.sort.down : field !== "head" };
          this.draw();
        }),
      );
      return cell;
    };
    const table = make("table", { class: "statistics" });
    table.append(make("tr", {}, header("head", "Head", "In the model's order"), ...used.map(({ name, title, words }) => header(name, title, words))));
    for (const row of rows) {
      const name = `layer ${row.number + 1}, head ${row.head + 1}`;
      const link = button(name, "Show this head's lines", () => app.select({ view: "heads", layer: row.layer, heads: [row.head] }));
      const line = make("tr", {}, make("th", {}, link));
      row.values.forEach((value, i) => {
        const { shown, words } = used[i] as Column;
        const cell = make("td", { title: `${name}: ${words.toLowerCase()}: ${number(value)}`, "data-value": String(value) }, shown(value));
        cell.style.setProperty("--share", String(Math.abs(value) / (max[i] as number)));
        line.append(cell);
      });
      if (selection.layer === row.layer && selection.heads.length === 1 && selection.heads[0] === row.head) line.className = "chosen";
      table.append(line);
    }
    this.element.replaceChildren(
      make("p", { class: "faint" }, "What each head does on this input, on average over its tokens. Click a heading to sort, a head to see its lines."),
      make("div", { class: "wide" }, table),
    );
    app.say("");
  }
}
