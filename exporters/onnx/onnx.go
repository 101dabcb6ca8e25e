// Package onnx exports models as ONNX files for any host: in several precisions, for any number of rows and positions or fixed ones, and
// with a statistics head for hosts that have none.
package onnx
