// Text and rows, by the model's tokenizer.json.
import {Tokenizer} from "./vendor/tokenizers/tokenizers.js";
import {given, blank} from "./sampler.js";

export class Text {
  constructor(file, facts) {
    this.tokenizer = new Tokenizer(file, {});
    this.facts = facts;
  }

  encode(text) {
    if (text === "") return [];
    const lost = this.tokenizer.tokenize(text).find(token => this.tokenizer.token_to_id(token) === undefined);
    if (lost !== undefined) throw new Error(`${JSON.stringify(lost)} is not in the vocabulary of the model; leave it out`);
    return this.tokenizer.encode(text, {add_special_tokens: false}).ids;
  }

  decode(tokens) {
    const ids = [...tokens].filter(id => this.tokenizer.id_to_token(id) !== undefined);
    return ids.length === 0 ? "" : this.tokenizer.decode(ids, {skip_special_tokens: true, clean_up_tokenization_spaces: false});
  }

  // show is how one token is shown on the canvas.
  show(id) {
    if (this.tokenizer.id_to_token(id) === undefined) return "";
    return this.tokenizer.decode([id], {skip_special_tokens: false, clean_up_tokenization_spaces: false}) || this.tokenizer.id_to_token(id);
  }

  // prompt is a row that begins with a text and goes on with length blanks, or as many as the model's longest row has room for.
  prompt(text, length) {
    const f = this.facts, ids = this.encode(text), around = f.prefix.length + f.suffix.length;
    if (ids.includes(f.mask)) throw new Error(`prompt: has the mask ${f.mask_text}; a prompt is only continued: write blanks into the field Infill`);
    if (f.growth) return this.growing([...f.prefix, ...ids, f.mask, ...f.suffix], length);
    if (!length && !f.max_length) throw new Error("length: the model names no longest row; give the number of positions");
    const blanks = length || f.max_length - ids.length - around;
    if (blanks < 1) throw new Error(`prompt: leaves none of the model's ${f.max_length} positions to write; shorten it`);
    return this.row([...f.prefix, ...ids, ...new Array(blanks).fill(f.mask), ...f.suffix]);
  }

  // infill is a row of text with blanks: the mask token's own text, and the model's symbols for it.
  infill(text, length) {
    const f = this.facts, symbols = Object.keys(f.input_map).sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
    const pattern = symbols.length && new RegExp(symbols.map(s => s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "g");
    const parts = text.split(f.mask_text).flatMap(part => {
      if (pattern) part = part.replace(pattern, s => f.input_map[s]);
      return (f.blank ? part.replaceAll(f.blank, f.mask_text) : part).split(f.mask_text);
    });
    const ids = f.mask_added ? this.encode(parts.join(f.mask_text)) : parts.flatMap((part, i) => i > 0 ? [f.mask, ...this.encode(part)] : this.encode(part));
    if (text === "" || ids.filter(id => id === f.mask).length !== parts.length - 1) {
      throw new Error(text === "" ? `infill: expected text with blanks, found nothing; a blank is written ${f.mask_text}` : `infill: the tokenizer reads other blanks than are written; write ${f.mask_text} as a word of its own`);
    }
    if (f.growth) return this.growing([...f.prefix, ...ids, ...f.suffix], length);
    const missing = Math.max(f.only_length - f.prefix.length - ids.length - f.suffix.length, 0);
    return this.row([...f.prefix, ...ids, ...new Array(missing).fill(f.mask), ...f.suffix]);
  }

  row(tokens) {
    const f = this.facts, n = tokens.length;
    if (n === 0 && !f.growth) throw new Error("the row has no position; give text, blanks or a length");
    if (f.max_length && n > f.max_length) throw new Error(`the row has ${n} positions with special tokens, expected at most ${f.max_length}, the model's longest row; shorten it`);
    if (f.only_length && !f.growth && n !== f.only_length) throw new Error(`the row has ${n} positions with special tokens, expected ${f.only_length}, the only length of this model; make it fit`);
    if (f.fixed_length && n !== f.fixed_length && !f.attention_mask) throw new Error(`the row has ${n} positions, expected ${f.fixed_length}, which the graph fixes; make it fit`);
    return {tokens, state: tokens.map(id => id === f.mask ? blank : given), guess: tokens.map(() => f.mask), probability: tokens.map(() => 0)};
  }

  // growing is a row of an insertion model: it may grow where ids have masks, and nowhere else.
  growing(ids, length) {
    const f = this.facts, tokens = [], frozen = [true];
    for (const id of ids) {
      if (id === f.mask) {
        frozen[tokens.length] = false;
      } else {
        tokens.push(id);
        frozen.push(true);
      }
    }
    const n = tokens.length, ends = f.growth.gap === "eos";
    if (ends && (n === 0 || !frozen[n])) throw new Error("rows of this model end with a fixed token, behind which they never grow; put the blank before it");
    const cap = Math.min(length ? n + length : Infinity, f.growth.cap || Infinity);
    if (cap === Infinity) throw new Error("length: the model names no longest row; give the number of positions");
    return {...this.row(tokens), frozen, cap};
  }
}
