package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"rockpool/backend/internal/record"
)

// change is what an administrative write tells the audit chain.
type change struct {
	action string
	object string // e.g. node:ams-edge-03
	before any    // anything with a JSON form, or nil
	after  any
	reason string
}

// audit extends the chain within the write's own transaction. The database's
// function locks the head, gives the next number and the time, and hashes. It is
// the last statement of a transaction, so that the head is locked for short.
func audit(ctx context.Context, tx bun.IDB, actor record.Actor, c change) error {
	before, err := jsonOrNull(c.before)
	if err != nil {
		return err
	}
	after, err := jsonOrNull(c.after)
	if err != nil {
		return err
	}
	if err := markActed(ctx, tx, actor.Claim); err != nil {
		return err
	}
	_, err = tx.NewRaw("SELECT audit_append(?, ?, ?, ?, ?, ?::json, ?::json, ?)", storable(actor.Subject), storable(actor.Address),
		storable(actor.RequestID), c.action, storable(c.object), before, after, storable(c.reason)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("audit %s: %w", c.action, err)
	}
	return nil
}

func jsonOrNull(v any) (*string, error) {
	if v == nil {
		return nil, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	text := string(data)
	return &text, nil
}

// storable makes a text one that can be stored: an entry is never lost for what
// stands in it.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// AuditEvent adds an entry of something that wrote nothing else.
func (db *DB) AuditEvent(ctx context.Context, actor record.Actor, action, object, detail string) error {
	return problem("audit", audit(ctx, db.bun, actor, change{action: action, object: object, reason: detail}))
}

const auditColumns = `seq, at, subject, address, request_id, action, object, before::text, after::text, reason, prev_sum, sum`

func scanAudit(row pgx.CollectableRow) (record.AuditEntry, error) { return scanAuditAnd(row) }

// scanAuditAnd has more columns behind those of the entry.
func scanAuditAnd(row pgx.CollectableRow, more ...any) (e record.AuditEntry, err error) {
	var before, after *string
	var prev, sum []byte
	err = row.Scan(append([]any{
		&e.Seq, &e.At, &e.Actor.Subject, &e.Actor.Address, &e.Actor.RequestID, &e.Action, &e.Object,
		&before, &after, &e.Reason, &prev, &sum,
	}, more...)...)
	e.At = e.At.UTC()
	if before != nil {
		e.Before = []byte(*before)
	}
	if after != nil {
		e.After = []byte(*after)
	}
	copy(e.PrevSum[:], prev)
	copy(e.Sum[:], sum)
	return e, err
}

// scanNamed has the name of the person behind the columns of the entry.
func scanNamed(row pgx.CollectableRow) (record.AuditEntry, error) {
	var name *string
	e, err := scanAuditAnd(row, &name)
	if name != nil {
		e.Name = *name
	}
	return e, err
}

// Audit lists entries, newest first, with the names of people as they are now. A
// page's After is the last entry's number.
func (db *DB) Audit(ctx context.Context, filter record.AuditFilter, page record.Page) ([]record.AuditEntry, error) {
	after, err := numberAfter(page)
	if err != nil {
		return nil, err
	}
	q, name := &query{}, nameOf("subject")
	where := []string{"true"}
	if after != 0 {
		where = append(where, "seq < "+q.arg(after))
	}
	for _, has := range []struct{ column, text string }{
		{"action", filter.Action}, {"object", filter.Object}, {"concat_ws(' ', subject, " + name + ")", filter.Actor}, {"reason", filter.Reason},
		{"concat_ws(' ', action, object, subject, " + name + ", reason, request_id)", filter.Text},
	} {
		if has.text != "" {
			where = append(where, "strpos(lower("+has.column+"), lower("+q.arg(has.text)+")) > 0")
		}
	}
	q.sql = "SELECT " + auditColumns + ", " + name + " FROM audit_entries WHERE " + strings.Join(where, " AND ") + " ORDER BY seq DESC LIMIT " + q.arg(limit(page))
	rows, err := db.pool.Query(ctx, q.sql, q.args...)
	if err != nil {
		return nil, problem("list audit entries", err)
	}
	entries, err := pgx.CollectRows(rows, scanNamed)
	return entries, problem("list audit entries", err)
}

// VerifyAudit walks the whole chain: numbers without a gap, each sum over the one
// before and the row, the head at the end. It returns the newest entry and the
// number of the first entry that does not hold; 0: the chain is whole. A number
// one past the newest means that entries were cut off at the end.
func (db *DB) VerifyAudit(ctx context.Context) (head record.AuditEntry, badSeq int64, err error) {
	// one snapshot: entries added meanwhile belong to the next walk
	tx, err := db.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return head, 0, problem("verify the audit chain", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	var seq int64
	var sum []byte
	if err := tx.QueryRow(ctx, "SELECT seq, sum FROM audit_head").Scan(&seq, &sum); err != nil {
		return head, 0, problem("read the audit chain's head", err)
	}
	rows, err := tx.Query(ctx, "SELECT "+auditColumns+" FROM audit_entries ORDER BY seq")
	if err != nil {
		return head, 0, problem("verify the audit chain", err)
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanAudit(rows)
		if err != nil {
			return head, 0, problem("verify the audit chain", err)
		}
		if badSeq == 0 && (e.Seq != head.Seq+1 || e.PrevSum != head.Sum || e.Sum != AuditSum(&e)) {
			badSeq = head.Seq + 1
		}
		head = e
	}
	if badSeq == 0 && (head.Seq != seq || string(head.Sum[:]) != string(sum)) {
		badSeq = head.Seq + 1
	}
	return head, badSeq, problem("verify the audit chain", rows.Err())
}

// AuditSum is the hash that an entry must have: SHA-256 over the previous sum and
// the row's fields, each as its length in 4 bytes (-1 for null) and its bytes;
// numbers as 8 bytes, the time as microseconds since 1970.
func AuditSum(e *record.AuditEntry) [32]byte {
	b := append(make([]byte, 0, 512), e.PrevSum[:]...)
	b = auditNumber(b, e.Seq)
	b = auditNumber(b, e.At.UnixMicro())
	for _, s := range []string{e.Actor.Subject, e.Actor.Address, e.Actor.RequestID, e.Action, e.Object} {
		b = auditField(b, []byte(s))
	}
	for _, doc := range [][]byte{e.Before, e.After} {
		if doc == nil {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
		} else {
			b = auditField(b, doc)
		}
	}
	return sha256.Sum256(auditField(b, []byte(e.Reason)))
}

func auditField(b, field []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(field))), field...)
}

func auditNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(n))
}
