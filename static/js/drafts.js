// What somebody types into the forms of a job stays in this tab until it is saved: also after another of them was sent,
// a search, an error page or a reload.
"use strict";

const PREFIX = "kaiku-draft ";
const TYPED = "textarea, select, input:not([type=hidden])";
const forms = [...document.querySelectorAll("form[data-draft]")];

function drafts() {
  return Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX));
}

function forget(names) {
  names.forEach((name) => sessionStorage.removeItem(name));
}

// A note has a version, by which the server sees that another tab saved one meanwhile. A draft keeps the version that it
// was typed on, also where the page now shows what the other tab saved: it is the reader who decides what to replace.
function keepDraft(form) {
  const name = `${PREFIX}${form.dataset.draft} ${form.dataset.draftOf}`;
  const fields = [...form.querySelectorAll(TYPED)];
  if (!fields.length) {
    forget([name]);
    return;
  }
  const version = form.elements.version;
  let typedOn = form.dataset.typedOn ?? version?.value ?? "";
  const values = () => Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const saved = values();
  const isChanged = (draft) => fields.some((field) => field.name in draft && draft[field.name] !== saved[field.name]);
  const keep = (isSent) => {
    const typed = values();
    if (form.hasAttribute("data-typed") || isChanged(typed)) {
      const on = isSent ? version?.value ?? "" : typedOn;
      sessionStorage.setItem(name, JSON.stringify({ ...typed, version: on, isSent }));
    } else forget([name]);
  };

  const draft = JSON.parse(sessionStorage.getItem(name) || "null");
  if (form.hasAttribute("data-typed")) keep(false);
  else if (draft && isChanged(draft) && !(draft.isSent && draft.version !== typedOn)) {
    fields.forEach((field) => { field.value = draft[field.name] ?? field.value; });
    typedOn = draft.version;
    if (version) version.value = typedOn;
    form.querySelector("[data-restored]").hidden = false;
    for (let fold = fields[0].closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  } else forget([name]);

  form.addEventListener("input", () => keep(false));
  form.addEventListener("submit", () => keep(true));
}

if (forms.length) {
  const { draft, draftOf } = forms[0].dataset;
  forget(drafts().filter((name) => !name.startsWith(`${PREFIX}${draft} ${draftOf.split(" ")[0]} `)));
  forms.forEach(keepDraft);
  document.addEventListener("submit", (event) => {
    if (event.target.getAttribute("action") === "/sign-out/") forget(drafts());
  });
}
