// The custom operators of domain mdm for training: what they take and give, and how their work is cut up.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad.h"
#include "op.h"

#define TRY(call)                    \
  do {                               \
    OrtStatus *status_ = (call);     \
    if (status_) return status_;     \
  } while (0)

enum { ELEMENTS = 8192, ROW_ELEMENTS = 16384, SUMMED_PARTS = 256, COLUMNS = 256 };  // of a part

// An operator. A letter for each input and output says what it is: n the whole tensor, of which the first fixes shape, rows
// and width (its last dimension); w a row; r one number a row; t the same as int64 targets; b one number or the whole; 4 four.
typedef struct {
  OrtCustomOp op;  // first, so that the runtime's pointer is ours
  const char *name, *inputs, *outputs;
  size_t part;           // place in mdm_parts
  int by_rows;
  const OrtApi *api;
} mdm_op;

typedef struct {
  const mdm_op *op;
  const OrtApi *api;
  mdm_part *part;
  mdm_job job;  // with the attributes
} kernel_t;

static OrtStatus *wrong(const kernel_t *k, const char *format, size_t i, int64_t a, int64_t b) {
  char detail[128], text[192];
  snprintf(detail, sizeof detail, format, i, (long long)a, (long long)b);
  snprintf(text, sizeof text, "mdm.%s: %s", k->op->name, detail);
  return k->api->CreateStatus(ORT_INVALID_ARGUMENT, text);
}

// A tensor that came in.
typedef struct {
  void *data;
  int64_t dims[8];
  size_t rank;
  int64_t count;
} tensor_t;

static OrtStatus *input(const kernel_t *k, OrtKernelContext *ctx, size_t i, tensor_t *t) {
  const OrtApi *api = k->api;
  const OrtValue *v = NULL;
  OrtTensorTypeAndShapeInfo *info;
  TRY(api->KernelContext_GetInput(ctx, i, &v));
  TRY(api->GetTensorMutableData((OrtValue *)v, &t->data));
  TRY(api->GetTensorTypeAndShape(v, &info));
  OrtStatus *status = api->GetDimensionsCount(info, &t->rank);
  if (!status && t->rank <= 8) status = api->GetDimensions(info, t->dims, t->rank);
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (status) return status;
  if (t->rank > 8) return wrong(k, "input %zu has %lld dimensions, expected at most 8", i, t->rank, 0);
  t->count = 1;
  for (size_t d = 0; d < t->rank; d++) t->count *= t->dims[d];
  return NULL;
}

static OrtStatus *output(const kernel_t *k, OrtKernelContext *ctx, size_t i, const tensor_t *like, float **data) {
  const OrtApi *api = k->api;
  OrtValue *v = NULL;
  TRY(api->KernelContext_GetOutput(ctx, i, like->dims, like->rank, &v));
  return api->GetTensorMutableData(v, (void **)data);
}

// read fills the job in from the inputs and checks that they fit; like[letter] gets the first input of each letter.
static OrtStatus *read(const kernel_t *k, OrtKernelContext *ctx, mdm_job *j, tensor_t *like) {
  const char *letters = k->op->inputs;
  const size_t inputs = strlen(letters), whole = strchr(letters, 'n') - letters;
  tensor_t t[8] = {0};
  for (size_t i = 0; i < inputs; i++) TRY(input(k, ctx, i, &t[i]));
  const int64_t all = t[whole].count, last = t[whole].rank ? t[whole].dims[t[whole].rank - 1] : 1, rows = last ? all / last : 0;
  size_t floats = 0;
  for (size_t i = 0; i < inputs; i++) {
    const int64_t n = t[i].count;
    const char c = letters[i];
    if (c != 't') j->in[floats++] = t[i].data;
    const int64_t want = c == 'n' || (c == 'b' && n != 1) ? all : c == 'w' ? last : c == '4' ? 4 : c == 'b' ? 1 : rows;
    if (n != want) return wrong(k, "input %zu has %lld elements, expected %lld", i, n, want);
    if (c == 'n' && (t[i].rank != t[whole].rank || memcmp(t[i].dims, t[whole].dims, sizeof t[i].dims))) {
      return wrong(k, "input %zu has another shape than input %lld, and %lld elements like it; reshape one", i, whole, n);
    }
    if (i == whole || !like[(int)c].rank) like[(int)c] = t[i];
    if (c != 't') continue;
    j->targets = t[i].data;
    for (int64_t r = 0; r < rows; r++) {
      if (j->targets[r] < 0 || j->targets[r] >= last) return wrong(k, "input %zu holds target %lld, expected 0 to %lld", i, j->targets[r], last - 1);
    }
  }
  j->n = k->op->by_rows ? rows : all;
  j->width = last;
  if (!strcmp(k->op->name, "AdamW")) {
    j->decays = t[4].count == all;
    j->rates = t[5].count == all;
  }
  return NULL;
}

typedef struct {
  const mdm_job *job;
  mdm_part *part;
  int64_t size;  // of a part
} work_t;

static void do_part(void *p, size_t i) {
  const work_t *w = p;
  const int64_t lo = i * w->size, hi = lo + w->size;
  w->part(w->job, lo, hi < w->job->n ? hi : w->job->n, i);
}

static void do_columns(void *p, size_t i) {
  const work_t *w = p;
  const int64_t lo = i * COLUMNS, hi = lo + COLUMNS;
  mdm_columns(w->job, lo, hi < w->job->width ? hi : w->job->width);
}

// share has the threads do n pieces of work, or this one if there is only one.
static OrtStatus *share(const kernel_t *k, OrtKernelContext *ctx, void (*piece)(void *, size_t), size_t n, work_t *w) {
  if (n > 1) return k->api->KernelContext_ParallelFor(ctx, piece, n, 0, w);
  if (n) piece(w, 0);
  return NULL;
}

static OrtStatus *ORT_API_CALL compute(void *p, OrtKernelContext *ctx) {
  const kernel_t *k = p;
  mdm_job j = k->job;
  tensor_t like[128] = {0};
  TRY(read(k, ctx, &j, like));
  for (size_t i = 0; k->op->outputs[i]; i++) {
    TRY(output(k, ctx, i, &like[(int)k->op->outputs[i]], &j.out[i]));
    j.columns += k->op->outputs[i] == 'w';
  }
  work_t w = {&j, k->part, ELEMENTS};
  if (k->op->by_rows) {
    w.size = j.width && j.width < ROW_ELEMENTS ? ROW_ELEMENTS / j.width : 1;
    if (j.columns && j.n > w.size * SUMMED_PARTS) w.size = (j.n + SUMMED_PARTS - 1) / SUMMED_PARTS;
  }
  j.parts = (j.n + w.size - 1) / w.size;
  if (j.columns) {
    j.sums = malloc(j.parts * j.columns * j.width * sizeof(float) + 1);
    if (!j.sums) return k->api->CreateStatus(ORT_FAIL, "mdm: out of memory");
  }
  OrtStatus *status = share(k, ctx, do_part, j.parts, &w);
  if (!status && j.columns) status = share(k, ctx, do_columns, (j.width + COLUMNS - 1) / COLUMNS, &w);
  free(j.sums);
  return status;
}

static void ORT_API_CALL destroy(void *p) { free(p); }

// attribute returns a float attribute, or what the function of the same name takes without it.
static float attribute(const OrtApi *api, const OrtKernelInfo *info, const char *name, float otherwise) {
  OrtStatus *status = api->KernelInfoGetAttribute_float(info, name, &otherwise);
  if (status) api->ReleaseStatus(status);
  return otherwise;
}

static OrtStatus *ORT_API_CALL create(const OrtCustomOp *p, const OrtApi *api, const OrtKernelInfo *info, void **out) {
  const mdm_op *op = (const mdm_op *)p;
  kernel_t *k = calloc(1, sizeof *k);
  if (!k) return api->CreateStatus(ORT_FAIL, "mdm: out of memory");
  k->op = op;
  k->api = api;
  memcpy(&k->part, (const char *)mdm_parts_here() + op->part, sizeof k->part);
  if (!strcmp(op->name, "AdamW")) {
    mdm_job *j = &k->job;
    j->rest1 = attribute(api, info, "rest1", 0.1f);
    j->rest2 = attribute(api, info, "rest2", 0.001f);
    j->epsilon = attribute(api, info, "epsilon", 1e-8f);
  }
  *out = k;
  return NULL;
}

// infer gives the outputs their shapes, so that the runtime can optimise what follows.
static OrtStatus *ORT_API_CALL infer(const OrtCustomOp *p, OrtShapeInferContext *ctx) {
  const mdm_op *op = (const mdm_op *)p;
  const OrtApi *api = op->api;
  size_t given;
  TRY(api->ShapeInferContext_GetInputCount(ctx, &given));
  for (size_t i = 0; op->outputs[i]; i++) {
    const size_t from = strchr(op->inputs, op->outputs[i]) - op->inputs;
    OrtTensorTypeAndShapeInfo *like, *shape = NULL;
    if (from >= given) return NULL;
    TRY(api->ShapeInferContext_GetInputTypeShape(ctx, from, &like));
    int64_t dims[8];
    const char *names[8];
    size_t rank;
    TRY(api->GetDimensionsCount(like, &rank));
    if (rank == 0 || rank > 8) continue;  // the runtime says 0 for unknown shapes, too
    TRY(api->GetDimensions(like, dims, rank));
    TRY(api->GetSymbolicDimensions(like, names, rank));
    int open = 0;  // a size that is unknown and has no name cannot be handed on
    for (size_t d = 0; d < rank; d++) open |= dims[d] < 0 && (!names[d] || !names[d][0]);
    if (open) continue;
    TRY(api->CreateTensorTypeAndShapeInfo(&shape));
    OrtStatus *status = api->SetTensorElementType(shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    if (!status) status = api->SetDimensions(shape, dims, rank);
    if (!status) status = api->SetSymbolicDimensions(shape, names, rank);
    if (!status) status = api->ShapeInferContext_SetOutputTypeShape(ctx, i, shape);
    api->ReleaseTensorTypeAndShapeInfo(shape);
    if (status) return status;
  }
  return NULL;
}

static const char *ORT_API_CALL name(const OrtCustomOp *op) { return ((const mdm_op *)op)->name; }
static const char *ORT_API_CALL provider(const OrtCustomOp *op) { return (void)op, "CPUExecutionProvider"; }
static size_t ORT_API_CALL inputs(const OrtCustomOp *op) { return strlen(((const mdm_op *)op)->inputs); }
static size_t ORT_API_CALL outputs(const OrtCustomOp *op) { return strlen(((const mdm_op *)op)->outputs); }
static OrtMemType ORT_API_CALL memory(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, OrtMemTypeDefault; }

static ONNXTensorElementDataType ORT_API_CALL input_type(const OrtCustomOp *op, size_t i) {
  return ((const mdm_op *)op)->inputs[i] == 't' ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static ONNXTensorElementDataType ORT_API_CALL output_type(const OrtCustomOp *op, size_t i) { return (void)op, (void)i, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL required(const OrtCustomOp *op, size_t i) {
  return (void)op, (void)i, INPUT_OUTPUT_REQUIRED;
}

// The first output may take the memory of input 0, or of input 1.
static size_t reuse(int from, int **in, int **out) {
  *in = malloc(sizeof **in);
  *out = malloc(sizeof **out);
  if (!*in || !*out) return 0;
  **in = from;
  **out = 0;
  return 1;
}
static size_t ORT_API_CALL reuse_first(int **in, int **out) { return reuse(0, in, out); }
static size_t ORT_API_CALL reuse_second(int **in, int **out) { return reuse(1, in, out); }
static void ORT_API_CALL reused(int *in, int *out) {
  free(in);
  free(out);
}

#define OP(Name, In, Out, Part, Rows, Reuse)                                                                    \
  {.op = {.version = ORT_API_VERSION, .GetName = name, .GetExecutionProviderType = provider, .GetInputType = input_type,       \
          .GetInputTypeCount = inputs, .GetOutputType = output_type, .GetOutputTypeCount = outputs, .KernelDestroy = destroy,  \
          .GetInputCharacteristic = required, .GetOutputCharacteristic = required, .GetInputMemoryType = memory,          \
          .CreateKernelV2 = create, .KernelComputeV2 = compute, .InferOutputShapeFn = infer, .GetMayInplace = Reuse,           \
          .ReleaseMayInplace = reused},                                                                                        \
   .name = Name, .inputs = In, .outputs = Out, .part = offsetof(mdm_parts, Part), .by_rows = Rows}

static mdm_op ops[] = {
    OP("GeluGrad", "nn", "n", gelu_grad, 0, reuse_first),                     // dY, X -> dX
    OP("Silu", "n", "n", silu, 0, reuse_first),                               // X -> Y
    OP("SiluGrad", "nn", "n", silu_grad, 0, reuse_first),                     // dY, X -> dX
    OP("SwiGLU", "nn", "n", swiglu, 0, reuse_first),                          // U, V -> silu(U) V
    OP("SwiGLUGrad", "nnn", "nn", swiglu_grad, 0, reuse_first),               // dY, U, V -> dU, dV
    OP("SoftmaxGrad", "nn", "n", softmax_grad, 1, reuse_first),               // dY, Y -> dX
    OP("LayerNormGrad", "nnwrr", "nww", layer_norm_grad, 1, reuse_first),     // dY, X, gamma, mean, inv -> dX, dgamma, dbeta
    OP("RMSNormGrad", "nnwr", "nw", rms_norm_grad, 1, reuse_first),           // dY, X, gamma, inv -> dX, dgamma
    OP("CrossEntropy", "nt", "tt", cross_entropy, 1, NULL),                   // logits, targets -> nll, lse
    OP("CrossEntropyGrad", "rntr", "n", cross_entropy_grad, 1, reuse_second), // dnll, logits, targets, lse -> dlogits
    OP("AdamW", "nnnnbb4", "nnn", adamw, 0, NULL),                             // params, grads, m, v, decay, rate, scalars -> params', m', v'
};

OrtStatus *mdm_register_kernels(const OrtApi *api, OrtSessionOptions *options) {
  static OrtCustomOpDomain *domain;  // lives as long as the process: sessions point to it
  if (!domain) {
    OrtCustomOpDomain *d;
    TRY(api->CreateCustomOpDomain("mdm", &d));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
      ops[i].api = api;
      OrtStatus *status = api->CustomOpDomain_Add(d, &ops[i].op);
      if (status) {
        api->ReleaseCustomOpDomain(d);
        return status;
      }
    }
    domain = d;
  }
  return api->AddCustomOpDomain(options, domain);
}
