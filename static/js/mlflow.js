// MLflow's clients print links such as /mlflow/#/experiments/7/runs/0123…: they lead on to the page of that run.
"use strict";

const PLACE = /^#\/experiments\/([0-9]{1,18})(?:\/runs\/([0-9a-f]{32}))?(?=[/?]|$)/;

function leadOn() {
  const found = PLACE.exec(location.hash);
  if (found) location.replace(found[2] ? `/runs/${found[2]}/` : `/experiments/${found[1]}/`);
}

addEventListener("hashchange", leadOn);
leadOn();
