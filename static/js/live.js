// A part of a page that is loaded again each minute while somebody looks at it, as often as it states: 60 times are an hour.
"use strict";

// A block: pages have scripts of their own beside this one, with names of their own.
{
  const MINUTE_MS = 60000, FIRST_ERROR = 400, NOT_FOUND = 404;
  const said = document.getElementById("live-state");
  let loadedAt = performance.now(), left = Number(document.querySelector("[data-live]").dataset.live);

  function say(text) {
    said.textContent = text;
    said.hidden = !text;
  }

  // Not in a tab that nobody sees: it catches up as soon as it is seen again.
  function loadAgain() {
    if (document.hidden || performance.now() - loadedAt < MINUTE_MS) return;
    if (!left) {
      clearInterval(timer);
      say("This page no longer updates itself. Load it again to go on.");
      return;
    }
    loadedAt = performance.now();
    left -= 1;
    htmx.trigger("[data-live]", "live");
  }
  const timer = setInterval(loadAgain, MINUTE_MS / 12);
  document.addEventListener("visibilitychange", loadAgain);

  // A page may load other parts too, such as a list that somebody sorts.
  const isLive = (event) => event.target.closest("[data-live]");

  // What is unfolded stays so, and what is seen stays in its place; htmx keeps the focus on what has a name.
  let unfolded = [], seenAt = null;
  function unfoldAgain() {
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    if (seenAt !== null) scrollTo({ top: seenAt, behavior: "instant" });
  }
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (!isLive(event)) return;
    const { xhr, serverResponse } = event.detail;
    if (xhr.status >= FIRST_ERROR) return;
    if (!serverResponse.includes("data-live")) {
      // The sign-in after a session has ended is a page of its own.
      event.detail.shouldSwap = false;
      location.reload();
      return;
    }
    unfolded = [...document.querySelectorAll("[data-live] details[open]")].map((one) => one.id);
    seenAt = scrollY;
    if (left) say("");
  });
  // What copies (copy.js) is hidden where there are no scripts.
  document.body.addEventListener("htmx:afterSwap", (event) => {
    // Folded, the page is too short to stay where it is.
    if (isLive(event)) unfoldAgain();
    for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = false;
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (!isLive(event)) return;
    unfoldAgain();
    seenAt = null;
    // What has ended meanwhile changes no more.
    if (document.querySelector("[data-live]").dataset.live === "0") clearInterval(timer);
  });

  for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.body.addEventListener(name, (event) => {
      if (!isLive(event)) return;
      // What a part shows may be gone for good, or not be there yet.
      const gone = event.detail.xhr.status === NOT_FOUND && isLive(event).dataset.gone;
      say(gone || "The last update failed: this is as it was before. It is tried again.");
    });
  }
}
