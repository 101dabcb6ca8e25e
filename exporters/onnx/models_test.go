package onnx_test

// models are the embedded denoisers.
var models = []string{"molecule", "sudoku", "text", "molecule-insertion", "stars", "rxnmapper-albert"}
