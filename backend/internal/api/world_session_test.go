package api

import (
	"context"
	"sync"
	"time"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/record"
)

// noConsoles stands where no console is open.
type noConsoles struct{}

func (noConsoles) EndConsole([32]byte) {}
func (noConsoles) EndUser(int64)       {}

// Passwords and console sessions of the world: everybody is called by their id,
// and signs in with "password of <id>".

var worldHash = sync.OnceValue(func() map[string]string {
	hashes, h := map[string]string{}, access.NewHasher()
	for id := range userRoles {
		hashes[userText(id)], _ = h.Hash(context.Background(), "password of "+userText(id))
	}
	return hashes
})

func (w *world) PasswordOf(_ context.Context, name string) (record.User, string, error) {
	hash, ok := worldHash()[name]
	if !ok {
		return record.User{}, "", none("password")
	}
	id, _ := parseUser(name)
	return record.User{ID: id, Name: name, Roles: userRoles[id]}, hash, nil
}

func (w *world) SignInsLimited(_ context.Context, actor record.Actor, _ string) error {
	w.actors = append(w.actors, actor)
	return nil
}

func (w *world) SetPassword(_ context.Context, actor record.Actor, user int64, _, _ string) error {
	if _, ok := userRoles[user]; !ok {
		return none("user")
	}
	w.actors = append(w.actors, actor)
	return nil
}

func (w *world) CreateConsoleSession(_ context.Context, actor record.Actor, _ int64, _ [32]byte, _ time.Time) error {
	w.actors = append(w.actors, actor)
	return nil
}

func (w *world) EndConsoleSession(_ context.Context, actor record.Actor, _ int64, _ [32]byte) error {
	w.actors = append(w.actors, actor)
	return nil
}

func (w *world) ConsoleSessionBySum(context.Context, [32]byte) (record.User, error) {
	return record.User{}, none("console session")
}

func (w *world) EndConsole([32]byte) {}
func (w *world) EndUser(int64)       {}
