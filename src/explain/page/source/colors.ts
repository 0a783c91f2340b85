// Colours that colour-blind readers tell apart (Okabe and Ito 2008), for light and dark pages.

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

const light = ["#0072b2", "#d55e00", "#009e73", "#b0568c", "#8a6d00", "#3b8fc4", "#5b4fbf", "#5a6168"];
const dark = ["#56b4e9", "#e69f00", "#2fc79b", "#e59cc6", "#f0e442", "#8fd0ff", "#a79cff", "#c8ccd1"];

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

/** Heads beyond the palette take its colours again; their numbers tell them apart. */
export function headColor(colors: Theme, head: number): string {
  return colors.heads[head % colors.heads.length] as string;
}
