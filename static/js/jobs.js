// Jobs: what htmx puts in place of the list keeps the address short, the selection, the focus, and errors visible.
"use strict";

const FIRST_ERROR = 400;
const COMPARED_MIN = 2, COMPARED_MAX = 4;
const filters = document.querySelector(".job-filters");
const notLoaded = document.getElementById("not-loaded");
// The running jobs above the list load themselves (live.js).
const isOfList = (event) => !event.target.closest("[data-live]");

document.body.addEventListener("htmx:configRequest", (event) => {
  const { parameters } = event.detail;
  for (const name of Object.keys(parameters)) if (!parameters[name]) delete parameters[name];
});

// The sign-in after a session has ended is a page of its own.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (!isOfList(event)) return;
  const { xhr, serverResponse, pathInfo } = event.detail;
  if (xhr.status < FIRST_ERROR && serverResponse.includes('id="shown"')) return;
  event.detail.shouldSwap = false;
  if (xhr.status < FIRST_ERROR) location.assign(pathInfo.finalRequestPath);
});

// Without network, or where the server answers with an error, the list stays as it was: say so, with a way to retry.
function sayNotLoaded(event) {
  const link = notLoaded.querySelector("a").cloneNode(true);
  link.setAttribute("href", event.detail.pathInfo.finalRequestPath);
  notLoaded.querySelector("a").replaceWith(link);
  htmx.process(notLoaded);
  notLoaded.hidden = false;
}
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  document.body.addEventListener(name, (event) => { if (isOfList(event)) sayNotLoaded(event); });
}

// So does the name that somebody is typing for a filter: the part of the page around it is replaced.
let typedName = null;
document.body.addEventListener("htmx:beforeSwap", () => {
  const name = document.getElementById("filter-name");
  typedName = name?.value ? { value: name.value, hadFocus: name === document.activeElement } : null;
});
document.body.addEventListener("htmx:afterSettle", () => {
  const name = document.getElementById("filter-name");
  if (!typedName || !name || name.value) return;
  name.value = typedName.value;
  name.closest("details").open = true;
  if (typedName.hadFocus) name.focus();
});

// The form stays on the page while the list is replaced: where a link changed the list, it shows what holds now.
function followAddress() {
  const chosen = new URLSearchParams(location.search);
  for (const field of filters?.elements ?? []) {
    if (!field.name || field === document.activeElement) continue;
    field.value = chosen.get(field.name) ?? "";
    if (field.selectedIndex < 0) field.selectedIndex = 0;
  }
}

// Two to four jobs can be compared: further boxes and the button wait until that holds. What was selected stays so while
// the list is replaced and while this tab shows a job; what is no longer in it goes along with the form. What another
// account selected in this tab is removed.
const KEPT = "kaiku-compared ";
const keptAs = KEPT + (document.getElementById("compare")?.dataset.reader ?? "");
for (const name of Object.keys(sessionStorage)) if (name.startsWith(KEPT) && name !== keptAs) sessionStorage.removeItem(name);
const selected = new Set(JSON.parse(sessionStorage.getItem(keptAs) ?? "[]"));
const boxes = () => [...document.querySelectorAll("input[type=checkbox][form=compare]")];

function showSelection() {
  const form = document.getElementById("compare");
  if (!form) return;
  if (selected.size) sessionStorage.setItem(keptAs, JSON.stringify([...selected]));
  else sessionStorage.removeItem(keptAs);
  const listed = new Set(boxes().map((box) => box.value));
  for (const box of boxes()) {
    box.checked = selected.has(box.value);
    box.disabled = !box.checked && selected.size >= COMPARED_MAX;
  }
  const others = [...selected].filter((value) => !listed.has(value));
  form.querySelectorAll("input[type=hidden]").forEach((field) => field.remove());
  for (const value of others) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "job", value }));
  form.querySelector("button").disabled = selected.size < COMPARED_MIN || selected.size > COMPARED_MAX;
  form.querySelector("[data-clear]").hidden = selected.size === 0;
  const apart = others.length ? `, ${others.length} of them not in this list` : "";
  form.querySelector(".note").textContent = selected.size ? `${selected.size} selected${apart}.` : "Select 2 to 4.";
}

document.body.addEventListener("change", ({ target }) => {
  if (!target.matches("input[type=checkbox][form=compare]")) return;
  if (target.checked) selected.add(target.value);
  else selected.delete(target.value);
  showSelection();
});
document.body.addEventListener("click", ({ target }) => {
  if (!target.matches("#compare [data-clear]")) return;
  selected.clear();
  showSelection();
  boxes()[0]?.focus();
});

// The link to another page is gone with the list that it stood under: go on at the head of the new one, or, where the
// list was sorted by a column, at the head of that column, or, where a filter was removed, at those that are left.
document.body.addEventListener("htmx:afterSettle", (event) => {
  if (!isOfList(event)) return;
  followAddress();
  showSelection();
  const link = event.detail.requestConfig?.elt;
  if (link?.rel || (!notLoaded.hidden && notLoaded.contains(document.activeElement))) document.getElementById("shown").focus();
  if (link && "sort" in link.dataset) document.querySelector("#shown a[data-sort=chosen]")?.focus();
  if (link && "narrows" in link.dataset) document.getElementById("narrowed").focus();
  notLoaded.hidden = true;
});

showSelection();
// A browser may show the page again as it was before the latest choice, and checks its boxes after this script.
addEventListener("pageshow", showSelection);
