// Buttons that copy text, as `data-copy` holds it. Without scripts they stay hidden; the text can be selected as any.
"use strict";

const SHOWN_MS = 2000;

for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button[data-copy]");
  if (!button || button.textContent === "Copied") return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.innerHTML;
  button.textContent = "Copied";
  setTimeout(() => { button.innerHTML = label; }, SHOWN_MS);
});
