// The page of a job: an address that points into a fold opens it, the menu of formats closes when people go on, and the
// way back leads to the list as it was.
"use strict";

function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target && target.closest("details");
  if (!fold || fold.open) return;
  fold.open = true;
  target.scrollIntoView();
}

const menu = document.querySelector("details.more");
if (menu) {
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

const list = document.querySelector(".crumbs a");
if (document.referrer.startsWith(list.href)) list.href = document.referrer;

addEventListener("hashchange", openTarget);
openTarget();
