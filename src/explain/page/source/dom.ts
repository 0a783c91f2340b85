// Makes elements. Without ids, so that parts of several pages can be in one document.

type Child = Node | string;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A labelled choice between texts. */
export function choice(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  value: string,
  onChange: (value: string) => void,
): HTMLLabelElement {
  const select = make("select", { name: label });
  for (const [option, text] of options) {
    const element = make("option", { value: option }, text);
    if (option === value) element.selected = true;
    select.append(element);
  }
  select.addEventListener("change", () => onChange(select.value));
  return make("label", {}, make("span", {}, label), select);
}

/** A labelled slider that shows its value. */
export function slider(
  label: string,
  range: { min: number; max: number; step: number },
  value: number,
  shown: (value: number) => string,
  onInput: (value: number) => void,
): HTMLLabelElement {
  const input = make("input", {
    type: "range",
    name: label,
    min: String(range.min),
    max: String(range.max),
    step: String(range.step),
  });
  input.value = String(value);
  const output = make("output", {}, shown(value));
  input.addEventListener("input", () => {
    output.textContent = shown(Number(input.value));
    onInput(Number(input.value));
  });
  return make("label", {}, make("span", {}, label), input, output);
}

export function checkbox(label: string, value: boolean, onChange: (value: boolean) => void): HTMLLabelElement {
  const input = make("input", { type: "checkbox", name: label });
  input.checked = value;
  input.addEventListener("change", () => onChange(input.checked));
  return make("label", { class: "check" }, input, make("span", {}, label));
}

export function button(text: string, title: string, onClick: () => void): HTMLButtonElement {
  const element = make("button", { type: "button", title }, text);
  element.addEventListener("click", onClick);
  return element;
}
