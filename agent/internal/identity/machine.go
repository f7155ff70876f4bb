package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Machine names the hardware, to recognise copies of a state directory. It never
// authorises anything.
type Machine struct {
	ID      string   // SHA-256 in hex; empty when nothing could be read
	From    []string // what it was made of
	Missing []string // what could not be read and was left out
}

// mark is one thing that names a machine.
type mark struct {
	name  string
	value string // empty: not readable
}

// ThisMachine reads what names the machine that holds the state directory.
func ThisMachine(stateDir string) Machine { return machineOf(marks(stateDir)) }

func machineOf(all []mark) Machine {
	var m Machine
	sum := sha256.New()
	for _, k := range all {
		value := strings.TrimSpace(k.value)
		if value == "" {
			m.Missing = append(m.Missing, k.name)
			continue
		}
		m.From = append(m.From, k.name)
		_, _ = sum.Write([]byte(k.name + "=" + value + "\n")) // a hash takes everything
	}
	if len(m.From) > 0 {
		m.ID = hex.EncodeToString(sum.Sum(nil))
	}
	return m
}
