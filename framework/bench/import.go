package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// The shape of the model that is imported: LLaDA's layers, 99 million parameters.
const (
	lladaVocabulary = 32000
	lladaWidth      = 768
	lladaMLP        = 2048
	lladaLayers     = 7
)

// imports measures what importing takes: the most memory that the process has at once, by the weights' bytes, and its time.
func (b bench) imports(ctx context.Context) (err error) {
	work, err := os.MkdirTemp("", "mdmhost-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for _, d := range []safetensors.DType{safetensors.F32, safetensors.BF16} {
		name := "import_peak_memory"
		if d != safetensors.F32 {
			name += "_" + strings.ToLower(string(d))
		}
		source := filepath.Join(work, string(d))
		weights, err := writeLLaDA(source, d)
		if err != nil {
			return err
		}
		used, err := watchImport(ctx, b.binary, source, source+"-out")
		if err != nil {
			return err
		}
		fmt.Printf("# import of a LLaDA of 99 million parameters, %s: %.2f s, weights %.0f MiB; at most %.0f MiB in memory, of which up to %.0f MiB mapped files and %.0f MiB the process's own\n",
			d, used.took.Seconds(), mib(weights), mib(used.peak), mib(used.mapped), mib(used.own))
		fmt.Printf("ratio %s %.3f target <=1.3\n", name, float64(used.peak)/float64(weights))
		if err := os.RemoveAll(source + "-out"); err != nil {
			return err
		}
	}
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// memory is what a process needed.
type memory struct {
	peak        int64 // bytes, by its own account
	mapped, own int64 // the most of each that was seen
	took        time.Duration
}

// watchImport imports in a process of its own.
func watchImport(ctx context.Context, binary, source, out string) (m memory, err error) {
	var said bytes.Buffer
	c := exec.CommandContext(ctx, binary, "import", "--json", source, out)
	c.Stdout, c.Stderr = &said, os.Stderr
	start := time.Now()
	if err := c.Start(); err != nil {
		return m, err
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	for {
		select {
		case err := <-done:
			m.took = time.Since(start)
			var summary importer.Summary
			if err == nil {
				err = json.Unmarshal(said.Bytes(), &summary)
			}
			m.peak = summary.PeakMemory
			return m, err
		case <-time.After(2 * time.Millisecond):
			mapped, own := residentParts(c.Process.Pid)
			m.mapped, m.own = max(m.mapped, mapped), max(m.own, own)
		}
	}
}

// residentParts is the memory of a process that mapped files take, and that it has for itself, in bytes.
func residentParts(pid int) (mapped, own int64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	defer f.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if _, err := fmt.Sscanf(lines.Text(), "RssFile: %d kB", &kib); err == nil {
			mapped = kib << 10
		} else if _, err := fmt.Sscanf(lines.Text(), "RssAnon: %d kB", &kib); err == nil {
			own = kib << 10
		}
	}
	return mapped, own
}

// writeLLaDA writes a model with LLaDA's names and random weights, and returns their bytes. Tensors are parts of the same numbers.
func writeLLaDA(dir string, d safetensors.DType) (int64, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make([]float32, lladaVocabulary*lladaWidth)
	for i := range numbers {
		numbers[i] = 0.02 * float32(random.NormFloat64())
	}
	all, err := safetensors.Of("", []int64{int64(len(numbers))}, numbers).To(d)
	if err != nil {
		return 0, err
	}
	var tensors []safetensors.Tensor
	size := int64(0)
	add := func(name string, shape ...int64) {
		t := safetensors.Tensor{Name: "model.transformer." + name + ".weight", DType: d, Shape: shape}
		t.Data = all.Data[:t.Len()*d.Size()]
		tensors, size = append(tensors, t), size+int64(len(t.Data))
	}
	add("wte", lladaVocabulary, lladaWidth)
	for i := range lladaLayers {
		block := fmt.Sprintf("blocks.%d.", i)
		add(block+"attn_norm", lladaWidth)
		add(block+"ff_norm", lladaWidth)
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "attn_out"} {
			add(block+name, lladaWidth, lladaWidth)
		}
		add(block+"ff_proj", lladaMLP, lladaWidth)
		add(block+"up_proj", lladaMLP, lladaWidth)
		add(block+"ff_out", lladaWidth, lladaMLP)
	}
	add("ln_f", lladaWidth)
	add("ff_out", lladaVocabulary, lladaWidth)
	config, err := json.Marshal(map[string]any{"model_type": "llada", "d_model": lladaWidth, "n_heads": 12, "n_layers": lladaLayers, "mlp_hidden_size": lladaMLP,
		"vocab_size": lladaVocabulary, "embedding_size": lladaVocabulary, "max_sequence_length": 4096, "rope": true, "rope_theta": 500000.0, "activation_type": "silu",
		"block_type": "llama", "layer_norm_type": "rms", "weight_tying": false, "mask_token_id": lladaVocabulary - 1, "pad_token_id": lladaVocabulary - 2, "eos_token_id": lladaVocabulary - 2})
	if err != nil {
		return 0, err
	}
	words := tokenizer.NewCharacters()
	if err := words.Add("abcdefghijklmnopqrstuvwxyz .,"); err != nil {
		return 0, err
	}
	tokens, err := words.File(false, false)
	if err != nil {
		return 0, err
	}
	return size, errors.Join(safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), tensors, map[string]string{"format": "pt"}),
		os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644), os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokens, 0o644))
}
