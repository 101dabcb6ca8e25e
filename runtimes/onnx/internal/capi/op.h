#pragma once
#include "onnxruntime_c_api.h"

// mdm_register adds the operators of domain mdm to session options. Not for two threads at once.
OrtStatus *mdm_register(const OrtApi *api, OrtSessionOptions *options);
