// Keys on every page: / to the search of Jobs, j and k from row to row of a list, o to open one, ? for help. They can be
// switched off, as the voice control of some devices types letters (WCAG 2.1.4); this browser alone keeps the choice.
"use strict";

// A block of its own: the scripts of a page share their names.
{
  const KEPT_AS = "no-keys";
  const dialog = document.querySelector("dialog.keyboard-help");
  const choice = dialog.querySelector("[data-keyboard-on]");
  const button = document.querySelector("[data-keyboard-help]");

  const row = () => document.activeElement.closest("[data-keyboard-list] tbody tr");
  const links = () => [...document.querySelectorAll("[data-keyboard-list] tbody tr")]
    .map((one) => one.querySelector("a[href]")).filter(Boolean);

  // From no row, or from the first and the last, nothing lies beyond: the row stays, or the first one is taken.
  const go = (step) => {
    const all = links();
    const place = row() ? all.indexOf(row().querySelector("a[href]")) + step : 0;
    all[Math.min(Math.max(place, 0), all.length - 1)]?.focus();
  };

  const search = () => {
    const field = document.querySelector(".job-filters input[type=search]");
    if (field) field.focus();
    else location.assign(dialog.dataset.search);
  };

  const KEYS = {
    "/": search,
    j: () => go(1),
    k: () => go(-1),
    o: () => row()?.querySelector("a[href]").click(),
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
}
