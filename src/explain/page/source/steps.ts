// Step by step: text, tokens, ids, vectors, layers, scores, probabilities. For readers who learn how a Transformer
// works.
import { type App, number, percent, type ViewPart } from "./app";
import { make, slider } from "./dom";
import type { NumbersRef } from "./explanation";
import { candidates } from "./sampling";
import { strip } from "./strip";
import { quoted, shown, visible } from "./tokens";

const listed = 12; // tokens in the bars
const tokensShown = 600;

export class StepsView implements ViewPart {
  readonly element = make("section", { class: "steps-view" });
  readonly possible = true;
  private made = "";
  private readonly bars = make("div", { class: "bars" });

  constructor(private readonly app: App) {}

  private get place(): number {
    const { selection } = this.app;
    const count = this.app.querySide.tokens.length;
    if (selection.side === "query" && selection.token >= 0) return Math.min(selection.token, count - 1);
    const predictions = this.app.document.predictions;
    return predictions?.next ? count - 1 : Math.min(1, count - 1);
  }

  draw(): void {
    const { app } = this;
    const key = `${app.selection.which} ${app.attention.queries} ${this.place} ${app.colors.page} ${this.ready()}`;
    if (key !== this.made) {
      this.made = key;
      this.make();
    }
    this.drawBars();
  }

  /** How many of the numbers that this view wants are unpacked. */
  private ready(): number {
    const { app } = this;
    const side = app.querySide;
    const refs: (NumbersRef | undefined)[] = [
      ...(side.embedded ?? []).map(({ numbers }) => numbers),
      ...(side.hidden ?? []),
      app.document.predictions?.last.logits,
      app.document.predictions?.last.ids,
      app.document.predictions?.last.total,
    ];
    return refs.filter((ref) => app.store.get(ref)).length;
  }

  private row(ref: NumbersRef | undefined, place: number): Float32Array | null {
    const numbers = this.app.store.get(ref);
    if (!numbers) return null;
    const width = numbers.shape[1] as number;
    return Float32Array.from({ length: width }, (_, i) => numbers.at(place * width + i));
  }

  private make(): void {
    const { app } = this;
    const side = app.querySide;
    const place = this.place;
    const parts: Node[] = [];
    const step = (title: string, words: string, ...children: Node[]): void => {
      parts.push(make("h2", {}, `${parts.filter((part) => part.nodeName === "H2").length + 1}. ${title}`), make("p", { class: "faint" }, words), ...children);
    };
    const sides = app.document.attentions.filter((attention) => attention.queries === attention.keys);
    if (sides.length > 1) {
      const choose = make("p", {}, "Of: ");
      for (const attention of sides) {
        const name = app.document.sides[attention.queries]?.name ?? "";
        const button = make("button", { type: "button", "aria-pressed": String(attention.queries === app.attention.queries) }, name);
        button.addEventListener("click", () => app.select({ attention: app.document.attentions.indexOf(attention) }));
        choose.append(button, " ");
      }
      parts.push(choose);
    }
    if (!side.picture) {
      step("The text", "What was given.", ...side.texts.map((text) => make("p", { class: "given" }, make("bdi", {}, visible(text)))));
      step(
        "Tokens",
        "A tokenizer cuts it into pieces that it knows, and adds tokens of its own (grey). Each has a number, by which the model knows it. Click one.",
        this.tokens(place),
      );
    } else {
      step("The picture", "It is cut into patches, which are this model's tokens; one more stands for all of it. Click one.", this.tokens(place));
    }
    const token = quoted(side, place);
    const embedded = (side.embedded ?? []).flatMap(({ name, numbers }) => {
      const values = this.row(numbers, place);
      const words: Record<string, string> = {
        token: `the row of the embedding matrix for token ${side.tokens[place]?.id}`,
        position: `the vector of position ${place} (Vaswani et al. 2017, section 3.5)`,
        type: "the vector of the token's segment (Devlin et al. 2018, section 3.2)",
        language: "the vector of the language (Lample and Conneau 2019)",
      };
      return [make("h3", {}, name), values ? strip(app, values, `${name} vector of ${token}`, `It is from ${words[name] ?? name}.`) : missing(numbers)];
    });
    if (embedded.length > 0)
      step("Vectors", `Each token becomes a vector. Those of ${token}, which are added up; then most models norm the sum.`, ...embedded);
    if (side.hidden && side.hidden.length > 0) step("Layers", this.layerWords(token), this.layers(side.hidden, place), this.inside());
    const predictions = app.document.predictions;
    if (predictions && predictions.side === app.attention.queries) {
      step(
        predictions.next ? "The next token" : "The token that fits here",
        `The last vector of ${token} is multiplied with a vector for each token of the vocabulary. These scores (logits) become probabilities by the softmax. Move what a decoder that draws may change:`,
        this.sliders(),
        this.bars,
      );
    }
    if (app.document.labels && app.document.labels.length > 0 && app.attention.queries === 0)
      step("Labels", "The head's scores, and as probabilities: exp(score) divided by the sum over all labels.", this.labels());
    this.element.replaceChildren(...parts);
  }

  private tokens(place: number): HTMLElement {
    const { app } = this;
    const list = make("div", { class: "tokens" });
    app.querySide.tokens.slice(0, tokensShown).forEach((token, i) => {
      const chip = make(
        "button",
        { type: "button", class: token.special ? "special" : "", "aria-pressed": String(i === place), title: `The tokenizer writes it ${visible(token.piece)}` },
        make("bdi", {}, shown(token)),
        make("small", {}, app.querySide.picture ? "" : String(token.id)),
      );
      chip.addEventListener("click", () => app.select({ side: "query", token: i }));
      list.append(chip);
    });
    const more = app.querySide.tokens.length - tokensShown;
    if (more > 0) list.append(make("span", { class: "faint" }, `and ${more} more`));
    return list;
  }

  private layerWords(token: string): string {
    return (
      `Each layer gives ${token} a new vector: attention brings in what it takes from other tokens, the feed-forward layer works on ` +
      `the result (Vaswani et al. 2017, section 3.1). “Alike” is the cosine with the vector of the layer before.`
    );
  }

  private layers(hidden: NumbersRef[], place: number): HTMLElement {
    const { app } = this;
    const table = make("table");
    table.append(make("tr", {}, make("th", {}, ""), make("th", {}, "vector"), make("th", {}, "length"), make("th", {}, "alike")));
    let before: Float32Array | null = null;
    const token = quoted(app.querySide, place);
    hidden.forEach((ref, i) => {
      const values = this.row(ref, place);
      const name = i === 0 ? "embeddings" : `layer ${i}`;
      if (!values) {
        table.append(make("tr", {}, make("th", {}, name), make("td", {}, missing(ref))));
        return;
      }
      const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
      const other = before;
      const alike =
        other && other.length === values.length
          ? values.reduce((sum, value, d) => sum + value * (other[d] as number), 0) / (length * Math.sqrt(other.reduce((sum, value) => sum + value * value, 0)) || 1)
          : NaN;
      const origin = i === 0 ? "It is the sum of the vectors above, as the first layer gets it." : `It is what layer ${i} made of the row above.`;
      table.append(
        make(
          "tr",
          {},
          make("th", {}, name),
          make("td", {}, strip(app, values, `${token} after ${name}`, origin)),
          make("td", {}, this.touchable(number(length), "The root of the sum of the squares of the vector's numbers.")),
          make("td", {}, Number.isNaN(alike) ? "" : this.touchable(number(alike), "The product of both vectors divided by their lengths: 1 is the same direction, 0 nothing in common.")),
        ),
      );
      before = values;
    });
    return make("div", { class: "wide" }, table);
  }

  /** Where the scores and weights of this token are. */
  private inside(): HTMLElement {
    const link = make("button", { type: "button" }, "See, number by number, how it takes from other tokens");
    link.addEventListener("click", () => this.app.select({ view: "neuron", side: "query", token: this.place }));
    return make("p", {}, link);
  }

  private touchable(text: string, origin: string): HTMLElement {
    const element = make("button", { type: "button", class: "number", title: origin }, text);
    element.addEventListener("click", () => this.app.say(`${text}: ${origin}`));
    return element;
  }

  private sliders(): HTMLElement {
    const { app } = this;
    const { selection } = app;
    return make(
      "div",
      { class: "controls" },
      slider("Temperature", { min: 0.05, max: 3, step: 0.05 }, selection.temperature, (value) => value.toFixed(2), (temperature) => app.select({ temperature })),
      slider("Top k", { min: 0, max: 50, step: 1 }, selection.topK, (value) => (value ? String(value) : "all"), (topK) => app.select({ topK })),
      slider("Top p", { min: 0.05, max: 1, step: 0.05 }, selection.topP, (value) => (value < 1 ? value.toFixed(2) : "all"), (topP) => app.select({ topP })),
    );
  }

  private drawBars(): void {
    const { app } = this;
    const predictions = app.document.predictions;
    if (!predictions || predictions.side !== app.attention.queries) return;
    const [ids, logits, total] = [predictions.last.ids, predictions.last.logits, predictions.last.total].map((ref) => app.store.get(ref));
    if (!ids || !logits || !total) return;
    const count = ids.shape[1] as number;
    const at = this.place * count;
    const values = Array.from({ length: count }, (_, i) => logits.at(at + i));
    const { kept, rest } = candidates(values, total.at(this.place), predictions.size, app.selection);
    const rows = kept.slice(0, listed).map(({ place, probability, before }) => {
      const id = ids.at(at + place);
      const text = app.document.vocabulary[String(id)] ?? String(id);
      const bar = make("span", { class: "bar" });
      bar.style.setProperty("--share", String(probability));
      const origin =
        `Its score is ${number(values[place] as number)}: the last vector times the token's own. Alone, the softmax makes ` +
        `exp(${number(values[place] as number)} − ${number(total.at(this.place))}) = ${percent(before)} of it; with what is set above, ${percent(probability)}.`;
      const figure = this.touchable(percent(probability), origin);
      figure.dataset["probability"] = String(probability);
      return make("div", { class: "row" }, make("bdi", { title: `token ${id}` }, shown({ text, piece: text, id, segment: 0 })), bar, figure);
    });
    const others = kept.slice(listed).reduce((sum, { probability }) => sum + probability, rest);
    rows.push(make("p", { class: "faint" }, others > 0 ? `All others together: ${percent(others)}.` : "No other may come."));
    if (app.selection.temperature !== 1 && count < predictions.size)
      rows.push(make("p", { class: "faint" }, `This page has the ${count} likeliest of ${predictions.size.toLocaleString("en")} tokens; the rest is taken as equally likely.`));
    this.bars.replaceChildren(...rows);
  }

  private labels(): HTMLElement {
    const labels = this.app.document.labels ?? [];
    const max = Math.max(...labels.map(({ logit }) => logit));
    const sum = labels.reduce((all, { logit }) => all + Math.exp(logit - max), 0);
    const sorted = [...labels].sort((a, b) => b.logit - a.logit).slice(0, listed);
    const list = make("div", { class: "bars" });
    for (const { label, logit } of sorted) {
      const probability = Math.exp(logit - max) / sum;
      const bar = make("span", { class: "bar" });
      bar.style.setProperty("--share", String(probability));
      list.append(make("div", { class: "row" }, make("bdi", {}, visible(label)), bar, this.touchable(percent(probability), `The score ${number(logit)}: exp of it, divided by the sum over all labels.`)));
    }
    return list;
  }
}

function missing(ref: NumbersRef): HTMLElement {
  return make("span", { class: "faint" }, ref.left_out ? "left out of this page, which would be too large (--safetensors has it)" : "Unpacking …");
}
