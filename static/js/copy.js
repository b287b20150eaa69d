// A button that copies the advised options. Without it they can be selected and copied as any text.
"use strict";

const SHOWN_MS = 2000;

for (const diff of document.querySelectorAll(".kr-diff, .advice .diff")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  button.textContent = "Copy the new options";
  button.addEventListener("click", async () => {
    // "--gpus=8 -> --gpus=2" becomes a line for the batch script; what is left out has none.
    const advised = diff.textContent.trim().split("\n").map((line) => line.split(" -> ").pop());
    const options = advised.filter((option) => option.startsWith("--")).map((option) => `#SBATCH ${option}`);
    await navigator.clipboard.writeText(options.join("\n"));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy the new options"; }, SHOWN_MS);
  });
  diff.after(button);
}
