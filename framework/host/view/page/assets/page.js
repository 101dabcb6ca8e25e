// Everything together: where we are (row, step), what moves us, and what must then be drawn.

document.addEventListener("DOMContentLoaded", () => {
  const $ = id => document.getElementById(id);
  const trace = readTrace($("trace")?.textContent ?? "");
  const header = trace.header;
  const described = (name, options) => [name, ...Object.entries(options ?? {}).map(([k, v]) => `${k}=${typeof v === "object" ? JSON.stringify(v) : v}`)].join(" ");
  const canvas = makeCanvas($("canvas"), trace);
  const curves = makeCurves($("curves"), k => { pause(); go(k); });
  let row = null, c = null, at = 0, timer = 0, pinned = false;

  $("model").textContent = header.model || "Trace";
  document.title = `${header.model || "trace"} · mdmhost trace`;
  const done = trace.rows.filter(r => r.end), nfe = done.reduce((n, r) => n + r.end.nfe, 0);
  const grew = r => header.growth ? (r.end.tokens ?? []).length - r.start.length : 0;
  const opened = done.reduce((n, r) => n + r.blanks + grew(r) - (r.end.tokens ?? []).filter(t => t === trace.mask).length, 0);
  facts($("facts"), [["planner", described(header.planner, header.options)], ["sampler", described(header.sampler, header.sampler_options)],
    ["rows grow", header.growth ? `up to ${header.growth.cap}` : ""], ["seed", header.seed], ["NFE", nfe.toLocaleString("en")], ["tokens per NFE", nfe && trace.mask >= 0 ? number(opened / nfe) : ""], ["ran on", header.provider]]);

  const notice = text => $("notices").append(element("p", {class: "notice"}, text));
  if (!header.trace) notice("This page holds no trace: its first line is missing.");
  else if (trace.mask < 0) notice("This trace is of an early version, which does not say which token is the mask.");
  if (trace.leftOut) notice(`${trace.leftOut.toLocaleString("en")} further rows are left out: a page holds 32 MiB of a trace. Record all of them with --trace run.jsonl.`);
  if (trace.torn) notice("The page ends in the middle of a line: its run was killed. What was written by then is shown.");
  const missing = (header.rows ?? 0) - trace.leftOut - trace.rows.length;
  if (missing > 0) notice(`${missing.toLocaleString("en")} of the run's ${header.rows.toLocaleString("en")} rows were never begun: the run was interrupted.`);
  if (trace.rows.length === 0) {
    if (header.trace) notice("No row was begun.");
    return;
  }
  const list = makeRows($("list"), $("rows-title"), $("filter"), trace, i => { chooseRow(i); drawer(false); });

  const sum = list => list.reduce((a, b) => a + b, 0) || "";

  function chooseRow(i, step) {
    const full = !c || at === c.n;
    row = trace.rows[i];
    c = course(trace, row);
    at = step ?? (full ? c.n : Math.min(at, c.n));
    at = Math.min(Math.max(at, 0), c.n);
    list.select(i);
    canvas.open(row, at);
    $("layouts").hidden = !canvas.grid();
    $("by-birth").hidden = !c.grows;
    if (!c.grows && canvas.by === "birth") colour("step");
    $("row-title").textContent = `Row ${row.index}`;
    const finish = row.end?.finish ?? "unfinished";
    $("finish").textContent = {steps: "out of steps", length: "at the cap on length"}[finish] ?? finish;
    $("finish").className = "badge " + finish;
    facts($("row-facts"), [["NFE", row.nfe], ["steps", row.end?.step ?? c.n], ["blanks", c.grows ? "" : row.blanks],
      ["length", c.grows ? `${c.length[0]} → ${c.length[c.n]}` : ""], ["inserted", sum(c.inserted)], ["dropped", sum(c.deleted)], ["refused by the cap", row.end?.capped ? `in ${row.end.capped} steps` : ""],
      ["tokens per NFE", row.nfe ? number((c.grows ? c.written : row.blanks) / row.nfe) : ""],
      ["masked again", sum(c.remasked)], ["overwritten", sum(c.overwritten)], ["error", row.end?.error]]);
    $("step").max = c.n;
    legend();
    curves.open(c, at);
    go(at);
  }

  function go(step) {
    at = Math.min(Math.max(step, 0), c.n);
    canvas.show(at);
    curves.show(at);
    const s = c.steps[at - 1];
    $("step").value = at;
    $("step").setAttribute("aria-valuetext", `step ${at} of ${c.n}, ${c.masked[at]} masked` + (c.grows ? ` of ${c.length[at]}` : ""));
    $("at").textContent = `${at} / ${c.n}`;
    $("at").title = s ? `step index ${s.step}, NFE ${s.nfe}` : "before the first step";
    inspect();
    if (!timer) settle();
  }

  // settle is what waits until nothing moves: what a screen reader says, and the address.
  let settling = 0;
  function settle() {
    clearTimeout(settling);
    settling = setTimeout(() => {
      $("canvas").setAttribute("aria-label", canvas.describe());
      try { history.replaceState(null, "", `#row=${row.index}&step=${at}`); } catch { /* pages within pages may not */ }
    }, 250);
  }

  function play() {
    if (timer) return pause();
    if (at === c.n) go(0);
    $("play").classList.add("on");
    $("play").setAttribute("aria-label", "Pause");
    const tick = () => {
      timer = setTimeout(tick, 1000 / $("speed").value);
      if (at === c.n) pause(); else go(at + 1);
    };
    timer = setTimeout(tick, 1000 / $("speed").value);
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    $("play").classList.remove("on");
    $("play").setAttribute("aria-label", "Play");
    settle();
  }

  function colour(by) {
    canvas.by = by;
    $("by-step").setAttribute("aria-checked", by === "step");
    $("by-confidence").setAttribute("aria-checked", by === "confidence");
    $("by-birth").setAttribute("aria-checked", by === "birth");
    canvas.show(at);
    legend();
  }

  function layout(l) {
    canvas.layout = l;
    $("as-grid").setAttribute("aria-checked", l === "grid");
    $("as-text").setAttribute("aria-checked", l === "text");
    canvas.redraw();
  }

  function legend() {
    const scale = element("span", {class: "scale"});
    for (let i = 0; i < 12; i++) {
      const [hue, light] = canvas.shade(i / 11), e = element("span", {class: "t open"});
      e.style.setProperty("--h", hue);
      e.style.setProperty("--dl", light);
      scale.append(e);
    }
    const ends = {step: ["early", "opened late"], birth: ["early", "inserted late"], confidence: ["improbable", "probable when opened"]}[canvas.by];
    const key = (name, text) => element("span", {class: "key"}, element("span", {class: "t " + name}, "a"), text);
    $("legend").replaceChildren(element("span", {class: "key"}, ends[0], scale, ends[1]), key("given", "given"), key("blank", "masked"),
      ...(c.grows ? [key("blank newborn", "inserted now")] : []),
      ...(c.cells.some(x => x.guesses.length) ? [key("blank guessing", "guess")] : []),
      ...(c.remasked.some(Boolean) ? [key("blank remasked", "masked again")] : []),
      ...(c.overwritten.some(Boolean) ? [key("open overwritten plain", "overwritten")] : []),
      ...(c.remasked.some(Boolean) ? [key("open revised plain", "written again")] : []),
      ...(canvas.by === "confidence" && c.cells.some(x => x.changes.some(y => y.logp === null)) ? [key("open unknown", "not recorded")] : []));
    for (const e of $("legend").querySelectorAll(".guessing")) e.replaceChildren(element("b", {}, "a"));
  }

  function inspect() {
    const box = $("inspect"), cell = c.cells[canvas.picked];
    if (!cell || !lives(cell, at)) {
      if (cell && pinned) {
        box.replaceChildren(element("p", {class: "quiet"}, cell.born > at ? `This position comes in step ${cell.born}.` : `This position left the row in step ${cell.left}.`));
        return;
      }
      box.replaceChildren(element("p", {class: "quiet"}, "Point at a token, or tap it, to see its history."));
      return;
    }
    const i = canvas.place(canvas.picked), now = latest(cell.changes, at), guess = now.token < 0 && latest(cell.guesses, at), g = canvas.grid();
    const name = id => spell(trace, id).text;
    const events = cell.changes.filter(x => x.at > 0 && x.at <= at);
    const say = x => x.kind === "insert" ? ["inserted as a mask"] : x.kind === "remask" ? [element("q", {}, name(x.before)), " masked again"]
      : [element("q", {}, name(x.token)), ...(x.kind === "rewrite" ? [" overwrote ", element("q", {}, name(x.before))] : [" opened"]),
        x.logp === null ? "" : `, p ${probability(x.logp)}`, x.entropy === null ? "" : `, entropy ${number(x.entropy)}`];
    const dl = element("dl", {class: "facts"});
    facts(dl, [["position", g ? `${i} (row ${Math.floor(i / g.cols) + 1}, column ${i % g.cols + 1})` : i], ["token id", now.token < 0 ? "" : now.token],
      ["inserted in step", cell.born || ""], ["opened in step", now.kind === "open" ? now.at : ""], ["overwritten", now.kind === "rewrite" ? `in step ${now.at}, was ${name(now.before)}` : ""], ["probability", now.logp == null ? "" : probability(now.logp)],
      ["entropy", now.entropy == null ? "" : `${number(now.entropy)} nats`], ["guess", guess ? name(guess.token) : ""],
      ["", cell.given ? "given, never changed" : now.token < 0 && !events.length ? "masked since the start" : ""], ["behind the end", cell.cut ? "cut off the answer" : ""]]);
    box.replaceChildren(element("div", {class: "glyph" + (now.token < 0 ? " blank" : "")}, now.token < 0 ? "░" : name(now.token)), dl,
      ...(events.length ? [element("ol", {class: "history"}, ...events.map(x => element("li", {}, element("span", {class: "when"}, `step ${x.at}`), element("span", {}, ...say(x)))))] : []));
  }

  function pick(i, pin) {
    pinned = pin;
    canvas.pick(i);
    inspect();
  }

  const drawer = open => {
    document.body.classList.toggle("rows-shown", open);
    $("rows-open").setAttribute("aria-expanded", open);
    $("rows-open").textContent = open ? "Close" : "All rows";
  };
  const otherRow = by => chooseRow(list.near(trace.rows.indexOf(row), by));
  const target = event => event.target.closest?.("#canvas [data-i]");
  $("canvas").addEventListener("pointerover", event => { if (event.pointerType === "mouse" && !pinned && target(event)) pick(+target(event).dataset.i, false); });
  $("canvas").addEventListener("click", event => {
    const i = target(event) ? +target(event).dataset.i : -1;
    pick(pinned && i === canvas.picked ? -1 : i, !(pinned && i === canvas.picked) && i >= 0);
  });

  const speed = by => { $("speed").selectedIndex = Math.min(Math.max($("speed").selectedIndex + by, 0), $("speed").length - 1); };
  const move = by => { pause(); go(at + by); };
  const nextToken = by => pick(canvas.near(by), true);
  const swap = () => colour({step: "confidence", confidence: c.grows ? "birth" : "step", birth: "step"}[canvas.by]);
  const turn = () => { if (canvas.grid()) layout(canvas.layout === "grid" ? "text" : "grid"); };
  const keys = {
    ArrowLeft: e => move(e.shiftKey ? -10 : -1), ArrowRight: e => move(e.shiftKey ? 10 : 1), Home: () => move(-at), End: () => move(c.n - at),
    ArrowUp: () => otherRow(-1), ArrowDown: () => otherRow(1), " ": play, c: swap, g: turn, "[": () => nextToken(-1), "]": () => nextToken(1),
    "+": () => speed(1), "=": () => speed(1), "-": () => speed(-1), "?": () => $("help").showModal(), Escape: () => { drawer(false); pick(-1, false); },
  };
  document.addEventListener("keydown", event => {
    const field = event.target.closest?.("input[type=search], select, dialog[open]"), button = event.target.closest?.("button, a");
    if (field || event.ctrlKey || event.metaKey || event.altKey || (event.key === " " && button)) return;
    const act = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
  const on = (id, what) => $(id).addEventListener("click", what);
  on("first", () => move(-at)); on("back", () => move(-1)); on("play", play); on("forward", () => move(1)); on("last", () => move(c.n - at));
  on("by-step", () => colour("step")); on("by-confidence", () => colour("confidence")); on("by-birth", () => colour("birth")); on("as-grid", () => layout("grid")); on("as-text", () => layout("text"));
  on("row-prev", () => otherRow(-1)); on("row-next", () => otherRow(1)); on("help-open", () => $("help").showModal());
  on("rows-open", () => drawer(!document.body.classList.contains("rows-shown")));
  $("step").addEventListener("input", () => { pause(); go(+$("step").value); });

  const wanted = new URLSearchParams(location.hash.slice(1));
  const first = trace.rows.findIndex(r => r.index === Number(wanted.get("row") ?? -1));
  if (header.grid) { canvas.layout = "grid"; } else { $("as-grid").setAttribute("aria-checked", false); $("as-text").setAttribute("aria-checked", true); }
  chooseRow(Math.max(first, 0), wanted.has("step") ? Number(wanted.get("step")) || 0 : undefined);
});
