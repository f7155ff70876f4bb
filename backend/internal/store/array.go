package store

import (
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
type array struct {
	n     int32
	nulls bool
	open  int // where the length of the element that begin opened goes
	room  int // bytes of this column and of those behind it in the statement
	body  []byte
}

const (
	arrayHeader = 20
	nullLength  = math.MaxUint32
	// postgresEpoch is 2000-01-01, from which timestamps count, in µs since 1970.
	postgresEpoch = 946_684_800_000_000
)

func (a *array) size(n int) {
	a.n++
	a.body = binary.BigEndian.AppendUint32(a.body, uint32(n))
}

func (a *array) null() {
	a.n++
	a.nulls = true
	a.body = binary.BigEndian.AppendUint32(a.body, nullLength)
}

func (a *array) text(s string) {
	a.size(len(s))
	a.body = append(a.body, s...)
}

// bytes appends a text or bytea; nil is NULL.
func (a *array) bytes(b []byte) {
	if b == nil {
		a.null()
		return
	}
	a.size(len(b))
	a.body = append(a.body, b...)
}

// begin opens an element: the caller appends to what it returns, hands that to
// end, and the element is what was appended.
func (a *array) begin() []byte {
	a.size(0)
	a.open = len(a.body)
	return a.body
}

func (a *array) end(body []byte) {
	a.body = body
	binary.BigEndian.PutUint32(a.body[a.open-4:], uint32(len(a.body)-a.open))
}

func (a *array) int4(v int32) {
	a.size(4)
	a.body = binary.BigEndian.AppendUint32(a.body, uint32(v))
}

func (a *array) int8(v int64) {
	a.size(8)
	a.body = binary.BigEndian.AppendUint64(a.body, uint64(v))
}

func (a *array) bool(v bool) {
	a.size(1)
	if v {
		a.body = append(a.body, 1)
	} else {
		a.body = append(a.body, 0)
	}
}

func (a *array) uuid(id ids.JobID) {
	a.size(len(id))
	a.body = append(a.body, id[:]...)
}

func (a *array) time(t time.Time) { a.int8(t.UnixMicro() - postgresEpoch) }

// arrayCodec lets a connection take *array for an array type, beside Go slices.
type arrayCodec struct {
	pgtype.Codec
	element uint32 // OID
}

// PreferredFormat is binary also where texts prefer text.
func (arrayCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(*array); ok && format == pgtype.BinaryFormatCode {
		return arrayPlan{c.element}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type arrayPlan struct{ element uint32 }

// Encode implements pgtype.EncodePlan.
func (p arrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	a := value.(*array)
	buf = slices.Grow(buf, a.room) // pgx lets a statement's parameters grow in one buffer
	dimensions, nulls := uint32(1), uint32(0)
	if a.nulls {
		nulls = 1
	}
	for _, word := range [arrayHeader / 4]uint32{dimensions, nulls, p.element, uint32(a.n), 1 /* lower bound */} {
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
		m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{codec, codec.ElementType.OID}})
	}
	return nil
}
