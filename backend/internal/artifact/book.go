package artifact

import (
	"fmt"
	"sync"

	"rockpool/backend/internal/core/fleet"
)

// Limits bound what is kept, in bytes.
type Limits struct {
	File  int64 // one artifact
	Owner int64 // all that are one owner's; 0: no bound
	Total int64 // all there are, unfinished ones among them; 0: what the disk takes
}

// maxUnfinished is how many uploads one owner has under way or broken off.
const maxUnfinished = 1000

// book counts what is kept and what is on its way: the one place where the bounds
// are looked at. An upload counts with its whole size from before its first byte
// until it is kept or dropped.
type book struct {
	limits Limits

	mu      sync.Mutex
	files   int64            // bytes of what is kept
	uploads map[string]entry // by key
}

// entry is one upload. What was announced first stays until the upload is dropped: no
// later announcement makes it count less than it has on the disk.
type entry struct {
	owner, size int64
	busy        bool // its bytes come now; else it broke off
}

// begin counts an upload, or says why it can't be taken; of one that broke off it
// gives what was announced first. kept adds up what the owner has already. What is
// asked for comes after what is under way was counted, so that two at once never pass
// together where one alone may.
func (b *book) begin(key string, u Upload, kept func() (int64, error)) (entry, error) {
	e, known, total, held, err := b.enter(key, u)
	if err != nil {
		return entry{}, err
	}
	if err = b.admit(total, held, kept); err == nil {
		return e, nil
	}
	if known {
		b.pause(key)
	} else {
		b.drop(key)
	}
	return entry{}, err
}

// enter writes the upload down, with what there is then: in total, and of the owner
// on its way.
func (b *book) enter(key string, u Upload) (e entry, known bool, total, held int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known = b.uploads[key]
	if e.busy {
		return e, known, 0, 0, fleet.Errorf(fleet.CodeConflict, "another connection uploads this file: ask for its offset again")
	}
	if !known {
		e = entry{owner: u.Owner, size: u.Size}
	}
	e.busy = true
	b.uploads[key] = e
	total, count := b.files, 0
	for _, other := range b.uploads {
		total += other.size
		if other.owner == u.Owner {
			held += other.size
			count++
		}
	}
	if count > maxUnfinished && !known {
		delete(b.uploads, key)
		return e, known, 0, 0, fleet.Errorf(fleet.CodeStorageFull, fmt.Sprintf("the owner has %d uploads that are not finished: finish them, or wait until they are forgotten", maxUnfinished))
	}
	return e, known, total, held, nil
}

func (b *book) admit(total, held int64, kept func() (int64, error)) error {
	if b.limits.Total > 0 && total > b.limits.Total {
		return fleet.Errorf(fleet.CodeStorageFull, fmt.Sprintf("all artifacts together may have %d bytes (artifact.total_bytes): no room for this one", b.limits.Total))
	}
	if b.limits.Owner == 0 {
		return nil
	}
	has, err := kept()
	if err != nil {
		return err
	}
	if has+held > b.limits.Owner {
		return fleet.Errorf(fleet.CodeStorageFull, fmt.Sprintf("an owner's artifacts may have %d bytes (artifact.owner_bytes), these have %d: no room for this one", b.limits.Owner, has))
	}
	return nil
}

// pause leaves an upload counted that broke off.
func (b *book) pause(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.uploads[key]
	e.busy = false
	b.uploads[key] = e
}

// drop forgets an upload that is kept, or of which nothing is left.
func (b *book) drop(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.uploads, key)
}

// seize takes an upload away from who would go on with it, unless its bytes come now.
func (b *book) seize(key string, e entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uploads[key].busy {
		return false
	}
	e.busy = true
	b.uploads[key] = e
	return true
}

// announced is what an upload counts as.
func (b *book) announced(key string) (entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.uploads[key]
	return e, known
}

// add counts bytes of finished files that came or, less than 0, went.
func (b *book) add(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files += bytes
}

// recall counts an upload that an earlier life of the server left, each once.
func (b *book) recall(key string, e entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, twice := b.uploads[key]; twice {
		return false
	}
	b.uploads[key] = e
	return true
}
