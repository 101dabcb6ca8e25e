// All training kernels for one instruction set, as a table. Included by grad.c.
#include "grad_vector.h"
#include "grad_elements.h"
#include "grad_rows.h"

static const mdm_parts NAME(parts) = {
    .gelu_grad = NAME(gelu_grad),
    .silu = NAME(silu),
    .silu_grad = NAME(silu_grad),
    .swiglu = NAME(swiglu),
    .swiglu_grad = NAME(swiglu_grad),
    .adamw = NAME(adamw),
    .softmax_grad = NAME(softmax_grad),
    .layer_norm_grad = NAME(layer_norm_grad),
    .rms_norm_grad = NAME(rms_norm_grad),
    .cross_entropy = NAME(cross_entropy),
    .cross_entropy_grad = NAME(cross_entropy_grad),
};

#undef VF
#undef VFU
#undef VI
#undef EACH
