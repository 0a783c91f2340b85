// A canvas of the visible width. Only visible rows are drawn: the element scrolls, the canvas does not.
import { make } from "./dom";

export interface Point {
  x: number;
  y: number;
}

export class Sheet {
  readonly element: HTMLDivElement;
  private readonly canvas = make("canvas");
  private readonly spacer = make("div", { class: "spacer" });
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  /** Where it is scrolled to; kept, for asking the element makes the browser lay the page out. */
  scroll = 0;

  constructor(
    label: string,
    private readonly onChange: () => void,
    onPoint: (point: Point | null, click: boolean) => void,
  ) {
    this.element = make("div", { class: "sheet", tabindex: "0", role: "application", "aria-label": label });
    this.element.append(this.canvas, this.spacer);
    this.context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    this.element.addEventListener(
      "scroll",
      () => {
        this.scroll = this.element.scrollTop;
        this.onChange();
      },
      { passive: true },
    );
    const place = (event: MouseEvent): Point => {
      const box = this.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    this.canvas.addEventListener("pointermove", (event) => onPoint(place(event), false));
    this.canvas.addEventListener("pointerleave", () => onPoint(null, false));
    this.canvas.addEventListener("click", (event) => onPoint(place(event), true));
    new ResizeObserver(() => this.onChange()).observe(this.element);
  }

  scrollTo(y: number): void {
    this.element.scrollTop = y;
    this.scroll = this.element.scrollTop;
  }

  /** Makes the canvas as large as what is in sight of a sheet of this height; gives its context, cleared. */
  begin(contentHeight: number, maxHeight: number): CanvasRenderingContext2D {
    const height = Math.max(40, Math.min(contentHeight, maxHeight));
    this.element.style.height = `${height}px`;
    this.spacer.style.height = `${Math.max(0, contentHeight - height)}px`;
    const width = Math.max(50, this.element.clientWidth);
    this.scroll = this.element.scrollTop;
    const ratio = window.devicePixelRatio || 1;
    if (this.width !== width || this.height !== height || this.canvas.width !== Math.round(width * ratio)) {
      this.width = width;
      this.height = height;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.context.textBaseline = "middle";
    this.context.direction = "ltr";
    return this.context;
  }
}

const fitted = new Map<string, string>();

/** The text, or its beginning, as far as it is not wider than this. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${context.font} ${Math.round(width)} ${text}`;
  let result = fitted.get(key);
  if (result === undefined) {
    result = text;
    if (context.measureText(text).width > width) {
      const characters = [...text];
      while (characters.length > 1 && context.measureText(characters.join("") + "…").width > width) characters.pop();
      result = characters.join("") + "…";
    }
    if (fitted.size > 20000) fitted.clear();
    fitted.set(key, result);
  }
  return result;
}
