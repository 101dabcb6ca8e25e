// A planner's options as fields, made from the JSON Schema that the planner gives of them. An empty field is the default and is not sent.

function optionField(name, schema, value) {
  const id = "option-" + name, types = [schema.type].flat();
  const fallback = schema.default === undefined ? "" : String(schema.default);
  let field;
  if (schema.enum || types.includes("boolean")) {
    const values = schema.enum ?? [true, false];
    field = element("select", {id}, element("option", {value: ""}, fallback === "" ? "(default)" : fallback + " (default)"),
      ...values.filter(v => String(v) !== fallback).map(v => element("option", {value: String(v)}, String(v))));
  } else {
    field = element("input", {id, type: "text", placeholder: fallback, autocomplete: "off", spellcheck: "false"});
    if (types.includes("number") || types.includes("integer")) field.inputMode = "decimal";
  }
  field.dataset.option = name;
  field.dataset.types = types.join(" ");
  field.value = value === fallback && field.tagName === "SELECT" ? "" : value ?? "";
  const note = schema.description ?? "";
  field.setAttribute("aria-describedby", id + "-note");
  return element("div", {class: "field"}, element("label", {for: id}, name), field, element("p", {id: id + "-note", class: "note"}, note));
}

// showOptions fills a group with the fields of a plugin; values are texts by name.
function showOptions(group, plugin, values = {}) {
  const properties = Object.entries(plugin?.options?.properties ?? {});
  group.replaceChildren(...properties.map(([name, schema]) => optionField(name, schema, values[name])));
  group.hidden = properties.length === 0;
}

// optionTexts are the texts of the fields that are not empty, by name.
function optionTexts(group) {
  const out = {};
  for (const field of group.querySelectorAll("[data-option]")) if (field.value.trim() !== "") out[field.dataset.option] = field.value.trim();
  return out;
}

// optionValues are the same with the types of the schema; what is of no such type is sent as it was typed, and the server says what is wrong.
function optionValues(group) {
  const out = optionTexts(group);
  for (const field of group.querySelectorAll("[data-option]")) {
    const name = field.dataset.option, types = field.dataset.types.split(" "), text = out[name];
    if (text === undefined) continue;
    if (types.includes("boolean") && (text === "true" || text === "false")) out[name] = text === "true";
    else if (types.includes("number") || types.includes("integer")) out[name] = numeric(text);
    else if (types.includes("array")) try { out[name] = JSON.parse(text); } catch { /* as it was typed */ }
  }
  return out;
}

// numeric is the number that a text spells, or the text.
const numeric = text => text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
