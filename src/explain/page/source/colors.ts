// Colours that colour-blind readers can tell apart, for light and dark pages.

export interface Theme {
  text: string;
  faint: string;
  line: string;
  page: string;
  accent: string;
  positive: string;
  negative: string;
  heads: readonly string[];
}

// Signs are Okabe and Ito's (2008), below. Heads' colours were found by a search: any two differ for all four kinds
// of eyes (Machado et al. 2009: without red, green or blue cones), neighbouring ones strongly, and each is visible on
// its page.
const light = [
  "#265dbf", "#52393b", "#28a95f", "#c22aff", "#216109", "#9c0d94", "#cf7c03", "#7a73cd",
  "#bc0802", "#143e66", "#068697", "#b9610e", "#1922d2", "#eb1c96", "#975a56", "#8f90c3",
];
const dark = [
  "#42bafe", "#7b9873", "#9a37c0", "#9ccc7f", "#cc6f12", "#1b96f1", "#f8baca", "#297185",
  "#cf0402", "#6ff144", "#de90c2", "#a670b8", "#ddefb7", "#a9405a", "#abb10c", "#862ffc",
];

/** The colours of the page as its style has them now. */
export function theme(element: Element): Theme {
  const style = getComputedStyle(element);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  const isDark = value("--scheme") === "dark";
  return {
    text: value("--text"),
    faint: value("--faint"),
    line: value("--line"),
    page: value("--page"),
    accent: value("--accent"),
    positive: isDark ? "#56b4e9" : "#0072b2",
    negative: isDark ? "#e69f00" : "#d55e00",
    heads: isDark ? dark : light,
  };
}

export function headColor(colors: Theme, head: number): string {
  return colors.heads[head % colors.heads.length] as string;
}

/** Heads beyond the palette take its colours again with broken lines: how long the pieces are; 0: it is whole. */
export function headDash(colors: Theme, head: number): number {
  const turn = Math.floor(head / colors.heads.length);
  return turn === 0 ? 0 : Math.max(2, 12 / turn);
}
