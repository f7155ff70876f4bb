package load

import (
	"context"
	"log/slog"
	"time"

	"rockpool/backend/internal/store"
)

// Forgotten is what retention left of a load's jobs.
type Forgotten struct {
	Seconds  float64 `json:"seconds"`  // that it took
	Database int64   `json:"database"` // bytes on disk after it
	Jobs     int64   `json:"jobs"`     // that are still there
}

// forget lets retention do to this day's jobs what it does once they are old enough.
// The server goes on meanwhile, and can take new ones after it.
func (s *stage) forget(ctx context.Context) (f Forgotten, err error) {
	db, err := store.Open(ctx, s.server.database(), store.Options{MaxConns: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return f, err
	}
	defer db.Close()
	now := time.Now()
	if err := db.PruneWork(ctx, now.AddDate(0, 0, 2)); err != nil {
		return f, err
	}
	f.Seconds = time.Since(now).Seconds()
	if err := db.EnsurePartitions(ctx, now); err != nil {
		return f, err
	}
	left, err := s.db.Ledger(ctx)
	f.Database = left.Bytes
	for _, jobs := range left.States {
		f.Jobs += jobs
	}
	return f, err
}
