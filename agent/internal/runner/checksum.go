package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rockpool/shared/wire"
)

// checksum is the built-in runner that digests its one input.
type checksum struct{}

// checksumInput is what its input is called.
const checksumInput = "file"

// check implements task.
func (checksum) check(p wire.Payload) error {
	if len(p.Params) > 0 {
		return fmt.Errorf("parameter %s is not declared by runner checksum", p.Params[0].Name)
	}
	return checkInputs([]string{checksumInput}, p.Inputs)
}

// run implements task.
func (checksum) run(a *attempt, r *wire.Result) error {
	a.ran = true
	f, err := os.Open(filepath.Join(a.inDir(), checksumInput))
	if err != nil {
		return failed(causeInputFailed, err.Error())
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, untilDone{a.ctx, f})
	if a.ctx.Err() != nil {
		return errStopped
	}
	if err != nil {
		return failed(causeInputFailed, err.Error())
	}
	r.Output, err = json.Marshal(struct {
		SHA256 string `json:"sha256"`
		Bytes  int64  `json:"bytes"`
	}{hex.EncodeToString(sum.Sum(nil)), n})
	return err
}

// untilDone reads until the context ends.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}
