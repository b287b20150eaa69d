// Jobs: what htmx puts in place of the list keeps the address short, the focus where people read, and errors visible.
"use strict";

const FIRST_ERROR = 400;

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

// The link to another page is gone with the list that it stood under: go on at the head of the new one, or, where the
// list was sorted by a column, at the head of that column.
document.body.addEventListener("htmx:afterSettle", (event) => {
  const link = event.detail.requestConfig?.elt;
  if (link?.rel) document.getElementById("shown").focus();
  if (link && "sort" in link.dataset) document.querySelector("#shown [aria-sort] a").focus();
});
