// The statistics head as a fused kernel: everything that is wanted of one position's logits, while they are in cache.
// Formulas: framework/sampling/compute.go, which is its oracle. It does not know ONNX Runtime.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MDM_BLOCK 256  // longest run of tokens with one partial sum
#define MDM_LEAST_CREDIT 1e-30f  // a credit below it is forgotten

enum { MDM_FAULT_NAN = -1, MDM_FAULT_SUPPRESSED = -2 };
enum { MDM_OFF = 0, MDM_MODEL = 1, MDM_SAMPLING = 2, MDM_TEMPERED = 3, MDM_NOISED = 4 };  // sampling.On

// A run of tokens that are not suppressed.
typedef struct {
  int32_t lo, n;
} mdm_block;

// What the head computes; constant for a session. Row numbers index stats [W, B*L]; -1 = not wanted.
typedef struct {
  int64_t v;
  int32_t blocks;
  mdm_block *block;     // [blocks]
  uint8_t *suppressed;  // [V]
  int32_t p1, p2, entropy, logp_current, logp_proposal, dot, kl;
  int32_t peaks_on, entropy_on, logp_proposal_on;  // peaks: p1 and p2
  int32_t dots, k, gumbel, filter;
  int32_t below;  // top-p without the token that crosses it
  // Edits (sampling.Edits).
  int32_t edits;  // some are on
  int32_t biases;
  int64_t *bias_token;  // [biases]
  float *bias;          // [biases]
  float repetition, left, alpha, gamma, beta;
  size_t scratch;  // bytes that a thread needs
} mdm_head;

// What the head keeps of a slot's pass before, grown to its longest row.
typedef struct {
  int64_t length;
  uint8_t *known;  // [L] the rest is of the pass before
  double *norm;    // [L, 2] largest logit, and ln of the sum of exp(z - m)
  float *logits;   // [L, V] edited
  float *credit;   // [L, V]
} mdm_slot;

typedef struct {
  int32_t count;
  mdm_slot *slot;
} mdm_memory;

// One call: positions n = B*L.
typedef struct {
  const mdm_head *head;
  int64_t n, l;
  const float *logits;     // [n, V]
  const int64_t *tokens;   // [n]
  const uint8_t *active;   // [n]
  const float *params;     // [B, 4] temperature, top-k, top-p, min-p
  const double *uniform;   // [n]
  const double *gumbel;    // [n, V] or NULL
  const float *dot;        // [dots, V] or NULL
  const int64_t *attention;      // [n], for edits that look at tokens, or NULL
  const int32_t *written;        // [n] the tokens of each row, each once, or NULL
  const int32_t *written_count;  // [B]
  const int32_t *slots;          // [B], for what is kept between passes, or NULL; -1 keeps nothing
  const uint8_t *fresh;          // [B]
  mdm_memory *memory;
  float *stats;            // [W, n]
  int32_t *proposal;       // [n]
  int32_t *top_ids;        // [n, k] or NULL
  float *top_logp;         // [n, k] or NULL
} mdm_call;

// The two largest logits of a position.
typedef struct {
  float first, second;
  int32_t argmax;
  int32_t fault;
} mdm_peaks;

// mdm_head_init fills the derived fields (blocks, suppressed, scratch) and returns 0, or -1 without memory.
int mdm_head_init(mdm_head *head, const int64_t *suppress, size_t count);
void mdm_head_free(mdm_head *head);

// mdm_memory_enter makes the memory ready for a call: wide enough, fresh slots forgotten. It returns 0, or -1 without memory.
int mdm_memory_enter(mdm_memory *memory, const mdm_call *call);
void mdm_memory_free(mdm_memory *memory);

// mdm_list_written lists the tokens of every row, each once: written [n], count [B]; seen is scratch [V].
void mdm_list_written(const mdm_call *call, int32_t *written, int32_t *count, int32_t *seen);

// mdm_positions computes positions lo <= i < hi with scratch of head->scratch bytes, aligned to 64.
void mdm_positions(const mdm_call *call, int64_t lo, int64_t hi, void *scratch);

// mdm_level is that of the vector instructions: 2 AVX-512, 1 AVX2, 0 the baseline. The processor decides, or MDMHOST_SIMD,
// which lowers it for tests.
int mdm_level(void);

// mdm_instructions names the vector instructions in use: "avx512", "avx2" or "baseline".
const char *mdm_instructions(void);

// Ranking (rank.c).

// A place in the order of descending logits, lower ids first: everything before it, and itself, is kept.
typedef struct {
  float z;
  int32_t id;
} mdm_place;

static inline int mdm_keeps(mdm_place last, float z, int32_t id) { return z > last.z || (z == last.z && id <= last.id); }

// mdm_cut returns the last place whose weight before it is at most limit; weight NULL counts tokens. Tokens below
// lowest are left out. Exact, O(V): a histogram of the logits within span of the highest, refined where the limit is
// crossed; any span > 0 is right, one that holds most of the weight is fast.
mdm_place mdm_cut(const mdm_head *head, const float *z, const float *weight, double limit, float lowest, float highest, float span);

// mdm_place_before returns the place right before another, or that itself where it is the first.
mdm_place mdm_place_before(const mdm_head *head, const float *z, mdm_place at);

// mdm_top writes the k largest tokens and logp = z - lnz; -1 and -inf where fewer are left.
void mdm_top(const mdm_head *head, const float *z, const float *block_max, float highest, double lnz, int32_t *ids, float *logp);
