#pragma once
#include <pthread.h>

#include "onnxruntime_c_api.h"

enum { MDM_IDLE, MDM_BUSY, MDM_QUIT };

// A thread that runs one session, so that no thread of the Go scheduler is busy with it.
typedef struct {
  const OrtApi *api;
  OrtSession *session;
  pthread_t thread;
  pthread_mutex_t mu;
  pthread_cond_t changed;
  int state;
  int done;  // the end of a pipe that gets a byte after each run
  char **in_names, **out_names;
  size_t ins, outs;
  OrtValue **in, **out;
  const OrtRunOptions *options;
  OrtStatus *status;  // of the last run
} mdm_worker;

// mdm_worker_new takes the arrays over. It returns NULL without memory or threads.
mdm_worker *mdm_worker_new(const OrtApi *api, OrtSession *session, int done, char **in_names, size_t ins, char **out_names, size_t outs);
// mdm_worker_start begins a run of the values, whose pointers are copied. The run before it must be over.
void mdm_worker_start(mdm_worker *w, const OrtRunOptions *options, void *const *in, void *const *out);
// mdm_worker_free ends the thread; no run may be on its way.
void mdm_worker_free(mdm_worker *w);
