// What pages do beyond what they say: remember a theme, and stay current while somebody looks. All of it can be missing.
"use strict";
(() => {
  const root = document.documentElement;
  const kept = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const keep = (key, value) => {
    try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* a private window */ }
  };

  // At once, while the head is read: a page doesn't flash in the other theme first.
  const theme = kept("landonce.theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;

  const EVERY = 5000;
  let isPaused = kept("landonce.paused") === "yes";
  let isAsking = false;
  let lastSaid = "";

  const themes = () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const word = () => root.dataset.theme || "auto";
    const show = () => { button.textContent = "Theme: " + word(); };
    show();
    button.hidden = false;
    button.addEventListener("click", () => {
      const next = { auto: "light", light: "dark", dark: "auto" }[word()];
      if (next === "auto") { delete root.dataset.theme; keep("landonce.theme", null); }
      else { root.dataset.theme = next; keep("landonce.theme", next); }
      show();
    });
  };

  // Only where nobody is at work: an open detail, a focus or a selection inside stays as it is.
  const isInUse = (region) => {
    const selection = getSelection();
    return region.contains(document.activeElement)
      || region.querySelector("details[open]") !== null
      || (selection && !selection.isCollapsed && region.contains(selection.anchorNode));
  };

  const refresh = async () => {
    const regions = [...document.querySelectorAll("[data-live]")];
    if (isPaused || isAsking || document.hidden || regions.length === 0) return;
    isAsking = true;
    const status = document.getElementById("live-status");
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, credentials: "same-origin", redirect: "error", cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const now = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const region of regions) {
        const fresh = now.getElementById(region.id);
        if (fresh && fresh.innerHTML !== region.innerHTML && !isInUse(region)) region.replaceChildren(...fresh.childNodes);
      }
      const said = now.querySelector("[data-said]")?.dataset.said ?? "";
      // Read out only when it is news, not at every look.
      if (said !== lastSaid) {
        lastSaid = said;
        document.getElementById("live-said").textContent = said;
      }
      if (status) status.textContent = "live";
    } catch {
      if (status) status.textContent = "no answer; trying";
    } finally {
      isAsking = false;
    }
  };

  const live = () => {
    const button = document.getElementById("pause");
    if (!button || !document.querySelector("[data-live]")) return;
    lastSaid = document.querySelector("[data-said]")?.dataset.said ?? "";
    const status = document.getElementById("live-status");
    const show = () => {
      button.textContent = isPaused ? "Resume" : "Pause";
      button.setAttribute("aria-label", isPaused ? "Resume updates" : "Pause updates");
      status.textContent = isPaused ? "paused" : "live";
    };
    show();
    document.getElementById("live").hidden = false;
    button.addEventListener("click", () => {
      isPaused = !isPaused;
      keep("landonce.paused", isPaused ? "yes" : null);
      show();
      refresh();
    });
    document.addEventListener("visibilitychange", refresh);
    setInterval(refresh, EVERY);
  };

  // A second press while the first is under way does nothing. (It would do no harm either.)
  const once = () => {
    document.addEventListener("submit", (event) => {
      if (event.target.method !== "post") return;
      if (event.target.dataset.sent) { event.preventDefault(); return; }
      event.target.dataset.sent = "yes";
    });
    addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });
  };

  document.addEventListener("DOMContentLoaded", () => { themes(); live(); once(); });
})();
