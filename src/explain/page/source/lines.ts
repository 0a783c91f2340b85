// Many lines between two columns, added up pixel by pixel: a canvas takes a millisecond for each of them, and there may
// be thousands.
import { make } from "./dom";

/** Red, green and blue of "#rrggbb". */
export function rgb(color: string): [number, number, number] {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16)) as [number, number, number];
}

export class Lines {
  private width = 0;
  private height = 0;
  /** Of each pixel how deep the paint lies, and that times red, green and blue. */
  private paints = new Float32Array(0);
  private image: ImageData | null = null;
  private readonly canvas = make("canvas");

  /** Nothing, `width` and `height` pixels large. */
  begin(width: number, height: number): void {
    [this.width, this.height] = [Math.max(1, Math.round(width)), Math.max(1, Math.round(height))];
    const size = 4 * this.width * (this.height + 1);
    if (this.paints.length === size && this.canvas.width === this.width) {
      this.paints.fill(0);
      return;
    }
    this.paints = new Float32Array(size);
    this.canvas.width = this.width;
    this.canvas.height = this.height;
    this.image = null;
  }

  /** From height y0 at the left edge to y1 at the right one; `alpha` from 0 to 1, as if painted over what is there. */
  add(y0: number, y1: number, alpha: number, color: readonly [number, number, number]): void {
    const { width, height, paints } = this;
    const slope = (y1 - y0) / width;
    // As far as it is in sight.
    let from = 0;
    let to = width;
    if (slope !== 0) {
      const top = (0 - y0) / slope;
      const bottom = (height - 1 - y0) / slope;
      from = Math.max(0, Math.ceil(Math.min(top, bottom)));
      to = Math.min(width, Math.floor(Math.max(top, bottom)) + 1);
    } else if (y0 < 0 || y0 >= height) {
      return;
    }
    // A steep line is as thick as a flat one.
    const thick = -Math.log(1 - Math.min(0.995, alpha)) * Math.sqrt(1 + slope * slope);
    const r = color[0] * thick;
    const g = color[1] * thick;
    const b = color[2] * thick;
    const next = 4 * width;
    let y = y0 + from * slope;
    for (let x = from; x < to; ++x, y += slope) {
      const row = y | 0;
      const under = y - row;
      const over = 1 - under;
      const at = row * next + 4 * x;
      paints[at]! += thick * over;
      paints[at + 1]! += r * over;
      paints[at + 2]! += g * over;
      paints[at + 3]! += b * over;
      const below = at + next;
      paints[below]! += thick * under;
      paints[below + 1]! += r * under;
      paints[below + 2]! += g * under;
      paints[below + 3]! += b * under;
    }
  }

  /** Draws them between x and x + width, from the top down. */
  paint(context: CanvasRenderingContext2D, x: number, width: number, height: number): void {
    const own = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    this.image ??= own.createImageData(this.width, this.height);
    const { data } = this.image;
    const { paints } = this;
    for (let p = 0; p < data.length; p += 4) {
      const depth = paints[p] as number;
      if (depth === 0) {
        data[p + 3] = 0;
        continue;
      }
      data[p] = (paints[p + 1] as number) / depth;
      data[p + 1] = (paints[p + 2] as number) / depth;
      data[p + 2] = (paints[p + 3] as number) / depth;
      data[p + 3] = depth > 6 ? 255 : 255 * (1 - Math.exp(-depth));
    }
    own.putImageData(this.image, 0, 0);
    context.drawImage(this.canvas, x, 0, width, height);
  }
}
