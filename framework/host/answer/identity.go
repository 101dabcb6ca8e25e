package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// identify hashes the models and the plugins where that is asked for: in details, and to resume.
func (j *job) identify() error {
	if j.cfg.Out == "" && !j.cfg.Details {
		return nil
	}
	var err error
	j.digests = map[string]string{}
	if j.digests["model"], err = j.host.Model().Digest(); err != nil {
		return err
	}
	if m := j.host.Network(); m != nil {
		if j.digests["planner network"], err = m.Digest(); err != nil {
			return err
		}
	}
	if j.digests["planner"], err = j.host.PlannerDigest(); err != nil {
		return fmt.Errorf("planner %s: %w", j.cfg.Planner.Name, err)
	}
	if j.digests["sampler"], err = j.host.SamplerDigest(); err != nil {
		return fmt.Errorf("sampler %s: %w", j.cfg.Sampler.Name, err)
	}
	return nil
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
