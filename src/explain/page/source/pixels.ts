// A picture's pixels as a drawable object.
import { make } from "./dom";
import type { Numbers } from "./numbers";

export function asCanvas(pixels: Numbers): HTMLCanvasElement {
  const [height, width] = pixels.shape as [number, number];
  const canvas = make("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; ++i) {
    for (let c = 0; c < 3; ++c) image.data[4 * i + c] = pixels.at(3 * i + c);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
