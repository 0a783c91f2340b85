// The page of `attend explain` in a browser: every view draws for every kind of model, pointing and selecting have
// the right effects, and nothing is fetched. Called by browser_test.sh with the folder of the pages.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { inflateSync } from "node:zlib";

const [folder, packages, browserPath] = process.argv.slice(2);
const { chromium } = createRequire(`${packages}/`)("playwright-core");
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
let checks = 0;
const problems = []; // problems that a page itself has reported

function expect(condition, text) {
  ++checks;
  if (!condition) throw new Error(text);
}
const near = (a, b, text, most = 1e-6) => expect(Math.abs(a - b) <= most, `${text}: ${a} and ${b}`);

/** A page's document, and its tensors as the page has them. */
function read(name) {
  const html = readFileSync(`${folder}/${name}.html`, "utf8");
  const document = JSON.parse(html.match(/data-explanation>(.*?)<\/script>/s)[1]);
  const numbers = (ref) => {
    const packed = html.match(new RegExp(`data-numbers="${ref.numbers}">([^<]*)<`))[1];
    const bytes = inflateSync(Buffer.from(packed, "base64"));
    const copy = new Uint8Array(bytes).buffer;
    return ref.form === "float32" ? new Float32Array(copy) : new Uint8Array(copy);
  };
  return { document, numbers };
}

async function open(name, hash = "", options = {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
  page.on("console", (message) => {
    // That of painted() below, which reads canvases back.
    if (!message.text().includes("willReadFrequently")) problems.push(`${name}: the console says ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${name}: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) problems.push(`${name} fetches ${request.url()}`);
  });
  await page.goto(`file://${folder}/${name}.html${hash ? `#${hash}` : ""}`);
  await settle(page);
  return page;
}

/** Until what was asked for is unpacked and drawn. */
async function settle(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => !document.querySelector(".view")?.textContent?.includes("Unpacking"));
  await page.waitForTimeout(20);
}

/** What the page says, without the marks that keep the direction of its words apart. */
const plainly = (text) => text.replace(/[\u2066-\u2069]/gu, "");
const info = async (page) => plainly(await page.locator(".info").textContent());
const hash = async (page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

/** How many pixels of the first canvas in sight are not empty. */
const painted = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".view canvas");
    if (!canvas) return -1;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ++count;
    return count;
  });

async function everyView(name) {
  const { document } = read(name);
  const page = await open(name);
  const titles = await page.locator("[role=tab]").allTextContents();
  expect(titles.length >= 4, `${name} has the views ${titles}`);
  for (const title of titles) {
    await page.getByRole("tab", { name: title, exact: true }).click();
    await settle(page);
    const canvas = await painted(page);
    const text = await page.locator(".view").textContent();
    expect(canvas > 50 || (canvas === -1 && text.length > 40), `${name}, ${title}: nothing is drawn`);
  }
  // The arithmetic of every layer of every attention, head by head, equals the model's.
  for (let attention = 0; attention < document.attentions.length; ++attention)
    for (let layer = 0; layer < document.attentions[attention].layers.length; ++layer)
      for (const head of [0, document.attentions[attention].layers[layer].weights.shape[0] - 1]) {
        await page.evaluate((to) => (location.hash = to), `view=neuron&attention=${attention}&layer=${layer}&heads=${head}`);
        await settle(page);
        const difference = Number(await page.locator(".difference").getAttribute("data-difference"));
        expect(difference < 1e-5, `${name}, attention ${attention}, layer ${layer}, head ${head}: the page is off by ${difference}`);
      }
  await page.close();
}

async function heads() {
  const { document, numbers } = read("bert");
  const layer = document.attentions[0].layers[0];
  const weights = numbers(layer.weights);
  const count = layer.weights.shape[1];
  const page = await open("bert");
  const box = await page.locator(".view .sheet").boundingBox();
  const row = (place) => box.y + 6 + (place + 0.5) * Math.min(28, Math.max(14, (900 * 0.72 - 12) / count));

  // From the left: where a token attends, in the head with the largest weight.
  await page.getByRole("button", { name: "2", exact: true }).dblclick();
  await settle(page);
  expect((await hash(page)).get("heads") === "1", "a double click leaves one head");
  const everything = await painted(page);
  await page.mouse.move(box.x + 100, row(3));
  await settle(page);
  let best = 0;
  const weight = (query, key) => weights[(1 * count + query) * count + key];
  for (let key = 0; key < count; ++key) if (weight(3, key) > weight(3, best)) best = key;
  const said = await info(page);
  expect(said.includes(`“${document.sides[0].tokens[3].text.trim()}”`), `pointing at token 3 says: ${said}`);
  expect(said.includes(`“${document.sides[0].tokens[best].text.trim()}”`), `the largest weight is that of ${best}: ${said}`);
  near(Number(said.match(/([\d.]+) %/)[1]), 100 * weight(3, best), "the weight that is said", 0.06);
  expect((await painted(page)) < everything, "pointing leaves the lines of one token");

  // From the right: which tokens attend to it.
  await page.mouse.move(box.x + box.width - 100, row(3));
  await settle(page);
  expect((await info(page)).includes("gets"), "pointing to the right says who looks");

  // A clicked token stays selected.
  await page.mouse.click(box.x + 100, row(5));
  await page.mouse.move(box.x + box.width / 2, row(0));
  await settle(page);
  expect((await hash(page)).get("token") === "5", "a click selects");
  expect((await info(page)).includes(`“${document.sides[0].tokens[5].text.trim()}”`), "what is selected is told");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("s");
  await settle(page);
  const state = await hash(page);
  expect(state.get("token") === "6" && state.get("layer") === "1" && state.get("heads") === "2" && state.get("side") === "key", `keys lead to ${state}`);
  await page.keyboard.press("Escape");
  await settle(page);
  expect((await hash(page)).get("token") === null, "Escape selects nothing");

  // Sentences, special tokens, shares, sizes.
  const lines = async () => Number((await page.locator(".view .note").textContent()).match(/[\d,]+(?= (of|lines))/)[0].replace(",", ""));
  await page.evaluate(() => (location.hash = "share=100"));
  await settle(page);
  const all = await lines();
  expect(all === 4 * count * count, `all heads have ${all} lines`);
  await page.locator("select[name=Sentences]").selectOption("01");
  await settle(page);
  const first = document.sides[0].tokens.filter((token) => token.segment === 0).length;
  expect((await lines()) === 4 * first * (count - first), `first to second has ${await lines()} lines`);
  await page.locator("select[name=Sentences]").selectOption("all");
  await page.getByLabel("special tokens").uncheck();
  await settle(page);
  const plain = document.sides[0].tokens.filter((token) => !token.special).length;
  expect((await lines()) === 4 * plain * plain, `without special tokens there are ${await lines()} lines`);
  await page.evaluate(() => (location.hash = "share=30"));
  await settle(page);
  expect((await lines()) < all / 2, "a smaller share has fewer lines");
  const height = () => page.evaluate(() => document.querySelector(".view .sheet").scrollHeight);
  const fits = await height();
  await page.evaluate(() => (location.hash = "zoom=40"));
  await settle(page);
  expect((await height()) > fits, "larger rows need more room");
  await page.close();
}

async function modelView() {
  const page = await open("bert", "view=model");
  const box = await page.locator(".view .sheet").first().boundingBox();
  await page.mouse.click(box.x + 56 + 96 * 2.5, box.y + 20 + 96 * 1.5);
  await settle(page);
  const state = await hash(page);
  expect(state.get("layer") === "1" && state.get("heads") === "2", `a click on layer 2, head 3 leads to ${state}`);
  expect((await page.locator(".detail h3").textContent()) === "Layer 2, head 3", "the detail is that head's");
  await page.getByRole("tab", { name: "Heads", exact: true }).click();
  await settle(page);
  expect((await hash(page)).get("heads") === "2", "the selection is the same in all views");
  await page.close();
}

async function steps() {
  const { document, numbers } = read("gpt2");
  const page = await open("gpt2", "view=steps");
  const shape = document.predictions.last.logits.shape;
  const logits = numbers(document.predictions.last.logits).slice((shape[0] - 1) * shape[1]);
  const total = numbers(document.predictions.last.total)[shape[0] - 1];
  const first = () => page.locator(".bars .number").first().getAttribute("data-probability").then(Number);
  near(await first(), Math.exp(logits[0] - total), "the likeliest token's probability", 1e-5);
  await page.evaluate(() => (location.hash = "view=steps&topK=3&temperature=0.5"));
  await settle(page);
  const warmed = [0, 1, 2].map((i) => Math.exp(logits[i] / 0.5));
  near(await first(), warmed[0] / (warmed[0] + warmed[1] + warmed[2]), "with temperature and top k", 1e-5);
  expect((await page.locator(".bars .number").count()) === 3, "top k leaves three");
  await page.locator(".tokens button").nth(1).click();
  await settle(page);
  expect((await hash(page)).get("token") === "1", "a click on a token selects it");
  // For any byte encoding of the tokenizer, the page shows characters; and nothing changes the text direction.
  const texts = (await page.locator(".tokens bdi").allTextContents()).map(plainly);
  expect(texts.some((text) => text.startsWith("🙂")) && texts.some((text) => text.includes("ë")), `tokens are ${texts}`);
  expect(!texts.join("").includes("\u202e") && !texts.join("").includes("\ufffd"), `tokens hold marks: ${texts}`);
  await page.getByRole("tab", { name: "What each layer would say" }).click();
  await settle(page);
  expect((await page.locator(".lens tr").count()) === 1 + document.predictions.lens.length, "the lens has a row for each layer");
  await page.close();
}

async function appearance() {
  const colors = new Set();
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("bert", "view=neuron&token=2", { colorScheme });
    colors.add(await page.evaluate(() => getComputedStyle(document.querySelector(".attend")).backgroundColor));
    const policy = await page.locator("meta[http-equiv]").getAttribute("content");
    expect(policy.startsWith("default-src 'none'") && !policy.includes("unsafe"), `the policy is ${policy}`);
    expect((await page.locator("[id]").count()) === 0, "no element has an id");
    await page.emulateMedia({ media: "print", colorScheme });
    expect((await page.evaluate(() => getComputedStyle(document.querySelector(".attend")).backgroundColor)) === "rgb(255, 255, 255)", "paper is white");
    await page.close();
  }
  expect(colors.size === 2, "dark pages are dark");
  const blocked = await open("nasty");
  expect((await blocked.evaluate(() => window.attacked)) === undefined, "a token runs as a script");
  expect((await blocked.locator(".given").count()) === 1, "the text is text");
  await blocked.close();
}

/** Red, green and blue without gamma. */
const linear = (color) => [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, value, i) => sum + value * vector[i], 0));
/** What eyes without one kind of cones see (Machado et al. 2009, of severity 1), of linear colours. */
const eyes = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  "without red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  "without green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  "without blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
/** How far apart colours look (Ottosson's OKLab, in which 0.02 is the least that is seen). */
function lab(rgb) {
  const cones = times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], rgb.map((v) => Math.min(1, Math.max(0, v)))).map(Math.cbrt);
  return times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], cones);
}
const luminance = (color) => times([[0.2126, 0.7152, 0.0722]], linear(color))[0];

async function headColors() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("many", "", { colorScheme });
    const colors = await page.locator(".chips button").evaluateAll((chips) => chips.map((chip) => chip.style.getPropertyValue("--chip")));
    expect(colors.length === 24 && new Set(colors.slice(0, 16)).size === 16, `colours: ${colors}`);
    const paper = luminance(colorScheme === "dark" ? "#14171a" : "#ffffff");
    for (const [i, color] of colors.slice(0, 16).entries()) {
      const contrast = [luminance(color), paper].sort((a, b) => b - a).map((v) => v + 0.05);
      expect(contrast[0] / contrast[1] >= 3, `${colorScheme}, head ${i + 1}: ${color} is hardly seen`);
      for (const [kind, matrix] of Object.entries(eyes))
        for (let j = 0; j < i; ++j) {
          const [a, b] = [color, colors[j]].map((one) => lab(times(matrix, linear(one))));
          const distance = Math.hypot(...a.map((v, k) => v - b[k]));
          expect(distance >= (i - j === 1 ? 0.1 : 0.06), `${colorScheme}, eyes ${kind}: heads ${j + 1} and ${i + 1} look alike (${distance.toFixed(3)})`);
        }
    }
    // After the last colour they begin again, with broken lines.
    expect((await page.locator(".chips .broken").count()) === 8 && colors[16] === colors[0], "heads 17 to 24 are broken");
    const paint = async (head) => {
      await page.evaluate((to) => (location.hash = to), `heads=${head}&token=3`);
      await settle(page);
      return painted(page);
    };
    const [whole, broken] = [await paint(0), await paint(16)];
    expect(broken < 0.9 * whole, `head 17 paints ${broken} pixels, head 1 ${whole}`);
    await page.close();
  }
}

/** What BertViz can do as well: docs/attention.md lists it. */
async function besideBertViz() {
  const { document } = read("twelve");
  const page = await open("twelve");
  const chip = (head) => page.locator(".chips button").nth(head - 1);
  const chosen = async (field = "heads") => (await hash(page)).get(field) ?? "";
  // Heads: a click toggles, the last one cannot be hidden, a double click shows only this one, and another shows all.
  await chip(3).click();
  await settle(page);
  expect((await chosen()) === "0,1,3,4,5,6,7,8,9,10,11", `a click hides head 3: ${await chosen()}`);
  await chip(3).click();
  await settle(page);
  expect((await chosen()).split(",").length === 12, "another click brings it back");
  await chip(12).dblclick();
  await settle(page);
  expect((await chosen()) === "11", "a double click leaves it alone");
  await chip(12).click();
  await settle(page);
  expect((await chosen()) === "11", "the last one cannot be hidden");
  await chip(12).dblclick();
  await settle(page);
  expect((await chosen()).split(",").length === 12, "a double click on the only one brings all back");
  // Layers and sentences.
  await page.locator("select[name=Layer]").selectOption("2");
  await settle(page);
  expect((await hash(page)).get("layer") === "2", "the layer is chosen");
  const [tokens] = document.sides.map((side) => side.tokens);
  const count = [0, 1].map((segment) => tokens.filter((token) => token.segment === segment).length);
  const sums = { all: tokens.length ** 2, "00": count[0] ** 2, 11: count[1] ** 2, "01": count[0] * count[1], 10: count[1] * count[0] };
  await page.evaluate(() => (location.hash = "share=100"));
  for (const [sentences, wanted] of Object.entries(sums)) {
    await page.getByRole("tab", { name: "Heads", exact: true }).click();
    await page.locator("select[name=Sentences]").selectOption(sentences);
    await settle(page);
    const lines = Number((await page.locator(".view .note").textContent()).match(/[\d,]+(?= lines)/)[0].replace(",", ""));
    expect(lines === 12 * wanted, `${sentences}: ${lines} lines`);
    await page.getByRole("tab", { name: "Inside a head", exact: true }).click();
    await settle(page);
    const rows = ((await page.locator(".view .sheet").evaluate((sheet) => sheet.offsetHeight)) - 90) / 22;
    expect(rows === (sentences === "all" ? tokens.length : count[Number(sentences[1])]), `${sentences}: ${rows} keys inside a head`);
    const best = (await info(page)).match(/^“(.*)” in layer .*most to “(.*)”,/);
    const names = (segment) => tokens.filter((token) => token.segment === segment).map((token) => token.text.trim());
    if (sentences !== "all") expect(names(Number(sentences[0])).includes(best[1]) && names(Number(sentences[1])).includes(best[2]), `${sentences}: ${best[0]}`);
  }
  // Small pictures of selected heads only.
  await page.evaluate(() => (location.hash = "view=model"));
  await settle(page);
  for (const head of [1, 4]) await chip(head).click();
  await settle(page);
  expect((await chosen("columns")) === "1,2,4,5,6,7,8,9,10,11", `small pictures of ${await chosen("columns")}`);
  await chip(8).dblclick();
  await settle(page);
  const box = await page.locator(".view .sheet").first().boundingBox();
  await page.mouse.click(box.x + 56 + 20, box.y + 20 + 96 * 1.5);
  await settle(page);
  expect((await page.locator(".detail h3").textContent()) === "Layer 2, head 8", "the only small picture of layer 2 is head 8's");
  await chip(8).dblclick();
  await settle(page);
  expect((await chosen("columns")) === "", "a double click brings all small pictures back");
  await page.close();
  // The choice of attention in an encoder-decoder.
  const paired = await open("t5");
  for (const [attention, layers] of [["0", 6], ["1", 2], ["2", 2]]) {
    await paired.locator("select[name=Attention]").selectOption(attention);
    await settle(paired);
    expect((await paired.locator("select[name=Layer] option").count()) === layers && (await painted(paired)) > 50, `attention ${attention} has ${layers} layers`);
  }
  await paired.close();
  // Tokens as the tokenizer spells them, and not.
  const spelled = await open("gpt2", "token=1");
  expect((await info(spelled)).includes("“flies”"), `a token is ${await info(spelled)}`);
  await spelled.getByLabel("as the tokenizer spells them").check();
  await settle(spelled);
  expect((await info(spelled)).includes("“Ġflies”"), `a piece is ${await info(spelled)}`);
  await spelled.close();
  // Dark and light, independent of the system's setting; a printed page names what it shows.
  const dark = await open("twelve", "", { colorScheme: "light" });
  const background = () => dark.evaluate(() => getComputedStyle(document.querySelector(".attend")).backgroundColor);
  const before = await background();
  await dark.locator("select[name=Colours]").selectOption("dark");
  await settle(dark);
  expect((await background()) !== before && (await hash(dark)).get("theme") === "dark", "it is dark where that is chosen");
  await dark.emulateMedia({ media: "print" });
  expect((await background()) === "rgb(255, 255, 255)", "paper is white");
  expect((await dark.locator(".printed").innerText()) === "Layer 1 · all heads", "paper says what is shown");
  await dark.close();
  const light = await open("twelve", "theme=light", { colorScheme: "dark" });
  expect((await light.evaluate(() => getComputedStyle(document.querySelector(".attend")).backgroundColor)) === before, "it is light where that is chosen");
  await light.close();
}

/** Nothing is wider than a narrow window, but what scrolls there. */
async function narrow() {
  for (const name of ["gpt2", "why", "twelve"]) {
    const page = await open(name, "", { viewport: { width: 420, height: 800 } });
    for (const title of await page.locator("[role=tab]").allTextContents()) {
      await page.getByRole("tab", { name: title, exact: true }).click();
      await settle(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide <= 420, `${name}, ${title}: ${wide} pixels wide`);
    }
    await page.close();
  }
}

async function picture() {
  const page = await open("vit");
  expect((await page.locator("[role=tab][aria-selected=true]").textContent()) === "On the picture", "a picture is shown first");
  const box = await page.locator("canvas.large").boundingBox();
  near(box.height / box.width, 20 / 12, "the picture keeps its proportions", 0.02);
  await page.mouse.move(box.x + box.width * 0.9, box.y + box.height * 0.1);
  await settle(page);
  expect((await page.locator(".picture-view .note").textContent()).includes("row 1, column"), "a patch is told");
  expect((await page.locator(".grid button").count()) === 6, "four heads, their mean, rollout");
  await page.close();
}

async function depends() {
  const { document } = read("why");
  const [result] = document.attributions;
  const page = await open("why", "view=depends");
  expect((await page.locator(".card").count()) === 6, "a card for each method");
  const question = plainly(await page.locator(".depends-view h2").textContent());
  expect(question.includes("“lamp”") && question.includes("“door”"), `it asks ${question}`);
  const numbersOf = async (card) => (await page.locator(".card").nth(card).locator(".piece").evaluateAll((boxes) => boxes.map((box) => Number(box.dataset.score))));
  for (let card = 0; card < 6; ++card)
    for (const [i, score] of (await numbersOf(card)).entries()) near(score, result.methods[card].sides[0].scores[i], "a token's number", 1e-9);
  const complete = result.methods.find(({ method }) => method === "integrated-gradients").completeness;
  near(Number(await page.locator("[data-gap]").getAttribute("data-gap")), complete.gap, "the gap of completeness", 1e-9);
  await page.getByRole("button", { name: "by sentence" }).click();
  await settle(page);
  const sentences = result.methods[1].sides[0].sentences;
  const shown = await page.locator(".card").nth(1).locator(".piece:not(.special)").evaluateAll((boxes) => boxes.map((box) => Number(box.dataset.score)));
  expect(shown.length === 1 && sentences.length === 1, `${shown.length} pieces of ${sentences.length} sentences`);
  for (const score of shown) near(score, sentences[0], "a sentence's number", 1e-5);
  await page.locator(".piece").nth(8).hover();
  await settle(page);
  expect((await info(page)).includes("“"), "pointing at a piece tells its number");
  await page.close();
  // For each generated token.
  const written = await open("written", "view=depends&result=1");
  const asked = written.locator("select[name=Asked]");
  expect((await asked.locator("option").count()) === read("written").document.attributions.length, "a choice for each place");
  expect((await written.locator(".card").first().locator(".pieces").count()) === 2, "source and target");
  await written.close();
}

async function statistics() {
  const { document } = read("why");
  const page = await open("why", "view=statistics");
  const { layers } = document.attentions[0];
  expect((await page.locator("table.statistics tr").count()) === 1 + layers.reduce((sum, { statistics }) => sum + statistics.entropy.length, 0), "a row for each head");
  await page.getByRole("button", { name: /^Loss without it/ }).click();
  await settle(page);
  const column = await page.locator("table.statistics tr td:nth-child(8)").evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.value)));
  expect(column.every((value, i) => i === 0 || value <= column[i - 1]), `sorted: ${column}`);
  near(column[0], Math.max(...document.ablation.layers.flatMap(({ loss }) => loss)), "the head that is missed most", 1e-9);
  await page.locator("table.statistics tr").nth(1).getByRole("button").click();
  await settle(page);
  expect((await page.locator("[role=tab][aria-selected=true]").textContent()) === "Heads", "a head leads to its lines");
  await page.close();
}

async function two() {
  const page = await open("rounded", "view=compare");
  const { document, numbers } = read("rounded");
  // The first head's difference, computed again.
  const [a, b] = [document, document.other].map((one) => numbers(one.attentions[0].layers[0].weights));
  const [, queries, keys] = document.attentions[0].layers[0].weights.shape;
  let sum = 0;
  for (let i = 0; i < queries * keys; ++i) sum += Math.abs(a[i] - b[i]);
  const told = Number(await page.locator(".compare-view table").nth(1).locator("td").first().getAttribute("data-value"));
  near(told, sum / 2 / queries, "how much attention moved", 1e-7);
  expect(sum > 0, "bfloat16 changes nothing");
  const vectors = page.locator(".compare-view table").first().locator("tr");
  expect((await vectors.count()) === 1 + document.sides[0].hidden.length, "a row for each layer");
  near(Number(await vectors.last().locator("td").first().getAttribute("data-value")), 0, "the embeddings are the same", 1e-6);
  await page.getByRole("button", { name: /^B: / }).click();
  await page.getByRole("tab", { name: "Heads", exact: true }).click();
  await settle(page);
  expect((await hash(page)).get("which") === "1" && (await painted(page)) > 50, "B is shown in all views");
  await page.close();
}

/** The main thread's own time for each of these frames, whatever else the machine does. */
async function timeOf(page, frames, step) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await client.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const before = await busy();
  await page.evaluate(
    async ([frames, step]) => {
      const sheet = document.querySelector(".view .sheet");
      const canvas = sheet.querySelector("canvas");
      const box = canvas.getBoundingClientRect();
      for (let i = 0; i < frames; ++i) {
        if (step === "scroll") sheet.scrollTop += 40;
        else canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 50, clientY: box.top + 20 + i * 15, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(done));
      }
    },
    [frames, step],
  );
  return (1000 * ((await busy()) - before)) / frames;
}

async function long() {
  const page = await open("long");
  const note = await page.locator(".view .note").textContent();
  expect(/tokens in sight.* goes to tokens out of sight/.test(note), `what is out of sight is told: ${note}`);
  for (const step of ["scroll", "hover"]) {
    const time = await timeOf(page, 30, step);
    expect(time < 33, `512 tokens, ${step}: ${time.toFixed(1)} ms a frame`);
    console.log(`512 tokens, ${step}: ${time.toFixed(1)} ms of the main thread for a frame`);
  }
  await page.close();
}

try {
  for (const name of ["bert", "twelve", "gpt2", "gptj", "deberta", "bigbird", "xlnet", "xl", "t5", "marian", "vit", "one", "nasty", "two", "why", "written"]) await everyView(name);
  for (const check of [heads, modelView, headColors, besideBertViz, steps, appearance, narrow, picture, depends, statistics, two, long]) await check();
  expect(problems.length === 0, problems.join("\n"));
  console.log(`${checks} checks passed`);
} finally {
  await browser.close();
}
