#pragma once
#include <stdint.h>

// The arithmetic of the training kernels. A job is cut into parts whose bounds depend on its size alone, so that results are
// the same bits for any number of threads.
typedef struct {
  const float *in[8];
  float *out[4];
  const int64_t *targets;  // [n] of the cross-entropy
  int64_t n;               // elements, or rows
  int64_t width;           // of a row
  int64_t parts;
  float *sums;  // [parts, columns, width]: each part's share of the column sums
  int columns;  // column sums that the job has, into the last outputs
  // AdamW:
  float rest1, rest2, epsilon;
  int decays, rates;  // whether these are one per element, not one for all
} mdm_job;

// A part handles the elements or rows lo to hi; part is its number.
typedef void mdm_part(const mdm_job *job, int64_t lo, int64_t hi, int64_t part);

typedef struct {
  mdm_part *gelu_grad, *silu, *silu_grad, *swiglu, *swiglu_grad, *adamw;  // elements
  mdm_part *softmax_grad, *layer_norm_grad, *rms_norm_grad, *cross_entropy, *cross_entropy_grad;  // rows
} mdm_parts;

// mdm_parts_here returns the code for this machine's vector instructions.
const mdm_parts *mdm_parts_here(void);

// mdm_columns adds up the sums of all parts for columns lo to hi of every column sum.
void mdm_columns(const mdm_job *job, int64_t lo, int64_t hi);
