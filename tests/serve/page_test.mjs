// The page of attend serve in a browser: it chats, compares, shows the running batch and error messages, and sends
// requests only to its server. Called by browser_test.sh with the server's address.
import { createRequire } from "node:module";

const [address, packages, browserPath] = process.argv.slice(2);
const { chromium } = createRequire(`${packages}/`)("playwright-core");
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(error.message));
page.on("request", (request) => {
  if (!request.url().startsWith(address) && !request.url().startsWith("data:")) problems.push(`fetches ${request.url()}`);
});

function equal(what, found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${what}: expected ${expected}, found ${found}`);
}
const tab = (name) => page.getByRole("tab", { name, exact: true }).click();

await page.goto(address);
await page.waitForFunction(() => document.querySelectorAll("#model option").length === 2);
equal("models", await page.locator("#model option").allTextContents(), ["gpt2", "bert"]);

await page.fill("#prompt", "hello");
await page.fill("#tokens", "12");
await page.click("#send");
await page.waitForFunction(() => document.querySelector("#stop").disabled && document.querySelectorAll(".turn.model")[0]?.textContent);
const reply = await fetch(`${address}/v1/chat/completions`, {
  method: "POST",
  body: JSON.stringify({ model: "gpt2", messages: [{ role: "user", content: "hello" }], max_tokens: 12, temperature: 0 }),
});
equal("the answer", await page.locator("#turns .turn.model").textContent(), (await reply.json()).choices[0].message.content);
await page.fill("#tokens", "4000");  // the answer must last until the click
await page.fill("#prompt", "<b>door</b>");
await page.click("#send");
await page.waitForFunction(() => document.querySelectorAll("#turns .turn.model")[1]?.textContent);
await page.click("#stop");
await page.waitForFunction(() => document.querySelector("#stop").disabled);
equal("that text is text", await page.locator("#turns b").count(), 0);
equal("no error", await page.textContent("#error"), "");

await tab("Compare");
await page.fill("#sentences", "the lamp\nthe lamp\nthe door");
await page.click("#measure");
await page.waitForFunction(() => document.querySelector("#error").textContent || document.querySelector("#similarities td"));
await page.selectOption("#model", "bert");
await page.click("#measure");
await page.waitForFunction(() => document.querySelectorAll("#similarities td").length === 12);
equal("likeness with itself", (await page.locator("#similarities td").allTextContents()).slice(1, 3), ["1.000", "1.000"]);

await tab("At work");
await page.waitForFunction(() => document.querySelectorAll("#figures tr").length === 2);
equal("the table", (await page.locator("#figures td").allTextContents()).slice(0, 3), ["gpt2", "0", "0"]);

await tab("Translate");
await page.fill("#source-text", "a");
await page.click("#turn");
await page.waitForFunction(() => document.querySelector("#error").textContent);
equal("problems", problems, []);
await browser.close();
console.log("all well");
