#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *work(void *p) {
  mdm_worker *w = p;
  pthread_mutex_lock(&w->mu);
  for (;;) {
    while (w->state == MDM_IDLE) pthread_cond_wait(&w->changed, &w->mu);
    if (w->state == MDM_QUIT) break;
    pthread_mutex_unlock(&w->mu);
    w->status = w->api->Run(w->session, w->options, (const char *const *)w->in_names, (const OrtValue *const *)w->in, w->ins,
                            (const char *const *)w->out_names, w->outs, w->out);
    pthread_mutex_lock(&w->mu);
    w->state = MDM_IDLE;
    while (write(w->done, "", 1) < 0 && errno == EINTR) {
    }
  }
  pthread_mutex_unlock(&w->mu);
  return NULL;
}

mdm_worker *mdm_worker_new(const OrtApi *api, OrtSession *session, int done, char **in_names, size_t ins, char **out_names, size_t outs) {
  mdm_worker *w = calloc(1, sizeof *w);
  if (!w) return NULL;
  *w = (mdm_worker){.api = api, .session = session, .done = done, .in_names = in_names, .out_names = out_names, .ins = ins, .outs = outs};
  w->in = calloc(ins + 1, sizeof *w->in);
  w->out = calloc(outs + 1, sizeof *w->out);
  pthread_mutex_init(&w->mu, NULL);
  pthread_cond_init(&w->changed, NULL);
  if (!w->in || !w->out || pthread_create(&w->thread, NULL, work, w)) {
    free(w->in);
    free(w->out);
    free(w);
    return NULL;
  }
  return w;
}

void mdm_worker_start(mdm_worker *w, const OrtRunOptions *options, void *const *in, void *const *out) {
  pthread_mutex_lock(&w->mu);
  memcpy(w->in, in, w->ins * sizeof *in);
  memcpy(w->out, out, w->outs * sizeof *out);
  w->options = options;
  w->state = MDM_BUSY;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mu);
}

void mdm_worker_free(mdm_worker *w) {
  pthread_mutex_lock(&w->mu);
  w->state = MDM_QUIT;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mu);
  pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->mu);
  for (size_t i = 0; i < w->ins; i++) free(w->in_names[i]);
  for (size_t i = 0; i < w->outs; i++) free(w->out_names[i]);
  free(w->in_names);
  free(w->out_names);
  free(w->in);
  free(w->out);
  close(w->done);
  free(w);
}
