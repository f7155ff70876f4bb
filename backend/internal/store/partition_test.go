package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/embedpg/pgtest"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

// ended is a database with a day that may go, a job in it, and work of today.
type ended struct {
	*old
	suffix string // of the day's tables
}

// newEnded gives the database a deadlock_timeout, after which autovacuum is told to
// make way; retention waits for two seconds longer.
func newEnded(t *testing.T, deadlockTimeout string) *ended {
	o := newOld(t, 3)
	e := &ended{old: o, suffix: o.day.Format("_20060102")}
	o.job(o.day, true)
	o.urls.Exec(t, fmt.Sprintf(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET deadlock_timeout = %%L', current_database(), '%s'); END $$`, deadlockTimeout))
	o.db = storetest.Open(t, o.urls.Server)
	return e
}

// drop drops the day in the background.
func (e *ended) drop() <-chan error {
	done := make(chan error, 1)
	go func() {
		days, err := e.db.DropPartitions(ctx, e.day.AddDate(0, 0, 1))
		if err == nil && len(days) == 0 {
			err = errors.New("nothing was there to be dropped")
		}
		done <- err
	}()
	return done
}

// hold runs SQL in a transaction that stays open until the function it returns.
func (e *ended) hold(sql string) (release func()) {
	e.t.Helper()
	conn, err := pgx.Connect(ctx, e.urls.Admin)
	e.must(err)
	e.t.Cleanup(func() { conn.Close(ctx) })
	_, err = conn.Exec(ctx, "BEGIN; "+sql)
	e.must(err)
	return func() {
		_, err := conn.Exec(ctx, "ROLLBACK")
		e.must(err)
	}
}

func (e *ended) left() bool {
	return storetest.Query[bool](e.t, e.urls, "SELECT to_regclass($1) IS NOT NULL", "jobs"+e.suffix)
}

// waits waits until retention stands in a queue, or has given up.
func (e *ended) waits(done <-chan error) {
	e.t.Helper()
	until(e.t, "retention waits for a lock", func() bool {
		return len(done) > 0 || storetest.Query[bool](e.t, e.urls, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE '%drop_partitions%' AND wait_event_type = 'Lock')`)
	})
}

// work takes jobs through and reads lists of all days.
func (e *ended) work() {
	e.t.Helper()
	for range 3 {
		begin, end := &core.Effects{}, &core.Effects{}
		jobs := e.submit(begin, 2)
		e.commit(begin)
		e.finish(end, jobs...)
		e.commit(end)
	}
	_, err := e.db.Jobs(ctx, record.JobFilter{}, record.Page{})
	e.must(err)
}

// A vacuum by hand makes way for nobody. Retention waits for it, in nobody's way, and
// goes on when it is over.
func TestDropPartitions_WaitingForAVacuumHindersNobody(t *testing.T) {
	e := newEnded(t, "30s")
	for _, table := range []string{"jobs", "attempts", "results"} {
		e.must(e.db.EnsurePartitions(ctx, e.day))
		release := e.hold("LOCK TABLE " + table + e.suffix + " IN SHARE UPDATE EXCLUSIVE MODE")
		done := e.drop()
		e.waits(done)
		e.work()
		e.must(e.db.EnsurePartitions(ctx, time.Now().AddDate(0, 0, 3)))
		select {
		case err := <-done:
			t.Fatalf("retention did not wait for the vacuum of %s: %v", table, err)
		default:
		}
		release()
		e.must(<-done)
		if e.left() {
			t.Errorf("the day is still there after the vacuum of %s", table)
		}
	}
}

// What does not end in time puts retention off, and nothing has changed.
func TestDropPartitions_IsPutOffByWhatIsInUse(t *testing.T) {
	e := newEnded(t, "10ms")
	options := func() string {
		return storetest.Query[string](t, e.urls, "SELECT coalesce(reloptions::text, '') FROM pg_class WHERE oid = $1::regclass", "jobs"+e.suffix)
	}
	before := options()
	for name, sql := range map[string]string{
		"vacuum by hand":       "LOCK TABLE jobs" + e.suffix + " IN SHARE UPDATE EXCLUSIVE MODE",
		"a reader of all days": "SELECT count(*) FROM jobs",
		"one of attempts only": "SELECT count(*) FROM attempts",
		"one of that day only": "SELECT count(*) FROM results" + e.suffix,
	} {
		release := e.hold(sql)
		if err := <-e.drop(); !errors.Is(err, store.ErrInUse) {
			t.Errorf("%s: %v, want %v", name, err, store.ErrInUse)
		}
		if !e.left() || options() != before {
			t.Errorf("%s: the day is there: %v, with %s instead of %s", name, e.left(), options(), before)
		}
		e.work()
		release()
	}
	e.must(<-e.drop())
}

// Who holds a table and asks for jobs meanwhile gets it: retention gives way, and
// nobody is broken off as the one who closed the circle.
func TestDropPartitions_BreaksNobodyOff(t *testing.T) {
	e := newEnded(t, "1s")
	conn, err := pgx.Connect(ctx, e.urls.Admin)
	e.must(err)
	defer conn.Close(ctx)
	for _, table := range []string{"attempts", "results", "results" + e.suffix} {
		_, err := conn.Exec(ctx, "BEGIN; LOCK TABLE "+table+" IN ROW EXCLUSIVE MODE")
		e.must(err)
		blocker := e.hold("LOCK TABLE jobs IN ACCESS SHARE MODE") // so that retention comes first
		done := e.drop()
		e.waits(done)
		asked := make(chan error, 1)
		go func() {
			_, err := conn.Exec(ctx, "LOCK TABLE jobs IN ROW EXCLUSIVE MODE")
			asked <- err
		}()
		blocker()
		if err := <-asked; err != nil {
			t.Errorf("who holds %s: %v", table, err)
		}
		if err := <-done; !errors.Is(err, store.ErrInUse) {
			t.Errorf("retention beside who holds %s: %v", table, err)
		}
		_, err = conn.Exec(ctx, "ROLLBACK")
		e.must(err)
	}
}

// Autovacuum works on the day's tables, its TOAST table too, more slowly than anybody
// would wait: it makes way.
func TestDropPartitions_AutovacuumMakesWay(t *testing.T) {
	t.Parallel()
	cluster, err := pgtest.Start(ctx, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	urls := storetest.NewURLsIn(t, cluster.AdminURL())
	db := storetest.Open(t, urls.Server)
	day := time.Now().UTC().AddDate(0, 0, -3)
	if err := db.EnsurePartitions(ctx, day); err != nil {
		t.Fatal(err)
	}
	table := "jobs" + day.Format("_20060102")
	fill(t, urls, table)
	vacuum(t, urls, table)
	gone, err := db.DropPartitions(ctx, day.AddDate(0, 0, 1))
	if err != nil || len(gone) != 2 { // the day and the one before it
		t.Fatalf("dropped %v, %v", gone, err)
	}
}

// until asks again and again; the limit is for a machine that does much else.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for overdue := time.After(time.Minute); !ok(); {
		select {
		case <-overdue:
			t.Fatalf("%s: not within a minute", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// fill puts rows into a day's table, most of which are dead then, with a TOAST table.
func fill(t *testing.T, urls storetest.URLs, table string) {
	t.Helper()
	urls.Exec(t, `INSERT INTO `+table+` (id, owner_id, submitter_id, submitted_at, ended_at, attempt, counted, fallback, app_id, state, cause, detail,
			outcome, node_id, pool_id, cancel_by, spec)
		SELECT overlay(id::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid, 0, 0, now(), now(), 1, 1, false, 'a', 'succeeded', '', '', '', '', '', '',
			(SELECT string_agg(md5(n::text || k), '') FROM generate_series(1, 100) k)
		FROM generate_series(1, 2000) n, partition_bound(to_date(right($1, 8), 'YYYYMMDD')) id`, table)
	urls.Exec(t, "DELETE FROM "+table+" WHERE right(id::text, 1) <> '0'")
}

// vacuum has autovacuum work on both tables, slowly, and waits until it does.
func vacuum(t *testing.T, urls storetest.URLs, table string) {
	t.Helper()
	for _, kind := range []string{"", "toast."} {
		urls.Exec(t, fmt.Sprintf(`ALTER TABLE %s SET (%[2]sautovacuum_vacuum_threshold = 1, %[2]sautovacuum_vacuum_scale_factor = 0,
			%[2]sautovacuum_vacuum_cost_limit = 1, %[2]sautovacuum_vacuum_cost_delay = 100)`, table, kind))
	}
	urls.Exec(t, "ALTER SYSTEM SET autovacuum_naptime = '1s'")
	urls.Exec(t, "SELECT pg_reload_conf()")
	until(t, "autovacuum works on the table and its TOAST table", func() bool {
		return storetest.Query[int64](t, urls, `SELECT count(*) FROM pg_locks l JOIN pg_class c ON l.relation IN (c.oid, c.reltoastrelid)
			JOIN pg_stat_activity a USING (pid)
			WHERE c.oid = $1::regclass AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted AND a.backend_type = 'autovacuum worker'`, table) == 2
	})
}
