package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/shared/ids"
)

// partitionsAhead is how many days have their partitions beforehand: a server
// that can't make new ones for a week still takes work.
const partitionsAhead = 7

// EnsurePartitions makes the partitions of jobs from yesterday (a job's id may
// be a little older than its insert) to a week ahead. Call it at start and daily.
func (db *DB) EnsurePartitions(ctx context.Context, now time.Time) error {
	now = now.UTC()
	_, err := db.pool.Exec(ctx, "SELECT ensure_partitions($1, $2)", now.AddDate(0, 0, -1), now.AddDate(0, 0, partitionsAhead))
	return problem("make partitions", err)
}

// ErrInUse says that somebody works on the tables that were to go: a vacuum or an
// analysis by hand, a backup, a long query. The same call succeeds once that is over.
var ErrInUse = errors.New("the tables of that day are in use")

// DropPartitions drops the days before the given one (UTC) with all their jobs,
// attempts and results, oldest first. A day with open jobs stays. It returns the days
// that are gone, also beside ErrInUse. Who reads and writes jobs meanwhile waits a
// second at the very most; autovacuum makes way.
func (db *DB) DropPartitions(ctx context.Context, before time.Time) (days []time.Time, err error) {
	for {
		var day time.Time
		err := db.pool.QueryRow(ctx, "SELECT drop_partitions($1)", before.UTC()).Scan(&day)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return days, nil
		case sqlState(err) == "55P03": // lock_not_available
			return days, fmt.Errorf("drop partitions: %w: %w", ErrInUse, err)
		case err != nil:
			return days, problem("drop partitions", err)
		}
		days = append(days, day)
	}
}

// partitionOf names the table of the jobs that were made on the day of that one: an
// id begins with its moment, in ms since 1970.
func partitionOf(id ids.JobID) string {
	ms := binary.BigEndian.Uint64(id[:8]) >> 16
	return "jobs_" + time.UnixMilli(int64(ms)).UTC().Format("20060102")
}

// manyDays are more than there are jobs of that still move on.
const manyDays = 64

func (w *Writer) keepDay(day string, updates *forms) {
	if w.days == nil || len(w.days) >= manyDays {
		w.days = map[string]*forms{}
	}
	w.days[day] = updates
}
