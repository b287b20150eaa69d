// Reads a figure or a chart out under a mouse, a finger or the arrow keys: a mark on it, and a line of text below.
// Without it the same numbers stand in the table of each.
"use strict";

const WHOLE = { wide: [0, 0, 1, 1] };
const PACKED = { base: 36, length: 2, parts: 10 };
const HOW = "Arrow keys read the values.";

// What stands under each place: from the numbers beside a picture, or from the titles of a chart's columns.
function numbersOf(figure) {
  const stored = document.getElementById(figure.dataset.readings);
  if (stored) return JSON.parse(stored.textContent);
  const titles = [...figure.querySelectorAll(".column > title")];
  const texts = titles.map((title) => title.textContent);
  // The browser's own hint would say the same a second time.
  for (const title of titles) title.remove();
  return { boxes: WHOLE, texts, rows: [], cells: [] };
}

// With `lows` a cell is a span of values; `unit` and `parts` are those of a percent unless others are given.
function textAt({ texts, rows, cells, lows, courses, unit = " %", parts = PACKED.parts }, column, row) {
  if (!rows.length && !courses?.length) return texts[column];
  const valueIn = (packed) => {
    const value = parseInt(packed.slice(column * PACKED.length, (column + 1) * PACKED.length), PACKED.base) / parts;
    return Number.isNaN(value) ? "" : value.toFixed(1);
  };
  if (courses?.length) {
    const [mean, least, most] = courses.map(valueIn);
    const span = mean && most ? `, single GPUs ${least} to ${most} %` : "";
    return `${texts[column]}: ${mean ? `${mean} %` : "not measured"}${span}`;
  }
  const high = valueIn(cells[row]);
  const low = lows ? valueIn(lows[row]) : high;
  const said = low === high ? high : `${low} to ${high}`;
  return `${rows[row]}, ${texts[column]}: ${high ? said + unit : "not measured"}`;
}

const within = (value, count) => Math.min(Math.max(value, 0), count - 1);

function made(tag, className, parent) {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

function bind(figure) {
  const plot = figure.querySelector("[data-plot]");
  const numbers = plot && numbersOf(figure);
  if (!numbers || !numbers.texts.length || figure.dataset.bound) return;
  figure.dataset.bound = "true";
  const image = plot.querySelector("img");
  // A picture is drawn in another shape for a narrow screen, or for the whole breadth of a page.
  const box = () => numbers.boxes[/size=(\w+)/.exec(image?.currentSrc ?? "")?.[1]] ?? numbers.boxes.wide;
  const columns = numbers.texts.length;
  const rows = numbers.rows.length || 1;
  // The columns in sight, where a part of the figure is shown larger.
  const span = () => [Number(figure.dataset.first ?? 0), Number(figure.dataset.shown ?? columns)];
  const mark = made("div", "mark", plot);
  const said = made("p", "reading", figure);
  const place = { column: 0, row: 0 };
  (figure.querySelector(".frame") ?? plot).after(said);
  mark.hidden = true;
  said.setAttribute("aria-live", "polite");
  const pictured = plot.querySelector("[alt], [aria-label]");
  plot.setAttribute("aria-label", `${pictured.getAttribute("alt") || pictured.getAttribute("aria-label")} ${HOW}`);
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "chart");
  plot.tabIndex = 0;

  function show(column, row) {
    const [left, top, width, height] = box();
    const [first, shown] = span();
    place.column = first + within(column - first, shown);
    figure.dataset.column = place.column;
    place.row = within(row, rows);
    mark.style.setProperty("left", `${100 * (left + (width * (place.column - first)) / shown)}%`);
    mark.style.setProperty("top", `${100 * (top + (height * place.row) / rows)}%`);
    mark.style.setProperty("width", `${(100 * width) / shown}%`);
    mark.style.setProperty("height", `${(100 * height) / rows}%`);
    mark.hidden = false;
    said.textContent = textAt(numbers, place.column, place.row);
  }

  function clear() {
    mark.hidden = true;
    said.textContent = "";
  }

  function follow(event) {
    const [left, top, width, height] = box();
    const frame = plot.getBoundingClientRect();
    const x = ((event.clientX - frame.left) / frame.width - left) / width;
    const y = ((event.clientY - frame.top) / frame.height - top) / height;
    const [first, shown] = span();
    show(first + Math.floor(x * shown), Math.floor(y * rows));
  }

  const steps = {
    ArrowLeft: () => show(place.column - 1, place.row),
    ArrowRight: () => show(place.column + 1, place.row),
    ArrowUp: () => show(place.column, place.row - 1),
    ArrowDown: () => show(place.column, place.row + 1),
    PageUp: () => show(place.column - Math.ceil(span()[1] / 10), place.row),
    PageDown: () => show(place.column + Math.ceil(span()[1] / 10), place.row),
    Home: () => show(span()[0], place.row),
    End: () => show(span()[0] + span()[1] - 1, place.row),
    Escape: clear,
  };
  // Up and down move the page, unless there are rows to go through.
  if (rows === 1) {
    delete steps.ArrowUp;
    delete steps.ArrowDown;
  }

  figure.addEventListener("zoomed", () => { if (!mark.hidden) show(place.column, place.row); });
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  // What a finger has found stays when it is lifted.
  plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
  plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(place.column, place.row); });
  plot.addEventListener("blur", clear);
  plot.addEventListener("keydown", (event) => {
    const step = event.altKey || event.ctrlKey || event.metaKey ? undefined : steps[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  });
}

function bindAll(part) {
  for (const figure of part.querySelectorAll("[data-readings]")) bind(figure);
}

bindAll(document);
// Parts of a page that were fetched later say so.
document.addEventListener("htmx:load", (event) => bindAll(event.target.parentNode ?? document));
