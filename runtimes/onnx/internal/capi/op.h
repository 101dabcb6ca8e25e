#pragma once
#include "onnxruntime_c_api.h"

// mdm_register adds the operators of domain mdm to session options. Not for two threads at once.
OrtStatus *mdm_register(const OrtApi *api, OrtSessionOptions *options);

// mdm_register_kernels adds the training kernels of domain mdm. Not for two threads at once, and not beside mdm_register.
OrtStatus *mdm_register_kernels(const OrtApi *api, OrtSessionOptions *options);
