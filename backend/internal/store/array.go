package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"rockpool/shared/ids"
)

// array is a column of rows as a parameter: a PostgreSQL array in its binary
// form, written element by element. pgx would build the same from a Go slice
// with an allocation or a reflection for each element, and the writer sends some
// forty columns of hundreds of rows a time.
//
// Most columns of a batch of jobs say the same in each row. A terse array keeps
// the first element only, as long as all are equal, and is sent as this one at
// subscript 0, where an array of all elements has nothing: see unnested, which
// reads both.
type array struct {
	n      int32
	terse  bool
	varied bool // of a terse one: elements differ, and all of them stand in body
	nulls  bool
	open   int // where the length of the element that begin opened stands
	room   int // bytes of this column and of those behind it in the statement
	body   []byte
}

const (
	arrayHeader = 20
	nullLength  = math.MaxUint32
	// postgresEpoch is 2000-01-01, from which timestamps count, in µs since 1970.
	postgresEpoch = 946_684_800_000_000
)

// added takes note that the element from start on is complete.
func (a *array) added(start int) {
	a.n++
	switch {
	case !a.terse || a.varied || a.n == 1:
	case bytes.Equal(a.body[start:], a.body[:start]):
		a.body = a.body[:start]
	default:
		a.vary(start)
	}
}

// vary repeats the first element before the one at start, which is the first that
// differs.
func (a *array) vary(start int) {
	a.varied = true
	last := bytes.Clone(a.body[start:])
	first := a.body[:start:start]
	a.body = a.body[:start]
	for range a.n - 2 {
		a.body = append(a.body, first...)
	}
	a.body = append(a.body, last...)
}

// size begins an element of so many bytes, and gives where it stands.
func (a *array) size(n int) (start int) {
	start = len(a.body)
	a.body = binary.BigEndian.AppendUint32(a.body, uint32(n))
	return start
}

func (a *array) null() {
	a.nulls = true
	start := len(a.body)
	a.body = binary.BigEndian.AppendUint32(a.body, nullLength)
	a.added(start)
}

func (a *array) text(s string) {
	start := a.size(len(s))
	a.body = append(a.body, s...)
	a.added(start)
}

// bytes appends a text or bytea; nil is NULL.
func (a *array) bytes(b []byte) {
	if b == nil {
		a.null()
		return
	}
	start := a.size(len(b))
	a.body = append(a.body, b...)
	a.added(start)
}

// begin opens an element: the caller appends to what it returns, hands that to
// end, and the element is what was appended.
func (a *array) begin() []byte {
	a.open = a.size(0)
	return a.body
}

func (a *array) end(body []byte) {
	a.body = body
	binary.BigEndian.PutUint32(a.body[a.open:], uint32(len(a.body)-a.open-4))
	a.added(a.open)
}

func (a *array) int4(v int32) {
	start := a.size(4)
	a.body = binary.BigEndian.AppendUint32(a.body, uint32(v))
	a.added(start)
}

func (a *array) int8(v int64) {
	start := a.size(8)
	a.body = binary.BigEndian.AppendUint64(a.body, uint64(v))
	a.added(start)
}

func (a *array) bool(v bool) {
	start := a.size(1)
	if v {
		a.body = append(a.body, 1)
	} else {
		a.body = append(a.body, 0)
	}
	a.added(start)
}

func (a *array) uuid(id ids.JobID) {
	start := a.size(len(id))
	a.body = append(a.body, id[:]...)
	a.added(start)
}

func (a *array) time(t time.Time) { a.int8(t.UnixMicro() - postgresEpoch) }

// arrayCodec lets a connection take *array for an array type and, when it has one
// element, for the type of that, beside Go values.
type arrayCodec struct {
	pgtype.Codec
	element uint32 // OID; 0: the type is no array's
}

// PreferredFormat is binary also where texts prefer text.
func (arrayCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	_, ok := value.(*array)
	switch {
	case !ok || format != pgtype.BinaryFormatCode:
		return c.Codec.PlanEncode(m, oid, format, value)
	case c.element == 0:
		return elementPlan{}
	}
	return arrayPlan{c.element}
}

// elementPlan encodes the one element of an array.
type elementPlan struct{}

// Encode implements pgtype.EncodePlan.
func (elementPlan) Encode(value any, buf []byte) ([]byte, error) {
	a := value.(*array)
	if a.nulls {
		return nil, nil
	}
	return append(slices.Grow(buf, a.room), a.body[4:]...), nil
}

type arrayPlan struct{ element uint32 }

// Encode implements pgtype.EncodePlan.
func (p arrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	a := value.(*array)
	buf = slices.Grow(buf, a.room) // pgx lets a statement's parameters grow in one buffer
	dimensions, nulls, elements, lowest := uint32(1), uint32(0), uint32(a.n), uint32(1)
	if a.nulls {
		nulls = 1
	}
	if a.terse && !a.varied && a.n > 1 {
		elements, lowest = 1, 0
	}
	for _, word := range [arrayHeader / 4]uint32{dimensions, nulls, p.element, elements, lowest} {
		buf = binary.BigEndian.AppendUint32(buf, word)
	}
	return append(buf, a.body...), nil
}

// takeArrays makes a connection take *array for the types that the writer sends.
func takeArrays(conn *pgx.Conn) error {
	m := conn.TypeMap()
	for _, oid := range []uint32{
		pgtype.UUIDArrayOID, pgtype.TextArrayOID, pgtype.Int4ArrayOID, pgtype.Int8ArrayOID,
		pgtype.BoolArrayOID, pgtype.TimestamptzArrayOID, pgtype.ByteaArrayOID,
	} {
		t, ok := m.TypeForOID(oid)
		if !ok {
			return fmt.Errorf("pgx does not know array type %d", oid)
		}
		codec, ok := t.Codec.(*pgtype.ArrayCodec)
		if !ok {
			return fmt.Errorf("pgx has no array codec for %s", t.Name)
		}
		element := codec.ElementType
		m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{codec, element.OID}})
		m.RegisterType(&pgtype.Type{Name: element.Name, OID: element.OID, Codec: arrayCodec{Codec: element.Codec}})
	}
	return nil
}
