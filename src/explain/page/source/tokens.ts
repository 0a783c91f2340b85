// Tokens as the page writes them.
import type { Side, Token } from "./explanation";

const names: Record<string, string> = { "\n": "⏎", "\t": "⇥", "\r": "␍", " ": "␣", "\u00a0": "␣" };

/** Text in which nothing is invisible and nothing turns the direction of the text next to it. */
export function visible(text: string): string {
  const joined = /[\p{L}\p{Extended_Pictographic}\p{Regional_Indicator}]/u.test(text);
  return [...text]
    .map((c) => {
      if (joined && (c === "\u200d" || c === "\u200c" || c === "\ufe0f")) return c;
      if (c in names && c !== " ") return names[c] as string;
      return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}]/u.test(c)
        ? `‹U+${(c.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}›`
        : c;
    })
    .join("");
}

/** Are tokens written as the tokenizer spells them, with its own marks? */
export const writing = { pieces: false };

/** A token in a line of its own: spaces at its ends do not show, unless it has nothing else. */
export function shown(token: Token): string {
  if (writing.pieces) return visible(token.piece);
  const bare = token.text.trim();
  const text = bare === "" ? token.text.replaceAll(" ", "␣").replace(/\s/gu, (c) => names[c] ?? "␣") || "∅" : bare;
  const written = visible(text);
  // Separate from its number, which would otherwise come before it in right-to-left text.
  if (token.parts) return `\u2066\u2068${written}\u2069 ${token.part}/${token.parts}\u2069`;
  return (token.continues ? "·" : "") + written;
}

/** A token in a sentence about it. */
export function quoted(side: Side, place: number): string {
  const token = side.tokens[place];
  return token ? `\u2066“\u2068${shown(token).replace(/^·/u, "")}\u2069”\u2069` : "the memory";
}
