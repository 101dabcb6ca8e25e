// The canvas of one row: a span a position. What was given, what is written, what the model would write, and what it masked again differ in
// shape as well as in colour.

function makeRow(index, of) {
  const title = element("h3", {}, of > 1 ? "Row " + (index + 1) : "Canvas");
  const state = element("span", {class: "badge"}, "waiting"), cells = element("div", {class: "cells", "aria-hidden": "true"});
  const text = element("p", {class: "final", tabindex: "-1"}), facts = element("p", {class: "row-facts"});
  const root = element("article", {class: "row", "aria-label": of > 1 ? "Row " + (index + 1) : "Row"}, element("div", {class: "row-head"}, title, state, facts), cells, text);
  text.hidden = true;
  let spans = [], latest, drawn, fixed = new Set();

  function cell(i) {
    while (spans.length <= i) {
      const span = element("span", {class: "t"});
      spans.push(span);
      cells.append(span);
    }
    return spans[i];
  }

  function paint(span, kind, text) {
    const shown = kind === "blank" ? "\u00a0" : text === "" ? "∅" : visible(text);
    if (span.className !== "t " + kind) span.className = "t " + kind;
    if (span.textContent !== shown) span.textContent = shown;
  }

  // draw shows the latest step; those between two frames of the screen are left out.
  function draw() {
    if (latest === drawn || !latest) return;
    drawn = latest;
    const kinds = new Array(latest.length).fill("blank"), texts = new Array(latest.length).fill("");
    for (const group of ["fixed", "committed", "provisional"]) {
      latest[group].positions.forEach((at, i) => { kinds[at] = group; texts[at] = latest[group].texts[i]; });
    }
    for (const at of latest.opened) if (kinds[at] === "committed") kinds[at] += " now";
    for (const at of latest.remasked) kinds[at] += " remasked";
    kinds.forEach((kind, i) => paint(cell(i), kind, texts[i]));
    for (const span of spans.splice(kinds.length)) span.remove();
    fixed = new Set(latest.fixed.positions);
    state.textContent = "step " + (latest.step + 1) + " of " + Math.max(latest.steps, latest.step + 1);
    facts.textContent = latest.nfe + " NFE";
  }

  return {
    root, draw,
    layOut(grid) {
      cells.classList.toggle("grid", Boolean(grid));
      if (grid) cells.style.setProperty("--cols", grid.cols);
    },
    step(s) { latest = s; },
    // end takes the row's last event.
    end(choice) {
      draw();
      root.classList.add("ended");
      for (const span of spans) span.classList.remove("now", "remasked");
      const bad = choice.finish === "error" || choice.finish === "cancelled";
      state.textContent = choice.finish;
      state.classList.toggle("bad", bad);
      const made = choice.length - fixed.size;
      facts.textContent = [choice.nfe + " NFE", choice.nfe > 0 && made >= 0 && number(made / choice.nfe) + " tokens per NFE", number(choice.ms) + " ms"].filter(Boolean).join(" · ");
      text.textContent = bad ? choice.error ?? "" : choice.text;
      text.classList.toggle("bad", bad);
      text.hidden = text.textContent === "";
      return made;
    },
    // stop marks a row that will get no end.
    stop(word) {
      draw();
      state.textContent = word;
      state.classList.add("bad");
    },
  };
}
