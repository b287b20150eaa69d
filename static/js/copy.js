// Buttons that copy text, as `data-copy` holds it. Without scripts they stay hidden; the text can be selected as any.
"use strict";

const SHOWN_MS = 2000;

function showButtons() {
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = false;
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button[data-copy]");
  if (!button || button.dataset.label) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.dataset.label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = button.dataset.label;
    delete button.dataset.label;
  }, SHOWN_MS);
});

showButtons();
// Those of a part that was loaded again.
document.body.addEventListener("htmx:afterSwap", showButtons);
