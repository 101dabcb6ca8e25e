// The custom operator mdm.FusedStatisticsHead: the kernel behind ONNX Runtime's C API.
#include "op.h"

#include <stdlib.h>

#include "kernel.h"

enum { IN_LOGITS, IN_TOKENS, IN_ACTIVE, IN_PARAMS, IN_UNIFORM, IN_GUMBEL, IN_DOT, IN_ATTENTION, IN_SLOTS, IN_FRESH, INPUTS };
enum { OUT_STATS, OUT_PROPOSAL, OUT_TOP_IDS, OUT_TOP_LOGP, OUTPUTS };
enum { CHUNKS = 32 };  // of a call, for the threads to share

typedef struct {
  const OrtApi *api;
  mdm_head head;
  int32_t rows;
  mdm_memory memory;  // a session runs one pass at a time
} kernel_t;

#define TRY(call)                    \
  do {                               \
    OrtStatus *status_ = (call);     \
    if (status_) return status_;     \
  } while (0)

static OrtStatus *attribute(const OrtApi *api, const OrtKernelInfo *info, const char *name, int32_t *to) {
  int64_t v;
  TRY(api->KernelInfoGetAttribute_int64(info, name, &v));
  *to = (int32_t)v;
  return NULL;
}

// read_edits reads the changes of the logits; floats come as the list edits: repetition, left, alpha, gamma, beta, and the biases.
static OrtStatus *read_edits(const OrtApi *api, const OrtKernelInfo *info, mdm_head *h) {
  enum { NUMBERS = 5 };
  size_t floats = 0, tokens = 0;
  TRY(api->KernelInfoGetAttributeArray_float(info, "edits", NULL, &floats));
  TRY(api->KernelInfoGetAttributeArray_int64(info, "bias_tokens", NULL, &tokens));
  if (floats != tokens - 1 + NUMBERS) return api->CreateStatus(ORT_INVALID_ARGUMENT, "statistics head: the edits are not five numbers and a bias a token");
  h->bias_token = malloc(tokens * sizeof *h->bias_token);
  h->bias = malloc(floats * sizeof *h->bias);
  if (!h->bias_token || !h->bias) return api->CreateStatus(ORT_FAIL, "statistics head: out of memory");
  TRY(api->KernelInfoGetAttributeArray_int64(info, "bias_tokens", h->bias_token, &tokens));
  TRY(api->KernelInfoGetAttributeArray_float(info, "edits", h->bias, &floats));
  h->repetition = h->bias[0], h->left = h->bias[1], h->alpha = h->bias[2], h->gamma = h->bias[3], h->beta = h->bias[4];
  h->biases = tokens - 1;  // the list ends with -1, so that it is never empty
  for (int32_t i = 0; i < h->biases; i++) h->bias[i] = h->bias[i + NUMBERS];
  h->edits = h->biases || h->repetition != 1 || h->left != 0 || h->alpha != 0;
  return NULL;
}

static OrtStatus *read_head(const OrtApi *api, const OrtKernelInfo *info, kernel_t *k) {
  mdm_head *h = &k->head;
  TRY(api->KernelInfoGetAttribute_int64(info, "v", &h->v));
  int32_t p1, p2, current;
  TRY(attribute(api, info, "p1", &p1));
  TRY(attribute(api, info, "p2", &p2));
  TRY(attribute(api, info, "peaks", &h->peaks_on));
  TRY(attribute(api, info, "entropy", &h->entropy_on));
  TRY(attribute(api, info, "logp_current", &current));
  TRY(attribute(api, info, "logp_proposal", &h->logp_proposal_on));
  TRY(attribute(api, info, "dots", &h->dots));
  TRY(attribute(api, info, "topk", &h->k));
  TRY(attribute(api, info, "gumbel", &h->gumbel));
  TRY(attribute(api, info, "filter", &h->filter));
  int32_t kl;
  TRY(attribute(api, info, "below", &h->below));
  TRY(attribute(api, info, "kl_prev", &kl));
  TRY(read_edits(api, info, h));
  // The rows of the packed statistics, in this order.
  h->p1 = p1 ? k->rows++ : -1;
  h->p2 = p2 ? k->rows++ : -1;
  h->entropy = h->entropy_on ? k->rows++ : -1;
  h->logp_current = current ? k->rows++ : -1;
  h->logp_proposal = h->logp_proposal_on ? k->rows++ : -1;
  h->kl = kl ? k->rows++ : -1;
  h->dot = k->rows;
  k->rows += h->dots;

  int64_t *suppress = NULL;
  size_t count = 0;
  TRY(api->KernelInfoGetAttributeArray_int64(info, "suppress", NULL, &count));
  suppress = malloc((count + 1) * sizeof *suppress);
  if (!suppress) return api->CreateStatus(ORT_FAIL, "statistics head: out of memory");
  OrtStatus *status = count ? api->KernelInfoGetAttributeArray_int64(info, "suppress", suppress, &count) : NULL;
  if (!status && mdm_head_init(h, suppress, count)) status = api->CreateStatus(ORT_FAIL, "statistics head: out of memory");
  free(suppress);
  return status;
}

static void ORT_API_CALL destroy(void *p) {
  kernel_t *k = p;
  mdm_head_free(&k->head);
  mdm_memory_free(&k->memory);
  free(k);
}

static OrtStatus *ORT_API_CALL create(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **out) {
  (void)op;
  kernel_t *k = calloc(1, sizeof *k);
  if (!k) return api->CreateStatus(ORT_FAIL, "statistics head: out of memory");
  k->api = api;
  OrtStatus *status = read_head(api, info, k);
  if (status) {
    destroy(k);
    return status;
  }
  *out = k;
  return NULL;
}

static OrtStatus *input(const OrtApi *api, OrtKernelContext *ctx, size_t i, const void **data) {
  const OrtValue *v = NULL;
  TRY(api->KernelContext_GetInput(ctx, i, &v));
  *data = NULL;
  return v ? api->GetTensorMutableData((OrtValue *)v, (void **)data) : NULL;
}

static OrtStatus *output(const OrtApi *api, OrtKernelContext *ctx, size_t i, const int64_t *dims, size_t rank, void *data) {
  OrtValue *v = NULL;
  TRY(api->KernelContext_GetOutput(ctx, i, dims, rank, &v));
  *(void **)data = NULL;
  return v ? api->GetTensorMutableData(v, data) : NULL;
}

typedef struct {
  const mdm_call *call;
  char *scratch;  // [chunks, head->scratch]
  int64_t chunks;
} job;

static void chunk(void *p, size_t i) {
  const job *j = p;
  mdm_positions(j->call, j->call->n * i / j->chunks, j->call->n * (i + 1) / j->chunks, j->scratch + i * j->call->head->scratch);
}

static OrtStatus *ORT_API_CALL compute(void *p, OrtKernelContext *ctx) {
  kernel_t *k = p;
  const OrtApi *api = k->api;
  const mdm_head *h = &k->head;
  const OrtValue *logits;
  OrtTensorTypeAndShapeInfo *info;
  int64_t dims[3];
  size_t rank;
  TRY(api->KernelContext_GetInput(ctx, IN_LOGITS, &logits));
  TRY(api->GetTensorTypeAndShape(logits, &info));
  OrtStatus *status = api->GetDimensionsCount(info, &rank);
  if (!status && rank == 3) status = api->GetDimensions(info, dims, 3);
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (status) return status;
  if (rank != 3 || dims[2] != h->v) return api->CreateStatus(ORT_INVALID_ARGUMENT, "statistics head: the logits are not [B, L, V]");

  mdm_call c = {.head = h, .n = dims[0] * dims[1], .l = dims[1]};
  TRY(input(api, ctx, IN_LOGITS, (const void **)&c.logits));
  TRY(input(api, ctx, IN_TOKENS, (const void **)&c.tokens));
  TRY(input(api, ctx, IN_ACTIVE, (const void **)&c.active));
  TRY(input(api, ctx, IN_PARAMS, (const void **)&c.params));
  TRY(input(api, ctx, IN_UNIFORM, (const void **)&c.uniform));
  TRY(input(api, ctx, IN_GUMBEL, (const void **)&c.gumbel));
  TRY(input(api, ctx, IN_DOT, (const void **)&c.dot));
  TRY(input(api, ctx, IN_ATTENTION, (const void **)&c.attention));
  TRY(input(api, ctx, IN_SLOTS, (const void **)&c.slots));
  TRY(input(api, ctx, IN_FRESH, (const void **)&c.fresh));
  TRY(output(api, ctx, OUT_STATS, (int64_t[]){k->rows, dims[0], dims[1]}, 3, &c.stats));
  TRY(output(api, ctx, OUT_PROPOSAL, dims, 2, &c.proposal));
  if (h->k) {
    TRY(output(api, ctx, OUT_TOP_IDS, (int64_t[]){dims[0], dims[1], h->k}, 3, &c.top_ids));
    TRY(output(api, ctx, OUT_TOP_LOGP, (int64_t[]){dims[0], dims[1], h->k}, 3, &c.top_logp));
  }
  if (c.slots) {
    c.memory = &k->memory;
    if (mdm_memory_enter(c.memory, &c)) return api->CreateStatus(ORT_FAIL, "statistics head: out of memory for what it keeps between passes; use a smaller --batch");
  }
  // Little work is done at once by this thread.
  job j = {&c, NULL, c.n * h->v < 16384 ? 1 : c.n < CHUNKS ? c.n : CHUNKS};
  const size_t lists = h->repetition != 1 ? (c.n + dims[0] + h->v) * sizeof(int32_t) : 0;
  j.scratch = aligned_alloc(64, j.chunks * h->scratch + (lists + 63) / 64 * 64);
  if (!j.scratch) return api->CreateStatus(ORT_FAIL, "statistics head: out of memory");
  if (lists) {
    int32_t *written = (int32_t *)(j.scratch + j.chunks * h->scratch), *count = written + c.n;
    mdm_list_written(&c, written, count, count + dims[0]);
    c.written = written, c.written_count = count;
  }
  if (j.chunks == 1) {
    chunk(&j, 0);
  } else {
    status = api->KernelContext_ParallelFor(ctx, chunk, j.chunks, 0, &j);
  }
  free(j.scratch);
  return status;
}

static const char *ORT_API_CALL name(const OrtCustomOp *op) { return (void)op, "FusedStatisticsHead"; }
static const char *ORT_API_CALL provider(const OrtCustomOp *op) { return (void)op, "CPUExecutionProvider"; }
static size_t ORT_API_CALL inputs(const OrtCustomOp *op) { return (void)op, INPUTS; }
static size_t ORT_API_CALL outputs(const OrtCustomOp *op) { return (void)op, OUTPUTS; }

static ONNXTensorElementDataType ORT_API_CALL input_type(const OrtCustomOp *op, size_t i) {
  (void)op;
  static const ONNXTensorElementDataType types[INPUTS] = {
      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8};
  return types[i];
}

static ONNXTensorElementDataType ORT_API_CALL output_type(const OrtCustomOp *op, size_t i) {
  (void)op;
  return i == OUT_STATS || i == OUT_TOP_LOGP ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL input_kind(const OrtCustomOp *op, size_t i) {
  (void)op;
  return i >= IN_GUMBEL ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL output_kind(const OrtCustomOp *op, size_t i) {
  (void)op;
  return i >= OUT_TOP_IDS ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

static OrtMemType ORT_API_CALL memory(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, OrtMemTypeDefault; }

static const OrtCustomOp head_op = {
    .version = ORT_API_VERSION,
    .GetName = name,
    .GetExecutionProviderType = provider,
    .GetInputType = input_type,
    .GetInputTypeCount = inputs,
    .GetOutputType = output_type,
    .GetOutputTypeCount = outputs,
    .KernelDestroy = destroy,
    .GetInputCharacteristic = input_kind,
    .GetOutputCharacteristic = output_kind,
    .GetInputMemoryType = memory,
    .CreateKernelV2 = create,
    .KernelComputeV2 = compute,
};

OrtStatus *mdm_register(const OrtApi *api, OrtSessionOptions *options) {
  static OrtCustomOpDomain *domain;  // lives as long as the process: sessions point to it
  if (!domain) {
    OrtCustomOpDomain *d;
    TRY(api->CreateCustomOpDomain("mdm", &d));
    OrtStatus *status = api->CustomOpDomain_Add(d, &head_op);
    if (status) {
      api->ReleaseCustomOpDomain(d);
      return status;
    }
    domain = d;
  }
  return api->AddCustomOpDomain(options, domain);
}
