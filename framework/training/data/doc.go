// Package data turns files into rows of token ids for training masked diffusion models.
//
// A [Spec] (the section data of a configuration) says where the data is and how rows are made of it. [Open] reads it into
// memory; [Prepare] writes the same as shards, which Open then maps. Either way the result is [Data]: a training [Dataset]
// and a validation one, with random access, and the tokenizer. A [Loader] puts rows into a [Batch] in an order that is a
// function of the seed and of one integer, the number of rows consumed so far, so that a run resumes with nothing else.
package data
