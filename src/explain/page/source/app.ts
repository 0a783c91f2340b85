// The state that all views share: the document, its numbers, the selection, and when to draw.
import type { Attention, Explanation, Layer, Side } from "./explanation";
import { Store, type Numbers } from "./numbers";
import { theme, type Theme } from "./colors";
import { fromHash, toHash, type Selection } from "./state";
import { make } from "./dom";
import { quoted, writing } from "./tokens";

export interface ViewPart {
  readonly element: HTMLElement;
  /** Draws what the selection says now. */
  draw(): void;
  /** May it be shown at all? */
  readonly possible: boolean;
}

export class App {
  readonly store: Store;
  selection: Selection;
  colors: Theme;
  /** What is being pointed at, in the terms of the selection. */
  hover: { side: "query" | "key"; token: number } | null = null;
  readonly info = make("p", { class: "info", role: "status", "aria-live": "polite" });
  private scheduled = false;
  private readonly listeners: (() => void)[] = [];

  constructor(
    readonly root: Element,
    readonly first: Explanation,
  ) {
    this.store = new Store(root, () => this.redraw());
    this.colors = theme(root);
    this.selection = fromHash(location.hash);
    this.check();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.recolor());
    addEventListener("beforeprint", () => this.recolor(true));
    addEventListener("afterprint", () => this.recolor());
    addEventListener("hashchange", () => {
      const given = location.hash.replace(/^#/, "");
      if (given === toHash(this.selection)) return;
      this.selection = fromHash(given);
      this.check();
      this.redraw();
    });
  }

  /** That of two which is shown. */
  get document(): Explanation {
    return this.selection.which === 1 && this.first.other ? this.first.other : this.first;
  }

  private recolor(now = false): void {
    this.colors = theme(this.root);
    if (now) this.listeners.forEach((listener) => listener());
    else this.redraw();
  }

  /** Brings the selection to what there is. */
  private check(): void {
    const s = this.selection;
    const clamp = (value: number, min: number, max: number): number =>
      Math.min(max, Math.max(min, Math.round(value)));
    s.which = this.first.other ? clamp(s.which, 0, 1) : 0;
    s.attention = clamp(s.attention, 0, this.document.attentions.length - 1);
    s.layer = clamp(s.layer, 0, this.attention.layers.length - 1);
    const heads = this.heads;
    s.heads = [...new Set(s.heads)].filter((head) => head >= 0 && head < heads);
    if (s.heads.length === 0) s.heads = Array.from({ length: heads }, (_, head) => head);
    s.columns = [...new Set(s.columns)].filter((head) => head >= 0 && head < heads).sort((a, b) => a - b);
    if (s.columns.length === heads) s.columns = [];
    writing.pieces = s.pieces;
    if (this.root.getAttribute("data-theme") !== s.theme) {
      this.root.setAttribute("data-theme", s.theme);
      this.colors = theme(this.root);
    }
    s.token = clamp(s.token, -1, this.tokensOf(s.side) - 1);
    s.share = clamp(s.share, 1, 100);
    s.zoom = clamp(s.zoom, 0, 60);
    s.temperature = Math.min(5, Math.max(0.05, s.temperature));
    s.topK = clamp(s.topK, 0, 100000);
    s.topP = Math.min(1, Math.max(0.01, s.topP));
    s.result = clamp(s.result, 0, Math.max(0, (this.document.attributions?.length ?? 0) - 1));
  }

  get attention(): Attention {
    return this.document.attentions[this.selection.attention] as Attention;
  }
  get layer(): Layer {
    return this.attention.layers[this.selection.layer] as Layer;
  }
  get heads(): number {
    return this.layer?.weights.shape?.[0] ?? 1;
  }
  get querySide(): Side {
    return this.document.sides[this.attention.queries] as Side;
  }
  get keySide(): Side {
    return this.document.sides[this.attention.keys] as Side;
  }
  get weights(): Numbers | undefined {
    return this.store.get(this.layer.weights);
  }
  /** Keys before the text's tokens. */
  get before(): number {
    return this.attention.memory > 0 ? 1 : 0;
  }
  tokensOf(side: "query" | "key"): number {
    const shape = this.layer.weights.shape as number[];
    return (side === "query" ? shape[1] : shape[2]) as number;
  }
  nameOf(side: "query" | "key", place: number): string {
    return side === "query" ? quoted(this.querySide, place) : quoted(this.keySide, place - this.before);
  }

  /** The token that the views are about: the one pointed at, else the selected one. */
  get focus(): { side: "query" | "key"; token: number } | null {
    if (this.hover) return this.hover;
    return this.selection.token >= 0 ? { side: this.selection.side, token: this.selection.token } : null;
  }

  select(change: Partial<Selection>): void {
    const attention = this.selection.attention;
    Object.assign(this.selection, change);
    if (change.attention !== undefined && change.attention !== attention) {
      this.selection.token = -1;
      this.selection.heads = [];
      this.selection.columns = [];
      this.hover = null;
    }
    this.check();
    const hash = toHash(this.selection);
    try {
      history.replaceState(null, "", `#${hash}`);
    } catch {
      location.hash = hash;
    }
    this.redraw();
  }
  point(hover: { side: "query" | "key"; token: number } | null): void {
    if (hover?.side === this.hover?.side && hover?.token === this.hover?.token) return;
    this.hover = hover;
    this.redraw();
  }
  say(text: string): void {
    if (this.info.textContent !== text) this.info.textContent = text;
  }

  onDraw(listener: () => void): void {
    this.listeners.push(listener);
  }
  redraw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.listeners.forEach((listener) => listener());
    });
  }

  /** Does the filter let this pair of places through? */
  passes(query: number, key: number): boolean {
    const { filter, special } = this.selection;
    if (filter === "all" && special) return true;
    const q = this.querySide.tokens[query];
    const k = this.keySide.tokens[key - this.before];
    if (!special && (q?.special || k?.special || !k)) return false;
    return filter === "all" || (k !== undefined && `${q?.segment}${k.segment}` === filter);
  }
}

export function percent(weight: number): string {
  if (weight >= 0.1) return `${(100 * weight).toFixed(0)} %`;
  if (weight >= 0.01) return `${(100 * weight).toFixed(1)} %`;
  return weight === 0 ? "0 %" : weight < 0.0001 ? "< 0.01 %" : `${(100 * weight).toFixed(2)} %`;
}

export function number(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1000 || size < 0.001) return value.toExponential(2).replace("-", "−").replace("e−", "e−").replace("e+", "e");
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3).replace("-", "−");
}
