// The logit lens (nostalgebraist 2020): the model's predictions if its last norm and its head came after each layer.
import { type App, number, percent, type ViewPart } from "./app";
import { make } from "./dom";
import { quoted, shown } from "./tokens";

const columns = 48; // tokens in one table

export class LensView implements ViewPart {
  readonly element = make("section", { class: "lens-view" });
  readonly possible: boolean;
  private made = "";

  constructor(private readonly app: App) {
    this.possible = (app.document.predictions?.lens?.length ?? 0) > 0;
  }

  draw(): void {
    const { app } = this;
    const predictions = app.document.predictions;
    const lens = predictions?.lens;
    if (!predictions || !lens) return;
    const side = app.document.sides[predictions.side];
    if (!side) return;
    const rankings = lens.map(({ ids, logits, total }) => ({ ids: app.store.get(ids), logits: app.store.get(logits), total: app.store.get(total) }));
    const ready = rankings.filter(({ ids, logits, total }) => ids && logits && total).length;
    const chosen = app.attention.queries === predictions.side ? app.selection.token : -1;
    const first = Math.max(0, Math.min(chosen - columns / 2, side.tokens.length - columns));
    const key = `${app.selection.which} ${ready} ${first} ${chosen}`;
    if (key === this.made) return;
    this.made = key;
    const end = Math.min(side.tokens.length, first + columns);
    const table = make("table", { class: "lens" });
    const head = make("tr", {}, make("th", {}, predictions.next ? "behind" : "in the place of"));
    for (let place = first; place < end; ++place)
      head.append(make("th", { class: place === chosen ? "chosen" : "" }, make("bdi", {}, shown(side.tokens[place]!))));
    table.append(head);
    for (let layer = rankings.length - 1; layer >= 0; --layer) {
      const { ids, logits, total } = rankings[layer]!;
      const name = layer === 0 ? "embeddings" : `layer ${layer}`;
      const row = make("tr", {}, make("th", {}, name));
      for (let place = first; place < end; ++place) {
        if (!ids || !logits || !total) continue;
        const count = ids.shape[1] as number;
        const text = (i: number): string => {
          const id = ids.at(place * count + i);
          const word = app.document.vocabulary[String(id)] ?? String(id);
          return shown({ text: word, piece: word, id, segment: 0 });
        };
        const probability = (i: number): number => Math.exp(logits.at(place * count + i) - total.at(place));
        const all = Array.from({ length: count }, (_, i) => `${text(i)} ${percent(probability(i))}`).join(", ");
        const cell = make("td", { title: all }, make("button", { type: "button" }, make("bdi", {}, text(0)), make("small", {}, percent(probability(0)))));
        cell.style.setProperty("--share", String(probability(0)));
        cell.firstElementChild?.addEventListener("click", () =>
          app.say(
            `${quoted(side, place)}, ${name}: ${all}. The first has the score ${number(logits.at(place * count))}; ` +
              `exp(score − ${number(total.at(place))}) is its probability.`,
          ),
        );
        row.append(cell);
      }
      table.append(row);
    }
    this.element.replaceChildren(
      make(
        "p",
        { class: "faint" },
        "What the model would say if it ended behind each layer: the layer's vectors through the last norm and the head. That something can be read there does not say that the model uses it. Click a word for the next ones.",
      ),
      make("div", { class: "wide" }, table),
    );
  }
}
