package record

import (
	"fmt"
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// AppendWaits appends a ledger as its numbers with commas, in the order of its
// fields: it stands on every job's row that ever waited.
func AppendWaits(b []byte, w *fleet.WaitLedger) []byte {
	for i, ms := range [...]int64{w.Pool, w.Fairness, w.Backoff, w.Quota, w.Hold, w.Offer} {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, ms, 10)
	}
	return b
}

// ParseWaits reads what AppendWaits wrote; empty is a ledger of zeros. Numbers that
// are missing at the end are 0: the ledger may grow.
func ParseWaits(text string) (w fleet.WaitLedger, err error) {
	if text == "" {
		return w, nil
	}
	fields := [...]*int64{&w.Pool, &w.Fairness, &w.Backoff, &w.Quota, &w.Hold, &w.Offer}
	for i, part := range strings.Split(text, ",") {
		if i == len(fields) {
			return w, fmt.Errorf("a ledger of waits has %d numbers: %q", len(fields), text)
		}
		if *fields[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return w, fmt.Errorf("a ledger of waits: %w", err)
		}
	}
	return w, nil
}
