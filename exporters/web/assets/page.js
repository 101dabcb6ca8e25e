// The page: a form, a canvas and the worker between them. Every field can be set by a parameter of the address, and `run=1` runs at once.
import {planners} from "./planners.js";
import {Canvas, tint} from "./canvas.js";

const $ = id => document.getElementById(id), form = $("form"), field = name => form.elements.namedItem(name);
const asked = new URLSearchParams(location.search), began = performance.now();
let facts, canvas, infill = false, running = false, pending = null, result = null;

const worker = new Worker(new URL("worker.js", import.meta.url), {type: "module"});

function describe(list, pairs) {
  list.replaceChildren(...pairs.map(([name, value]) => {
    const [div, dt, dd] = ["div", "dt", "dd"].map(tag => document.createElement(tag));
    [dt.textContent, dd.textContent] = [name, value];
    div.append(dt, dd);
    return div;
  }));
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

// control makes a field of an option: a list of names or a number.
function control(name, {names, value, min, help}, set) {
  const label = document.createElement("label"), span = document.createElement("span");
  const input = document.createElement(names ? "select" : "input");
  span.textContent = name.replaceAll("_", " ");
  input.name = name;
  input.title = help;
  for (const n of names ?? []) input.append(new Option(n, n));
  if (!names) Object.assign(input, {type: value === Infinity ? "text" : "number", step: "any", min});
  input.value = String(set ?? value).replace("Infinity", "inf");
  label.append(span, input);
  return label;
}

const leaps = {
  max_rate_step: {value: 0, min: 0, help: "above 0: steps so short that no rate times the step exceeds this"}, u_max: {value: 0, min: 0, help: "where the grid clock ends; 0: log(steps) + 4"},
  grid: {names: ["clock", "code", "uniform"], value: "clock", help: "times of the steps"}, events: {names: ["integrated", "poisson", "euler"], value: "integrated", help: "what happens in a step"},
  overflow: {names: ["reject", "truncate"], value: "reject", help: "where a step inserts more than the row may grow by"},
};

const options = () => facts.growth ? leaps : planners[field("planner").value].options;

// showOptions makes the fields of the planner's options. As on the command line, one that the address names has none of the model's settings.
function showOptions(named) {
  const own = facts.growth ? facts.settings.sampler : !named && facts.settings.planner.name === field("planner").value ? facts.settings.planner : {};
  $("options").replaceChildren(...Object.entries(options()).map(([name, o]) => control(name, o, asked.get(name) ?? own[name])));
}

function given(which) {
  infill = which;
  $("as-infill").setAttribute("aria-checked", infill);
  $("as-prompt").setAttribute("aria-checked", !infill);
  [$("infill-field").hidden, $("prompt-field").hidden, $("length-field").hidden] = [!infill, infill, infill && !facts.growth];
}

// number reads a field. An empty one is 0 where that means the model's own, and else a mistake, as what is no number reads as empty.
function number(name, least = 0, own = false) {
  const text = field(name).value.trim(), value = text === "" ? own ? 0 : NaN : text === "inf" ? Infinity : Number(text);
  if (!(value >= least)) throw new Error(`${name}: ${text || "nothing"}, expected a number from ${least}`);
  return value;
}

function whole(name, least = 0, own = false) {
  const value = number(name, least, own);
  if (!Number.isSafeInteger(value)) throw new Error(`${name}: ${field(name).value}, expected a whole number`);
  return value;
}

// settings reads the form.
function settings() {
  const o = {planner: field("planner").value, top_p_rule: facts.settings.sampling.top_p_rule, length: 0, pause: number("pause")};
  o[infill ? "infill" : "prompt"] = field(infill ? "infill" : "prompt").value;
  if (!$("length-field").hidden) o.length = whole("length", 0, true);
  o.steps = whole("steps", 0, true);
  for (const name of ["top_k", "row"]) o[name] = whole(name);
  for (const name of ["temperature", "top_p", "min_p"]) o[name] = Math.fround(number(name));
  if (o.top_p === 0) throw new Error("top_p: expected a number above 0; 1 draws from all tokens");
  for (const [name, {names, min}] of Object.entries(options())) o[name] = names ? field(name).value : number(name, min);
  for (const name of ["k", "min_per_step", "max_per_step"]) if (name in o) whole(name);
  o.seed = field("seed").value.trim();
  if (!/^[0-9]+$/.test(o.seed) || BigInt(o.seed) >= 2n ** 64n) throw new Error(`seed: ${o.seed || "nothing"}, expected a whole number below 2^64`);
  return o;
}

// address is a link to this row.
function address() {
  const params = new URLSearchParams(), o = settings();
  for (const name of ["prompt", "infill", "length", "steps", ...(facts.growth ? [] : ["planner"]), ...Object.keys(options()), "temperature", "top_k", "top_p", "min_p", "seed", "row"]) {
    if (name in o && field(name).value !== "") params.set(name, field(name).value);
  }
  return `${location.href.split(/[?#]/)[0]}?${params}&run=1`;
}

function busy(is) {
  running = is;
  $("run").disabled = is || !facts;
  $("stop").disabled = !is;
}

function run() {
  if (running || !facts) return;
  problem("");
  try {
    const o = settings();
    busy(true);
    result = null;
    $("copy").disabled = true;
    $("text").textContent = "";
    worker.postMessage({run: o});
  } catch (error) {
    problem(error.message);
  }
}

function meters({step, steps, nfe, spent = 0, state}) {
  const opened = state.filter(s => s === 2).length, shown = (x, digits) => nfe > 0 ? x.toFixed(digits) : "–";
  describe($("meters"), [["Step", `${step} of ${steps || "–"}`], ["NFE", nfe], ["Tokens per NFE", shown(opened / nfe, 2)], ["ms per NFE", shown(spent / nfe, 1)]]);
}

function draw() {
  if (!pending) return;
  canvas.show(pending);
  meters(pending);
  pending = null;
}

function example(e) {
  given("infill" in e);
  field(infill ? "infill" : "prompt").value = e.infill ?? e.prompt;
}

function ready(page) {
  facts = page;
  $("progress").hidden = true;
  document.title = `${facts.name}: masked diffusion in the browser`;
  $("name").textContent = facts.name;
  describe($("facts"), [["family", facts.growth ? "insertion" : "masked"], ["vocabulary", facts.vocabulary], ["precision", facts.precision], ["digest", facts.digest.slice(0, 12)], ["loaded in", `${((performance.now() - began) / 1000).toFixed(1)} s`]]);
  $("note").textContent = facts.lacks.length ? `The model's own settings hold what this page does not have: ${facts.lacks.join(", ")}. mdmhost sample has it.` : "";
  $("note").hidden = !facts.lacks.length;
  $("mask").textContent = facts.blank || facts.mask_text;
  canvas = new Canvas($("canvas"), facts);
  $("planner-field").hidden = Boolean(facts.growth);
  for (const name of Object.keys(planners)) field("planner").append(new Option(name, name));
  const s = facts.settings;
  for (const [name, value] of Object.entries({...s.sampling, planner: s.planner.name, length: s.length || "", steps: s.steps || "", seed: 0, row: 0})) {
    if (field(name)) field(name).value = value;
  }
  facts.examples.forEach((e, i) => $("examples").append(new Option((e.infill ?? e.prompt).slice(0, 60) || "(nothing)", i)));
  $("examples-field").hidden = facts.examples.length === 0;
  example(facts.examples[0] ?? {prompt: ""});
  for (const [name, value] of asked) {
    if (field(name)) field(name).value = value;
    if (name === "prompt" || name === "infill") given(name === "infill");
  }
  showOptions(asked.has("planner"));
  busy(false);
  if (asked.get("run") === "1") run();
}

const handlers = {
  progress: share => { $("progress").value = share; },
  ready,
  frame: frame => {
    Object.assign(canvas.names, frame.names);
    if (!pending) requestAnimationFrame(draw);
    pending = frame;
  },
  done: end => {
    draw();
    result = end;
    $("text").textContent = end.text;
    $("copy").disabled = false;
    busy(false);
    if (end.stopped && end.blanks > 0) problem(`Stopped: ${end.blanks} positions are still blank.`);
  },
  failed: (text, {during}) => {
    problem(during === "load" ? `The model did not load: ${text}` : text);
    $("progress").hidden = true;
    busy(false);
  },
};
worker.onmessage = ({data}) => { for (const name of Object.keys(handlers)) if (name in data) handlers[name](data[name], data); };
worker.onerror = event => handlers.failed(event.message || "the worker does not start; this browser has no module workers", {during: "load"});

form.onsubmit = event => { event.preventDefault(); run(); };
field("planner").onchange = () => showOptions(false);
$("as-prompt").onclick = () => given(false);
$("as-infill").onclick = () => given(true);
$("examples").onchange = () => example(facts.examples[$("examples").value]);
$("stop").onclick = () => worker.postMessage({stop: true});
$("copy").onclick = () => copy(result.text);
$("link").onclick = () => {
  try {
    copy(address());
  } catch (error) {
    problem(error.message);
  }
};
document.onkeydown = event => {
  if (event.key === "Escape" && running) $("stop").click();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
};

// copy puts text on the clipboard, which pages have only where the address is https or this machine's.
function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).catch(error => problem(`not copied: ${error.message}`));
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

$("asleep").remove();
for (let i = 0; i <= 8; i++) {
  const e = document.createElement("i");
  e.className = "t open";
  tint(e, i / 8);
  $("scale").append(e);
}
window.mdmhost = {get result() { return result; }, get facts() { return facts; }}; // for tests and for the console
