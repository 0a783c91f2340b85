// The selection: one for all views, stored in the page's address.

export const views = ["heads", "model", "neuron", "steps", "lens", "picture", "depends", "statistics", "beams", "compare"] as const;
export type View = (typeof views)[number];
export const units = ["token", "word", "sentence"] as const;
export type Unit = (typeof units)[number];

export interface Selection {
  view: View;
  which: number; // which of two compared runs: 0 or 1
  attention: number;
  layer: number; // index among the layers in the page
  heads: number[]; // shown together; views of one head show the first
  columns: number[]; // heads with small pictures; none: all
  side: "query" | "key";
  token: number; // -1: none
  filter: "all" | "00" | "11" | "01" | "10"; // segments of query and key
  special: boolean; // whether special tokens are shown
  pieces: boolean; // shows tokens as the tokenizer spells them
  theme: "system" | "light" | "dark";
  share: number; // percentage of each row that lines show
  zoom: number; // height of a row in pixels; 0: fitted
  form: "lines" | "squares";
  temperature: number;
  topK: number; // 0: all
  topP: number;
  result: number; // index of the attributed result
  unit: Unit; // the unit over which its scores are summed
}

export const initial: Selection = {
  view: "heads",
  which: 0,
  attention: 0,
  layer: 0,
  heads: [],
  columns: [],
  side: "query",
  token: -1,
  filter: "all",
  special: true,
  pieces: false,
  theme: "system",
  share: 90,
  zoom: 0,
  form: "lines",
  temperature: 1,
  topK: 0,
  topP: 1,
  result: 0,
  unit: "token",
};

type Field = keyof Selection;

/** Only what differs from the beginning. */
export function toHash(selection: Selection): string {
  const parameters = new URLSearchParams();
  for (const field of Object.keys(initial) as Field[]) {
    const value = String(selection[field]);
    if (value !== String(initial[field])) parameters.set(field, value);
  }
  return parameters.toString();
}

/** What makes no sense in it is passed over; the page checks numbers against what it has. */
export function fromHash(hash: string): Selection {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const selection: Selection = { ...initial };
  const number = (field: "which" | "attention" | "layer" | "token" | "share" | "zoom" | "temperature" | "topK" | "topP" | "result"): void => {
    const value = Number(parameters.get(field) ?? NaN);
    if (Number.isFinite(value)) selection[field] = value;
  };
  const view = parameters.get("view") as View | null;
  if (view && views.includes(view)) selection.view = view;
  for (const field of ["which", "attention", "layer", "token", "share", "zoom", "temperature", "topK", "topP", "result"] as const)
    number(field);
  for (const field of ["heads", "columns"] as const) {
    const heads = parameters.get(field);
    if (heads)
      selection[field] = heads
        .split(",")
        .map(Number)
        .filter((head) => Number.isInteger(head));
  }
  if (parameters.get("side") === "key") selection.side = "key";
  const filter = parameters.get("filter") as Selection["filter"] | null;
  if (filter && ["00", "11", "01", "10"].includes(filter)) selection.filter = filter;
  if (parameters.get("special") === "false") selection.special = false;
  if (parameters.get("pieces") === "true") selection.pieces = true;
  const theme = parameters.get("theme");
  if (theme === "light" || theme === "dark") selection.theme = theme;
  const unit = parameters.get("unit") as Unit | null;
  if (unit && units.includes(unit)) selection.unit = unit;
  if (parameters.get("form") === "squares") selection.form = "squares";
  return selection;
}
