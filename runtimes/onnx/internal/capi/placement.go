package capi

/*
#include "onnxruntime_c_api.h"

static OrtStatus *placed(const OrtApi *a, const OrtSession *s, const OrtEpAssignedSubgraph *const **parts, size_t *n) {
	return a->Session_GetEpGraphAssignmentInfo(s, parts, n);
}
static OrtStatus *placed_on(const OrtApi *a, const OrtEpAssignedSubgraph *p, const char **name) { return a->EpAssignedSubgraph_GetEpName(p, name); }
static OrtStatus *placed_nodes(const OrtApi *a, const OrtEpAssignedSubgraph *p, const OrtEpAssignedNode *const **nodes, size_t *n) {
	return a->EpAssignedSubgraph_GetNodes(p, nodes, n);
}
static OrtStatus *node_op(const OrtApi *a, const OrtEpAssignedNode *n, const char **op) { return a->EpAssignedNode_GetOperatorType(n, op); }
static OrtStatus *node_name(const OrtApi *a, const OrtEpAssignedNode *n, const char **name) { return a->EpAssignedNode_GetName(n, name); }
*/
import "C"

import "unsafe"

// Node is one operator of a session's graph, and the provider that runs it.
type Node struct{ Provider, Op, Name string }

// Placement tells which provider runs which operator of an OrtSession, which was made with session.record_ep_graph_assignment_info.
func (l *Library) Placement(session unsafe.Pointer) ([]Node, error) {
	var parts **C.OrtEpAssignedSubgraph
	var n C.size_t
	if err := l.status(C.placed(l.api, (*C.OrtSession)(session), (***C.OrtEpAssignedSubgraph)(unsafe.Pointer(&parts)), &n)); err != nil {
		return nil, err
	}
	var out []Node
	for _, part := range unsafe.Slice(parts, int(n)) {
		var provider, op, name *C.char
		if err := l.status(C.placed_on(l.api, part, &provider)); err != nil {
			return nil, err
		}
		var nodes **C.OrtEpAssignedNode
		var count C.size_t
		if err := l.status(C.placed_nodes(l.api, part, (***C.OrtEpAssignedNode)(unsafe.Pointer(&nodes)), &count)); err != nil {
			return nil, err
		}
		for _, node := range unsafe.Slice(nodes, int(count)) {
			if err := l.status(C.node_op(l.api, node, &op)); err != nil {
				return nil, err
			}
			if err := l.status(C.node_name(l.api, node, &name)); err != nil {
				return nil, err
			}
			out = append(out, Node{C.GoString(provider), C.GoString(op), C.GoString(name)})
		}
	}
	return out, nil
}
