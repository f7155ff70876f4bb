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
	uploads map[string]entry // by file name
}

// entry is one upload.
type entry struct {
	owner, size int64
	busy        bool // its bytes come now; else it broke off
}

// begin counts an upload, or says why it can't be taken. kept adds up what the
// owner has already. What is asked for comes after what is under way was counted,
// so that two at once never pass together where one alone may.
func (b *book) begin(name string, u Upload, kept func() (int64, error)) error {
	before, total, held, err := b.enter(name, u)
	if err != nil {
		return err
	}
	if err = b.admit(total, held, kept); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if before == nil {
			delete(b.uploads, name)
		} else {
			b.uploads[name] = *before
		}
	}
	return err
}

// enter writes the upload down, with what there is then: in total, and of the owner
// on its way.
func (b *book) enter(name string, u Upload) (before *entry, total, held int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, there := b.uploads[name]; there {
		if e.busy {
			return nil, 0, 0, fleet.Errorf(fleet.CodeConflict, "another connection uploads this file: ask for its offset again")
		}
		before = &e
	}
	b.uploads[name] = entry{owner: u.Owner, size: u.Size, busy: true}
	total, count := b.files, 0
	for _, e := range b.uploads {
		total += e.size
		if e.owner == u.Owner {
			held += e.size
			count++
		}
	}
	if count > maxUnfinished && before == nil {
		delete(b.uploads, name)
		return nil, 0, 0, fleet.Errorf(fleet.CodeStorageFull, fmt.Sprintf("the owner has %d uploads that are not finished: finish them, or wait until they are forgotten", maxUnfinished))
	}
	return before, total, held, nil
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
func (b *book) pause(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.uploads[name]
	e.busy = false
	b.uploads[name] = e
}

// drop forgets an upload that is kept, or of which nothing is left.
func (b *book) drop(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.uploads, name)
}

// idle forgets an upload unless its bytes come now.
func (b *book) idle(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uploads[name].busy {
		return false
	}
	delete(b.uploads, name)
	return true
}

// add counts bytes of finished files that came or, less than 0, went.
func (b *book) add(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files += bytes
}

// recall counts an upload that an earlier life of the server left.
func (b *book) recall(name string, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uploads[name] = entry{size: size}
}
