package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// newChain makes the value that a welcome brings: 32 random bytes as hex. The
// control plane keeps its SHA-256 alone.
func newChain() string {
	var bits [32]byte
	rand.Read(bits[:])
	return hex.EncodeToString(bits[:])
}

// identify puts into the event what tells the node from copies of it.
func identify(ev *core.HelloEvent, hello *wire.Hello, next string) {
	ev.Chain, ev.ChainNext, ev.LastEpoch = sumOf(hello.Chain), sumOf(next), hello.LastEpoch
	process := sha256.Sum256(append(ev.Chain[:], hello.BootID...))
	ev.Claimant = hex.EncodeToString(process[:4])
}

func sumOf(value string) fleet.Sum {
	if value == "" {
		return fleet.Sum{}
	}
	return sha256.Sum256([]byte(value))
}
