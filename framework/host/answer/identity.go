package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/shard"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// identify hashes the models and the plugins where that is asked for: in details, in traces, and to resume.
func (j *job) identify() (err error) {
	if j.cfg.Out != "" || j.cfg.Details || j.cfg.Trace != "" {
		j.digests, err = j.host.Digests()
	}
	return err
}

// digest tells inputs apart: it covers the tokens of every row of the run.
func (j *job) digest() string {
	hash := sha256.New()
	for _, r := range j.rows {
		_ = binary.Write(hash, binary.LittleEndian, int64(len(r.Tokens))) // a hash takes everything
		_ = binary.Write(hash, binary.LittleEndian, r.Tokens)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// part leaves the rows of the configuration's shard.
func (j *job) part() (err error) {
	if j.cfg.Out != "" { // only files of answers are held against their input
		j.input = j.digest()
	}
	if j.shard, err = shard.Parse(j.cfg.Shard); err != nil || j.shard.Whole() {
		return err
	}
	j.rows = slices.DeleteFunc(slices.Clone(j.rows), func(r sampling.Request) bool { return !j.shard.Holds(r.Index) })
	return nil
}
