// Buttons that copy text, as `data-copy` holds it. Without scripts they stay hidden; the text can be selected as any.
"use strict";

const SHOWN_MS = 2000;

for (const button of document.querySelectorAll("button[data-copy]")) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, SHOWN_MS);
  });
}
