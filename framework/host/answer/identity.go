package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// identify hashes the models and the plugins where that is asked for: in details, in traces, and to resume.
func (j *job) identify() (err error) {
	if j.cfg.Out != "" || j.cfg.Details || j.cfg.Trace != "" {
		j.digests, err = j.host.Digests()
	}
	return err
}

// digest tells inputs apart: it covers the tokens of every row.
func (j *job) digest() string {
	hash := sha256.New()
	for _, r := range j.rows {
		_ = binary.Write(hash, binary.LittleEndian, int64(len(r.Tokens))) // a hash takes everything
		_ = binary.Write(hash, binary.LittleEndian, r.Tokens)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
