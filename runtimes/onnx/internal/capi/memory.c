// What the head keeps of the passes before, by slot.
#include <string.h>

#include "kernel.h"

static int grow(void **p, size_t have, size_t want) {
  char *wider = realloc(*p, want);
  if (!wider) return -1;
  memset(wider + have, 0, want - have);
  *p = wider;
  return 0;
}

static int lengthen(const mdm_head *h, mdm_slot *s, int64_t l) {
  const int64_t v = h->v, have = s->length;
  int failed = grow((void **)&s->known, have, l);
  if (h->kl >= 0) {
    failed |= grow((void **)&s->norm, 2 * have * sizeof(double), 2 * l * sizeof(double));
    failed |= grow((void **)&s->logits, have * v * sizeof(float), l * v * sizeof(float));
  }
  if (h->alpha != 0) failed |= grow((void **)&s->credit, have * v * sizeof(float), l * v * sizeof(float));
  if (!failed) s->length = l;
  return failed;
}

int mdm_memory_enter(mdm_memory *m, const mdm_call *c) {
  for (int64_t b = 0; b < c->n / c->l; b++) {
    const int32_t at = c->slots[b];
    if (at < 0) continue;
    if (at >= m->count) {
      if (grow((void **)&m->slot, m->count * sizeof(mdm_slot), (at + 1) * sizeof(mdm_slot))) return -1;
      m->count = at + 1;
    }
    mdm_slot *s = m->slot + at;
    if (s->length < c->l && lengthen(c->head, s, c->l)) return -1;
    const int64_t kept = c->fresh[b] ? 0 : c->l;
    memset(s->known + kept, 0, s->length - kept);
  }
  return 0;
}

void mdm_memory_free(mdm_memory *m) {
  for (int32_t i = 0; i < m->count; i++) {
    free(m->slot[i].known);
    free(m->slot[i].norm);
    free(m->slot[i].logits);
    free(m->slot[i].credit);
  }
  free(m->slot);
}

void mdm_list_written(const mdm_call *c, int32_t *written, int32_t *count, int32_t *seen) {
  const int64_t v = c->head->v;
  memset(seen, 0, v * sizeof *seen);
  for (int64_t b = 0; b < c->n / c->l; b++) {
    count[b] = 0;
    for (int64_t i = b * c->l; i < (b + 1) * c->l; i++) {
      const int64_t t = c->tokens[i];
      if (t < 0 || t >= v || !c->attention[i] || seen[t] == b + 1) continue;
      seen[t] = b + 1;
      written[b * c->l + count[b]++] = t;
    }
  }
}
