// Keeps the preview of the lesson editor fresh while somebody types. Without it, the "Preview" button does the same.
"use strict";

const QUIET_MS = 400;
const form = document.getElementById("lesson-form");
const preview = document.getElementById("lesson-preview");
let timer = 0;
let asked = 0;

async function refresh() {
  const number = ++asked;
  try {
    const answer = await fetch(form.dataset.previewUrl, { method: "POST", body: new FormData(form) });
    const html = await answer.text();
    // Only the answer to the newest question is shown; the server has sanitised it.
    if (answer.ok && number === asked) preview.innerHTML = html;
  } catch {
    // Offline for a moment: the last preview stays, and the next key asks again.
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(refresh, QUIET_MS);
});
