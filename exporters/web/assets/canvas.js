// The canvas: one element a position. Given tokens are plain, proposed ones small print on the ground, written ones coloured by the probability that they had.
import {given, blank} from "./sampler.js";

// hue and lightness of a probability: orange to blue.
export function tint(element, p) {
  element.style.setProperty("--h", (45 + 205 * p ** 1.5).toFixed(1));
  element.style.setProperty("--dl", (0.02 - 0.04 * Math.abs(p - 0.5)).toFixed(3));
}

// tracks are the cells of a line, with a narrow track after each box.
const tracks = (n, box) => Array.from({length: n}, (_, i) => (i > 0 && i % box === 0 ? "4px " : "") + "var(--cell)").join(" ");

export class Canvas {
  constructor(root, facts) {
    [this.root, this.facts, this.cells, this.names] = [root, facts, [], {}];
    this.special = new Set(facts.special);
  }

  // build lays out n positions, as a grid where the model has one of that size.
  build(n) {
    const g = this.facts.grid, grid = g && !this.facts.growth && g.rows * g.cols === n;
    const [high, wide] = g?.box?.length === 2 ? g.box : [Infinity, Infinity];
    this.root.className = "canvas " + (grid ? "as-grid" : "as-text");
    this.root.style.setProperty("--cols", grid ? g.cols : 1);
    this.root.style.gridTemplateColumns = grid ? tracks(g.cols, wide) : "";
    this.root.style.gridTemplateRows = grid ? tracks(g.rows, high) : "";
    this.cells = Array.from({length: n}, (_, i) => {
      const e = document.createElement("span"), x = i % (g?.cols ?? 1), y = Math.floor(i / (g?.cols ?? 1));
      if (grid) [e.style.gridColumn, e.style.gridRow] = [x + 1 + Math.floor(x / wide), y + 1 + Math.floor(y / high)];
      return e;
    });
    this.root.replaceChildren(...this.cells);
  }

  // show draws a frame of the worker.
  show(frame) {
    if (this.cells.length !== frame.tokens.length) this.build(frame.tokens.length);
    const now = new Set(frame.changed);
    frame.tokens.forEach((token, i) => {
      const e = this.cells[i], masked = frame.state[i] === blank, id = masked ? frame.guess[i] : token;
      const text = id === this.facts.mask ? " " : this.names[id] ?? "";
      e.className = ["t", masked ? "guess" : frame.state[i] === given ? "given" : "open", this.special.has(id) && !masked && "special", now.has(i) && "now"].filter(Boolean).join(" ");
      if (e.textContent !== text) e.textContent = text;
      if (frame.state[i] !== given) tint(e, Math.min(Math.max(frame.probability[i], 0), 1));
      e.title = frame.state[i] === given ? `${text}: given` : `${text}: ${masked ? "proposed" : "written"} with probability ${frame.probability[i].toPrecision(3)}`;
    });
  }
}
