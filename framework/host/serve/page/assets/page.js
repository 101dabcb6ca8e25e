// The page: what is there, what is asked, and what comes back.

let models = [], planners = [], running = null;
const narrow = matchMedia("(max-width: 52rem)"); // where the canvas stands below the form

const model = () => models.find(m => m.id === field("model").value);
const blank = () => model()?.blank || model()?.mask_text || "";

function showError(e) {
  field("error").textContent = e.message;
  field("error").hidden = false;
  if (e.status === 401) {
    field("login").hidden = false;
    field("token").focus();
  }
}

function showModel() {
  const m = model();
  if (!m) return;
  field("about").textContent = [m.family + " model", number(m.vocab_size) + " tokens", m.max_length > 0 && "up to " + m.max_length + " positions", m.provider].filter(Boolean).join(" · ");
  field("text-note").textContent = "A blank is written as " + m.mask_text + (m.blank ? " or as " + m.blank : "");
  field("planner").options[0].textContent = m.family === "insertion" ? "none: rows grow" : "the model's: " + m.planner;
  const short = text => { // runs of blanks by their number
    for (const b of [m.mask_text, m.blank]) if (b) text = text.replaceAll(new RegExp("(" + b.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "){4,}", "g"), run => " " + run.length / b.length + " blanks ");
    return text.length > 40 ? text.slice(0, 40) + "…" : text;
  };
  field("examples").replaceChildren(element("option", {value: ""}, "Examples"), ...m.examples.map((text, i) => element("option", {value: String(i)}, short(visible(text)))));
  field("examples").hidden = m.examples.length === 0;
}

function showPlanner(values) {
  const p = planners.find(p => p.name === field("planner").value);
  field("planner-note").textContent = p ? [p.summary, p.can_remask && "may mask again", p.adaptive && "chooses how many positions a step opens"].filter(Boolean).join("; ") + "." : "";
  if (values !== false) showOptions(field("options"), p, values);
  field("planner-options").hidden = field("options").hidden;
  field("planner-options").open = !narrow.matches;
}

async function load() {
  try {
    [models, planners] = await Promise.all([list("v1/models"), list("v1/planners")]);
  } catch (e) {
    showError(e);
    return;
  }
  field("error").hidden = field("login").hidden = true;
  field("model").replaceChildren(...models.map(m => element("option", {value: m.id}, m.id)));
  field("planner").replaceChildren(element("option", {value: ""}, ""), ...planners.map(p => element("option", {value: p.name}, p.name)));
  fill();
}

function fill() {
  field("form").reset();
  const missing = restore(location.hash, models, planners);
  showModel();
  showPlanner(false);
  field("status").textContent = missing.length > 0 ? "This server does not have " + missing.join(", ") + "." : "Ready.";
}

// run asks once and shows what comes, until the last row has ended.
async function run() {
  running?.abort();
  const mine = running = new AbortController(), rows = [];
  const [path, body] = question(), grid = model()?.grid, of = Number(field("n").value) || 1, said = {seed: null, usage: null, nfe: 0, ended: 0, quarter: 0};
  history.replaceState(null, "", address());
  field("error").hidden = field("notes").hidden = true;
  field("rows").replaceChildren();
  field("stop").disabled = false;
  field("status").textContent = "Asking …";
  if (narrow.matches) document.querySelector(".stage").scrollIntoView();
  const row = index => {
    while (rows.length <= index) {
      const r = makeRow(rows.length, of);
      r.layOut(grid);
      rows.push(r);
      field("rows").append(r.root);
    }
    return rows[index];
  };
  let asked = false;
  const paint = () => { asked = false; for (const r of rows) r.draw(); };
  let made = 0, outcome = "";
  try {
    await stream(path, body, mine.signal, (event, text) => {
      if (said.seed === null) said.seed = /[{,]"seed":(\d+)/.exec(text)?.[1] ?? null;
      if (event.notes?.length) {
        field("notes").replaceChildren(...event.notes.map(n => element("li", {}, n)));
        field("notes").hidden = false;
      }
      for (const choice of event.choices) {
        if (choice.step) {
          row(choice.index).step(choice.step);
          if (choice.index === 0) progress(choice.step, said);
        } else {
          made += Math.max(0, row(choice.index).end(choice));
          said.nfe += choice.nfe;
          said.ended++;
        }
      }
      if (!asked) {
        asked = true;
        requestAnimationFrame(paint);
      }
    });
    outcome = "Done: " + said.nfe + " NFE, " + (said.nfe > 0 ? number(made / said.nfe) : "0") + " tokens per NFE, " + (said.ended === 1 ? "1 row" : said.ended + " rows");
  } catch (e) {
    const stopped = e.name === "AbortError";
    outcome = stopped ? "Stopped" : "Failed";
    if (!stopped && running === mine) showError(e);
    if (running === mine) for (const r of rows) if (!r.root.classList.contains("ended")) r.stop(stopped ? "stopped" : "cut off");
  }
  if (running !== mine) return; // another run has taken over
  running = null;
  field("stop").disabled = true;
  field("status").textContent = outcome + (said.seed === null ? "." : ", seed " + said.seed + ".");
  if (said.seed !== null) field("run").dataset.seed = said.seed;
}

// progress tells screen readers of the first row at every quarter, not at every step.
function progress(step, said) {
  const open = step.length - step.fixed.positions.length, quarter = open > 0 ? Math.floor(4 * step.committed.positions.length / open) : 4;
  if (quarter !== said.quarter || step.step === 0) field("status").textContent = "Step " + (step.step + 1) + ", " + 25 * quarter + " % written";
  said.quarter = quarter;
}

function addBlank() {
  const t = field("text");
  t.setRangeText(blank(), t.selectionStart, t.selectionEnd, "end");
  t.focus();
}

async function copyLink() {
  const at = new URL(location.href), seed = field("run").dataset.seed;
  if (field("seed").value === "" && seed) field("seed").value = seed; // what was drawn, so that the link gives the same rows
  at.hash = address();
  history.replaceState(null, "", at.hash);
  try {
    await navigator.clipboard.writeText(at.href);
    field("status").textContent = "The link is copied.";
  } catch {
    field("status").textContent = "The link stands in the address bar.";
  }
}

addEventListener("DOMContentLoaded", () => {
  field("form").addEventListener("submit", e => { e.preventDefault(); run(); });
  field("login").addEventListener("submit", e => { e.preventDefault(); token = field("token").value.trim(); load(); });
  field("stop").addEventListener("click", () => running?.abort());
  field("link").addEventListener("click", copyLink);
  field("add-blank").addEventListener("click", addBlank);
  field("model").addEventListener("change", showModel);
  field("planner").addEventListener("change", () => showPlanner({}));
  for (const id of ["mode-prompt", "mode-infill"]) field(id).addEventListener("change", () => setMode(mode()));
  field("text").addEventListener("input", () => { if (model() && field("text").value.includes(model().mask_text)) setMode("infill"); });
  field("examples").addEventListener("change", e => {
    const text = model().examples[Number(e.target.value)], m = model();
    e.target.selectedIndex = 0;
    if (text === undefined) return;
    field("text").value = text;
    setMode(text.includes(m.mask_text) || (m.blank && text.includes(m.blank)) ? "infill" : "prompt");
  });
  addEventListener("hashchange", fill);
  addEventListener("keydown", e => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); }
    if (e.key === "Escape" && running) running.abort();
  });
  load();
});
