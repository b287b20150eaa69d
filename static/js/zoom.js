// Use over time, a part of the run at a time: drag across the figure, or press + and -; 0 shows the whole run again.
// Drawn from the numbers beside the picture; without it the picture of the whole run stays.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const BASE_36 = { base: 36, length: 2, parts: 10 };
const USE_TOP = 104;
const MARK_ROW = 17;
const COLUMNS_MIN = 4;
const DRAG_PX = 8;
const LABELS = 5;
const LABEL_PX = 90;
const LEGEND_PX = 240;
const HINT = "Drag across the figure to zoom, or press + and − on it.";

function unpacked(text) {
  const values = [];
  for (let place = 0; place < text.length; place += BASE_36.length) {
    values.push(parseInt(text.slice(place, place + BASE_36.length), BASE_36.base) / BASE_36.parts);
  }
  return values;
}

function drawn(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Stretches of columns in which a value was measured: a gap is not bridged.
function stretches(values, first, shown) {
  const found = [];
  for (let column = first; column < first + shown; column += 1) {
    if (Number.isNaN(values[column])) continue;
    const last = found[found.length - 1];
    if (last && last[last.length - 1] === column - 1) last.push(column);
    else found.push([column]);
  }
  return found;
}

function bindZoom(figure, numbers) {
  const plot = figure.querySelector("[data-plot]");
  const image = plot.querySelector("img");
  const columns = numbers.texts.length;
  const [mean, low, high] = numbers.courses.map(unpacked);
  const rows = Math.max(0, ...numbers.marks.map((mark) => mark[3] + 1));
  const top = USE_TOP + MARK_ROW * rows;
  const view = { first: 0, shown: columns };
  const bar = document.createElement("div");
  const said = document.createElement("span");
  const reset = document.createElement("button");
  let picture = null;
  let dragged = null;
  bar.className = "zoom-bar";
  said.setAttribute("role", "status");
  reset.type = "button";
  reset.className = "quiet";
  reset.textContent = "Show the whole run";
  bar.append(said, reset);
  (figure.querySelector(".reading") ?? plot).after(bar);

  const box = () => numbers.boxes[/size=(\w+)/.exec(image.currentSrc)?.[1]] ?? numbers.boxes.wide;
  const time = (column) => (column < columns ? numbers.texts[column].split(": ")[0] : "the end");

  function draw() {
    picture?.remove();
    picture = null;
    if (view.shown === columns) return;
    const { width, height } = plot.getBoundingClientRect();
    const [left, above, wide, tall] = box();
    const x = (column) => width * (left + (wide * Math.min(Math.max(column - view.first, 0), view.shown)) / view.shown);
    const y = (percent) => height * (above + tall * (1 - percent / top));
    picture = drawn("svg", { class: "zoomed", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, plot);
    for (const tick of numbers.ticks) {
      const kind = tick ? "rule" : "ground";
      drawn("line", { class: kind, x1: x(view.first), x2: x(view.first + view.shown), y1: y(tick), y2: y(tick) }, picture);
      drawn("text", { x: x(view.first) - 6, y: y(tick) + 4, "text-anchor": "end" }, picture, `${tick}`);
    }
    const labels = Math.max(1, Math.min(LABELS, Math.floor((width * wide) / LABEL_PX)));
    for (let label = 0; label <= labels; label += 1) {
      const column = view.first + Math.round((view.shown * label) / labels);
      const anchor = label === labels ? "end" : "middle";
      drawn("text", { x: x(column), y: y(0) + 18, "text-anchor": label ? anchor : "start" }, picture, time(column));
    }
    drawWords(width * (left + wide / 2), height * above, y(0), (y(0) + height * above) / 2);
    drawMarks(x, y);
    const path = (part, values) => part.map((column) => `${x(column)},${y(values[column])} ${x(column + 1)},${y(values[column])}`);
    for (const part of stretches(mean, view.first, view.shown)) {
      if (low) drawn("polygon", { class: "band", points: `${path(part, high).join(" ")} ${part.slice().reverse().map((column) => `${x(column + 1)},${y(low[column])} ${x(column)},${y(low[column])}`).join(" ")}` }, picture);
      drawn("polyline", { class: "mean", points: path(part, mean).join(" ") }, picture);
    }
  }

  // The titles of the axes, and the legend where there is more than one GPU: as in the picture of the whole run.
  function drawWords(middle, top, bottom, centre) {
    drawn("text", { class: "title", x: middle, y: bottom + 36, "text-anchor": "middle" }, picture, "time since the start");
    drawn("text", { class: "title", x: 14, y: centre, "text-anchor": "middle", transform: `rotate(-90 14 ${centre})` }, picture, "GPU use (%)");
    if (!low) return;
    const [from, line] = [middle - LEGEND_PX / 2, top - 12];
    drawn("rect", { class: "band", x: from, y: line - 5, width: 22, height: 10 }, picture);
    drawn("text", { class: "legend", x: from + 28, y: line + 4 }, picture, "least to most used");
    drawn("line", { class: "mean", x1: from + 176, x2: from + 198, y1: line, y2: line }, picture);
    drawn("text", { class: "legend", x: from + 204, y: line + 4 }, picture, "mean");
  }

  function drawMarks(x, y) {
    for (const [number, startS, endS, row] of numbers.marks) {
      const [from, to] = [startS / numbers.step_s, endS / numbers.step_s];
      if (to < view.first || from > view.first + view.shown) continue;
      const [start, end, height] = [x(from), x(to), y(USE_TOP + MARK_ROW * (row + 0.5))];
      if (to - from < columns - 1) drawn("rect", { class: "place", x: start, y: y(USE_TOP), width: Math.max(end - start, 1), height: y(0) - y(USE_TOP) }, picture);
      drawn("line", { class: "span", x1: start, x2: Math.max(end, start + 1), y1: height, y2: height }, picture);
      drawn("circle", { class: "disc", cx: (start + end) / 2, cy: height, r: 8 }, picture);
      drawn("text", { class: "number", x: (start + end) / 2, y: height + 4, "text-anchor": "middle" }, picture, `${number}`);
    }
  }

  function show(first, shown) {
    view.shown = Math.min(Math.max(Math.round(shown), Math.min(COLUMNS_MIN, columns)), columns);
    view.first = Math.min(Math.max(Math.round(first), 0), columns - view.shown);
    figure.dataset.first = view.first;
    figure.dataset.shown = view.shown;
    const isWhole = view.shown === columns;
    reset.hidden = isWhole;
    said.textContent = isWhole ? HINT : `Shown: ${time(view.first)} to ${time(view.first + view.shown)}`;
    draw();
    figure.dispatchEvent(new CustomEvent("zoomed"));
  }

  // Around the place that is read, which stays where it is.
  function scale(factor) {
    const at = Number(figure.dataset.column ?? view.first + view.shown / 2);
    show(at - (at - view.first) * factor, view.shown * factor);
  }

  const columnAt = (clientX) => {
    const frame = plot.getBoundingClientRect();
    const [left, , wide] = box();
    const part = ((clientX - frame.left) / frame.width - left) / wide;
    return view.first + Math.min(Math.max(part, 0), 1) * view.shown;
  };

  function mark(clientX) {
    const [left, above, wide, tall] = box();
    const ends = [columnAt(dragged.from), columnAt(clientX)].sort((a, b) => a - b);
    const part = (column) => left + (wide * (column - view.first)) / view.shown;
    dragged.mark ??= Object.assign(document.createElement("div"), { className: "selection" });
    plot.append(dragged.mark);
    const { style } = dragged.mark;
    style.setProperty("left", `${100 * part(ends[0])}%`);
    style.setProperty("width", `${100 * (part(ends[1]) - part(ends[0]))}%`);
    style.setProperty("top", `${100 * above}%`);
    style.setProperty("height", `${100 * tall}%`);
  }

  function letGo() {
    dragged?.mark?.remove();
    dragged = null;
  }

  plot.addEventListener("dragstart", (event) => event.preventDefault());
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    dragged = { from: event.clientX, mark: null };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (dragged && (dragged.mark || Math.abs(event.clientX - dragged.from) > DRAG_PX)) mark(event.clientX);
  });
  plot.addEventListener("pointerup", (event) => {
    const ends = dragged?.mark && [columnAt(dragged.from), columnAt(event.clientX)].sort((a, b) => a - b);
    letGo();
    if (ends) show(Math.floor(ends[0]), Math.ceil(ends[1]) - Math.floor(ends[0]));
  });
  plot.addEventListener("pointercancel", letGo);

  const keys = {
    "+": () => scale(0.5),
    "=": () => scale(0.5),
    "-": () => scale(2),
    "0": () => show(0, columns),
  };
  plot.addEventListener("keydown", (event) => {
    const step = event.altKey || event.ctrlKey || event.metaKey ? undefined : keys[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  });
  reset.addEventListener("click", () => {
    show(0, columns);
    plot.focus();
  });
  addEventListener("resize", draw);
  show(0, columns);
}

for (const figure of document.querySelectorAll("[data-readings]")) {
  const stored = document.getElementById(figure.dataset.readings);
  const numbers = stored && JSON.parse(stored.textContent);
  if (numbers?.courses?.length && numbers.texts.length > COLUMNS_MIN) bindZoom(figure, numbers);
}
