// The random numbers of mdmhost: Philox4x32-10 (Salmon et al. 2011), keyed by the seed, the row, the step, the position and the purpose, so
// that a seed gives the same row in every host.

export const draw = 0, uniform = 1, gumbel = 2, gap = 4; // purposes

// high32 is the upper half of the product of two unsigned 32-bit numbers.
function high32(a, b) {
  const al = a & 0xffff, ah = a >>> 16, bl = b & 0xffff, bh = b >>> 16;
  const t = ah * bl + Math.floor(al * bl / 65536), u = al * bh + t % 65536;
  return (ah * bh + Math.floor(t / 65536) + Math.floor(u / 65536)) >>> 0;
}

export function philox([a, b, c, d], [k, l]) {
  for (let round = 0; round < 10; round++) {
    [a, b, c, d] = [(high32(0xCD9E8D57, c) ^ b ^ k) >>> 0, Math.imul(0xCD9E8D57, c) >>> 0, (high32(0xD2511F53, a) ^ d ^ l) >>> 0, Math.imul(0xD2511F53, a) >>> 0];
    k = (k + 0x9E3779B9) >>> 0;
    l = (l + 0xBB67AE85) >>> 0;
  }
  return [a, b, c, d];
}

export class Stream {
  // seed is a BigInt below 2^64, row the row's number in the run.
  constructor(seed, row) {
    this.key = [Number(seed & 0xffffffffn), Number(seed >> 32n)];
    this.row = row;
  }

  // at is one number in (0, 1) with 53 random bits.
  at(purpose, step, position) {
    const high = Math.floor(this.row / 2 ** 32) * 256 + purpose;
    const [a, b] = philox([position, step, this.row % 2 ** 32, high], this.key);
    return Math.max(a * 2 ** 21 + (b >>> 11), 1) * 2 ** -53;
  }

  // row of n of them, one a position.
  uniforms(purpose, step, n) { return Float64Array.from({length: n}, (_, i) => this.at(purpose, step, i)); }

  gumbels(step, n) { return this.uniforms(gumbel, step, n).map(u => -Math.log(-Math.log(u))); }
}
