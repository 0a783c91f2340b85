// Puts the page together.
import { App, type ViewPart } from "./app";
import { BeamsView } from "./beams";
import { CompareView } from "./compare";
import { Controls } from "./controls";
import { DependsView } from "./depends";
import { button, choice, make } from "./dom";
import type { Explanation } from "./explanation";
import { HeadsView } from "./heads";
import { LensView } from "./lens";
import { ModelView } from "./model";
import { NeuronView } from "./neuron";
import { PictureView } from "./picture";
import type { Selection, View } from "./state";
import { StatisticsView } from "./statistics";
import { StepsView } from "./steps";
import { visible } from "./tokens";

const titles: Record<View, string> = {
  heads: "Heads",
  model: "All layers and heads",
  neuron: "Inside a head",
  picture: "On the picture",
  steps: "Step by step",
  lens: "What each layer would say",
  depends: "What it depends on",
  statistics: "Heads in numbers",
  beams: "Other translations",
  compare: "Two at once",
};

const ordinals = ["first", "second"];

const help =
  "Keys: ↑ ↓ another token, ← → another head, Page up and Page down another layer, s the other side, Escape nothing selected. " +
  "Ctrl with the wheel makes rows larger or smaller.";

function start(root: Element): void {
  const source = root.querySelector("script[data-explanation]");
  if (!source) return;
  const explanation = JSON.parse(source.textContent as string) as Explanation;
  const app = new App(root, explanation);
  // A picture is easier to read on the picture itself than between columns of patches.
  if (!location.hash && explanation.sides[0]?.picture) app.selection.view = "picture";
  const heads = new HeadsView(app);
  const parts = new Map<View, ViewPart>([
    ["heads", heads],
    ["model", new ModelView(app)],
    ["neuron", new NeuronView(app)],
    ["picture", new PictureView(app)],
    ["steps", new StepsView(app)],
    ["lens", new LensView(app)],
    ["depends", new DependsView(app)],
    ["statistics", new StatisticsView(app)],
    ["beams", new BeamsView(app)],
    ["compare", new CompareView(app)],
  ]);

  const tabs = make("div", { class: "tabs", role: "tablist" });
  const buttons = new Map<View, HTMLButtonElement>();
  for (const [view, part] of parts) {
    if (!part.possible) continue;
    const tab = make("button", { type: "button", role: "tab", "data-view": view }, titles[view]);
    tab.addEventListener("click", () => app.select({ view }));
    buttons.set(view, tab);
    tabs.append(tab);
  }
  tabs.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.stopPropagation();
    const open = [...buttons.keys()];
    const next = open[(open.indexOf(app.selection.view) + step + open.length) % open.length] as View;
    app.select({ view: next });
    buttons.get(next)?.focus();
  });

  const controls = new Controls(app);
  const place = make("div", { class: "view", role: "tabpanel" });
  const texts = explanation.sides.flatMap((side) =>
    side.texts.map((text, i) => make("p", { class: "given" }, make("b", {}, `${side.texts.length > 1 ? `${ordinals[i]} ` : ""}${side.name}: `), make("bdi", {}, visible(text)))),
  );
  // Of two compared runs, the one that the views show.
  const which = make("p", { class: "which" });
  const switches = [explanation, explanation.other].flatMap((one, i) => {
    if (!one) return [];
    const name = i === 0 ? one.model : `${one.model}, ${explanation.difference}`;
    return [button(`${i === 0 ? "A" : "B"}: ${name}`, "Show this one in all views", () => app.select({ which: i }))];
  });
  if (switches.length > 1) which.append(...switches.flatMap((one) => [one, " "]), ...(explanation.other?.sides[0]?.texts ?? []).filter((text, i) => text !== explanation.sides[0]?.texts[i]).map((text) => make("bdi", { class: "given" }, `B reads: ${visible(text)}`)));
  which.hidden = switches.length < 2;
  root.prepend(
    make("header", {}, make("h1", {}, explanation.model || explanation.family), make("p", { class: "faint" }, `${explanation.architecture} · ${explanation.family}`), ...texts),
    which,
    tabs,
    controls.element,
    controls.printed,
    app.info,
    place,
    make(
      "footer",
      { class: "faint" },
      choice("Colours", [["system", "as the system has them"], ["light", "light"], ["dark", "dark"]], app.selection.theme, (theme) =>
        app.select({ theme: theme as Selection["theme"] }),
      ),
      make("p", {}, help),
    ),
  );
  document.title = `${explanation.model}: ${visible(explanation.sides[0]?.texts[0] ?? "").slice(0, 60)} — Attend`;

  addEventListener("keydown", (event) => {
    const target = event.target as Element | null;
    if (event.ctrlKey || event.metaKey || event.altKey || target?.matches("input, select, textarea")) return;
    const { selection } = app;
    const around = (value: number, count: number): number => (value + count) % count;
    const actions: Record<string, () => void> = {
      ArrowDown: () => app.select({ token: around(selection.token + 1, app.tokensOf(selection.side)) }),
      ArrowUp: () => app.select({ token: around(Math.max(selection.token, 0) - 1, app.tokensOf(selection.side)) }),
      ArrowRight: () => app.select({ heads: [selection.heads.length > 1 ? 0 : around((selection.heads[0] as number) + 1, app.heads)] }),
      ArrowLeft: () => app.select({ heads: [around((selection.heads[0] as number) - 1, app.heads)] }),
      PageDown: () => app.select({ layer: around(selection.layer + 1, app.attention.layers.length) }),
      PageUp: () => app.select({ layer: around(selection.layer - 1, app.attention.layers.length) }),
      s: () => app.select({ side: selection.side === "query" ? "key" : "query" }),
      Escape: () => app.select({ token: -1, heads: [] }),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    app.hover = null;
    action();
    heads.reveal();
  });

  app.onDraw(() => {
    const { selection } = app;
    const part = parts.get(selection.view)?.possible ? (parts.get(selection.view) as ViewPart) : heads;
    switches.forEach((one, i) => one.setAttribute("aria-pressed", String(i === selection.which)));
    for (const [view, tab] of buttons) {
      const on = parts.get(view) === part;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    if (place.firstElementChild !== part.element) {
      app.say("");
      place.replaceChildren(part.element);
    }
    controls.draw();
    part.draw();
  });
  app.redraw();
}

const root = document.currentScript?.previousElementSibling ?? document.querySelector(".attend");
if (root) start(root);
