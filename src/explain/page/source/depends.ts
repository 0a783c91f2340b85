// The attributions of a result: tokens coloured by several methods side by side, and how far each method can be
// trusted.
import { type App, number, percent, type ViewPart } from "./app";
import { button, choice, make } from "./dom";
import type { Attribution, AttributedResult, Faithfulness, Side } from "./explanation";
import { asCanvas } from "./pixels";
import type { Unit } from "./state";
import { quoted, shown, visible } from "./tokens";

const methods: Record<string, { title: string; words: string; signed: boolean }> = {
  "gradient-input": {
    title: "Gradient times input",
    words: "How steeply the score rises with a token's vector, times the vector (Simonyan et al. 2013; Shrikumar et al. 2016). One look at the model, at one point only.",
    signed: true,
  },
  "integrated-gradients": {
    title: "Integrated gradients",
    words: "The same, on average over the way from an input without the tokens to this one (Sundararajan et al. 2017). The numbers add up to what the score gains on that way.",
    signed: true,
  },
  occlusion: {
    title: "Occlusion",
    words: "How much the score falls when one token alone is taken away (Zeiler and Fergus 2013).",
    signed: true,
  },
  "value-zeroing": {
    title: "Value zeroing",
    words: "How much vectors turn when a token gives them nothing, layer by layer (Mohebbi et al. 2023). It knows where was asked, not what for; shares of 1.",
    signed: false,
  },
  rollout: {
    title: "Attention rollout",
    words: "Attention weights, half of them past the attention, multiplied through all layers (Abnar and Zuidema 2020). It knows where was asked, not what for; shares of 1.",
    signed: false,
  },
  "gradient-rollout": {
    title: "Attention rollout, weighted by gradients",
    words: "Only attention that raises the score counts, as far as it does (Chefer et al. 2021).",
    signed: false,
  },
};

/** What is coloured together, and what it is called. */
interface Piece {
  text: string;
  score: number;
  special: boolean;
  tokens: number[];
}

export class DependsView implements ViewPart {
  readonly element = make("section", { class: "depends-view" });
  readonly possible: boolean;
  private made = "";

  constructor(private readonly app: App) {
    this.possible = (app.first.attributions?.length ?? 0) > 0;
  }

  draw(): void {
    const { app } = this;
    const { selection } = app;
    const results = app.document.attributions ?? [];
    const result = results[Math.min(selection.result, results.length - 1)];
    const pixels = app.store.get(app.document.sides.find((side) => side.picture)?.picture?.pixels);
    const key = `${selection.which} ${selection.result} ${selection.unit} ${app.colors.page} ${pixels ? 1 : 0}`;
    if (key === this.made) return;
    this.made = key;
    if (!result) {
      this.element.replaceChildren(make("p", {}, "Nothing was asked of this one."));
      return;
    }
    this.element.replaceChildren(
      this.controls(results),
      this.question(result),
      make("div", { class: app.document.sides[0]?.picture ? "cards pictures" : "cards" }, ...result.methods.map((method) => this.card(result, method))),
      make("p", { class: "faint" }, "Methods often disagree. None of them shows what the model “thinks”; each answers another question about its numbers, and the deletion test below it says how well it did here."),
    );
    app.say("Point at a token for its number.");
  }

  private controls(results: AttributedResult[]): HTMLElement {
    const { app } = this;
    const bar = make("div", { class: "controls" });
    if (results.length > 1)
      bar.append(
        choice(
          "Asked",
          results.map((result, i) => [String(i), this.asked(result)]),
          String(app.selection.result),
          (value) => app.select({ result: Number(value) }),
        ),
      );
    if (app.document.sides.some((side) => !side.picture)) {
      const units: [Unit, string][] = [
        ["token", "by token"],
        ["word", "by word"],
        ["sentence", "by sentence"],
      ];
      const group = make("span", { class: "units", role: "group", "aria-label": "What is added up" });
      for (const [unit, text] of units) {
        const one = button(text, `Numbers ${text}: those of its tokens added up`, () => app.select({ unit }));
        one.setAttribute("aria-pressed", String(app.selection.unit === unit));
        group.append(one);
      }
      bar.append(group);
    }
    return bar;
  }

  private where(result: AttributedResult): string {
    const side = this.app.document.sides[result.side] as Side;
    if (result.label || result.place === undefined) return "";
    return this.app.document.predictions?.next ? ` behind ${quoted(side, result.place)}` : ` in place ${result.place + 1}`;
  }
  private asked(result: AttributedResult): string {
    const instead = result.instead_of ? ` and not ${name(result.instead_of)}` : "";
    return `${name(result.toward)}${instead}${this.where(result)}`;
  }

  private question(result: AttributedResult): HTMLElement {
    const kind = result.instead_of ? "Score less the other's" : "Score";
    const certain = result.probability ? `, probability ${percent(result.certainty)}${result.instead_of ? " of the two" : ""}` : "";
    return make(
      "div",
      {},
      make("h2", {}, `Why ${this.asked(result)}?`),
      make(
        "p",
        { class: "faint" },
        `${kind} ${number(result.score)}${certain}. `,
        ...this.legend(),
        ` A token that is taken away becomes ${name(result.baseline)}; its place stays.`,
      ),
      make(
        "p",
        { class: "faint" },
        "Below each method is a test of it: tokens are taken away, the most important ones (by this method) first. If it is right, the result falls early (comprehensiveness), and hardly falls with them alone (sufficiency). Both are means over the first 1, 5, 10, 20 and 50 % (DeYoung et al. 2020). Dashed, and in brackets: tokens in random order.",
      ),
    );
  }
  private legend(): HTMLElement[] {
    const sample = (share: number, text: string): HTMLElement => {
      const box = make("span", { class: "piece" }, text);
      this.color(box, share);
      return box;
    };
    return [sample(0.9, "speaks for it"), make("span", {}, " "), sample(-0.9, "speaks against it")];
  }

  private color(element: HTMLElement, share: number): void {
    element.style.setProperty("--piece", share < 0 ? this.app.colors.negative : this.app.colors.positive);
    element.style.setProperty("--share", String(Math.min(1, Math.abs(share))));
  }

  private card(result: AttributedResult, method: Attribution): HTMLElement {
    const { app } = this;
    const about = methods[method.method] ?? { title: method.method, words: "", signed: true };
    const card = make("article", { class: "card" }, make("h3", {}, about.title), make("p", { class: "faint" }, about.words));
    const pieces = method.sides.map(({ side, scores }) => ({ side: app.document.sides[side] as Side, pieces: this.pieces(app.document.sides[side] as Side, scores) }));
    const max = Math.max(1e-30, ...pieces.flatMap(({ side, pieces }) => pieces.filter((piece) => !side.picture || !piece.special).map(({ score }) => Math.abs(score))));
    for (const { side, pieces: its } of pieces) {
      if (pieces.length > 1) card.append(make("p", { class: "faint" }, side.name));
      card.append(side.picture ? this.picture(side, its, max) : this.text(its, max, about.signed, result));
    }
    card.append(...this.trust(result, method));
    return card;
  }

  private pieces(side: Side, scores: number[]): Piece[] {
    const { unit } = this.app.selection;
    const pieces: Piece[] = [];
    const totals = new Map<number, number>(); // of words or sentences, which may contain a mask
    const units: (number | undefined)[] = []; // of each piece
    let last = -1;
    side.tokens.forEach((token, i) => {
      const of = unit === "token" || side.picture ? undefined : unit === "word" ? token.word : token.sentence;
      if (of !== undefined) totals.set(of, (totals.get(of) ?? 0) + (scores[i] as number));
      const before = pieces[pieces.length - 1];
      if (of !== undefined && before && of === last) {
        const spelled = token.parts && token.part !== 1 ? "" : token.text;
        before.text += spelled;
        before.score += scores[i] as number;
        before.tokens.push(i);
      } else {
        const text = of === undefined ? shown(token) : token.text;
        pieces.push({ text, score: scores[i] as number, special: token.special === true, tokens: [i] });
        units.push(of);
      }
      last = of ?? -1;
    });
    return pieces.map((piece, i) => ({ ...piece, score: totals.get(units[i] ?? -1) ?? piece.score }));
  }

  private text(pieces: Piece[], max: number, signed: boolean, result: AttributedResult): HTMLElement {
    const line = make("p", { class: "pieces" });
    for (const piece of pieces) {
      const text = visible(piece.text.trim()) || "␣";
      const words = `“${text}”: ${number(piece.score)}${signed ? (piece.score < 0 ? `, against ${name(result.toward)}` : piece.score > 0 ? `, for ${name(result.toward)}` : "") : `, ${percent(Math.abs(piece.score) / max)} of the largest`}.`;
      const box = make("span", { class: piece.special ? "piece special" : "piece", title: words, tabindex: "0", "data-score": String(piece.score) }, make("bdi", {}, text));
      this.color(box, piece.score / max);
      const tell = (): void => this.app.say(words);
      box.addEventListener("pointerenter", tell);
      box.addEventListener("focus", tell);
      line.append(box, " ");
    }
    return line;
  }

  /** The picture in grey, under its patches' colours. */
  private picture(side: Side, pieces: Piece[], max: number): HTMLElement {
    const { app } = this;
    const picture = side.picture!;
    const pixels = app.store.get(picture.pixels);
    const canvas = make("canvas", { class: "large", tabindex: "0", "aria-label": "The picture under its patches' numbers" });
    if (!pixels) return canvas;
    const shape = picture.height / picture.width;
    const width = shape > 1 ? 320 / shape : 320;
    const ratio = devicePixelRatio || 1;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${width * shape}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(width * shape * ratio);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.filter = "grayscale(1)";
    context.drawImage(asCanvas(pixels), 0, 0, canvas.width, canvas.height);
    context.filter = "none";
    const w = canvas.width / picture.columns;
    const h = canvas.height / picture.rows;
    pieces.slice(1).forEach(({ score }, i) => {
      context.globalAlpha = 0.75 * Math.min(1, Math.abs(score) / max);
      context.fillStyle = score < 0 ? app.colors.negative : app.colors.positive;
      const [x, y] = [Math.floor((i % picture.columns) * w), Math.floor(Math.floor(i / picture.columns) * h)];
      context.fillRect(x, y, Math.ceil(w), Math.ceil(h));
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.min(picture.columns - 1, Math.floor(((event.clientX - box.left) / box.width) * picture.columns));
      const row = Math.min(picture.rows - 1, Math.floor(((event.clientY - box.top) / box.height) * picture.rows));
      app.say(`Row ${row + 1}, column ${column + 1}: ${number(pieces[1 + row * picture.columns + column]?.score ?? 0)}.`);
    });
    return canvas;
  }

  /** How far the numbers can be trusted, in words. */
  private trust(result: AttributedResult, method: Attribution): HTMLElement[] {
    const parts: HTMLElement[] = [];
    if (method.completeness) {
      const { score, baseline, sum, gap } = method.completeness;
      const share = Math.abs(gap) / Math.max(1e-30, Math.abs(score - baseline));
      parts.push(
        make(
          "p",
          { class: "trust", "data-gap": String(gap) },
          `They add up to ${number(sum)}. The score with the tokens is ${number(score)}, without them ${number(baseline)}; that is ${number(score - baseline)} more. The gap of completeness is ${number(Math.abs(gap))}, ${share < 0.01 ? "less than 1 %" : percent(share)} of it.${share > 0.05 ? " More steps (--steps) or another baseline (--baseline) may close it." : ""}`,
        ),
      );
    }
    const faithful = method.faithfulness;
    if (!faithful) return parts;
    const chance = result.chance;
    const change = (value: number): string =>
      result.probability ? `${value > 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)} points` : `${value > 0 ? "−" : "+"}${number(Math.abs(value))}`;
    const good = chance !== undefined && faithful.comprehensiveness > chance.comprehensiveness && faithful.sufficiency < chance.sufficiency;
    const bad = chance !== undefined && faithful.comprehensiveness <= chance.comprehensiveness && faithful.sufficiency >= chance.sufficiency;
    const line = (words: string, value: number, random: number | undefined, aim: string): HTMLElement =>
      make("tr", {}, make("td", {}, words), make("td", { class: "value" }, change(value)), make("td", { class: "faint" }, random === undefined ? "" : `(${change(random)})`), make("td", { class: "faint" }, aim));
    const row = make("div", { class: "trust" });
    row.append(
      this.curve(faithful, chance, result),
      make(
        "div",
        {},
        make("b", {}, good ? "Better than chance here" : bad ? "No better than chance here" : "Better than chance in one respect only"),
        make(
          "table",
          {},
          line("Without the most important", faithful.comprehensiveness, chance?.comprehensiveness, "the lower the better"),
          line("With them alone", faithful.sufficiency, chance?.sufficiency, "the nearer to 0 the better"),
        ),
      ),
    );
    parts.push(row);
    return parts;
  }

  /** Certainty over the number of tokens taken away, the most important first; dashed: in random order. */
  private curve(faithful: Faithfulness, chance: Faithfulness | undefined, result: AttributedResult): HTMLElement {
    const { colors } = this.app;
    const [wide, high] = [180, 64];
    const ratio = devicePixelRatio || 1;
    const canvas = make("canvas", { class: "curve", role: "img", "aria-label": "What is left as tokens are taken away" });
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.scale(ratio, ratio);
    const all = [...faithful.certainty, ...(chance?.certainty ?? [])];
    const [low, top] = result.probability ? [0, 1] : [Math.min(...all), Math.max(...all)];
    const last = faithful.taken[faithful.taken.length - 1] || 1;
    const place = (taken: number, value: number): [number, number] => [4 + (taken / last) * (wide - 8), 4 + (1 - (value - low) / (top - low || 1)) * (high - 8)];
    context.strokeStyle = colors.line;
    context.strokeRect(3.5, 3.5, wide - 7, high - 7);
    const draw = (one: Faithfulness, color: string, dash: number[]): void => {
      context.strokeStyle = color;
      context.lineWidth = 2;
      context.setLineDash(dash);
      context.beginPath();
      one.taken.forEach((taken, i) => (i === 0 ? context.moveTo(...place(taken, one.certainty[i] as number)) : context.lineTo(...place(taken, one.certainty[i] as number))));
      context.stroke();
    };
    if (chance) draw(chance, colors.faint, [4, 4]);
    draw(faithful, colors.positive, []);
    const what = result.probability ? "Probability from 0 to 1" : "Score";
    const words = `${what}, as 0 to ${last} tokens are taken away, the most important first: ${faithful.certainty.map((value, i) => `${faithful.taken[i]}: ${result.probability ? percent(value) : number(value)}`).join(", ")}. Dashed: in random order.`;
    canvas.title = words;
    canvas.addEventListener("pointerenter", () => this.app.say(words));
    return make("figure", {}, canvas, make("figcaption", { class: "faint" }, `0 … ${last} taken away`));
  }
}

function name(text: string): string {
  return `\u2066“\u2068${visible(text.trim()) || "␣"}\u2069”\u2069`;
}
