// Jobs: what htmx puts in place of the list keeps the address short, the focus where people read, and errors visible.
"use strict";

const FIRST_ERROR = 400;
const COMPARED_MIN = 2, COMPARED_MAX = 4;
const filters = document.querySelector(".job-filters");

document.body.addEventListener("htmx:configRequest", (event) => {
  const { parameters } = event.detail;
  for (const name of Object.keys(parameters)) if (!parameters[name]) delete parameters[name];
});

// An error, or the sign-in after a session has ended, is a page of its own.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, serverResponse, pathInfo } = event.detail;
  if (xhr.status < FIRST_ERROR && serverResponse.includes('id="shown"')) return;
  event.detail.shouldSwap = false;
  location.assign(pathInfo.finalRequestPath);
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

// Two to four jobs can be compared: further boxes and the button wait until that holds.
function countSelected() {
  const boxes = [...document.querySelectorAll("input[form=compare]")];
  const selected = boxes.filter((box) => box.checked).length;
  const button = document.querySelector("#compare button");
  if (button) button.disabled = selected < COMPARED_MIN || selected > COMPARED_MAX;
  for (const box of boxes) box.disabled = !box.checked && selected >= COMPARED_MAX;
}

// The link to another page is gone with the list that it stood under: go on at the head of the new one, or, where the
// list was sorted by a column, at the head of that column, or, where a filter was removed, at those that are left.
document.body.addEventListener("htmx:afterSettle", (event) => {
  followAddress();
  countSelected();
  const link = event.detail.requestConfig?.elt;
  if (link?.rel) document.getElementById("shown").focus();
  if (link && "sort" in link.dataset) document.querySelector("#shown a[data-sort=chosen]").focus();
  if (link && "narrows" in link.dataset) document.getElementById("narrowed").focus();
});

document.body.addEventListener("change", (event) => {
  if (event.target.matches("input[form=compare]")) countSelected();
});
countSelected();
