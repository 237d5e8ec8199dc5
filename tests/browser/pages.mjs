// The pages of `landonce serve` in headless Chromium. Started by crates/landonce-server/tests/it/browser.rs with the addresses of
// servers that have something to show; exits with 1 and a list of what is wrong. Needs no download: the browser is the system's.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.LANDONCE_TEST_BROWSER, "package.json"));
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const sites = JSON.parse(process.argv[2]);
const SIZES = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 900 } };
const wrong = [];
const note = (where, what) => { wrong.push(`${where}: ${what}`); };

setTimeout(() => { console.log("took longer than nine minutes\n" + wrong.join("\n")); process.exit(1); }, 540_000).unref();

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// A window in which whatever goes wrong is noted.
async function open(base, name, { size, scheme = "light", scripts = true }) {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme: scheme, javaScriptEnabled: scripts, hasTouch: size === "phone" });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const where = () => `${name} ${size} ${scheme}${scripts ? "" : " no-js"} ${decodeURI(page.url().slice(base.length)).slice(0, 80)}`;
  page.on("console", (message) => { if (message.type() === "error" && !page.expectsFailure) note(where(), `console: ${message.text()}`); });
  page.on("pageerror", (error) => note(where(), `script: ${error}`));
  page.on("dialog", async (dialog) => { note(where(), `a dialog: ${dialog.message()}`); await dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(base + "/")) note(where(), `asks elsewhere: ${request.url()}`); });
  return { page, where, close: () => context.close() };
}

// The pages of everything, with one of each kind of thing.
async function kinds(base) {
  const { page, close } = await open(base, "kinds", { size: "desk" });
  const first = async (list, links) => {
    await page.goto(base + list);
    return page.locator(links).first().getAttribute("href");
  };
  const ugly = encodeURIComponent(sites.ugly);
  const found = [
    "/", "/batches", "/batches?pipeline=orders", `/batches?pipeline=${ugly}`, "/periods", "/periods/daily-sales", "/periods/meter-readings", "/periods/rosters", "/periods/month-end",
    "/held", "/held?all=yes", "/outbox", "/outbox?state=dead", "/quarantine", "/quarantine?pipeline=orders", "/records", "/records/orders", "/records/orders?order_id=A-7",
    "/records/orders?order_id=nobody", "/records/flight-schedule", "/actions", "/login", "/login?failed=1&next=/", "/no/such/page",
    await first("/batches?pipeline=orders", "#batches tbody th a"),
    await first(`/batches?pipeline=${ugly}`, "#batches tbody tr:last-child th a"),
    await first("/held", "#held tbody th a"),
    await first("/outbox?state=dead&topic=invoices", "#list tbody th a"),
    await first("/quarantine", "#quarantine tbody th a"),
  ];
  await close();
  return found;
}

async function look(pages, options) {
  const { page, where, close } = await open(sites.look, "look", options);
  for (const path of pages) {
    page.expectsFailure = path === "/no/such/page";
    const answer = await page.goto(sites.look + path);
    if (answer.status() !== (page.expectsFailure ? 404 : 200)) note(where(), `status ${answer.status()}`);
    if ((await page.locator("h1").count()) !== 1) note(where(), "not one h1");
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) note(where(), `is ${over} px wider than the window`);
    if (!options.scripts) {
      if (await page.locator("#theme").isVisible()) note(where(), "a button that does nothing is shown");
      continue;
    }
    const shift = await page.evaluate(() => new Promise((told) => {
      new PerformanceObserver((list) => told(list.getEntries().reduce((sum, entry) => sum + entry.value, 0))).observe({ type: "layout-shift", buffered: true });
      requestAnimationFrame(() => requestAnimationFrame(() => told(0)));
    }));
    if (shift > 0.02) note(where(), `shifts by ${shift}`);
    await page.evaluate(axe.source);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    for (const one of found.violations) {
      if (!["serious", "critical", "moderate"].includes(one.impact)) continue;
      note(where(), `axe ${one.impact} ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any.map((any) => any.message).join(" ").slice(0, 200)}`).join(" | ")}`);
    }
  }
  await close();
}

// With Tab alone every control is reached, and seen to be.
async function keyboard(pages, size) {
  const { page, where, close } = await open(sites.look, "keyboard", { size });
  for (const path of pages) {
    await page.goto(sites.look + path);
    const all = await page.evaluate(() => {
      const controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
      const seen = controls.filter((one) => one.checkVisibility());
      seen.forEach((one, at) => { one.dataset.at = at; });
      // A page may begin in a field.
      document.activeElement?.blur();
      return seen.length;
    });
    const reached = new Set();
    for (let presses = 0; presses < all + 10 && reached.size < all; presses++) {
      await page.keyboard.press("Tab");
      const told = await page.evaluate(() => {
        const one = document.activeElement;
        if (!one || one === document.body) return null;
        const style = getComputedStyle(one);
        return { at: one.dataset.at, isShown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0, what: one.outerHTML.slice(0, 120) };
      });
      if (!told) continue;
      if (!told.isShown) note(where(), `the focus isn't seen on ${told.what}`);
      if (told.at !== undefined) reached.add(told.at);
    }
    if (reached.size < all) note(where(), `${all - reached.size} of ${all} controls can't be reached by keyboard`);
  }
  // The first Tab offers a way past the navigation.
  await page.goto(sites.look + "/batches");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await close();
}

async function theme() {
  const { page, close } = await open(sites.look, "theme", { size: "desk", scheme: "light" });
  await page.goto(sites.look + "/actions");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.click("#theme");
  await page.click("#theme");
  assert.equal(await page.textContent("#theme"), "Theme: dark");
  const dark = await ground();
  assert.notEqual(light, dark);
  // Known before the page is drawn: at the moment at which its body begins.
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.body) { window.themeAtBody = document.documentElement.dataset.theme; observer.disconnect(); }
    }).observe(document, { childList: true, subtree: true });
  });
  await page.reload();
  assert.equal(await page.evaluate(() => window.themeAtBody), "dark");
  assert.equal(await ground(), dark);
  await page.click("#theme");
  assert.equal(await ground(), light);
  await close();
}

async function land(base, id) {
  const answer = await fetch(`${base}/v1/pipelines/orders/batches`, {
    method: "POST",
    headers: { "idempotency-key": `"${id}"`, "content-type": "application/x-ndjson" },
    body: `{"order_id":"live-${id}","updated_at":"2026-01-01T00:00:00Z","amount":"1.00"}`,
  });
  assert.equal(answer.status, 200, await answer.text());
}

// The page stays current by itself, not while it is paused, and never under somebody's hands.
async function live() {
  const { page, close } = await open(sites.look, "live", { size: "desk" });
  await page.clock.install();
  await page.goto(sites.look + "/");
  let asked = 0;
  page.on("request", () => { asked++; });
  const tick = async () => {
    const answered = page.waitForResponse((answer) => answer.url() === sites.look + "/");
    await page.clock.fastForward(5_100);
    await answered;
  };
  await land(sites.look, "live-one");
  await tick();
  await page.getByRole("link", { name: "live-one" }).first().waitFor();
  await page.locator("summary").first().click();
  await land(sites.look, "live-two");
  await tick();
  await page.getByRole("link", { name: "live-two" }).first().waitFor();
  assert.equal(await page.locator("details[open]").count(), 1, "what somebody has opened stays open");
  // What failed wrote nothing, and is told all the same; so is what was skipped.
  await land(sites.look, "live-two");
  await fetch(`${sites.look}/v1/pipelines/orders/batches`, { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "{" });
  await tick();
  await page.getByText("Deliveries that failed since the server began").waitFor();
  await page.getByText("Redeliveries skipped").waitFor();
  await page.click("#pause");
  asked = 0;
  await page.clock.fastForward(60_000);
  assert.equal(await page.textContent("#pause"), "Resume");
  assert.equal(asked, 0, "paused is paused");
  await close();
}

// Everything that a person can do.
async function acts(base, options) {
  const { page, where, close } = await open(base, "acts", options);
  const told = async (words) => {
    const status = await page.locator("[role=status]").first().textContent();
    if (!status.includes(words)) note(where(), `told "${status}", not "${words}"`);
  };
  const go = async (path, link) => {
    await page.goto(base + path);
    if (link) await page.locator(link).first().click();
  };
  await go("/held", "#held tbody tr:has-text('not complete') th a, #held tbody tr:has-text('incomplete') th a");
  await page.getByLabel("Although it isn't shown to be complete").check();
  // Twice in a row, as hasty people do: it is done once.
  const release = page.getByRole("button", { name: "Release" });
  await (options.scripts ? release.dblclick() : release.click());
  await told("Released:");
  await go("/held", "#held tbody th a");
  await page.getByRole("button", { name: "Reject" }).click();
  await told("Rejected:");
  await go("/quarantine", "#quarantine tbody th a");
  await page.getByLabel("The record as it should have come").fill('{"id": "x", "amount": "many"}');
  await page.getByRole("button", { name: "Deliver it" }).click();
  await told("It has not landed");
  await page.getByLabel("The record as it should have come").fill('{\n  "id": "x",\n  "amount": "7.25"\n}');
  await page.getByRole("button", { name: "Deliver it" }).click();
  await told("It has landed: 1 read: 1 inserted");
  await go("/quarantine?pipeline=orders");
  await page.getByRole("button", { name: "Deliver all again" }).click();
  await told("0 of 1 open record landed.");
  await go("/outbox?state=dead", "#list tbody th a");
  await page.getByRole("button", { name: "Deliver after all" }).click();
  await told("It is pending again");
  await page.getByRole("button", { name: "Discard" }).click();
  await told("It won't be sent.");
  await go("/outbox?state=pending", "#list tbody tr:has-text('tries again') th a");
  await page.getByRole("button", { name: "Try now" }).click();
  await told("It is due now.");
  await go("/outbox");
  await page.getByRole("button", { name: "Redrive dead" }).click();
  await told("1 dead letter is pending again.");
  await go("/outbox");
  await page.getByRole("button", { name: "Resume now" }).click();
  await told("its pause is over");
  await go("/records/orders");
  await page.getByLabel("id", { exact: true }).fill("x");
  await page.getByRole("button", { name: "Show its history" }).click();
  await page.getByText("the row is as this left it").waitFor();
  await go("/actions");
  assert.equal(await page.locator("tbody tr").count(), 10, where());
  await close();
}

async function login() {
  for (const scripts of [true, false]) {
    const { page, where, close } = await open(sites.guarded.url, "login", { size: "phone", scripts });
    await page.goto(sites.guarded.url + "/batches?pipeline=orders");
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("No such token").waitFor();
    await page.getByLabel("Token").fill(sites.guarded.token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Batches" }).waitFor();
    assert.ok(page.url().endsWith("/batches?pipeline=orders"), where());
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.goto(sites.guarded.url + "/");
    await page.getByLabel("Token").waitFor();
    await close();
  }
}

async function part(name, work) {
  const began = Date.now();
  try {
    await work();
    console.log(`${name}: ${Math.round((Date.now() - began) / 1000)} s`);
  } catch (error) {
    note(name, error.stack);
  }
}

await part("look", async () => {
  const pages = await kinds(sites.look);
  for (const size of ["phone", "desk"]) {
    await look(pages, { size, scripts: true });
    await look(pages, { size, scripts: false });
    await look(pages.filter((path) => size === "desk" || !path.includes("?")), { size, scheme: "dark", scripts: true });
    await keyboard(pages.filter((path) => path !== "/no/such/page" && path !== "/batches" && path !== "/outbox"), size);
  }
});
await part("theme", theme);
await part("live", live);
await part("acts", async () => {
  let nth = 0;
  for (const size of ["phone", "desk"]) for (const scripts of [true, false]) await acts(sites.acts[nth++], { size, scripts });
});
await part("login", login);
await browser.close();
console.log(wrong.join("\n"));
process.exit(wrong.length > 0 ? 1 : 0);
