// How tokens read. Every text goes into the page as text, never as markup, and what could not be seen or would turn the line
// around gets a visible sign.

const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function visible(text) {
  return text.replace(unseen, ch => {
    const code = ch.charCodeAt(0);
    if (code === 10) return "↵";
    if (code === 9) return "⇥";
    return code < 32 ? String.fromCharCode(0x2400 + code) : "⟨U+" + code.toString(16).toUpperCase().padStart(4, "0") + "⟩";
  });
}

// spell returns {text, special}: how a token reads, and whether that is the name of something that is no text.
function spell(trace, id) {
  const known = trace.pieces.get(id);
  if (known === undefined) return {text: "#" + id, special: true};
  if (known === "") return {text: "∅", special: true};
  return {text: visible(known), special: trace.special.has(id)};
}

// reading is the text of a list of tokens, special ones left out and masks as blanks.
function reading(trace, tokens, most = Infinity) {
  let out = "";
  for (const id of tokens) {
    if (id < 0 || id === trace.mask) out += "░";
    else if (!trace.special.has(id)) out += visible(trace.pieces.get(id) ?? "#" + id);
    if (out.length > most) return out.slice(0, most) + "…";
  }
  return out;
}

// number writes what a reader wants to know of a number that is not negative.
function number(x) {
  if (x >= 1000) return x.toLocaleString("en");
  if (x > 0 && x < 0.001) return "< 0.001";
  return String(+x.toFixed(x < 0.01 ? 3 : x < 10 ? 2 : 1));
}
const probability = logp => {
  const p = Math.exp(logp);
  return p >= 0.9995 && p < 1 ? "> 0.999" : p >= 0.001 ? p.toFixed(3) : p.toExponential(1);
};

function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// facts fills a <dl> with [name, value] pairs; empty values are left out.
function facts(dl, pairs) {
  dl.replaceChildren(...pairs.filter(([, v]) => v !== "" && v != null).map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))));
}
