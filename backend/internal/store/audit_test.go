package store_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// Neither the server's role nor the owner's ordinary statements change an entry.
func TestAuditIsAppendOnly(t *testing.T) {
	urls := storetest.NewURLs(t)
	db := storetest.Open(t, urls.Server)
	storetest.InsertUser(t, db)
	for role, url := range map[string]string{"server": urls.Server, "owner": urls.Admin} {
		for _, sql := range []string{
			"UPDATE audit_entries SET reason = 'x'", "DELETE FROM audit_entries", "TRUNCATE audit_entries",
		} {
			if err := executeOn(url, sql); err == nil {
				t.Errorf("%s: %s succeeded", role, sql)
			}
		}
	}
	for _, sql := range []string{
		"UPDATE audit_head SET seq = 0", "INSERT INTO audit_entries SELECT seq + 1, at, 'x', '', '', 'x', '', NULL, NULL, '', sum, sum FROM audit_entries",
		"ALTER TABLE audit_entries DISABLE TRIGGER ALL", "DROP TABLE audit_entries",
	} {
		if err := executeOn(urls.Server, sql); err == nil {
			t.Errorf("server: %s succeeded", sql)
		}
	}
	if owns, err := db.OwnsAudit(ctx); err != nil || owns {
		t.Errorf("the server's role owns the audit entries: %v, %v", owns, err)
	}
	if owns, err := storetest.Open(t, urls.Admin).OwnsAudit(ctx); err != nil || !owns {
		t.Errorf("the owner does not own the audit entries: %v, %v", owns, err)
	}
}

func executeOn(url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// Go and the database's function agree on the hash, whatever stands in the entry.
func TestAuditChain(t *testing.T) {
	h := newHouse(t)
	h.must(h.db.AuditEvent(ctx, record.Actor{Subject: "u:1", Address: "::1", RequestID: "ä\x00"}, "sign_in_refused", "user:1", "wrong 'password' \xff"))
	h.commit(&core.Effects{Audits: []core.AuditNote{{Action: "result_fenced", Node: h.node.ID, Detail: "attempt 1 of 2"}, {Action: "x"}}})
	h.move(fleet.PoolDefault)
	head, bad, err := h.db.VerifyAudit(ctx)
	if err != nil || bad != 0 {
		t.Fatalf("verify: bad entry %d, %v", bad, err)
	}
	entries, err := h.db.Audit(ctx, record.AuditFilter{}, record.Page{Limit: 2})
	if err != nil || len(entries) != 2 || entries[0].Seq != head.Seq || entries[0].Action != "node_moved" || string(entries[0].After) != `{"pool":"default"}` {
		t.Fatalf("newest entries %+v, %v", entries, err)
	}
	older, err := h.db.Audit(ctx, record.AuditFilter{}, record.Page{After: fmt.Sprint(entries[1].Seq)})
	if err != nil || older[0].Seq != entries[1].Seq-1 || older[0].Actor.Subject != "node:"+h.node.ID {
		t.Fatalf("the page after: %+v, %v", older, err)
	}
	_, err = h.db.Audit(ctx, record.AuditFilter{}, record.Page{After: "x"})
	wantCode(t, err, fleet.CodeBadRequest)
}

// What an administrator of the database alters is found, at the first entry that
// does not hold.
func TestAuditTamper(t *testing.T) {
	for name, c := range map[string]struct {
		sql string
		bad int64
	}{
		"reason altered":   {"UPDATE audit_entries SET reason = 'x' WHERE seq = 3", 3},
		"document altered": {`UPDATE audit_entries SET after = '{"pool": "default"}' WHERE seq = 2`, 2},
		"time altered":     {"UPDATE audit_entries SET at = at - interval '1 microsecond' WHERE seq = 4", 4},
		"entry deleted":    {"DELETE FROM audit_entries WHERE seq = 3", 3},
		"end cut off":      {"DELETE FROM audit_entries WHERE seq = 5", 5},
		"first deleted":    {"DELETE FROM audit_entries WHERE seq = 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			urls := storetest.NewURLs(t)
			db := storetest.Open(t, urls.Server)
			for range 5 {
				storetest.InsertUser(t, db)
			}
			urls.Exec(t, "ALTER TABLE audit_entries DISABLE TRIGGER audit_append_only")
			urls.Exec(t, c.sql)
			if _, bad, err := db.VerifyAudit(ctx); err != nil || bad != c.bad {
				t.Fatalf("first bad entry %d (%v), want %d", bad, err, c.bad)
			}
		})
	}
}

// Entries of writers at the same time have no gap, and a write that was rolled
// back has none.
func TestAuditIsGapless(t *testing.T) {
	db := storetest.New(t)
	storetest.InsertUser(t, db)
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			for j := range 10 {
				if j == 3 { // a name that is there: rolled back
					if _, err := db.CreateUser(ctx, storetest.Actor, record.User{Name: fmt.Sprintf("racer %d 0", i)}, ""); err == nil {
						return fmt.Errorf("a name was taken twice")
					}
					continue
				}
				if _, err := db.CreateUser(ctx, storetest.Actor, record.User{Name: fmt.Sprintf("racer %d %d", i, j)}, ""); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	head, bad, err := db.VerifyAudit(ctx)
	if err != nil || bad != 0 || head.Seq != 1+8*9 {
		t.Fatalf("head %d, first bad %d, %v; want 73 entries", head.Seq, bad, err)
	}
}

func TestAudit_FindsEntriesByTheirTexts(t *testing.T) {
	h := newHouse(t)
	_, err := h.db.CordonNode(ctx, storetest.Actor, h.node.ID, "New disk", nil)
	h.must(err)
	for _, c := range []struct {
		filter record.AuditFilter
		want   bool
	}{
		{record.AuditFilter{Action: "cordon"}, true},
		{record.AuditFilter{Object: "node:" + h.node.ID, Reason: "new DISK"}, true},
		{record.AuditFilter{Text: "new disk"}, true},
		{record.AuditFilter{Actor: storetest.Actor.Subject, Action: "node_cordoned"}, true},
		{record.AuditFilter{Action: "node_cordoned", Reason: "old"}, false},
		{record.AuditFilter{Action: "node%"}, false},
	} {
		list, err := h.db.Audit(ctx, c.filter, record.Page{})
		if err != nil || (len(list) > 0 && list[0].Action == "node_cordoned") != c.want {
			t.Errorf("%+v finds %d entries, %v", c.filter, len(list), err)
		}
	}
}
