// All layers and heads at a glance (Vig 2019, BertViz's model view).
import { type App, type ViewPart } from "./app";
import { headColor } from "./colors";
import { make } from "./dom";
import { HeadsView } from "./heads";
import { Sheet, type Point } from "./sheet";
import type { Layer } from "./explanation";
import type { Numbers } from "./numbers";

const gutter = 56; // for the names of layers
const header = 20;
export const maxLinesOf = 64; // tokens whose lines are distinct in a small picture

export class ModelView implements ViewPart {
  readonly element = make("section", { class: "model-view" });
  readonly possible = true;
  private readonly sheet: Sheet;
  private readonly detail: HeadsView;
  private readonly title = make("h3");
  private readonly drawn = new Map<string, HTMLCanvasElement>();
  private cell = 40;
  private over: { layer: number; head: number } | null = null;

  constructor(private readonly app: App) {
    this.sheet = new Sheet(
      "A small picture of every head: rows are layers, columns are heads",
      () => this.app.redraw(),
      (point, click) => this.pointed(point, click),
    );
    this.detail = new HeadsView(app, true);
    const side = make("div", { class: "detail" }, this.title, this.detail.element);
    this.element.append(this.sheet.element, side);
  }

  private pointed(point: Point | null, click: boolean): void {
    const layer = point ? Math.floor((point.y - header + this.sheet.scroll) / this.cell) : -1;
    const column = point ? Math.floor((point.x - gutter) / this.cell) : -1;
    const { app } = this;
    const head = this.columns[column] ?? -1;
    const inside = layer >= 0 && head >= 0 && layer < app.attention.layers.length;
    const before = this.over;
    this.over = inside ? { layer, head } : null;
    if (click && inside) app.select({ layer, heads: [head] });
    else if (before?.layer !== this.over?.layer || before?.head !== this.over?.head) requestAnimationFrame(() => this.drawGrid());
  }

  /** The heads that are shown. */
  private get columns(): number[] {
    const { columns } = this.app.selection;
    return columns.length > 0 ? columns : Array.from({ length: this.app.heads }, (_, head) => head);
  }

  draw(): void {
    const { app } = this;
    this.drawGrid();
    this.title.textContent = `Layer ${app.layer.number + 1}, head ${(app.selection.heads[0] as number) + 1}`;
    this.detail.draw();
  }

  private drawGrid(): void {
    const { app } = this;
    const { layers } = app.attention;
    const heads = this.columns;
    const wide = this.sheet.element.clientWidth || 600;
    this.cell = Math.max(16, Math.min(96, (wide - gutter - 4) / heads.length));
    const context = this.sheet.begin(layers.length * this.cell + header, Math.max(300, innerHeight * 0.8));
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = app.colors.faint;
    context.textAlign = "center";
    heads.forEach((head, column) => {
      if (this.cell >= 18 || column % 2 === 0) context.fillText(String(head + 1), gutter + (column + 0.5) * this.cell, header / 2);
    });
    context.save();
    context.beginPath();
    context.rect(0, header, this.sheet.width, this.sheet.height);
    context.clip();
    for (let row = 0; row < layers.length; ++row) {
      const y = header + row * this.cell - this.sheet.scroll;
      if (y + this.cell < 0 || y > this.sheet.height) continue;
      const layer = layers[row] as Layer;
      context.fillStyle = app.colors.faint;
      context.textAlign = "left";
      context.fillText(`layer ${layer.number + 1}`, 0, y + this.cell / 2);
      const weights = app.store.get(layer.weights);
      if (!weights) continue;
      for (const [column, head] of heads.entries()) {
        const x = gutter + column * this.cell;
        context.drawImage(this.thumbnail(weights, row, head), x + 1, y + 1, this.cell - 2, this.cell - 2);
        const chosen = row === app.selection.layer && head === app.selection.heads[0] && app.selection.heads.length === 1;
        const over = this.over?.layer === row && this.over.head === head;
        if (!chosen && !over) continue;
        context.strokeStyle = chosen ? app.colors.accent : app.colors.text;
        context.lineWidth = chosen ? 3 : 1.5;
        context.strokeRect(x + 1, y + 1, this.cell - 2, this.cell - 2);
      }
    }
    context.restore();
    if (this.over && !app.hover)
      app.say(`Layer ${(layers[this.over.layer] as Layer).number + 1}, head ${this.over.head + 1}. Click to see it large.`);
  }

  /** A head's picture, drawn once: lines for short texts, else squares. */
  private thumbnail(weights: Numbers, row: number, head: number): HTMLCanvasElement {
    const { app } = this;
    const { selection, colors } = app;
    const size = Math.round((this.cell - 2) * (devicePixelRatio || 1));
    const key = [selection.which, selection.attention, row, head, size, selection.form, selection.filter, selection.special, colors.page].join(" ");
    const known = this.drawn.get(key);
    if (known) return known;
    if (this.drawn.size > 3000) this.drawn.clear();
    const canvas = make("canvas");
    canvas.width = canvas.height = size;
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const [, queries, keys] = weights.shape as [number, number, number];
    const color = headColor(colors, head);
    context.fillStyle = context.strokeStyle = color;
    context.globalAlpha = 0.07;
    context.fillRect(0, 0, size, size);
    const at = head * queries * keys;
    if (selection.form === "lines" && Math.max(queries, keys) <= maxLinesOf) {
      const longest = Math.max(queries, keys);
      for (let i = 0; i < queries; ++i)
        for (let j = 0; j < keys; ++j) {
          const weight = weights.at(at + i * keys + j);
          if (weight < 0.01 || !app.passes(i, j)) continue;
          context.globalAlpha = Math.min(1, weight);
          context.lineWidth = Math.max(1, size / 60);
          context.beginPath();
          context.moveTo(size * 0.06, ((i + 0.5) / longest) * size);
          context.lineTo(size * 0.94, ((j + 0.5) / longest) * size);
          context.stroke();
        }
    } else {
      this.squares(context, weights, at, queries, keys, size);
    }
    this.drawn.set(key, canvas);
    return canvas;
  }

  /** Queries from above, keys from the left; of several weights in one pixel the largest. */
  private squares(
    context: CanvasRenderingContext2D,
    weights: Numbers,
    at: number,
    queries: number,
    keys: number,
    size: number,
  ): void {
    const rows = Math.min(queries, size);
    const columns = Math.min(keys, size);
    const largest = new Float32Array(rows * columns);
    const unfiltered = this.app.selection.filter === "all" && this.app.selection.special;
    const buffer = new Float32Array(keys); // a row
    const columnOf = Uint32Array.from(buffer, (_, j) => Math.floor((j * columns) / keys));
    for (let i = 0; i < queries; ++i) {
      const row = Math.floor((i * rows) / queries) * columns;
      weights.copy(at + i * keys, buffer);
      for (let j = 0; j < keys; ++j) {
        const weight = buffer[j] as number;
        const pixel = row + (columnOf[j] as number);
        if (weight > (largest[pixel] as number) && (unfiltered || this.app.passes(i, j))) largest[pixel] = weight;
      }
    }
    context.globalAlpha = 1;
    // In long texts no weight is large, so darkness is relative to the largest.
    const max = largest.reduce((sum, weight) => Math.max(sum, weight), 1e-9);
    const image = context.createImageData(columns, rows);
    const color = context.fillStyle as string;
    const [r, g, b] = [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16)) as [number, number, number];
    largest.forEach((weight, pixel) => image.data.set([r, g, b, Math.round(255 * Math.sqrt(weight / max))], pixel * 4));
    const small = make("canvas");
    small.width = columns;
    small.height = rows;
    (small.getContext("2d") as CanvasRenderingContext2D).putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, size, size);
  }
}
