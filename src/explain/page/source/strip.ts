// A vector as a row of small boxes in its own canvas.
import { type App, number } from "./app";
import { make } from "./dom";

/** `name` says what the numbers are; pointing at one says which it is, and where it came from. */
export function strip(app: App, values: Float32Array, name: string, origin: string): HTMLCanvasElement {
  const canvas = make("canvas", { class: "strip", role: "img", "aria-label": `${name}: ${values.length} numbers` });
  const wide = 720;
  canvas.width = wide;
  canvas.height = 20;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const size = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length) || 1;
  const width = wide / values.length;
  values.forEach((value, i) => {
    context.globalAlpha = Math.tanh((Math.abs(value) / size) * 0.8);
    context.fillStyle = value < 0 ? app.colors.negative : app.colors.positive;
    context.fillRect(i * width, 0, width > 4 ? width - 1 : width, 20);
  });
  const tell = (event: MouseEvent): void => {
    const box = canvas.getBoundingClientRect();
    const i = Math.max(0, Math.min(values.length - 1, Math.floor(((event.clientX - box.left) / box.width) * values.length)));
    app.say(`${name}, number ${i + 1} of ${values.length}: ${number(values[i] as number)}. ${origin}`);
  };
  canvas.addEventListener("pointermove", tell);
  canvas.addEventListener("click", tell);
  return canvas;
}
