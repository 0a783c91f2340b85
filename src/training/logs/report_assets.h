// The parts that every run.html shares: style and script. The page names them by hash, so they must be
// inserted unchanged.
#pragma once

#include <string_view>

namespace attend {

// The colours of curves are Okabe and Ito's, which colour-blind readers can tell apart.
constexpr std::string_view report_style = R"css(
:root { color-scheme: light dark; --text: #1b1f24; --faint: #5b6470; --line: #d8dce1; --page: #fff; --box: #f6f7f9;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0568c; --c4: #8a6d00; --c5: #3a3f45; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ec; --faint: #9aa4af; --line: #353b42; --page: #14171a; --box: #1d2125;
    --c0: #56b4e9; --c1: #e69f00; --c2: #2fc79b; --c3: #e59cc6; --c4: #f0e442; --c5: #c8ccd1; } }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--page); }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; display: inline; }
.state { color: var(--faint); margin: .2rem 0 0; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); gap: 1.2rem;
  margin-top: .8rem; }
figure { margin: 0; min-width: 0; }
figure.large { grid-column: 1 / -1; }
figure.small h3 { flex-basis: 100%; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; }
.key { font-variant-numeric: tabular-nums; font-size: .87rem; }
.key::before { content: ""; display: inline-block; width: 1rem; height: .2rem; margin-right: .35rem;
  vertical-align: middle; background: currentColor; }
.key span { color: var(--text); }
svg { display: block; width: 100%; height: auto; touch-action: pan-y; }
svg text { font-size: 11px; fill: var(--faint); }
.grid, .axis { stroke: var(--line); }
.cross { stroke: var(--faint); stroke-dasharray: 2 2; }
.curve { stroke: currentColor; fill: currentColor; }
.curve polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.curve .every { stroke-width: 1; opacity: .4; }
.curve circle { stroke: none; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); }
.c3 { color: var(--c3); } .c4 { color: var(--c4); } .c5 { color: var(--c5); }
.c1 polyline, .c3 polyline, .c5 polyline { stroke-dasharray: 7 3; }
svg.log, #log:checked ~ .charts .both svg.linear { display: none; }
#log:checked ~ .charts .both svg.log { display: block; }
.tables { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 0 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 400; color: var(--faint); width: 11rem; }
.sample { background: var(--box); padding: .6rem .9rem; margin: .8rem 0; border-radius: .4rem; }
.sample th { width: 7rem; }
.sample td { white-space: pre-wrap; }
summary { color: var(--faint); cursor: pointer; padding: .25rem 0; }
.note { color: var(--faint); font-size: .87rem; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } figure, .sample { break-inside: avoid; }
  #log, #log + label, .cross { display: none; } }
)css";

// Shows the value of each curve at the step nearest to the pointer.
constexpr std::string_view report_script = R"js(
"use strict";
for (const chart of document.querySelectorAll("figure svg")) {
  const figure = chart.closest("figure"), cross = chart.querySelector(".cross");
  const curves = [...chart.querySelectorAll("[data-values]")].map(line => {
    const shown = figure.querySelector(`span[data-curve="${line.dataset.curve}"]`);
    return { shown, last: shown.textContent,
      places: line.getAttribute("points").split(" ").map(point => Number(point.split(",")[0])),
      values: line.dataset.values.split(" ").map(point => point.split(",")) };
  });
  chart.addEventListener("pointermove", event => {
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse()).x;
    let best = null;
    for (const { shown, places, values } of curves) {
      let low = 0, high = places.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (places[middle] < x) low = middle + 1; else high = middle;
      }
      if (low > 0 && x - places[low - 1] < places[low] - x) --low;
      shown.textContent = `${values[low][1]} at step ${values[low][0]}`;
      if (best === null || Math.abs(places[low] - x) < Math.abs(best - x)) best = places[low];
    }
    cross.setAttribute("x1", best);
    cross.setAttribute("x2", best);
    cross.setAttribute("visibility", "visible");
  });
  chart.addEventListener("pointerleave", () => {
    for (const { shown, last } of curves) shown.textContent = last;
    cross.setAttribute("visibility", "hidden");
  });
}
)js";

}  // namespace attend
