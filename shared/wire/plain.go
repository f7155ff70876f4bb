package wire

import "encoding/binary"

// plain is a body that can write itself, byte for byte as the msgpack encoder does: of
// the messages of every job and heartbeat, which cost the encoder's reflection most.
// False: what is in it is not usual, and the encoder's work; nothing was appended.
type plain interface {
	appendPlain(b []byte) (out []byte, ok bool)
}

func (m Offer) appendPlain(b []byte) ([]byte, bool) {
	if len(m.Payload.Inputs)+len(m.Demands.Resources)+len(m.Demands.Memory) > 0 || len(m.Payload.Params) > maxFixed {
		return b, false
	}
	keys := 8
	if m.Backend != "" {
		keys++
	}
	b = appendAttempt(b, keys, m.Job, m.Attempt)
	b = appendText(appendText(b, "app"), m.App)
	b = appendText(appendText(b, "runner"), m.Runner)
	if m.Backend != "" {
		b = appendText(appendText(b, "backend"), m.Backend)
	}
	b = appendParams(appendText(b, "payload"), m.Payload.Params)
	b = appendInteger(appendText(appendKeys(appendText(b, "demands"), 1), "slots"), m.Demands.Slots)
	if b = appendText(b, "limits"); m.Limits.RunMs == 0 {
		b = appendKeys(b, 0)
	} else {
		b = appendInteger(appendText(appendKeys(b, 1), "run_ms"), m.Limits.RunMs)
	}
	return appendInteger(appendText(b, "deadline_ms"), m.DeadlineMs), true
}

func appendParams(b []byte, params []Pair) []byte {
	if len(params) == 0 {
		return appendKeys(b, 0)
	}
	b = appendText(appendKeys(b, 1), "params")
	b = append(b, 0x90|byte(len(params)))
	for _, p := range params {
		b = appendText(appendText(appendKeys(b, 2), "n"), p.Name)
		b = appendText(appendText(b, "v"), p.Value)
	}
	return b
}

func (m Accept) appendPlain(b []byte) ([]byte, bool) {
	return appendAttempt(b, 2, m.Job, m.Attempt), true
}

func (m Start) appendPlain(b []byte) ([]byte, bool) {
	return appendAttempt(b, 2, m.Job, m.Attempt), true
}

func (m ResultAck) appendPlain(b []byte) ([]byte, bool) {
	b = appendAttempt(b, 3, m.Job, m.Attempt)
	return appendText(appendText(b, "verdict"), string(m.Verdict)), true
}

func (m HeartbeatAck) appendPlain(b []byte) ([]byte, bool) {
	if len(m.Holds)+len(m.Cancel)+len(m.Void) > 0 || m.Reconnect != nil {
		return b, false
	}
	b = appendText(appendKeys(b, 2), "ok")
	if m.OK {
		b = append(b, 0xc3)
	} else {
		b = append(b, 0xc2)
	}
	return appendInteger(appendText(b, "lease_ms"), m.LeaseMs), true
}

// appendAttempt appends the head of a map with so many keys, and the first two.
func appendAttempt(b []byte, keys int, job string, attempt int64) []byte {
	b = appendText(appendText(appendKeys(b, keys), "job"), job)
	return appendInteger(appendText(b, "attempt"), attempt)
}

// maxFixed is the most entries of a map or list whose head is one byte.
const maxFixed = 15

// appendKeys appends the head of a map, of at most maxFixed keys.
func appendKeys(b []byte, n int) []byte { return append(b, 0x80|byte(n)) }

// appendText appends a string under its shortest head.
func appendText(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 1<<5:
		b = append(b, 0xa0|byte(n))
	case n < 1<<8:
		b = append(b, 0xd9, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

// appendInteger appends an integer in its shortest form.
func appendInteger(b []byte, n int64) []byte {
	switch {
	case n >= -1<<5 && n < 1<<7:
		return append(b, byte(n))
	case n >= 0 && n < 1<<8:
		return append(b, 0xcc, byte(n))
	case n >= 0 && n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n >= 0 && n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	case n >= 0:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), uint64(n))
	case n >= -1<<7:
		return append(b, 0xd0, byte(n))
	case n >= -1<<15:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(n))
	case n >= -1<<31:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
}
