// Many lines between two columns, summed pixel by pixel: a canvas needs a millisecond for each line, and there may be
// thousands.
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
    const size = 4 * (this.width + 1) * (this.height + 1); // one more column and row, for the edges
    if (this.paints.length === size && this.canvas.width === this.width) {
      this.paints.fill(0);
      return;
    }
    this.paints = new Float32Array(size);
    this.canvas.width = this.width;
    this.canvas.height = this.height;
    this.image = null;
  }

  /** From height y0 at the left edge to y1 at the right one; `alpha` from 0 to 1, as if painted over what is there. `dash`:
   * pixels of each piece of a broken line; 0: it is whole. */
  add(y0: number, y1: number, alpha: number, color: readonly [number, number, number], dash = 0): void {
    const { width, height, paints } = this;
    const slope = (y1 - y0) / width;
    const thick = -Math.log(1 - Math.min(0.995, alpha));
    const r = color[0] * thick;
    const g = color[1] * thick;
    const b = color[2] * thick;
    const stride = 4 * (width + 1);
    // Column by column, and steep lines row by row, as far as they are visible; each step's paint goes to the two
    // nearest pixels.
    const steep = Math.abs(slope) > 1;
    const run = steep ? 1 / slope : slope; // from each step to the next
    let from = 0;
    let to = width;
    if (steep) {
      from = Math.max(0, Math.ceil(Math.min(y0, y1)));
      to = Math.min(height, Math.floor(Math.max(y0, y1)) + 1);
    } else if (slope !== 0) {
      const top = (0 - y0) / slope;
      const bottom = (height - 1 - y0) / slope;
      from = Math.max(0, Math.ceil(Math.min(top, bottom)));
      to = Math.min(width, Math.floor(Math.max(top, bottom)) + 1);
    } else if (y0 < 0 || y0 >= height) {
      return;
    }
    const along = steep ? stride : 4;
    const across = steep ? 4 : stride;
    let place = steep ? (from - y0) * run : y0 + from * run;
    for (let i = from; i < to; ++i, place += run) {
      if (dash > 0 && Math.floor((steep ? place : i) / dash) % 2 === 1) continue;
      const pixel = place | 0;
      const next = place - pixel;
      const here = 1 - next;
      const at = i * along + pixel * across;
      paints[at]! += thick * here;
      paints[at + 1]! += r * here;
      paints[at + 2]! += g * here;
      paints[at + 3]! += b * here;
      const other = at + across;
      paints[other]! += thick * next;
      paints[other + 1]! += r * next;
      paints[other + 2]! += g * next;
      paints[other + 3]! += b * next;
    }
  }

  /** Draws them between x and x + width, from the top down. */
  paint(context: CanvasRenderingContext2D, x: number, width: number, height: number): void {
    const own = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    this.image ??= own.createImageData(this.width, this.height);
    const { data } = this.image;
    const { paints } = this;
    for (let y = 0, p = 0, at = 0; y < this.height; ++y, at += 4)
      for (let x = 0; x < this.width; ++x, p += 4, at += 4) {
        const depth = paints[at] as number;
        if (depth === 0) {
          data[p + 3] = 0;
          continue;
        }
        data[p] = (paints[at + 1] as number) / depth;
        data[p + 1] = (paints[at + 2] as number) / depth;
        data[p + 2] = (paints[at + 3] as number) / depth;
        data[p + 3] = depth > 6 ? 255 : 255 * (1 - Math.exp(-depth));
      }
    own.putImageData(this.image, 0, 0);
    context.drawImage(this.canvas, x, 0, width, height);
  }
}
