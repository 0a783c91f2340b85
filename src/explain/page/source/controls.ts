// The row of controls above the views: what is shown of the attentions.
import type { App } from "./app";
import { headColor } from "./colors";
import { button, checkbox, choice, make, slider } from "./dom";

const kinds: Record<string, string> = {
  self: "The text to itself",
  encoder: "Encoder: the source to itself",
  decoder: "Decoder: the target to itself",
  cross: "Cross: the target to the source",
};

/** Controls of the attention views; made anew only when what there is to choose changes. */
export class Controls {
  readonly element = make("div", { class: "controls" });
  private readonly chips = make("div", { class: "chips", role: "group", "aria-label": "Heads" });
  private made = "";

  constructor(private readonly app: App) {}

  draw(): void {
    const { app } = this;
    const { selection } = app;
    const layered = ["heads", "model", "neuron", "picture", "compare", "statistics"].includes(selection.view);
    this.element.hidden = !layered;
    if (!layered) return;
    const key = JSON.stringify([selection.which, selection.view, selection.attention, selection.layer, selection.filter, selection.special, selection.form, selection.zoom === 0, selection.share]);
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
    if (selection.view === "heads" || selection.view === "model") {
      if (segments(app.querySide) && segments(app.keySide))
        parts.push(
          choice(
            "Sentences",
            [
              ["all", "all"],
              ["00", "first → first"],
              ["11", "second → second"],
              ["01", "first → second"],
              ["10", "second → first"],
            ],
            selection.filter,
            (filter) => app.select({ filter: filter as typeof selection.filter }),
          ),
        );
      if (app.querySide.tokens.some((token) => token.special))
        parts.push(checkbox("special tokens", selection.special, (special) => app.select({ special })));
    }
    if (selection.view === "heads") {
      parts.push(
        slider("Lines: share of each row", { least: 10, most: 100, step: 5 }, selection.share, (value) => `${value} %`, (share) =>
          app.select({ share }),
        ),
        slider("Size of a row", { least: 0, most: 40, step: 1 }, selection.zoom, (value) => (value ? `${value}` : "fits"), (zoom) =>
          app.select({ zoom }),
        ),
      );
    }
    if (selection.view === "model")
      parts.push(
        choice("Drawn as", [["lines", "lines (short texts)"], ["squares", "squares"]], selection.form, (form) =>
          app.select({ form: form as typeof selection.form }),
        ),
      );
    this.chips.replaceChildren();
    if (ofOneLayer) parts.push(this.chips);
    this.element.replaceChildren(...parts);
  }

  private drawChips(): void {
    const { app } = this;
    const { heads, view } = app.selection;
    const one = view === "neuron" || view === "picture";
    if (this.chips.childElementCount !== app.heads + (one ? 0 : 1)) {
      this.chips.replaceChildren(make("span", {}, one ? "Head" : "Heads"));
      if (one) this.chips.replaceChildren();
      for (let head = 0; head < app.heads; ++head) {
        const chip = button(String(head + 1), `Head ${head + 1}. Click: show or hide it. Double click: it alone, or all again.`, () => {
          const now = app.selection.heads;
          if (app.selection.view === "neuron" || app.selection.view === "picture") return app.select({ heads: [head] });
          const next = now.includes(head) ? now.filter((other) => other !== head) : [...now, head].sort((a, b) => a - b);
          if (next.length > 0) app.select({ heads: next });
        });
        chip.addEventListener("dblclick", () => {
          if (app.selection.view === "neuron" || app.selection.view === "picture") return;
          const alone = app.selection.heads.length === 1 && app.selection.heads[0] === head;
          app.select({ heads: alone ? [] : [head] });
        });
        chip.setAttribute("name", `head ${head}`);
        this.chips.append(chip);
      }
      if (!one) {
        // "all" behind the heads would be one more number: the word in front of them does it.
        const all = this.chips.firstElementChild as HTMLElement;
        all.title = "Click: all heads";
        all.addEventListener("click", () => app.select({ heads: [] }));
      }
    }
    this.chips.querySelectorAll("button").forEach((chip, head) => {
      const on = one ? heads[0] === head : heads.includes(head);
      chip.setAttribute("aria-pressed", String(on));
      chip.style.setProperty("--chip", headColor(app.colors, head));
    });
  }
}
