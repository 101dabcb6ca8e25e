#include "openvino.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *mdm_ov_load(ov_api *api, void *library) {
#define OV_FIND(result, name, parameters) \
  if (!(*(void **)&api->name = dlsym(library, #name))) return #name;
  OV_API(OV_FIND)
  return NULL;
}

char *mdm_ov_message(const ov_api *api, int status) {
  const char *said = api->ov_get_last_err_msg();
  char *copy = strdup(said && *said ? said : api->ov_get_error_info(status));
  if (said) api->ov_free(said);
  return copy;
}

int mdm_ov_version(const ov_api *api, ov_version *v) { return api->ov_get_openvino_version(v); }
void mdm_ov_version_free(const ov_api *api, ov_version *v) { api->ov_version_free(v); }
int mdm_ov_core(const ov_api *api, ov_core **core) { return api->ov_core_create(core); }
int mdm_ov_devices(const ov_api *api, ov_core *core, ov_devices *d) { return api->ov_core_get_available_devices(core, d); }
void mdm_ov_devices_free(const ov_api *api, ov_devices *d) { api->ov_available_devices_free(d); }
void mdm_ov_free(const ov_api *api, char *text) { api->ov_free(text); }
void mdm_ov_tensor_free(const ov_api *api, ov_tensor *tensor) { api->ov_tensor_free(tensor); }

int mdm_ov_property(const ov_api *api, ov_core *core, const char *device, const char *key, char **value) {
  return api->ov_core_get_property(core, device, key, value);
}

int mdm_ov_tensor(const ov_api *api, int type, int64_t *dims, int64_t rank, void *data, ov_tensor **tensor) {
  const ov_shape shape = {rank, dims};
  return api->ov_tensor_create_from_host_ptr(type, shape, data, tensor);
}

// finished is called on a thread of OpenVINO's.
static void finished(void *with) {
  const mdm_ov_session *s = with;
  while (write(s->done, "", 1) < 0 && errno == EINTR) {
  }
}

int mdm_ov_open(mdm_ov_session *s, ov_core *core, const char *bytes, size_t size, const char *path, const char *device, const ov_property *properties, size_t count) {
  const ov_api *api = s->api;
  s->callback = (ov_callback){finished, s};
  ov_model *model = NULL;
  int status = bytes ? api->ov_core_read_model_from_memory_buffer(core, bytes, size, NULL, &model) : api->ov_core_read_model(core, path, NULL, &model);
  if (status == OV_OK) status = api->ov_core_compile_model_props(core, model, device, count, properties, &s->compiled);
  if (model) api->ov_model_free(model);
  if (status == OV_OK) status = api->ov_compiled_model_create_infer_request(s->compiled, &s->request);
  if (status == OV_OK) status = api->ov_infer_request_set_callback(s->request, &s->callback);
  return status;
}

void mdm_ov_close(mdm_ov_session *s) {
  if (s->request) s->api->ov_infer_request_free(s->request);
  if (s->compiled) s->api->ov_compiled_model_free(s->compiled);
  close(s->done);
}

int mdm_ov_set(mdm_ov_session *s, const char *name, ov_tensor *tensor) { return s->api->ov_infer_request_set_tensor(s->request, name, tensor); }
int mdm_ov_start(mdm_ov_session *s) { return s->api->ov_infer_request_start_async(s->request); }
int mdm_ov_wait(mdm_ov_session *s) { return s->api->ov_infer_request_wait(s->request); }
void mdm_ov_cancel(mdm_ov_session *s) { s->api->ov_infer_request_cancel(s->request); }
