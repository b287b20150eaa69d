// Keys on pages with a list: / to search, j and k from row to row, o to open one, ? for help. They can be switched off,
// as the voice control of some devices types letters (WCAG 2.1.4); the choice is kept in this browser alone.
"use strict";

const KEPT_AS = "no-keys";
const dialog = document.querySelector("dialog.keyboard-help");
const choice = dialog.querySelector("[data-keyboard-on]");
const button = document.querySelector("[data-keyboard-help]");

const links = () => [...document.querySelectorAll("[data-keyboard-list] tbody .name a")];

// From no row, or from the first and the last, nothing lies beyond: the row stays, or the first one is taken.
function go(step) {
  const all = links();
  const row = document.activeElement.closest("[data-keyboard-list] tbody tr");
  const place = row ? all.indexOf(row.querySelector(".name a")) + step : 0;
  all[Math.min(Math.max(place, 0), all.length - 1)]?.focus();
}

const KEYS = {
  "/": () => document.querySelector("input[type=search]")?.focus(),
  j: () => go(1),
  k: () => go(-1),
  o: () => document.activeElement.closest("[data-keyboard-list] tbody tr")?.querySelector(".name a").click(),
  "?": () => dialog.showModal(),
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]");
  if (!choice.checked || isTyping || dialog.open || event.ctrlKey || event.altKey || event.metaKey) return;
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});

choice.checked = localStorage.getItem(KEPT_AS) === null;
choice.addEventListener("change", () => {
  if (choice.checked) localStorage.removeItem(KEPT_AS);
  else localStorage.setItem(KEPT_AS, "1");
});
button.hidden = false;
button.addEventListener("click", () => dialog.showModal());
