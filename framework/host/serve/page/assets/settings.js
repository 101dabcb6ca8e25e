// What is asked for: the form, the address that reproduces it, and the request.

const plain = ["model", "text", "length", "steps", "n", "temperature", "top_p", "seed", "planner"];
const field = name => document.getElementById(name);
const mode = () => document.querySelector("input[name=mode]:checked").value;

function setMode(value) {
  field(value === "infill" ? "mode-infill" : "mode-prompt").checked = true;
  field("length-field").hidden = value === "infill";
  field("add-blank").hidden = value !== "infill";
  field("text-label").textContent = value === "infill" ? "Text with blanks" : "Prompt";
}

// address is the part of the page's address behind #: what was set, and nothing else.
function address() {
  const out = new URLSearchParams();
  for (const name of plain) if (field(name).value !== "") out.set(name, field(name).value);
  if (mode() === "infill") out.set("mode", "infill");
  for (const [name, value] of Object.entries(optionTexts(field("options")))) out.set("planner." + name, value);
  return "#" + out;
}

// restore fills the form from an address. It is anybody's: it fills fields and does nothing.
function restore(hash, models, planners) {
  const from = new URLSearchParams(hash.slice(1)), missing = [];
  for (const name of plain) {
    if (!from.has(name)) continue;
    field(name).value = from.get(name);
    if (field(name).tagName === "SELECT" && field(name).value !== from.get(name)) {
      field(name).selectedIndex = 0;
      missing.push(name + " " + from.get(name));
    }
  }
  setMode(from.get("mode") === "infill" ? "infill" : "prompt");
  const options = {};
  for (const [name, value] of from) if (name.startsWith("planner.")) options[name.slice(8)] = value;
  showOptions(field("options"), planners.find(p => p.name === field("planner").value), options);
  return missing;
}

// question is the request that the form stands for: [path, body as JSON].
function question() {
  const infill = mode() === "infill", body = {model: field("model").value, [infill ? "text" : "prompt"]: field("text").value};
  const numbers = {n: "n", steps: "steps", temperature: "temperature", top_p: "top_p", ...(infill ? {} : {length: "max_tokens"})};
  for (const [name, key] of Object.entries(numbers)) if (field(name).value.trim() !== "") body[key] = numeric(field(name).value);
  if (field("planner").value !== "") {
    body.planner = {name: field("planner").value};
    const options = optionValues(field("options"));
    if (Object.keys(options).length > 0) body.planner.options = options;
  }
  const text = JSON.stringify({...body, stream: true}), seed = field("seed").value.trim();
  if (seed === "") return [infill ? "v1/infill" : "v1/completions", text];
  // A seed may be larger than the whole numbers of JavaScript, so its digits go as they stand.
  const digits = /^[0-9]+$/.test(seed) ? seed.replace(/^0+(?=.)/, "") : JSON.stringify(seed);
  return [infill ? "v1/infill" : "v1/completions", text.replace(/\}$/, ',"seed":' + digits + "}")];
}
