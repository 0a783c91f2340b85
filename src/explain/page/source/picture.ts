// A picture under its patches: where a token attends, head by head, and rolled out over all layers.
import { type App, percent, type ViewPart } from "./app";
import { make } from "./dom";
import type { Attention, Picture } from "./explanation";
import type { Numbers } from "./numbers";
import { asCanvas } from "./pixels";

export class PictureView implements ViewPart {
  readonly element = make("section", { class: "picture-view" });
  readonly possible: boolean;
  private readonly large = make("canvas", { class: "large", tabindex: "0" });
  private readonly grid = make("div", { class: "grid" });
  private readonly note = make("p", { class: "note" });
  private picture: HTMLCanvasElement | null = null;
  private drawn: Numbers | null = null; // the numbers that it shows
  private readonly averages = new Map<string, Float32Array>();
  private chosen: "head" | "mean" | "rollout" = "head";

  constructor(private readonly app: App) {
    this.possible = app.document.sides.some((side) => side.picture);
    this.element.append(make("div", {}, this.large, this.note), this.grid);
    const patch = (event: MouseEvent): number => {
      const picture = app.keySide.picture;
      if (!picture) return -1;
      const box = this.large.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * picture.columns);
      const row = Math.floor(((event.clientY - box.top) / box.height) * picture.rows);
      const inside = column >= 0 && row >= 0 && column < picture.columns && row < picture.rows;
      return inside ? 1 + row * picture.columns + column : -1;
    };
    this.large.addEventListener("pointermove", (event) => {
      const token = patch(event);
      if (token >= 0 && app.querySide.picture) app.point({ side: "query", token });
    });
    this.large.addEventListener("pointerleave", () => app.point(null));
    this.large.addEventListener("click", (event) => {
      const token = patch(event);
      if (token >= 0 && app.querySide.picture) app.select({ side: "query", token: token === app.selection.token ? -1 : token });
    });
  }

  draw(): void {
    const { app } = this;
    const side = app.keySide;
    const weights = app.weights;
    if (!side.picture) {
      this.grid.replaceChildren();
      this.note.textContent = "These keys are no picture: choose another attention.";
      return;
    }
    const pixels = app.store.get(side.picture.pixels);
    if (!pixels || !weights) return;
    if (this.drawn !== pixels) this.picture = asCanvas((this.drawn = pixels));
    const query = app.focus?.side === "query" ? app.focus.token : 0;
    const [heads, queries, keys] = weights.shape as [number, number, number];
    const row = (head: number): Float32Array =>
      Float32Array.from({ length: keys }, (_, j) => weights.at((head * queries + query) * keys + j));
    const rows = Array.from({ length: heads }, (_, head) => row(head));
    const mean = Float32Array.from({ length: keys }, (_, j) => rows.reduce((sum, one) => sum + (one[j] as number), 0) / heads);
    const rolled = this.rollout(query);
    const entries: ["head" | "mean" | "rollout", number, string, Float32Array][] = rows.map((one, head) => ["head", head, `head ${head + 1}`, one]);
    entries.push(["mean", -1, "mean of the heads", mean]);
    if (rolled) entries.push(["rollout", -1, "rolled out over all layers", rolled]);
    this.drawGrid(side.picture, entries);
    const head = app.selection.heads[0] as number;
    const current = entries.find(([kind, number]) => kind === this.chosen && (kind !== "head" || number === head)) ?? (entries[head] as (typeof entries)[0]);
    const wide = Math.min(560, this.element.clientWidth * 0.5);
    this.overlay(this.large, side.picture, current[3], wide, app.querySide.picture ? query : 0);
    const total = current[3].reduce((sum, weight, j) => (j === 0 ? sum : sum + weight), 0);
    this.note.textContent =
      `${app.nameOf("query", query)}, layer ${app.layer.number + 1}, ${current[2]}: the brighter a patch, the more attention; the brightest gets ` +
      `${percent(Math.max(...current[3].slice(1)))}, all patches together ${percent(total)}.` +
      (app.querySide.picture ? " Point at a patch to see where it looks." : "");
    if (this.chosen === "rollout") this.note.textContent += " Rollout: the mean of the heads and the way past them, half each, multiplied through all layers (Abnar and Zuidema 2020).";
    app.say("");
  }

  private drawGrid(picture: Picture, entries: ["head" | "mean" | "rollout", number, string, Float32Array][]): void {
    const { app } = this;
    while (this.grid.childElementCount > entries.length) this.grid.lastElementChild?.remove();
    while (this.grid.childElementCount < entries.length) {
      const index = this.grid.childElementCount;
      const tile = make("button", { type: "button" }, make("canvas"), make("span"));
      tile.addEventListener("click", () => {
        const kind = tile.dataset["kind"] as typeof this.chosen;
        this.chosen = kind;
        app.select(kind === "head" ? { heads: [index] } : {});
      });
      this.grid.append(tile);
    }
    entries.forEach(([kind, head, title, weights], i) => {
      const tile = this.grid.children[i] as HTMLElement;
      tile.dataset["kind"] = kind;
      tile.setAttribute("aria-pressed", String(kind === this.chosen && (kind !== "head" || head === app.selection.heads[0])));
      (tile.lastElementChild as HTMLElement).textContent = title;
      this.overlay(tile.firstElementChild as HTMLCanvasElement, picture, weights, 110, 0);
    });
  }

  /** The picture in its own proportions, dark where no attention is. */
  private overlay(canvas: HTMLCanvasElement, picture: Picture, weights: Float32Array, wide: number, mark: number): void {
    const ratio = devicePixelRatio || 1;
    const shape = picture.height / picture.width;
    const width = shape > 1 ? wide / shape : wide;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${width * shape}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(width * shape * ratio);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.drawImage(this.picture as HTMLCanvasElement, 0, 0, canvas.width, canvas.height);
    const max = Math.max(...weights.slice(1)) || 1;
    const w = canvas.width / picture.columns;
    const h = canvas.height / picture.rows;
    for (let row = 0; row < picture.rows; ++row)
      for (let column = 0; column < picture.columns; ++column) {
        const weight = weights[1 + row * picture.columns + column] as number;
        context.fillStyle = `rgba(10, 12, 16, ${(0.86 * (1 - weight / max)).toFixed(3)})`;
        const [x, y] = [Math.floor(column * w), Math.floor(row * h)];
        context.fillRect(x, y, Math.floor((column + 1) * w) - x, Math.floor((row + 1) * h) - y);
      }
    if (mark > 0) {
      context.strokeStyle = this.app.colors.negative;
      context.lineWidth = 2 * ratio;
      context.strokeRect(((mark - 1) % picture.columns) * w, Math.floor((mark - 1) / picture.columns) * h, w, h);
    }
  }

  /** Attention rollout of one query, where the page has all layers of a side's attention to itself. */
  private rollout(query: number): Float32Array | null {
    const { app } = this;
    const { attention } = app;
    if (attention.queries !== attention.keys || attention.layers.length !== attention.all_layers) return null;
    const count = app.tokensOf("key");
    let row = new Float32Array(count);
    row[query] = 1;
    for (let l = app.selection.layer; l >= 0; --l) {
      const average = this.average(attention, l);
      if (!average) return null;
      const next = new Float32Array(count);
      row.forEach((share, i) => {
        if (share === 0) return;
        next[i]! += share / 2;
        for (let j = 0; j < count; ++j) next[j]! += (share / 2) * (average[i * count + j] as number);
      });
      row = next;
    }
    return row;
  }

  private average(attention: Attention, layer: number): Float32Array | null {
    const key = `${this.app.selection.which} ${this.app.selection.attention} ${layer}`;
    const known = this.averages.get(key);
    if (known) return known;
    const weights = this.app.store.get(attention.layers[layer]?.weights);
    if (!weights) return null;
    const [heads, queries, keys] = weights.shape as [number, number, number];
    const average = new Float32Array(queries * keys);
    for (let i = 0; i < heads * queries * keys; ++i) average[i % (queries * keys)]! += weights.at(i) / heads;
    this.averages.set(key, average);
    return average;
  }
}
