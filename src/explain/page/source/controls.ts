// The row of controls above the views: which part of the attentions is shown.
import type { App } from "./app";
import { headColor, headDash } from "./colors";
import { maxLinesOf } from "./model";
import { button, checkbox, choice, make, slider } from "./dom";

const kinds: Record<string, string> = {
  self: "The text to itself",
  encoder: "Encoder: the source to itself",
  decoder: "Decoder: the target to itself",
  cross: "Cross: the target to the source",
};

const sentences: readonly (readonly [value: string, text: string])[] = [
  ["all", "all"],
  ["00", "first → first"],
  ["11", "second → second"],
  ["01", "first → second"],
  ["10", "second → first"],
];

/** Controls of the attention views; made anew only when what there is to choose changes. */
export class Controls {
  readonly element = make("div", { class: "controls" });
  private readonly chips = make("div", { class: "chips", role: "group", "aria-label": "Heads" });
  /** What the controls say, for paper, where they are not. */
  readonly printed = make("p", { class: "printed" });
  private made = "";

  constructor(private readonly app: App) {}

  draw(): void {
    const { app } = this;
    const { selection } = app;
    const layered = ["heads", "model", "neuron", "picture", "compare", "statistics"].includes(selection.view);
    this.element.hidden = this.printed.hidden = !layered;
    if (!layered) return;
    this.printed.textContent = this.words();
    const key = JSON.stringify([selection.which, selection.view, selection.attention, selection.layer, selection.filter, selection.special, selection.pieces, selection.form, selection.zoom === 0, selection.share]);
    const active = this.element.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
    if (key !== this.made && !(active instanceof HTMLInputElement && active.type === "range")) {
      const name = active?.getAttribute("name");
      this.make();
      if (name) this.element.querySelector<HTMLElement>(`[name="${name}"]`)?.focus();
      this.made = key;
    }
    this.drawChips();
  }

  private make(): void {
    const { app } = this;
    const { selection } = app;
    const parts: HTMLElement[] = [];
    const { attentions } = app.document;
    if (attentions.length > 1)
      parts.push(
        choice(
          "Attention",
          attentions.map((attention, i) => [String(i), kinds[attention.name] ?? attention.name]),
          String(selection.attention),
          (value) => app.select({ attention: Number(value) }),
        ),
      );
    const ofOneLayer = !["model", "compare", "statistics"].includes(selection.view);
    if (ofOneLayer)
      parts.push(
        choice(
          "Layer",
          app.attention.layers.map((layer, i) => [String(i), `${layer.number + 1} of ${app.attention.all_layers}`]),
          String(selection.layer),
          (value) => app.select({ layer: Number(value) }),
        ),
      );
    const segments = (side: typeof app.querySide): boolean => side.tokens.some((token) => token.segment === 1);
    const ofTokens = ["heads", "model", "neuron"].includes(selection.view);
    if (ofTokens) {
      if (segments(app.querySide) && segments(app.keySide))
        parts.push(
          choice(
            "Sentences",
            sentences,
            selection.filter,
            (filter) => app.select({ filter: filter as typeof selection.filter }),
          ),
        );
      if (app.querySide.tokens.some((token) => token.special))
        parts.push(checkbox("special tokens", selection.special, (special) => app.select({ special })));
      parts.push(checkbox("as the tokenizer spells them", selection.pieces, (pieces) => app.select({ pieces })));
    }
    if (selection.view === "heads") {
      parts.push(
        slider("Lines: share of each row", { min: 10, max: 100, step: 5 }, selection.share, (value) => `${value} %`, (share) =>
          app.select({ share }),
        ),
        slider("Size of a row", { min: 0, max: 40, step: 1 }, selection.zoom, (value) => (value ? `${value}` : "fits"), (zoom) =>
          app.select({ zoom }),
        ),
      );
    }
    const longest = Math.max(app.tokensOf("query"), app.tokensOf("key"));
    if (selection.view === "model" && longest <= maxLinesOf)
      parts.push(
        choice("Drawn as", [["lines", "lines"], ["squares", "squares"]], selection.form, (form) =>
          app.select({ form: form as typeof selection.form }),
        ),
      );
    this.chips.replaceChildren();
    if (ofOneLayer || selection.view === "model") parts.push(this.chips);
    this.element.replaceChildren(...parts);
  }

  /** Layer, heads and sentences in words. */
  private words(): string {
    const { app } = this;
    const { selection } = app;
    const parts = app.document.attentions.length > 1 ? [kinds[app.attention.name] ?? app.attention.name] : [];
    const chosen = selection.view === "model" ? selection.columns : selection.heads.length === app.heads ? [] : selection.heads;
    const some = ["neuron", "picture"].includes(selection.view) ? chosen.slice(0, 1) : chosen;
    if (!["model", "compare", "statistics"].includes(selection.view)) parts.push(`layer ${app.layer.number + 1}`);
    parts.push(some.length === 0 ? "all heads" : `${some.length > 1 ? "heads" : "head"} ${some.map((head) => head + 1).join(", ")}`);
    if (selection.filter !== "all") parts.push(sentences.find(([value]) => value === selection.filter)?.[1] ?? "");
    const all = parts.join(" · ");
    return all.charAt(0).toUpperCase() + all.slice(1);
  }

  /** Which heads the chips show and change: those of the lines, those of the small pictures, or the one of a view of one. */
  private drawChips(): void {
    const { app } = this;
    const { view } = app.selection;
    const one = view === "neuron" || view === "picture";
    const field = view === "model" ? "columns" : "heads";
    const chosen = (): number[] => {
      const now = app.selection[field];
      return now.length > 0 ? now : Array.from({ length: app.heads }, (_, head) => head);
    };
    const key = `${view} ${app.heads}`;
    if (this.chips.childElementCount === 0 || this.chips.dataset["of"] !== key) {
      this.chips.dataset["of"] = key;
      this.chips.replaceChildren(make("span", {}, one ? "Head" : "Heads"));
      for (let head = 0; head < app.heads; ++head) {
        const title = one ? `Show head ${head + 1}` : `Head ${head + 1}. Click: show or hide it. Double click: it alone, or all again.`;
        const chip = button(String(head + 1), title, () => {
          if (one) return app.select({ heads: [head] });
          const now = chosen();
          const next = now.includes(head) ? now.filter((other) => other !== head) : [...now, head].sort((a, b) => a - b);
          if (next.length > 0) app.select({ [field]: next });
        });
        chip.addEventListener("dblclick", () => {
          if (one) return;
          const now = chosen();
          app.select({ [field]: now.length === 1 && now[0] === head ? [] : [head] });
        });
        chip.setAttribute("name", `head ${head}`);
        this.chips.append(chip);
      }
      if (!one) {
        // "all" after the heads would look like one more number, so the word before them is the button.
        const all = this.chips.firstElementChild as HTMLElement;
        all.title = "Click: all heads";
        all.addEventListener("click", () => app.select({ [field]: [] }));
      }
    }
    const shown = one ? app.selection.heads.slice(0, 1) : chosen();
    this.chips.querySelectorAll("button").forEach((chip, head) => {
      chip.setAttribute("aria-pressed", String(shown.includes(head)));
      chip.style.setProperty("--chip", headColor(app.colors, head));
      chip.classList.toggle("broken", headDash(app.colors, head) > 0);
    });
  }
}
