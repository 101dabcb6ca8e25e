// What the runtime calls of OpenVINO's C API (libopenvino_c, releases from 2026.0), found by name when the library is loaded.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct ov_core ov_core;
typedef struct ov_model ov_model;
typedef struct ov_compiled ov_compiled;
typedef struct ov_request ov_request;
typedef struct ov_tensor ov_tensor;

typedef struct { const char *build, *description; } ov_version;
typedef struct { char **names; size_t count; } ov_devices;
typedef struct { const char *key; const void *value; } ov_property;
typedef struct { int64_t rank; int64_t *dims; } ov_shape;
typedef struct { void (*call)(void *); void *with; } ov_callback;

enum { OV_OK = 0, OV_CANCELLED = -13 };
enum { OV_F32 = 4, OV_F64 = 5, OV_I32 = 9, OV_I64 = 10, OV_U8 = 16 };

// The API: result, name, parameters. Functions of result int return a status.
#define OV_API(F) \
  F(int, ov_get_openvino_version, (ov_version *)) \
  F(void, ov_version_free, (ov_version *)) \
  F(const char *, ov_get_error_info, (int status)) \
  F(const char *, ov_get_last_err_msg, (void)) \
  F(void, ov_free, (const char *)) \
  F(int, ov_core_create, (ov_core **)) \
  F(void, ov_core_free, (ov_core *)) \
  F(int, ov_core_get_available_devices, (const ov_core *, ov_devices *)) \
  F(void, ov_available_devices_free, (ov_devices *)) \
  F(int, ov_core_get_property, (const ov_core *, const char *device, const char *key, char **value)) \
  F(int, ov_core_read_model, (const ov_core *, const char *path, const char *weights, ov_model **)) \
  F(int, ov_core_read_model_from_memory_buffer, (const ov_core *, const char *, size_t, const ov_tensor *weights, ov_model **)) \
  F(void, ov_model_free, (ov_model *)) \
  F(int, ov_core_compile_model_props, (const ov_core *, const ov_model *, const char *device, size_t, const ov_property *, ov_compiled **)) \
  F(void, ov_compiled_model_free, (ov_compiled *)) \
  F(int, ov_compiled_model_create_infer_request, (const ov_compiled *, ov_request **)) \
  F(void, ov_infer_request_free, (ov_request *)) \
  F(int, ov_tensor_create_from_host_ptr, (int type, ov_shape, void *data, ov_tensor **)) \
  F(void, ov_tensor_free, (ov_tensor *)) \
  F(int, ov_infer_request_set_tensor, (ov_request *, const char *name, const ov_tensor *)) \
  F(int, ov_infer_request_set_callback, (ov_request *, const ov_callback *)) \
  F(int, ov_infer_request_start_async, (ov_request *)) \
  F(int, ov_infer_request_wait, (ov_request *)) \
  F(int, ov_infer_request_cancel, (ov_request *))

#define OV_MEMBER(result, name, parameters) result (*name) parameters;
typedef struct { OV_API(OV_MEMBER) } ov_api;

// mdm_ov_load finds every function in a library from dlopen. It returns the name of the first that is missing, or NULL.
const char *mdm_ov_load(ov_api *api, void *library);
// mdm_ov_message copies what the last call of this thread that failed with status said; free it.
char *mdm_ov_message(const ov_api *api, int status);

int mdm_ov_version(const ov_api *api, ov_version *v);
void mdm_ov_version_free(const ov_api *api, ov_version *v);
int mdm_ov_core(const ov_api *api, ov_core **core);
int mdm_ov_devices(const ov_api *api, ov_core *core, ov_devices *d);
void mdm_ov_devices_free(const ov_api *api, ov_devices *d);
int mdm_ov_property(const ov_api *api, ov_core *core, const char *device, const char *key, char **value);
void mdm_ov_free(const ov_api *api, char *text);
int mdm_ov_tensor(const ov_api *api, int type, int64_t *dims, int64_t rank, void *data, ov_tensor **tensor);
void mdm_ov_tensor_free(const ov_api *api, ov_tensor *tensor);

// A model on a device, and the one request that runs it. After every run one byte goes into the pipe.
typedef struct {
  const ov_api *api;
  ov_compiled *compiled;
  ov_request *request;
  ov_callback callback;  // which the request does not copy
  int done;
} mdm_ov_session;

// mdm_ov_open reads the model from bytes, or from a file where bytes is NULL. On failure the session is for mdm_ov_close all the same.
int mdm_ov_open(mdm_ov_session *s, ov_core *core, const char *bytes, size_t size, const char *path, const char *device, const ov_property *properties, size_t count);
void mdm_ov_close(mdm_ov_session *s);
int mdm_ov_set(mdm_ov_session *s, const char *name, ov_tensor *tensor);
int mdm_ov_start(mdm_ov_session *s);
int mdm_ov_wait(mdm_ov_session *s);
void mdm_ov_cancel(mdm_ov_session *s);
